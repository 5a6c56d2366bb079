"""Tests of posteriors/normal.py."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from graphbandits.posteriors import Normal, Observations


def seen(*triples: tuple[int, int, float]) -> Observations:
    trial, arm, reward = zip(*triples, strict=True)
    return Observations(np.array(trial), np.array(arm), np.array(reward, float))


def test_update_is_the_precision_weighted_mean() -> None:
    posterior = Normal.of(2, mean=[1.0, -1.0], sd=2.0, noise=0.5)
    state = posterior.update(posterior.init(2), seen((1, 0, 3.0), (1, 0, 4.0), (0, 1, 0.0)))
    assert state["precision"] == pytest.approx(np.array([[0.25, 4.25], [8.25, 0.25]]))
    assert state["mean"][1, 0] == pytest.approx((0.25 * 1.0 + 4.0 * 7.0) / 8.25)
    assert state["mean"][0, 1] == pytest.approx(-0.25 / 4.25)


def test_observation_of_weight_w_is_an_average_of_w_rewards() -> None:
    posterior = Normal.of(1, noise=2.0)
    average = Observations(
        trial=np.array([0]), arm=np.array([0]), reward=np.array([2.0]), weight=np.array([3.0])
    )
    one = posterior.update(posterior.init(1), average)
    three = posterior.update(posterior.init(1), seen((0, 0, 1.0), (0, 0, 2.0), (0, 0, 3.0)))
    for name in one:
        assert one[name] == pytest.approx(three[name], rel=1e-14)


def test_two_arms_have_closed_forms() -> None:
    posterior = Normal(np.array([0.3, -0.4]), np.array([1.5, 0.7]), 1.0)
    found = posterior.beliefs(posterior.init(1), accuracy="strict", variance=True)
    apart = np.hypot(1.5, 0.7)
    z = 0.7 / apart
    assert found.alpha[0, 0] == pytest.approx(stats.norm.cdf(z), rel=1e-12)
    assert found.delta[0, 0] == pytest.approx(apart * (stats.norm.pdf(z) - z * stats.norm.sf(z)))
    # the difference of means given its sign
    a = found.alpha[0]
    shift = stats.norm.pdf(z) / apart * np.array([1.5, 0.7]) ** 2
    assert found.v[0] == pytest.approx(shift**2 / (a[0] * a[1]), rel=1e-12)


def test_tiny_noise_reveals_the_mean() -> None:
    """h tends to the information of the mean itself about the best arm."""
    posterior = Normal(np.array([0.0, 0.0]), np.array([1.0, 1.0]), 1e-7)
    found = posterior.beliefs(posterior.init(1), accuracy="strict")
    u = (np.polynomial.legendre.leggauss(200)[0] + 1.0) / 2.0
    w = np.polynomial.legendre.leggauss(200)[1] / 2.0
    entropy = -(w * (u * np.log(u) + (1.0 - u) * np.log1p(-u))).sum()
    assert found.h[0] == pytest.approx(np.log(2.0) - entropy, rel=1e-6)


def test_huge_noise_tells_little() -> None:
    """h is v / (2 noise^2) to first order."""
    posterior = Normal(np.array([0.1, 0.0]), np.array([1.0, 0.8]), 1e6)
    found = posterior.beliefs(posterior.init(1), accuracy="strict", variance=True)
    assert found.h[0] == pytest.approx(0.5e-12 * found.v[0], rel=1e-6)


def test_without_information_h_is_nan_and_alpha_is_the_same_up_to_accuracy() -> None:
    posterior = Normal.of(3, mean=[0.0, 0.1, 0.3])
    fast = posterior.beliefs(posterior.init(1), information=False)
    slow = posterior.beliefs(posterior.init(1))
    assert np.isnan(fast.h).all()
    assert fast.alpha == pytest.approx(slow.alpha, abs=1e-10)
