"""Tests of posteriors/normal.py."""

from __future__ import annotations

import numpy as np
import pytest

from graphbandits.posteriors import NormalInverseGamma, Observations


def seen(*triples: tuple[int, int, float]) -> Observations:
    trial, arm, reward = zip(*triples, strict=True)
    return Observations(np.array(trial), np.array(arm), np.array(reward, float))


def test_update_is_that_of_all_rewards_together() -> None:
    posterior = NormalInverseGamma.of(1, mean=1.0, count=2.0, shape=3.0, scale=4.0)
    y = np.array([0.5, 2.0, -1.0])
    state = posterior.update(posterior.init(1), seen(*((0, 0, v) for v in y)))
    assert state["count"].item() == 5.0
    assert state["shape"].item() == 4.5
    assert state["mean"].item() == pytest.approx((2.0 + y.sum()) / 5.0)
    apart = ((y - y.mean()) ** 2).sum() / 2.0 + 3.0 * 2.0 * (y.mean() - 1.0) ** 2 / (2.0 * 5.0)
    assert state["scale"].item() == pytest.approx(4.0 + apart)


def test_bayes_rule_with_the_conditional_density() -> None:
    """The posterior is the prior times the density of the reward given the mean."""
    posterior = NormalInverseGamma.examples()[1]
    theta = np.linspace(-3.0, 3.0, 7)
    before, after = posterior.init(1), posterior.init(1)
    after = posterior.update(after, seen((0, 0, 0.7), (0, 1, 0.7), (0, 2, 0.7)))
    change = posterior.log_density(after, theta) - posterior.log_density(before, theta)
    ratio = change - posterior.log_conditional(before, 0.7, theta)
    assert np.ptp(ratio, axis=2) == pytest.approx(0.0, abs=1e-12)


def test_many_degrees_of_freedom_are_normal() -> None:
    from graphbandits.posteriors import Normal

    student = NormalInverseGamma.of(3, [0.0, 0.3, 0.5], 2.0, 1e9, 1e9)
    normal = Normal.of(3, [0.0, 0.3, 0.5], 0.5**0.5, noise=1.0)
    one = student.beliefs(student.init(1), variance=True)
    two = normal.beliefs(normal.init(1), variance=True)
    for name in ("alpha", "delta", "h", "v"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-7)
