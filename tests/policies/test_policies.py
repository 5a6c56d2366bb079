"""Tests of the package policies: properties that many policies share."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import each
from helpers.decision_checks import Game

from graphbandits import simulate
from graphbandits.graphs import as_process

WITHOUT_GRAPH = ["bayes-ucb", "ids", "kl-ucb", "moss", "ts", "ucb-tuned", "ucb1", "v-ids"]
DIRECTED = "revealed-er(p=0.5, directed=true)"


@each("policy", WITHOUT_GRAPH)
def test_regret_of_policies_without_graph_does_not_depend_on_graph(policy: str) -> None:
    """Outcomes are functions of trial, round and arm: side observations must not matter."""
    graphs = ("empty", "complete", "star(direction=out)", DIRECTED, "random(r=0.6)")
    regrets = [
        simulate(policy, graph=graph, arms=4, horizon=60, trials=6, seed=3, progress=False)[
            policy
        ].regret
        for graph in graphs
    ]
    for regret in regrets[1:]:
        np.testing.assert_array_equal(regret, regrets[0])


def test_regret_per_round_decreases_for_learning_policies() -> None:
    """On a fixed, directed, weighted graph: regret per round falls from the first to the second
    half, by far more than its standard error."""
    matrix = np.array([[1, 0.5, 0, 0], [0, 1, 0, 0.9], [0.3, 0, 1, 0], [0, 0, 0.7, 1]])
    policies = ["ucb-n", "exp3-set", "exp3-ix", "exp3-g", "exp3-res", "kl-ucb", "ucb-tuned", "moss"]
    result = simulate(policies, graph=matrix, horizon=2000, trials=60, seed=5, progress=False)
    half = np.searchsorted(result.rounds, 1000)
    for policy in policies:
        regret = result[policy].regret
        change = 2.0 * regret[:, half] - regret[:, -1]  # first half minus second
        assert change.mean() > 4.0 * change.std(ddof=1) / np.sqrt(len(change)), policy


def test_greedy_learns_from_all_observations_and_shares_ties() -> None:
    game = Game("greedy", as_process("complete", 3))
    assert game.pi() == pytest.approx([1 / 3] * 3, abs=1e-15)
    game.play(0, {0: 0, 1: 1, 2: 1})
    assert game.pi() == [0.0, 0.5, 0.5]
