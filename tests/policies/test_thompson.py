"""Tests of policies/thompson.py, compared with hand calculations and with alpha."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import each
from helpers.decision_checks import Game
from scipy.stats import chisquare

from graphbandits import BetaBernoulli, simulate
from graphbandits._types import Floats, State
from graphbandits.graphs import as_process
from graphbandits.policies import Problem, View
from graphbandits.policies.thompson import TSNSampled
from graphbandits.rng import Keys, Stream


def test_ts_maxn_matches_hand_calculation() -> None:
    """Arm 0 lost, the others won; it is the best with probability 1/15.

    If arm 0 reveals the others, they have higher scores, and only arm 0 reveals itself. If the
    others reveal arm 0, one of them is played instead.
    """
    for direction, want in (("out", [1 / 15, 7 / 15, 7 / 15]), ("in", [0.0, 0.5, 0.5])):
        game = Game("ts-maxn", as_process(f"star(direction={direction})", 3))
        game.play(0, {0: 0, 1: 1, 2: 1})
        assert game.pi() == pytest.approx(want, abs=1e-9)
    first = Game("ts-maxn", as_process("star(direction=out)", 3)).pi()
    assert first == pytest.approx([2 / 3, 1 / 6, 1 / 6], abs=1e-9)


def test_exact_and_sampled_thompson_sampling_agree() -> None:
    """Same distribution of plays, so the same expected regret."""
    results = simulate(["ts-n", "ts-n-sampled"], graph="paper", horizon=150, trials=1500, seed=3)
    (difference,) = results.differences()
    assert abs(difference.mean) <= 4 * difference.standard_error


TRIALS = 40_000


def played(posterior: BetaBernoulli, keys: Keys) -> Floats:
    """The one-hot plays of the first round, one row per trial."""
    feedback = as_process("empty", posterior.arms).round(1, keys)
    view = View(1, keys, Problem(posterior), feedback)
    return TSNSampled().propose(posterior.init(keys.trials), view)


@each(
    ("parameters", "tied"),
    [  # (the posteriors, the least share of trials in which the largest draws tie)
        ([(1, 1e-3)] * 3, 0.8),
        ([(1, 1e-3), (2, 4e-3), (0.5, 2e-3), (3, 0.01)], 0.8),
        ([(1e-3, 1), (1e-3, 0.2), (2e-3, 7)], 0.05),
        ([(1e-3, 4e-3), (5e-3, 1e-3), (2e-3, 2e-3)], 0.4),
        ([(1e-3, 1e9), (1e-3, 1e3), (1.5e-3, 1e8)], 0.05),
        ([(1e9, 1e-3), (1e8, 2e-3), (5, 1.5e-3)], 0.8),
        ([(3, 2), (1, 1.5), (40, 30)], 0.0),
    ],
)
def test_arms_are_played_with_probability_alpha(
    parameters: list[tuple[float, float]], tied: float
) -> None:
    """Chi-square at level 1e-4 against the strict alpha, fixed seed."""
    posterior = BetaBernoulli(*np.array(parameters, float).T, accuracy="strict")
    keys = Keys(5, 0, TRIALS)
    draws = posterior.sample(posterior.init(TRIALS), Stream(keys, 1, "policy/thompson"))
    ties = (draws == draws.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert ties.mean() >= tied  # enough trials for a difference
    alpha = posterior.beliefs(posterior.init(1)).alpha[0]
    pi = played(posterior, keys)
    assert (pi.sum(axis=1) == 1.0).all()
    assert chisquare(pi.sum(axis=0), alpha * TRIALS, sum_check=False).pvalue > 1e-4
    apart = ~ties
    assert (pi.argmax(axis=1) == draws.argmax(axis=1))[apart].all()


def test_trial_does_not_depend_on_its_block() -> None:
    """Also if draws tie in other trials only."""
    posterior = BetaBernoulli([1.0, 2.0, 0.02], [2e-2, 4e-2, 0.01])
    block = played(posterior, Keys(5, 0, 60))
    alone = [played(posterior, Keys(5, trial, 1))[0] for trial in range(60)]
    assert (block == np.array(alone)).all()


def test_posterior_with_draws_only_is_supported() -> None:
    """Without ``sample_order`` the first of the largest draws is played."""

    class Plain:
        arms = 3

        def init(self, trials: int) -> State:
            return {"a": np.ones((trials, 3))}

        def sample(self, state: State, stream: Stream) -> Floats:
            return np.array([[0.1, 0.9, 0.9], [0.5, 0.2, 0.1]])

    pi = played(Plain(), Keys(5, 0, 2))  # type: ignore[arg-type]
    assert pi.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
