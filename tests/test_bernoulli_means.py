"""The means of a Bernoulli world over the whole range of priors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import beta, kstest

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits.posteriors.beta_bernoulli import beta_quantile
from graphbandits.rng import Keys, Stream

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


def test_means_where_boost_misses_a_quantile() -> None:
    """Beta(1000, 1e9) is Gamma(1000)/1e9 but for parts in a million: mean 1e-6, spread 3.2e-8."""
    theta = Bernoulli(BetaBernoulli.of(50, 1000.0, 1e9)).means(Keys(3, 0, 100))
    assert np.abs(theta / 1e-6 - 1.0).max() < 6 / np.sqrt(1000)
    assert theta.std() == pytest.approx(1e-6 / np.sqrt(1000), rel=4.5 / np.sqrt(2 * theta.size))


def test_means_are_quantiles_of_the_prior() -> None:
    """Each of its own random number."""
    a, b = np.exp(np.random.default_rng(1).uniform(np.log(0.5), np.log(1e5), (2, 30)))
    keys = Keys(4, 0, 50)
    u = Stream(keys, 0, "theta").uniform(30)
    assert (Bernoulli(BetaBernoulli(a, b)).means(keys) == beta_quantile(a, b, u)).all()
