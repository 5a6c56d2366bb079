"""Posteriors and graphs for the tests of the joint gain."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.graphs import Feedback
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rules.gains import joint_gain

#: Asymmetric, a tie, arms far behind, and a leader.
JOINT_POSTERIORS = [
    [(1, 2), (4, 4), (12, 9)],
    [(1, 1), (1, 1), (2, 1), (1, 3)],
    [(9, 2), (1, 6), (3, 3), (3, 3), (2, 7)],
    [(2, 1), (5, 3), (1, 4), (3, 3), (6, 2), (1, 1)],
]
WEIGHTS = np.array(
    [[1.0, 0.9, 0.0, 0.3], [0.0, 1.0, 0.5, 0.0], [0.2, 0.0, 1.0, 0.0], [1.0, 0.6, 0.8, 1.0]]
)


def state_of(params: Any, trials: int = 1) -> State:
    a, b = np.array(params, np.float64).T
    return {"a": np.tile(a, (trials, 1)), "b": np.tile(b, (trials, 1))}


def joint_gain_of(params: Any, graph: Feedback, accuracy: str = "strict") -> Floats:
    return joint_gain(BetaBernoulli.of(len(params)), state_of(params), graph, accuracy)[0]


def directed_matrix(arms: int, seed: int) -> Floats:
    """A 0/1 graph that is no other way round the same."""
    rng = np.random.default_rng(seed)
    return np.maximum(np.eye(arms), rng.random((arms, arms)) < 0.5)
