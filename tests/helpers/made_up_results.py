"""Results without a simulation, small simulations that record everything, and their comparison."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np

from graphbandits import Bernoulli, BetaBernoulli, Results, simulate
from graphbandits._types import Floats
from graphbandits.graphs import Fixed, SparseFeedback
from graphbandits.simulation.results import PolicyResult


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
    recorded |= {"problem": "a" * 64, "regret": "pseudo"}
    return Results(np.arange(1, rounds + 1), policies, ("a", "b"), recorded | settings, graph)


def random_regret(seed: int, trials: int = 6, rounds: int = 4) -> Floats:
    values: Floats = np.cumsum(np.random.default_rng(seed).random((trials, rounds)), axis=1)
    return values


def recorded(**changes: Any) -> Results:
    """Return a small simulation on a directed graph with names, with ratios and trajectories."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(["ann", "bob lee", "Zoë"])
    graph.add_edge("ann", "bob lee", probability=0.5)
    graph.add_edge("bob lee", "Zoë")
    prior = BetaBernoulli(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.5]))
    given: dict[str, Any] = {"ratios": "bound", "record": ("actions", "observations")}
    given |= {"world": Bernoulli(prior), "horizon": 30, "trials": 12, "seed": 4, "progress": False}
    return simulate(["ids-n", "ts-n"], graph=graph, **given | changes)


def recorded_eligible(eligible: float = 0.5) -> Results:
    """Return the same simulation with eligible arms, which have no ratios."""
    record = ("actions", "observations", "eligible")
    return recorded(ratios=None, record=record, eligible=eligible)


def same(one: Results, other: Results) -> None:
    """Check that results have the same numbers, bit for bit, and the same arms and runs."""
    assert (one.arms, one.runs) == (other.arms, other.runs)
    assert one.rounds.tolist() == other.rounds.tolist()
    assert list(one.policies) == list(other.policies)
    for name, mine in one.policies.items():
        theirs = other[name]
        for part in ("mean", "standard_error", "quantiles", "final", "plays", "regret"):
            assert getattr(mine, part).tobytes() == getattr(theirs, part).tobytes(), (name, part)
        assert (mine.ratios is None) == (theirs.ratios is None)
        if mine.ratios is not None and theirs.ratios is not None:
            for part, array in mine.ratios.items():
                assert array.tobytes() == getattr(theirs.ratios, part).tobytes(), (name, part)
    assert (one.graph is None) == (other.graph is None)
    if one.graph is not None and other.graph is not None:
        assert type(one.graph.feedback) is type(other.graph.feedback)
        assert one.graph.names == other.graph.names
        every = np.arange(len(one.arms))
        assert (one.graph.feedback.reach(every) == other.graph.feedback.reach(every)).all()


SPARSE = SparseFeedback.from_edges(5, [0, 4, 4, 2], [3, 0, 1, 1], [0.25, 1.0, 0.1, 1.0])
