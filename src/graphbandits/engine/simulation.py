"""Many trials of many policies in the same worlds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphbandits.engine.loop import BlockOutcome, run_block
from graphbandits.engine.progress import Advance, progress_bar
from graphbandits.errors import InputError, whole_number
from graphbandits.graphs import GraphLike, Process, as_process
from graphbandits.policies import Policy, as_policy, check_needs
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import text_of
from graphbandits.results import PolicyResult, Results, recorded_rounds
from graphbandits.rng import Keys
from graphbandits.types import Ints
from graphbandits.version import __version__
from graphbandits.worlds import Bernoulli, World

#: Trials that run in lockstep: their state stays in the cache, and Python's share is small.
BLOCK = 100


def simulate(
    policies: str | Policy | Iterable[str | Policy],
    world: World | None = None,
    graph: GraphLike = "paper",
    *,
    horizon: int,
    trials: int,
    seed: int = 0,
    arms: int | None = None,
    workers: int = 1,
    block: int = BLOCK,
    regret: str = "pseudo",
    progress: Advance | bool = True,
) -> Results:
    """Run each policy through the same ``trials`` worlds, graphs and outcomes.

    ``world`` is Bernoulli arms with uniform priors unless given. The regret is the
    pseudo-regret theta* - theta_A, or the difference of the outcomes (``regret="realised"``),
    which has the same expectation and a larger variance. The result is the same, bit for bit,
    for every ``block``, number of ``workers`` and order of the policies. ``progress`` is called
    with the number of decisions made since its last call; True shows a bar on a terminal.

    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=50, trials=20, seed=1)
    >>> results["ids-n"].final.shape
    (20,)
    """
    plan = Plan.of(policies, world, graph, horizon=horizon, trials=trials, seed=seed, arms=arms)
    return plan.run(workers=workers, block=block, regret=regret, progress=progress)


@dataclass(frozen=True, eq=False)
class Plan:
    """A simulation that has been checked and not yet run."""

    policies: dict[str, Policy]
    world: World
    process: Process
    horizon: int
    trials: int
    seed: int
    graph_text: str

    @classmethod
    def of(
        cls,
        policies: str | Policy | Iterable[str | Policy],
        world: World | None = None,
        graph: GraphLike = "paper",
        *,
        horizon: int,
        trials: int,
        seed: int = 0,
        arms: int | None = None,
    ) -> Plan:
        """Check everything before anything runs."""
        if world is not None and not hasattr(world, "outcomes"):
            raise InputError(f"a world is an object such as Bernoulli(...), not {world!r}")
        known = arms if world is None else world.arms
        if world is not None and arms is not None and arms != world.arms:
            raise InputError(f"the world has {world.arms} arms, but arms={arms} was asked for")
        process = as_process(graph, known)
        plan = cls(
            policies=named_policies(policies),
            world=Bernoulli(BetaBernoulli.of(process.arms)) if world is None else world,
            process=process,
            horizon=whole_number(horizon, "horizon"),
            trials=whole_number(trials, "trials"),
            seed=whole_number(seed, "seed", least=0),
            graph_text=graph if isinstance(graph, str) else type(graph).__name__,
        )
        Keys(plan.seed, 0, plan.trials)  # refuses more trials than there are numbers for
        if process.rounds is not None and process.rounds < plan.horizon:
            raise InputError(
                f"the graph process serves {process.rounds} rounds, but the horizon is {horizon}"
            )
        for policy in plan.policies.values():
            check_needs(policy, process, plan.horizon)
        return plan

    @property
    def decisions(self) -> int:
        return self.trials * self.horizon * len(self.policies)

    def run(
        self,
        *,
        workers: int = 1,
        block: int = BLOCK,
        regret: str = "pseudo",
        progress: Advance | bool = True,
        label: str = "simulating",
    ) -> Results:
        """Run all blocks, on ``workers`` threads (the kernels release Python's lock)."""
        whole_number(workers, "workers")
        whole_number(block, "block")
        if regret not in ("pseudo", "realised"):
            raise InputError(f"regret is 'pseudo' or 'realised', not {regret!r}")
        if progress is True:
            with progress_bar(label, self.decisions) as advance:
                return self._run(workers, block, regret, advance)
        return self._run(workers, block, regret, progress or None)

    def _run(self, workers: int, block: int, regret: str, progress: Advance | None) -> Results:
        record = recorded_rounds(self.horizon)
        starts = range(0, self.trials, block)
        stop, lock = threading.Event(), threading.Lock()

        def work(task: tuple[str, int]) -> BlockOutcome:
            name, first = task
            keys = Keys(self.seed, first, min(block, self.trials - first))

            def advance(rounds: int) -> None:
                if stop.is_set():
                    raise InterruptedError
                if progress is not None:
                    with lock:
                        progress(rounds * keys.trials)

            return run_block(
                self.policies[name],
                self.world,
                self.process,
                self.horizon,
                keys,
                record,
                regret == "realised",
                advance,
            )

        tasks = [(name, first) for name in self.policies for first in starts]
        if workers == 1:
            outcomes = [work(task) for task in tasks]
        else:
            with ThreadPoolExecutor(workers) as pool:
                futures = [pool.submit(work, task) for task in tasks]
                try:
                    outcomes = [future.result() for future in futures]
                except BaseException:
                    stop.set()
                    pool.shutdown(cancel_futures=True)
                    raise
        results = {
            name: _join(outcomes[i * len(starts) : (i + 1) * len(starts)])
            for i, name in enumerate(self.policies)
        }
        return Results(record, results, self._names(), self._settings(regret))

    def seconds(self, workers: int = 1, *, trials: int = 20, rounds: int = 50) -> float:
        """An estimate of the time it will take, from a short run of each policy."""
        total = 0.0
        short = Keys(self.seed, 0, min(trials, self.trials))
        horizon = min(rounds, self.horizon)
        for policy in self.policies.values():
            for attempt in range(2):  # the first compiles what is not cached yet
                start = time.perf_counter()
                record = np.array([horizon])
                run_block(policy, self.world, self.process, horizon, short, record)
                spent = time.perf_counter() - start
                if attempt:
                    total += spent * self.trials * self.horizon / (short.trials * horizon)
        return total / workers

    def _names(self) -> tuple[str, ...]:
        return self.process.names or tuple(str(i + 1) for i in range(self.process.arms))

    def _settings(self, regret: str) -> dict[str, Any]:
        prior = self.world.prior
        settings: dict[str, Any] = {
            "graph": self.graph_text,
            "arms": self.process.arms,
            "horizon": self.horizon,
            "trials": self.trials,
            "seed": self.seed,
            "regret": regret,
            "version": __version__,
        }
        if isinstance(prior, BetaBernoulli):
            settings["prior"] = np.stack([prior.a, prior.b], axis=1).tolist()
        return settings


def named_policies(policies: str | Policy | Iterable[str | Policy]) -> dict[str, Policy]:
    """Policies by their text, from texts and objects; the same one twice is refused."""
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        policies = [policies]
    named: dict[str, Policy] = {}
    for given in policies:
        policy = as_policy(given)
        name = text_of(policy)
        if name in named:
            raise InputError(f"policy '{name}' is given twice")
        named[name] = policy
    if not named:
        raise InputError("no policy was given: name one, such as 'ids-n'")
    return named


def _join(blocks: list[BlockOutcome]) -> PolicyResult:
    regret = np.concatenate([block.regret for block in blocks])
    plays: Ints = np.sum([block.plays for block in blocks], axis=0)
    return PolicyResult.from_trials(regret, plays)
