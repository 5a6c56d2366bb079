"""Algorithm 1, in lockstep over the trials of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from graphbandits.engine.calls import decide, learn, reveal, show, start
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.prospect import Prospect
from graphbandits.policies import Event, Policy, Problem, View
from graphbandits.posteriors import Observations
from graphbandits.rng import Keys
from graphbandits.types import Floats, Ints
from graphbandits.worlds import World


@dataclass(frozen=True, eq=False)
class BlockOutcome:
    """Regret of each trial at the recorded rounds (B, R), and its plays of each arm (B, K)."""

    regret: Floats
    plays: Ints


class Watch(Protocol):
    """Looks on while a block is played, and has no say in it."""

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        """Before the play of round t is drawn from ``pi``."""

    def observed(self, t: int, seen: Observations) -> None:
        """After it."""


def run_block(
    policy: Policy,
    world: World,
    process: Process,
    horizon: int,
    keys: Keys,
    record: Ints,
    realised: bool = False,
    advance: Callable[[int], None] = lambda rounds: None,
    watch: Watch | None = None,
) -> BlockOutcome:
    """Play ``horizon`` rounds in every trial of the block; ``record`` lists rounds to keep.

    ``advance`` is called after every round, and whatever it raises ends the block.
    """
    problem = Problem(world.prior, horizon, policy.needs, Prospect(process))
    state = start(policy, problem, keys)
    theta = world.means(keys)
    best = theta.argmax(axis=1)
    rows = np.arange(keys.trials)
    regret = np.zeros(keys.trials)
    kept = np.empty((keys.trials, len(record)))
    plays = np.zeros((keys.trials, world.arms), np.int64)
    recorded = 0
    for t in range(1, horizon + 1):
        graph = show(process, t, keys)
        pi, action = decide(policy, state, View(t, keys, problem, graph))
        if watch is not None:
            watch.decided(t, graph, pi)
        trial, arm = reveal(graph, action, keys, t)
        seen = Observations(trial, arm, world.outcomes(theta, keys, t, trial, arm))

        # before the policy gets hold of the arrays
        if realised:
            regret += world.outcomes(theta, keys, t, rows, best)
            regret -= world.outcomes(theta, keys, t, rows, action)
        else:
            regret += theta[rows, best] - theta[rows, action]
        plays[rows, action] += 1
        if watch is not None:
            watch.observed(t, seen)

        state = learn(policy, state, Event(t, keys, problem, graph, pi, action, seen))
        if t == record[recorded]:
            kept[:, recorded] = regret
            recorded += 1
        advance(1)
    return BlockOutcome(kept, plays)
