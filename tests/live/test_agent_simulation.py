"""An agent that is driven through a simulated trial repeats its decisions, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from helpers.cases import case_named
from helpers.recorded_runs import able
from helpers.reward_families import FAMILIES

from graphbandits import Agent, as_posterior, as_process, as_world
from graphbandits._types import Floats, Ints
from graphbandits.graphs import Feedback
from graphbandits.policies import as_policy
from graphbandits.posteriors import Observations
from graphbandits.rng import Keys
from graphbandits.simulation.loop import RunMonitor, run_block

ROUNDS = 40
SEED, TRIAL = 7, 3
GRAPHS = ("edges(1>2 2-3 3>4:0.5 5>1)", "random(r=0.4)", "revealed-er(p=0.3)", "star(out)")


@dataclass
class Trial(RunMonitor):
    """What one simulated trial did in each round."""

    pi: list[Floats] = field(default_factory=list)
    action: list[int] = field(default_factory=list)
    seen: list[dict[int, float]] = field(default_factory=list)

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        self.pi.append(pi[0].copy())

    def played(self, t: int, action: Ints) -> None:
        self.action.append(int(action[0]))

    def observed(self, t: int, seen: Observations) -> None:
        self.seen.append(dict(zip(seen.arm.tolist(), seen.reward.tolist(), strict=True)))


def simulated(policy: str, graph: str, world: str, posterior: str | None) -> Trial:
    trial, process = Trial(), as_process(graph, 5)
    prior = None if posterior is None else as_posterior(posterior, 5)
    keys, record = Keys(SEED, TRIAL), np.array([ROUNDS])
    made = as_world(world, 5)
    how = {"monitor": trial, "posterior": prior}
    run_block(as_policy(policy), made, process, ROUNDS, keys, record, False, **how)
    return trial


def drive(
    policy: str,
    graph: str,
    world: str = "bernoulli",
    posterior: str | None = None,
    store: str | None = None,
    pieces: bool = False,
) -> None:
    trial, clock = simulated(policy, graph, world, posterior), [0.0]
    prior = posterior or as_world(world, 5).prior
    options = {"store": store, "posterior": prior, "clock": lambda: clock[0]}
    agent = Agent(policy, 5, graph, seed=SEED, trial=TRIAL, horizon=ROUNDS, **options)
    for t in range(ROUNDS):
        clock[0] = t + 1.0  # one unit of time per round, as in a simulation
        if store is not None and t == ROUNDS // 2:
            agent = Agent(store=store, clock=lambda: clock[0])  # another process goes on
        decision = agent.decide()
        assert decision.arm == trial.action[t]
        if decision.pi is not None:
            pi = [decision.pi.get(arm, 0.0) for arm in range(5)]
            assert pi == trial.pi[t].tolist()
        if pieces:
            for arm in reversed(trial.seen[t]):
                agent.observe(decision.id, {arm: trial.seen[t][arm]}, partial=True)
            agent.close(decision)
        else:
            agent.observe(decision, trial.seen[t])
    agent.verify()


PIECES = ("ids-n", "ucb-n", "exp3-ix", "ts")


def test_agent_in_memory_repeats_a_trial() -> None:
    for graph in GRAPHS:
        for policy in able(graph, 5, ROUNDS):
            with case_named(f"{policy}, {graph}"):
                drive(policy, graph, pieces=policy in PIECES)


@pytest.mark.parametrize("policy", ["ids-lp", "exp3-res"])
def test_agent_in_a_store_repeats_a_trial(policy: str, store_url: str) -> None:
    drive(policy, "edges(1>2 2-3 3>4 5>1)", store=store_url, pieces=policy == "ids-lp")


def test_agent_with_another_model_repeats_a_trial() -> None:
    options = "beta-bernoulli(discount=0.9)", "beta-bernoulli(half_life=6)"
    cases = [("bernoulli", one) for one in options] + [("gaussian", "normal(discount=0.8)")]
    for world, posterior in [*cases, *((one.world, None) for one in FAMILIES.values())]:
        with case_named(f"{world}, {posterior}"):
            drive("ts-n", "edges(1>2 2-3 3>4 5>1)", world, posterior)
