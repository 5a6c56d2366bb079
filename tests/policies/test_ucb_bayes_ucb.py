"""Tests of policies/ucb.py: quantiles and ties."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import each
from helpers.decision_checks import Game
from helpers.proposals import POSTERIORS, proposal
from scipy.special import betainc

from graphbandits import BetaBernoulli
from graphbandits.graphs import as_process


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


def test_bayes_ucb_explores_more_in_later_rounds() -> None:
    """Its level rises with the rounds: the median first, then far into the tails."""
    arms = [(900.0, 500.0), (2.0, 2.0), (40.0, 30.0)]
    prior = BetaBernoulli(*np.array(arms).T)
    early, late = (proposal("bayes-ucb", np.eye(3), t, prior) for t in (2, 100))
    assert early.tolist() == [1.0, 0.0, 0.0]
    assert late.tolist() == [0.0, 1.0, 0.0]


def test_bayes_ucb_first_round_is_uniform() -> None:
    """1 - 1/t is 0 in round 1, below which no mean lies."""
    assert proposal("bayes-ucb", np.eye(4), 1).tolist() == [0.25] * 4


def test_equal_indices_have_equal_probability() -> None:
    prior = BetaBernoulli([2, 1, 4, 1], [4, 2, 8, 3])
    greedy = proposal("greedy", np.eye(4), 7, prior)
    assert greedy.tolist() == [1 / 3, 1 / 3, 1 / 3, 0.0]  # equal means, of different posteriors
    equal = BetaBernoulli([3, 5, 3, 3], [2, 9, 2, 2])
    assert proposal("bayes-ucb", np.eye(4), 7, equal).tolist() == [1 / 3, 0.0, 1 / 3, 1 / 3]


def test_bayes_ucb_quantiles_of_first_round_are_equal() -> None:
    """1 - 1/t = 0 at t = 1, of any posterior; then unobserved arms have their prior."""
    game = Game("bayes-ucb", as_process("empty", 2), prior=[(1, 1), (1, 5)])
    assert game.pi() == [0.5, 0.5]
    game.play(0, {0: 1})
    assert game.pi() == [1.0, 0.0]  # medians of Beta(2, 1) and Beta(1, 5): 0.71 and 0.13
