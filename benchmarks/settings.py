"""How much is measured: the sizes of a full run, of a quick one, and what options change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Sizes and times; every section takes what it needs."""

    seed: int = 0
    #: Numbers of arms of the comparison with the baseline.
    arms: tuple[int, ...] = (5, 10, 50, 200)
    #: CPU seconds for each cell that is timed.
    seconds: float = 2.0
    #: Posteriors are collected over so many rounds; as many of them as make so many arms together.
    horizon: int = 1_000
    posterior_arms: int = 12_000
    #: So many of them are compared with a reference.
    referenced: int = 4
    #: Very many arms: all with their own posterior in the first, at most ``distinct`` after.
    many_arms: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    distinct: int = 1_000
    degree: int = 20
    #: Arms whose posteriors all differ.
    different_arms: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    #: The long run.
    long_arms: int = 100
    long_rounds: int = 100_000
    long_windows: int = 10
    #: Where the time goes, and how far it is from the machine.
    round_arms: tuple[int, ...] = (5, 50, 200)
    stream_megabytes: int = 128
    #: Strict statistics beside those of a simulation.
    strict_arms: tuple[int, ...] = (2, 5, 50)
    #: A round of every policy.
    policy_arms: tuple[int, ...] = (5, 50)
    policy_rounds: int = 200
    #: A round of every reward model.
    model_arms: tuple[int, ...] = (5, 10)
    model_rounds: int = 50
    #: One worker and two.
    worker_trials: int = 400
    worker_rounds: int = 1_000
    #: The paper's experiments in a store; and a summary of so many trials.
    store_trials: int = 1_000
    summary_trials: int = 100_000
    #: Live agents: arms, different histories among them, seconds for each pair of calls.
    live_arms: tuple[int, ...] = (5, 1_000, 100_000)
    live_distinct: int = 100
    live_seconds: float = 2.0
    #: Events that are replayed, decisions over which memory grows, and the arms of both.
    live_events: int = 1_000_000
    live_decisions: int = 500
    live_some_arms: int = 1_000
    #: Processes that share an agent, and seconds for each pass.
    live_writers: tuple[int, ...] = (1, 2, 4)
    live_write_seconds: float = 1.5
    #: The service: arms, its processes, clients at a time, seconds for each row and its turns.
    service_arms: tuple[int, ...] = (5, 1_000)
    service_workers: tuple[int, ...] = (1, 2)
    service_clients: tuple[int, ...] = (1, 4)
    service_seconds: float = 1.6
    service_turns: int = 4
    #: The first run of commands, by their names in the section; and warm processes.
    start_commands: tuple[str, ...] = ("Agent, first decision", "inspect", "simulate", "reproduce")
    start_passes: int = 5
    #: The numbers of a graph: random ones of all densities, sparse ones, seconds for each number.
    graph_arms: tuple[int, ...] = (20, 40, 60, 80, 100, 1_000)
    sparse_arms: tuple[int, ...] = (100_000,)
    graph_seconds: float = 5.0

    @classmethod
    def quick(cls) -> Settings:
        """About a minute in all: the same tables with fewer digits to trust."""
        return cls(
            arms=(5, 10, 50),
            seconds=0.3,
            posterior_arms=2_500,
            referenced=2,
            many_arms=(1_000, 10_000, 100_000),
            different_arms=(100, 1_000, 10_000),
            long_rounds=5_000,
            long_windows=5,
            round_arms=(5, 50),
            policy_rounds=50,
            model_arms=(5,),
            model_rounds=20,
            worker_trials=200,
            store_trials=100,
            summary_trials=10_000,
            live_arms=(5, 1_000),
            live_seconds=0.3,
            live_events=20_000,
            live_decisions=50,
            live_writers=(1, 2),
            live_write_seconds=0.3,
            service_workers=(1,),
            service_seconds=0.3,
            service_turns=2,
            start_commands=("Agent, first decision",),
            start_passes=2,
            graph_arms=(20, 40),
            sparse_arms=(10_000,),
            graph_seconds=1.0,
        )
