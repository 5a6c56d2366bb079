"""Tests of policies/dominating_set.py: exploration by the dominating set."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import each
from helpers.decision_checks import Game

from graphbandits import Agent, simulate
from graphbandits.graphs import as_process


def test_early_rounds_explore_by_the_dominating_set() -> None:
    """c sum z / d^2 = 5 on the paper's graph: until round 5 only arm 3 is played."""
    game = Game("eps-greedy-lp", as_process("paper"))
    for _ in range(5):
        assert game.pi() == [0.0, 0.0, 1.0, 0.0, 0.0]
        game.play(2, {0: 1, 1: 0, 2: 0, 3: 0, 4: 0})
    assert game.pi() == pytest.approx([1 / 6, 0.0, 5 / 6, 0.0, 0.0], abs=1e-15)


def test_unobserved_arms_are_preferred() -> None:
    game = Game("eps-greedy-lp(c=0.1)", as_process("empty", 3))
    assert game.pi() == pytest.approx([1 / 3] * 3, abs=1e-15)
    game.play(1, {1: 1})
    epsilon = 0.1 * 3 / 2
    half = (1 - epsilon) / 2 + epsilon / 3
    assert game.pi() == pytest.approx([half, epsilon / 3, half], abs=1e-15)


def test_large_sparse_graph_is_explored_by_its_dominating_set() -> None:
    """Stars of 30 arms: each needs its middle, and nothing else."""
    arms, size = 300, 30
    middle = np.arange(0, arms, size)
    matrix = np.eye(arms)
    for m in middle:
        matrix[m, m : m + size] = 1.0
    result = simulate("eps-greedy-lp", graph=matrix, horizon=10, trials=2, seed=1, progress=False)[
        "eps-greedy-lp"
    ]
    assert result.plays[middle].sum() == result.plays.sum() == 20  # eps_t = 1 for so long


@each("text", ["eps-greedy-lp(d=1e-200)", "eps-greedy-lp(c=1e308)"])
def test_huge_exploration_rate_gives_no_warning(text: str) -> None:
    decision = Agent(text, arms=3, graph="empty", seed=1).decide()
    assert decision.probability == pytest.approx(1.0 / 3.0)
