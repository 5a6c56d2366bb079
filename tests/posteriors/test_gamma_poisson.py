"""Tests of posteriors/gamma_poisson.py."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from graphbandits.errors import InputError
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
    exposed = SimpleNamespace(
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


@pytest.mark.statistical
def test_draws_have_the_posterior_distribution() -> None:
    posterior = GammaPoisson.of(1, shape=0.7, rate=2.0)
    draws = posterior.sample(posterior.init(10_000), Stream(Keys(1, trials=10_000), 1, "test"))
    assert stats.kstest(draws[:, 0], stats.gamma(0.7, scale=0.5).cdf).pvalue > 1e-4


def test_log_evidence_is_the_probability_of_the_data_up_to_a_constant() -> None:
    found, exact = [], []
    for shape, rate in ((1.0, 1.0), (4.0, 0.5)):
        posterior = GammaPoisson.of(1, shape, rate)
        state = posterior.update(posterior.init(1), seen((0, 0, 3.0)))
        found.append(posterior.log_evidence(state).item())
        exact.append(stats.nbinom(shape, rate / (rate + 1.0)).logpmf(3))
    assert found[1] - found[0] == pytest.approx(exact[1] - exact[0], rel=1e-10)


def test_weaker_prior_has_the_same_means() -> None:
    weaker = GammaPoisson.of(2, shape=[5.0, 2e-3], rate=2.0).weaker()
    assert weaker.shapes / weaker.rates == pytest.approx([2.5, 1e-3])
    assert weaker.shapes == pytest.approx([0.5, 1e-3])


@pytest.mark.parametrize(
    "wrong", [{"shape": 0.0}, {"rate": -1.0}, {"shape": np.nan}, {"rate": "x"}]
)
def test_bad_parameters_are_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        GammaPoisson.of(2, **wrong)  # type: ignore[arg-type]


def test_bad_states_and_rewards_are_rejected() -> None:
    posterior = GammaPoisson.of(2)
    for bad in (seen((1, 0, 0.0)), seen((0, 2, 0.0)), seen((0, 0, -1.0)), seen((0, 0, np.inf))):
        with pytest.raises(InputError):
            posterior.update(posterior.init(1), bad)
    broken = posterior.init(1)
    broken["rate"][0, 1] = np.nan
    with pytest.raises(InputError, match="rate"):
        posterior.check_state(broken)
    for reward in (-1.0, 0.5, np.nan, "1"):
        with pytest.raises(InputError):
            posterior.check_reward(reward)  # type: ignore[arg-type]
