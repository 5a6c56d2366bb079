"""Tests of posteriors/gamma_poisson.py."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from graphbandits.posteriors import GammaPoisson, Observations
from graphbandits.rng import Keys, Stream


def seen(*triples: tuple[int, int, float]) -> Observations:
    trial, arm, reward = zip(*triples, strict=True)
    return Observations(np.array(trial), np.array(arm), np.array(reward, float))


def test_update_adds_counts_and_exposures() -> None:
    posterior = GammaPoisson.of(2, shape=[1.0, 2.0], rate=0.5)
    state = posterior.update(posterior.init(1), seen((0, 0, 3.0), (0, 0, 0.0), (0, 1, 5.0)))
    assert state["shape"].tolist() == [[4.0, 7.0]]
    assert state["rate"].tolist() == [[2.5, 1.5]]
    exposed = Observations(
        trial=np.array([0]), arm=np.array([1]), reward=np.array([1.5]), weight=np.array([4.0])
    )
    state = posterior.update(state, exposed)
    assert (state["shape"][0, 1], state["rate"][0, 1]) == (13.0, 5.5)


def test_two_exponential_rates_have_closed_forms() -> None:
    posterior = GammaPoisson.of(2, shape=1.0, rate=[1.0, 3.0])
    found = posterior.beliefs(posterior.init(1), accuracy="strict")
    assert found.alpha[0] == pytest.approx([0.75, 0.25], rel=1e-12)
    # E[max] = 1 + 1/3 - 1/4
    assert found.rho[0] == pytest.approx(1.0 + 1.0 / 3.0 - 0.25, rel=1e-12)


def test_quantiles_draws_and_rewards() -> None:
    posterior = GammaPoisson.of(1, shape=3.0, rate=2.0)
    state = posterior.init(1)
    exact = stats.gamma(3.0, scale=0.5)
    assert posterior.quantile(state, 0.3).item() == pytest.approx(exact.ppf(0.3), rel=1e-12)
    assert posterior.quantile(state, 0.0).item() == 0.0
    assert posterior.quantile(state, 1.0).item() == np.inf
    u = np.array([0.0, 0.1, 0.5, 0.9, 1.0 - 2.0**-53])
    for theta in (1e-3, 0.7, 30.0, 1e6):
        got = posterior.draw_reward(np.full(5, theta), u)
        assert got[1:] == pytest.approx(stats.poisson(theta).ppf(u[1:]))
        assert got[0] == 0.0


def test_order_of_draws_that_round_to_zero() -> None:
    posterior = GammaPoisson.of(50, shape=1e-3)
    state = posterior.init(20)
    stream = Stream(Keys(3, trials=20), 1, "test")
    draws, order = posterior.sample(state, stream), posterior.sample_order(state, stream)
    assert (draws == 0.0).sum() > 100
    assert len(np.unique(order)) == order.size
    positive = draws > 1e-250
    assert order[positive] == pytest.approx(np.log(draws[positive]))
