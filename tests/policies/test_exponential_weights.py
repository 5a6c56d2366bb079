"""Tests of policies/exponential_weights.py and its Exp3 policies.

Decisions are compared with hand calculations.
"""

from __future__ import annotations

import math

import pytest
from helpers.cases import each
from helpers.decision_checks import Game

from graphbandits import simulate
from graphbandits.graphs import as_process


def after_one_loss(text: str, graph: str, arms: int, horizon: int = 100) -> list[float]:
    """pi of round 2 after arm 0 was played, lost, and nothing else was seen."""
    game = Game(text, as_process(graph, arms), horizon)
    game.play(0, {0: 0})
    return game.pi()


def expected_weights(loss: float, eta: float, arms: int) -> list[float]:
    """Weights of one arm with a loss and the others without."""
    weight = [math.exp(-eta * loss)] + [1.0] * (arms - 1)
    return [w / sum(weight) for w in weight]


def test_exp3_set_matches_hand_calculation() -> None:
    """eta = sqrt(2 ln K / sum Q); the loss counts 1 / q, which on no edges is K."""
    eta = math.sqrt(2 * math.log(3) / (100 * 3))
    assert after_one_loss("exp3-set", "empty", 3) == pytest.approx(
        expected_weights(3, eta, 3), abs=1e-14
    )


@each(("r", "bound"), [(0.0, 3.0), (1.0, 1.0), (0.5, 1.75)])
def test_exp3_set_under_random_feedback_matches_hand_calculation(r: float, bound: float) -> None:
    """Q = (1 - (1-r)^K) / r, and q = p + (1 - p) r."""
    eta, q = math.sqrt(2 * math.log(3) / (100 * bound)), 1 / 3 + 2 / 3 * r
    found = after_one_loss("exp3-set", f"random(r={r})", 3)
    assert found == pytest.approx(expected_weights(1 / q, eta, 3), abs=1e-14)


def test_exp3_ix_matches_hand_calculation() -> None:
    gamma = math.sqrt(math.log(3) / 3)
    first = 1 / (1 / 3 + gamma)
    eta = math.sqrt(math.log(3) / (3 + first))  # Q_1 = 3 (1/3) / (1/3 + gamma)
    assert after_one_loss("exp3-ix", "empty", 3) == pytest.approx(
        expected_weights(first, eta, 3), abs=1e-14
    )


def test_exp3_g_matches_hand_calculation() -> None:
    gamma = math.sqrt(1 / (3 * 100))
    want = [(1 - gamma) * q + gamma / 3 for q in expected_weights(3, 2 * gamma, 3)]
    assert after_one_loss("exp3-g", "empty", 3) == pytest.approx(want, abs=1e-14)


@each(("horizon", "gamma"), [(1, 0.5), (3, 0.5), (4, 0.5), (16, 0.25)])
def test_exp3_g_exploration_rate_is_at_most_half(horizon: int, gamma: float) -> None:
    """alpha = 1 on the complete graph: gamma = 1 / sqrt(T), up to 1/2."""
    game = Game("exp3-g", as_process("complete", 2), horizon)
    game.play(0, {0: 0, 1: 1})
    want = [(1 - gamma) * q + gamma / 2 for q in expected_weights(1, 2 * gamma, 2)]
    assert game.pi() == pytest.approx(want, abs=1e-14)


def test_exp3_res_of_two_arms_has_no_resampling() -> None:
    """G = 1: nothing is left to resample."""
    eta = math.sqrt(math.log(2) / (4 + 0.5))
    assert after_one_loss("exp3-res", "empty", 2) == pytest.approx(
        expected_weights(1, eta, 2), abs=1e-14
    )


def test_exp3_res_counts_each_loss_once_if_all_arms_are_observed() -> None:
    """The first arm of the permutation is observed: G = 1 for every draw."""
    game = Game("exp3-res", as_process("random(r=1)", 4))
    game.play(1, {0: 0, 1: 1, 2: 1, 3: 1})
    eta = math.sqrt(math.log(4) / (16 + 0.25))
    assert game.pi() == pytest.approx(expected_weights(1, eta, 4), abs=1e-14)


def test_exp3_res_settings_note_where_its_guarantee_holds() -> None:
    policies = ["exp3-res", "exp3-set"]
    settings = simulate(
        policies, graph="random(r=0.25)", arms=5, horizon=1000, trials=1, progress=False
    ).settings["policies"]
    assert "0.863" in settings["exp3-res"]["note"]
    assert "note" not in settings["exp3-set"]
