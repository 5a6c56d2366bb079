"""Tests of posteriors/beta_interval.py: rewards in an interval with Beta posteriors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.cases import each
from scipy.stats import kstest

from graphbandits.errors import InputError
from graphbandits.live.setup import PriorCheck
from graphbandits.posteriors import BetaBernoulli, BetaInterval, Observations
from graphbandits.posteriors._update_kernels import hashed_uniform
from graphbandits.rng import Keys, Stream


def observed(trial: list[int], arm: list[int], reward: list[float]) -> Observations:
    return Observations(np.array(trial), np.array(arm), np.array(reward, float))


def test_fractions_add_their_place_in_the_interval() -> None:
    posterior = BetaInterval.of(2, low=-1, high=3, evidence="fraction")
    seen = observed([0, 0, 1], [0, 0, 1], [0.0, 3.0, -1.0])
    state = posterior.update(posterior.init(trials=2), seen)
    assert state["a"].tolist() == [[2.25, 1.0], [1.0, 1.0]]
    assert state["b"].tolist() == [[1.75, 1.0], [1.0, 2.0]]


def test_draws_add_a_success_or_a_failure() -> None:
    posterior = BetaInterval.of(1)
    state = posterior.init(trials=1)
    for n in range(50):
        posterior.update(state, observed([0], [0], [0.3]))
        assert state["a"][0, 0] + state["b"][0, 0] == 3.0 + n
        assert state["a"][0, 0] == round(state["a"][0, 0])
    assert 1.0 < state["a"][0, 0] < 51.0


@each("evidence", ["draw", "fraction"])
def test_rewards_at_the_ends_count_as_bernoulli_outcomes(evidence: str) -> None:
    posterior, bernoulli = BetaInterval.of(2, low=2, high=4, evidence=evidence), BetaBernoulli.of(2)
    rng = np.random.default_rng(1)
    arm, outcome = rng.integers(0, 2, (2, 60))
    trial = np.zeros(60, np.int64)
    mine = posterior.update(posterior.init(1), Observations(trial, arm, 2.0 + 2.0 * outcome))
    other = bernoulli.update(bernoulli.init(1), Observations(trial, arm, outcome.astype(float)))
    for name in ("a", "b"):
        assert (mine[name] == other[name]).all()


def test_draws_are_successes_as_often_as_they_should() -> None:
    """Over arms, parameters and rewards; the mean of a converges to that of the rewards."""
    posterior = BetaInterval.of(2000)
    rng = np.random.default_rng(2)
    state = posterior.init(trials=1)
    arm, trial = np.arange(2000), np.zeros(2000, np.int64)
    total = np.zeros(2000)
    for _ in range(50):
        reward = rng.beta(2.0, 5.0, 2000)
        total += reward
        posterior.update(state, Observations(trial, arm, reward))
    successes = state["a"][0] - 1.0
    # each success has the variance p (1 - p) given the reward p: 50 (E p - E p^2)
    noise = math.sqrt(50 * (2 / 7 - 2 * 3 / (7 * 8)))
    z = (successes - total) / noise
    assert abs(z.mean()) < 4.0 / math.sqrt(2000)
    assert z.std() == pytest.approx(1.0, abs=0.07)


def test_hashed_numbers_are_uniform_and_independent() -> None:
    arms = [hashed_uniform(i, 1.0, 1.0, 0.5) for i in range(5000)]
    counts = [hashed_uniform(0, 1.0 + i % 71, 1.0 + i // 71, 0.5) for i in range(5000)]
    rewards = [hashed_uniform(0, 1.0, 1.0, x) for x in np.linspace(0.0, 1.0, 5000)]
    for numbers in (arms, counts, rewards):
        assert kstest(numbers, "uniform").pvalue > 1e-4
        lagged = np.corrcoef(numbers[1:], numbers[:-1])[0, 1]
        assert abs(lagged) < 5.0 / math.sqrt(5000)


def test_updates_do_not_depend_on_the_block() -> None:
    posterior = BetaInterval.of(3)
    reward = np.random.default_rng(3).random((4, 20))
    together = posterior.init(trials=4)
    for t in range(20):
        arm = np.full(4, t % 3)
        posterior.update(together, Observations(np.arange(4), arm, reward[:, t]))
    for trial in range(4):
        alone = posterior.init(trials=1)
        for t in range(20):
            posterior.update(alone, observed([0], [t % 3], [reward[trial, t]]))
        assert (alone["a"][0] == together["a"][trial]).all()


def test_statistics_are_those_of_beta_arms_in_units_of_the_interval() -> None:
    a, b = np.array([3.0, 1.5, 7.0]), np.array([2.0, 4.0, 6.5])
    posterior, other = BetaInterval(a, b, -2.0, 6.0), BetaBernoulli(a, b)
    state = posterior.init(trials=1)
    mine = posterior.beliefs(state, variance=True, estimate=True, accuracy="strict")
    truth = other.beliefs(state, "strict", variance=True)
    assert (mine.alpha == truth.alpha).all()
    assert (mine.h == truth.h).all()
    assert mine.delta == pytest.approx(8.0 * truth.delta, rel=1e-15)
    assert mine.v == pytest.approx(64.0 * truth.v, rel=1e-15)  # type: ignore[operator]
    assert mine.rho == pytest.approx(-2.0 + 8.0 * truth.rho, rel=1e-15)
    assert mine.error is not None
    assert mine.error[0] < 1e-8
    assert np.isnan(posterior.beliefs(state, information=False).h).all()
    assert posterior.mean(state) == pytest.approx(-2.0 + 8.0 * other.mean(state))
    assert posterior.quantile(state, 0.3) == pytest.approx(-2.0 + 8.0 * other.quantile(state, 0.3))
    assert posterior.quantile(state, 1.0).tolist() == [[6.0] * 3]
    stream = Stream(Keys(1), 1, "test")
    drawn = posterior.sample(state, stream)
    assert drawn == pytest.approx(-2.0 + 8.0 * other.sample(state, stream))
    assert (posterior.sample_order(state, stream) == other.sample_order(state, stream)).all()


def test_density_integrates_to_one() -> None:
    posterior = BetaInterval.of(1, a=3, b=2, low=-2, high=6)
    theta = -2.0 + 8.0 * (np.arange(4000) + 0.5) / 4000.0
    density = np.exp(posterior.log_density(posterior.init(trials=1), theta))
    assert density.sum() * 8.0 / 4000.0 == pytest.approx(1.0, abs=1e-6)


@each("wrong", [-0.1, 1.1, math.nan, math.inf])
def test_rewards_outside_of_the_interval_are_refused(wrong: float) -> None:
    posterior = BetaInterval.of(1)
    with pytest.raises(InputError, match=r"a number in \[0, 1\]"):
        posterior.update(posterior.init(trials=1), observed([0], [0], [wrong]))
    with pytest.raises(InputError, match=r"a number in \[0, 1\]"):
        posterior.check_reward(wrong)


def test_prior_cannot_be_checked() -> None:
    """Two priors see different draws of the same rewards: a ratio of likelihoods means nothing."""
    assert not PriorCheck(BetaInterval.of(2)).models
