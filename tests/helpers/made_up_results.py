"""Results without a simulation, and their comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphbandits import Results
from graphbandits._types import Floats
from graphbandits.graphs import Fixed, SparseFeedback
from graphbandits.results import PolicyResult
from helpers import FIXTURES


def made(
    regret: dict[str, Floats],
    *,
    seed: int | None = 3,
    first: int = 0,
    graph: Fixed | None = None,
    **settings: Any,
) -> Results:
    """Return results of two arms with these regrets (trials, rounds)."""
    trials, rounds = next(iter(regret.values())).shape
    policies = {
        name: PolicyResult.from_trials(values, np.array([trials, trials * (rounds - 1)]))
        for name, values in regret.items()
    }
    run = {"seed": seed, "first_trial": first, "trials": trials}
    recorded = {"graph": "some", "horizon": rounds, "trials": trials, "seed": seed, "runs": [run]}
    return Results(np.arange(1, rounds + 1), policies, ("a", "b"), recorded | settings, graph)


def random_regret(seed: int, trials: int = 6, rounds: int = 4) -> Floats:
    values: Floats = np.cumsum(np.random.default_rng(seed).random((trials, rounds)), axis=1)
    return values


def old() -> Results:
    return Results.load(FIXTURES / "results-1")


def same(one: Results, other: Results) -> None:
    assert one.hash == other.hash
    assert one.arms == other.arms
    assert list(one.policies) == list(other.policies)
    assert (one.graph is None) == (other.graph is None)
    if one.graph is not None and other.graph is not None:
        assert type(one.graph.feedback) is type(other.graph.feedback)
        assert one.graph.names == other.graph.names
        every = np.arange(len(one.arms))
        assert (one.graph.feedback.reach(every) == other.graph.feedback.reach(every)).all()


def contents(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir()}


SPARSE = SparseFeedback.from_edges(5, [0, 4, 4, 2], [3, 0, 1, 1], [0.25, 1.0, 0.1, 1.0])
