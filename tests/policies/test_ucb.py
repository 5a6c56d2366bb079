"""Tests of policies/ucb.py, compared with hand calculations and quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import each
from helpers.decision_checks import Game
from helpers.proposals import POSTERIORS, proposal
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import betainc, rel_entr

from graphbandits import BetaBernoulli
from graphbandits.graphs import as_process, from_matrix
from graphbandits.policies._policy_kernels import upper_bound


@each("t", [2, 5, 30, 1000, 10**6])
def test_bayes_ucb_plays_the_largest_quantile(t: int) -> None:
    """At the quantile of the arm played the others' distribution functions are above 1 - 1/t."""
    pi = proposal("bayes-ucb", np.eye(4), t)
    (best,) = np.flatnonzero(pi)
    assert pi[best] == 1.0
    a, b = np.array(POSTERIORS, float).T
    prior = BetaBernoulli(a, b)
    top = prior.quantile(prior.init(1), 1.0 - 1.0 / t)[0, best]
    chance = betainc(a, b, top)
    assert chance[best] == pytest.approx(1.0 - 1.0 / t, rel=1e-12)
    assert (np.delete(chance, best) > chance[best]).all()


def test_equal_indices_have_equal_probability() -> None:
    prior = BetaBernoulli([2, 1, 4, 1], [4, 2, 8, 3])
    greedy = proposal("greedy", np.eye(4), 7, prior)
    assert greedy.tolist() == [1 / 3, 1 / 3, 1 / 3, 0.0]  # equal means, of different posteriors
    equal = BetaBernoulli([3, 5, 3, 3], [2, 9, 2, 2])
    assert proposal("bayes-ucb", np.eye(4), 7, equal).tolist() == [1 / 3, 0.0, 1 / 3, 1 / 3]


def test_ucb_maxn_plays_best_arm_that_reveals_its_target() -> None:
    """0 -> 1 and 2 -> 1 only: arm 1 is unseen, and the best of 0, 1 (mean 0) and 2 is played."""
    matrix = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    game = Game("ucb-maxn", from_matrix(matrix))
    game.play(0, {0: 0})
    game.play(2, {2: 1})
    assert game.pi() == [0.0, 0.0, 1.0]
    unlucky = Game("ucb-maxn", from_matrix(matrix))
    unlucky.play(0, {0: 0})
    unlucky.play(2, {2: 0})
    assert unlucky.pi() == pytest.approx([1 / 3] * 3, abs=1e-15)  # all have the mean 0


def test_ucb_maxn_adds_probabilities_of_tied_targets() -> None:
    """All unseen, mean 0: each third goes to the arms that reveal it, evenly."""
    pi = Game("ucb-maxn", as_process("star(direction=out)", 3)).pi()
    assert pi == pytest.approx([1 / 3 + 1 / 6 + 1 / 6, 1 / 6, 1 / 6], abs=1e-15)


@settings(deadline=None)  # the first example compiles the kernel
@given(st.floats(0.0, 1.0), st.floats(1e-6, 30.0))
def test_upper_bound_is_root_of_divergence(p: float, most: float) -> None:
    q = upper_bound(p, most)
    assert p <= q <= 1.0

    def excess(x: float) -> float:
        return float(rel_entr(p, x) + rel_entr(1.0 - p, 1.0 - x)) - most

    last = np.nextafter(1.0, 0.0)
    if p >= last or excess(last) <= 0.0:
        assert q >= last
    else:
        root = brentq(excess, max(p, 1e-300), last, xtol=1e-15, rtol=1e-14)
        # rounding moves the root if the divergence is flat
        slope = max((root - p) / (root * (1.0 - root)), 1e-300)
        assert abs(q - root) <= 1e-13 + 4e-15 / slope
