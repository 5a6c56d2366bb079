"""Tests of graphs/dominating_sets.py: feasible, of least weight, and solved once per graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from helpers.cases import each
from helpers.decision_cases import random_matrix
from scipy.optimize import linprog

from graphbandits import simulate
from graphbandits._types import Floats
from graphbandits.graphs import (
    DenseFeedback,
    SparseFeedback,
    UniformFeedback,
    as_process,
    dominating_sets,
)
from graphbandits.graphs.dominating_sets import dominating_set, fractional_dominating_set


@pytest.fixture
def solved(monkeypatch) -> list[int]:
    """The number of arms of every linear program that is solved, from empty caches."""
    seen: list[int] = []
    solve = dominating_sets._solve

    def counted(matrix):
        seen.append(matrix.shape[0])
        return solve(matrix)

    monkeypatch.setattr(dominating_sets, "_solve", counted)
    dominating_sets._solve_packed.cache_clear()
    dominating_sets._BY_GRAPH.clear()
    return seen


def test_fixed_graph_is_solved_once(solved: list[int]) -> None:
    simulate(
        ["eps-greedy-lp", "ucb-lp", "eps-greedy-lp(c=2)"],
        graph="ring(directed=true)",
        arms=6,
        horizon=50,
        trials=20,
        block=3,
        progress=False,
    )
    assert solved == [6]


def test_each_revealed_graph_is_solved_once(solved: list[int]) -> None:
    """There are eight undirected graphs of three arms."""
    graph = "revealed-er(p=0.5)"
    simulate("eps-greedy-lp", graph=graph, arms=3, horizon=80, trials=20, progress=False)
    assert solved == [3] * 8


def test_unhashable_feedback_has_dominating_set() -> None:
    @dataclass(frozen=True)  # equal by its fields, and so not hashable
    class Mine:
        matrix: Floats
        arms: int = 3
        deterministic: bool = True
        shared: bool = True

        def reach(self, action):
            return self.matrix[action]

    star = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    found = dominating_sets.fractional_dominating_set(Mine(star))  # type: ignore[arg-type]
    assert found.tolist() == [[0.0, 1.0, 0.0]]


def assert_optimal(z: Floats, matrix: Floats) -> None:
    """Non-negative, every arm is revealed once or more, and no lighter z does it."""
    arms = len(matrix)
    assert z.shape == (arms,)
    assert (z >= 0.0).all()
    assert ((z == 0.0) | (z >= 1e-9)).all()
    assert (z @ matrix >= 1.0 - 1e-9).all(), (z, matrix)
    best = linprog(np.ones(arms), A_ub=-matrix.T, b_ub=-np.ones(arms), bounds=(0.0, None))
    assert best.success
    assert z.sum() == pytest.approx(best.fun, abs=1e-9), (z, matrix)
    # a proof without a solver's word: a packing of the same weight
    packing = linprog(-np.ones(arms), A_ub=matrix, b_ub=np.ones(arms), bounds=(0.0, None))
    assert z.sum() == pytest.approx(-packing.fun, abs=1e-9)


@each("kind", ["directed", "undirected"])
@each("arms", range(1, 9))
def test_dominating_set_is_feasible_and_of_least_weight(arms: int, kind: str) -> None:
    rng = np.random.default_rng(arms)
    for _ in range(15):
        matrix = random_matrix(rng, arms, kind)
        found = fractional_dominating_set(DenseFeedback(matrix))
        assert found.shape == (1, arms)
        assert_optimal(found[0], matrix)


def test_known_dominating_sets() -> None:
    paper = fractional_dominating_set(as_process("paper").feedback)
    assert paper[0].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]
    ring = fractional_dominating_set(as_process("ring", 5).feedback)  # a fraction, and unique
    assert ring[0] == pytest.approx(np.full(5, 1 / 3), abs=1e-9)
    out = fractional_dominating_set(as_process("star(direction=out)", 4).feedback)
    assert out[0] == pytest.approx(np.array([1.0, 0.0, 0.0, 0.0]), abs=1e-12)
    inwards = fractional_dominating_set(as_process("star(direction=in)", 4).feedback)
    assert inwards[0] == pytest.approx(np.array([0.0, 1.0, 1.0, 1.0]), abs=1e-12)


def test_each_trial_has_dominating_set_of_its_graph() -> None:
    rng = np.random.default_rng(2)
    each = np.stack([random_matrix(rng, 5, "directed") for _ in range(6)])
    found = fractional_dominating_set(DenseFeedback(each))
    assert found.shape == (6, 5)
    for matrix, z in zip(each, found, strict=True):
        assert_optimal(z, matrix)
        assert z.tolist() == fractional_dominating_set(DenseFeedback(matrix))[0].tolist()


def test_many_arms_have_a_dominating_set() -> None:
    ring = as_process("ring(directed=true)", 150).feedback  # as lists of neighbours
    z = fractional_dominating_set(ring)[0]
    assert_optimal(z, ring.reach(np.arange(150)))


@each("arms", [1, 2, 7, 40])
@each("seed", range(4))
def test_every_arm_is_observed_from_the_greedy_set(arms: int, seed: int) -> None:
    """Each arm is observed with a probability of at least 1/2; no arm of the set is redundant."""
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((arms, arms)) < 0.2, rng.random((arms, arms)), 0.0)
    np.fill_diagonal(matrix, 1.0)
    chosen = dominating_set(DenseFeedback(matrix[None]))[0]

    def is_observed(subset: Floats) -> bool:
        return bool((matrix[subset].max(axis=0, initial=0.0) >= 0.5).all())

    assert is_observed(chosen)
    for arm in np.flatnonzero(chosen):
        assert not is_observed(chosen & (np.arange(arms) != arm))
    sparse = SparseFeedback.from_edges(arms, *np.nonzero(matrix), matrix[np.nonzero(matrix)])
    np.testing.assert_array_equal(dominating_set(sparse)[0], chosen)


def test_greedy_set_of_random_feedback() -> None:
    assert dominating_set(UniformFeedback(0.5, 4)).tolist() == [[True, False, False, False]]
    assert dominating_set(UniformFeedback(0.4, 4)).tolist() == [[True] * 4]
