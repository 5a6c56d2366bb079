"""Tests of the package policies: properties that many policies share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.cases import each
from helpers.decision_checks import Game
from helpers.policy_names import FORMULA_POLICIES
from helpers.recorded_runs import POLICIES

from graphbandits import Bernoulli, BetaBernoulli, simulate
from graphbandits.graphs import as_process
from graphbandits.graphs.properties import GraphInfo
from graphbandits.policies import Problem, View
from graphbandits.registry import build
from graphbandits.rng import Keys


@each("text", [text for text in FORMULA_POLICIES if text not in ("eps-greedy-lp", "ucb-lp")])
def test_first_round_is_uniform_on_empty_graph(text: str) -> None:
    assert Game(text, as_process("empty", 4)).pi() == pytest.approx([0.25] * 4, abs=1e-12)


@each("text", FORMULA_POLICIES)
@each("reward", [0, 1])
def test_single_arm_is_played_with_probability_one(text: str, reward: int) -> None:
    for graph in ("empty", "random(r=0)", "random(r=1)"):
        game = Game(text, as_process(graph, 1))
        for _ in range(30):
            assert game.pi() == [1.0]
            game.play(0, {0: reward})


@each("text", FORMULA_POLICIES)
@each("r", [0, 1])
def test_random_feedback_with_r_0_or_1_matches_empty_or_complete_graph(text: str, r: int) -> None:
    """The same decisions, round by round, though one graph is a rate and the other a matrix."""
    rng = np.random.default_rng(r)
    graphs = f"random(r={r})", ("empty", "complete")[r]
    games = [Game(text, as_process(graph, 3)) for graph in graphs]
    for _ in range(60):
        rate, matrix = (game.pi() for game in games)
        assert rate == pytest.approx(matrix, abs=1e-12)
        action = int(rng.choice(3, p=np.array(rate) / sum(rate)))
        seen: dict[int, Any] = {i: int(rng.random() < 0.4) for i in range(3) if r or i == action}
        for game in games:
            game.play(action, seen)


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


def test_propose_does_not_change_state() -> None:
    keys = Keys(1, 0, 3)
    process, world = as_process("paper"), Bernoulli(BetaBernoulli.of(5))
    for name in POLICIES:
        policy = build("policy", name)
        problem = Problem(world.prior, 10, policy.needs, GraphInfo(process))
        state = policy.init(problem, keys)
        before = {key: value.copy() for key, value in state.items()}
        policy.propose(state, View(1, keys, problem, process.round(1, keys)))
        assert all((state[key] == before[key]).all() for key in before)


def test_greedy_learns_from_all_observations_and_shares_ties() -> None:
    game = Game("greedy", as_process("complete", 3))
    assert game.pi() == pytest.approx([1 / 3] * 3, abs=1e-15)
    game.play(0, {0: 0, 1: 1, 2: 1})
    assert game.pi() == [0.0, 0.5, 0.5]
