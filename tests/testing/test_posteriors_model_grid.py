"""Tests of testing/posteriors.py: sums over grids agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import each
from helpers.plain_posteriors import PlainCounts, PlainNormal, PlainStudent
from scipy.special import gamma
from scipy.stats import norm

from graphbandits.posteriors import COUNT, REAL, BetaBernoulli, interval, values
from graphbandits.testing.posteriors import ModelGrid, outside


@each(("mean", "sd"), [(0.0, 1.0), (5.0, 1e-3), (-1e6, 1e4)])
def test_two_normal_arms(mean: float, sd: float) -> None:
    """E max = sd / sqrt(pi), and v = sd^2 / pi, because M is mean +- sd / sqrt(pi)."""
    posterior = PlainNormal(2, mean0=mean, sd=sd, noise=sd)
    grid = ModelGrid.of(posterior, posterior.init(1))
    found = grid.statistics()
    assert found["alpha"] == pytest.approx([0.5, 0.5], abs=1e-5)
    assert found["delta"] / sd == pytest.approx(np.full(2, np.pi**-0.5), abs=2e-5)
    assert found["v"] / sd**2 == pytest.approx(np.full(2, 1.0 / np.pi), abs=2e-5)
    assert grid.scale / sd == pytest.approx(2 * 1.6449, abs=0.02)


def test_arms_of_very_different_width_and_place() -> None:
    """A narrow density between the points of the axis is found."""
    posterior = PlainNormal(2, sd=1e3, noise=1e-3)
    state = {"count": np.array([[4.0, 0.0]]), "sum": np.array([[4 * 812.34567, 0.0]])}
    grid = ModelGrid.of(posterior, state)
    assert grid.mean()[0] == pytest.approx(812.34567, abs=1e-6)
    inside = np.abs(grid.theta - 812.34567) < 5e-4  # one standard deviation
    assert grid.mass[0, inside].sum() == pytest.approx(0.6827, abs=2e-3)
    assert grid.mass[1] @ (grid.theta**2) == pytest.approx(1e6, rel=1e-4)


@each("shape", [1.0, 2.0])
def test_heavy_tails_are_inside(shape: float) -> None:
    """E max(theta, 0) of Student's distribution, which is infinite only for one degree."""
    posterior = PlainStudent(1, shape=shape)
    grid = ModelGrid.of(posterior, posterior.init(1))
    nu, scale = 2.0 * shape, float(np.sqrt(1.0 / shape))
    half = scale * np.sqrt(nu) * gamma((nu - 1) / 2) / (2 * np.sqrt(np.pi) * gamma(nu / 2))
    assert grid.mass[0] @ np.maximum(grid.theta, 0.0) == pytest.approx(half, rel=1e-4)
    assert grid.total == pytest.approx([1.0], abs=1e-5)


@each(
    "posterior",
    [PlainNormal(), PlainStudent(), PlainCounts(), PlainCounts(2, 3.0, 1e-4), BetaBernoulli.of(2)],
)
def test_probabilities_of_rewards_add_up(posterior: PlainNormal) -> None:
    grid = ModelGrid.of(posterior, posterior.init(1))
    rewards = grid.rewards()
    chance = grid.predictive(rewards)
    assert chance.sum(axis=1) == pytest.approx(np.ones(posterior.arms), abs=2e-5)
    off = np.abs(chance @ rewards.middle - grid.mean()) / grid.scale
    assert off.max() < 1e-4
    assert len(rewards.middle) < 5000


def test_information_of_one_normal_arm_against_a_known_one() -> None:
    """The best arm is the sign of theta_0 - theta_1: an integral over the predictive alone."""
    posterior = PlainNormal(2)
    y = np.linspace(-12.0, 12.0, 4001)
    spread = np.sqrt(2.0)
    wins = norm.cdf(y / 2.0 / np.sqrt(1.5))  # posterior of arm 0 after y: N(y/2, 1/2)
    terms = [p * np.log(np.maximum(2.0 * p, 1e-300)) for p in (wins, 1.0 - wins)]
    h = (norm.pdf(y / spread) / spread * sum(terms)).sum() * (y[1] - y[0])
    found = ModelGrid.of(posterior, posterior.init(1)).statistics()["h"]
    assert found == pytest.approx([h, h], abs=1e-5)


def test_axis_is_fine_at_both_ends() -> None:
    """Densities are infinite at an end of the support; the mean of Beta(a, b) is a / (a + b)."""
    posterior = BetaBernoulli([0.3, 3.0], [3.0, 0.3])
    grid = ModelGrid.of(posterior, posterior.init(1))
    assert grid.mean() == pytest.approx([0.3 / 3.3, 3.0 / 3.3], abs=1e-5)
    assert grid.total == pytest.approx([1.0, 1.0], abs=2e-4)
    edges = grid.cells.edges
    assert edges[1] < 1e-13
    assert 1.0 - edges[-2] < 1e-13


def test_numbers_outside_of_supports() -> None:
    for support in (REAL, COUNT, interval(0, 5), values(0, 1), values(1, 2.5), interval(-2, 2)):
        wrong = outside(support)
        assert not support.contains(np.array(wrong)).any()
        assert np.isnan(wrong).any()
        assert np.isinf(wrong).any()
        assert support == REAL or np.isfinite(wrong).any()
