"""Tests of worlds/models.py: fixed means, means drawn from the prior, and outcomes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from scipy.stats import beta, kstest

from graphbandits import Bernoulli, BetaBernoulli, simulate
from graphbandits.errors import InputError
from graphbandits.posteriors.beta_bernoulli import beta_quantile
from graphbandits.rng import Keys, Stream

PRIOR = BetaBernoulli(np.array([1.0, 2.0, 0.5]), np.array([1.0, 5.0, 0.5]))
MEANS = np.array([0.1, 0.7, 0.4])


def test_every_trial_has_the_fixed_means() -> None:
    for keys in (Keys(1, 0, 4), Keys(7, 30, 2)):
        found = Bernoulli(PRIOR, fixed=MEANS).means(keys)
        assert (found == MEANS).all()
        assert found.shape == (keys.trials, 3)


def test_fixed_means_are_copied() -> None:
    given = MEANS.copy()
    world = Bernoulli(PRIOR, fixed=given)
    given[:] = 0.9
    found = world.means(Keys(1, 0, 2))
    found[:] = 0.5  # nor is what it gives away its own
    assert (world.means(Keys(1)) == MEANS).all()


def test_policies_use_prior_of_world_with_fixed_means() -> None:
    world = Bernoulli(PRIOR, fixed=MEANS)
    assert world.prior is PRIOR
    assert world.arms == 3


def test_regret_uses_fixed_means() -> None:
    """Every play costs a gap of the given means; in the mean of the trials by the plays."""
    result = simulate(
        "ts-n", Bernoulli(PRIOR, fixed=MEANS), "empty", horizon=60, trials=30, seed=2
    )["ts-n"]
    gaps = MEANS.max() - MEANS
    assert result.plays.sum() == 60 * 30
    assert result.final.mean() == pytest.approx(result.plays @ gaps / 30, abs=1e-9)
    assert len(np.unique(result.final)) > 10  # the outcomes still differ from trial to trial


def test_outcomes_have_the_fixed_means() -> None:
    world, keys = Bernoulli(PRIOR, fixed=[0.0, 1.0, 0.3]), Keys(3, 0, 4000)
    theta = world.means(keys)
    trial, arm = np.repeat(np.arange(4000), 3), np.tile(np.arange(3), 4000)
    share = world.outcomes(theta, keys, 1, trial, arm).reshape(4000, 3).mean(axis=0)
    assert share[:2].tolist() == [0.0, 1.0]
    assert abs(share[2] - 0.3) <= 4.5 * np.sqrt(0.21 / 4000)


@pytest.mark.parametrize(
    "wrong",
    [
        [0.1, 0.2],
        [[0.1, 0.2, 0.3]],
        [0.1, 0.2, 1.1],
        [-0.1, 0.2, 0.3],
        [0.1, np.nan, 0.3],
        0.5,
        ["a", "b", "c"],
        [None, None, 0.2],
        [[0.1], [0.2, 0.3], 0.1],
    ],
)
def test_invalid_fixed_means_are_rejected(wrong: Any) -> None:
    with refuses(InputError):
        Bernoulli(PRIOR, fixed=wrong)


def test_fixed_means_are_stored_with_results() -> None:
    world = Bernoulli(PRIOR, fixed=MEANS)
    settings = simulate("ts-n", world, "empty", horizon=3, trials=2, seed=2).settings
    assert settings["means"] == MEANS.tolist()
    assert settings["prior"] == np.stack([PRIOR.a, PRIOR.b], axis=1).tolist()
    assert "means" not in simulate("ts-n", graph="empty", horizon=3, trials=2).settings


ENDS = (1e-3, 0.04, 1.0, 1e3, 1e9)


@pytest.mark.parametrize("b", ENDS)
@pytest.mark.parametrize("a", ENDS)
def test_means_are_draws_from_the_prior(a: float, b: float) -> None:
    """In [0, 1] without a warning; their mean within 4.5 standard errors, and 4000 of them in
    Kolmogorov and Smirnov's test at level 1e-4, but for priors that have atoms among floats.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theta = Bernoulli(BetaBernoulli.of(20, a, b)).means(Keys(3, 0, 200)).ravel()
    assert ((theta >= 0.0) & (theta <= 1.0)).all()
    mean, variance = beta.stats(a, b)
    assert abs(theta.mean() - mean) <= 4.5 * np.sqrt(variance / theta.size)
    if a >= 0.04 and b >= 1.0:
        assert kstest(theta, beta(a, b).cdf).pvalue > 1e-4


def test_means_where_boost_quantile_is_wrong() -> None:
    """Beta(1000, 1e9) is Gamma(1000)/1e9 but for parts in a million: mean 1e-6, spread 3.2e-8."""
    theta = Bernoulli(BetaBernoulli.of(50, 1000.0, 1e9)).means(Keys(3, 0, 100))
    assert np.abs(theta / 1e-6 - 1.0).max() < 6 / np.sqrt(1000)
    assert theta.std() == pytest.approx(1e-6 / np.sqrt(1000), rel=4.5 / np.sqrt(2 * theta.size))


def test_means_are_quantiles_of_the_prior() -> None:
    """Each mean has its own random number."""
    a, b = np.exp(np.random.default_rng(1).uniform(np.log(0.5), np.log(1e5), (2, 30)))
    keys = Keys(4, 0, 50)
    u = Stream(keys, 0, "theta").uniform(30)
    assert (Bernoulli(BetaBernoulli(a, b)).means(keys) == beta_quantile(a, b, u)).all()


def test_outcomes_have_the_mean_of_their_arm() -> None:
    world = Bernoulli(BetaBernoulli.of(3, 2.0, 5.0))
    keys = Keys(1, 0, 2)
    theta = world.means(keys)
    trial, arm = np.repeat([0, 1], 3), np.tile(np.arange(3), 2)
    rewards = np.array([world.outcomes(theta, keys, t, trial, arm) for t in range(1, 8001)])
    error = np.sqrt(theta * (1 - theta) / 8000).ravel()
    assert (np.abs(rewards.mean(axis=0) - theta.ravel()) <= 4.5 * error).all()


def test_means_have_distribution_of_prior() -> None:
    from scipy.stats import beta, kstest

    prior = BetaBernoulli(np.array([1.0, 2.0, 0.5]), np.array([1.0, 5.0, 0.5]))
    theta = Bernoulli(prior).means(Keys(1, 0, 5000))
    for i in range(3):
        assert kstest(theta[:, i], beta(prior.a[i], prior.b[i]).cdf).pvalue > 1e-4
