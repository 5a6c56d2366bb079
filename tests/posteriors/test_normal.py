"""Tests of posteriors/normal.py."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from graphbandits.errors import InputError
from graphbandits.posteriors import Normal, Observations
from graphbandits.rng import Keys, Stream


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
    average = SimpleNamespace(
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


def test_statistics_do_not_depend_on_the_block() -> None:
    rng = np.random.default_rng(0)
    posterior = Normal.of(4)
    state = {"mean": rng.normal(size=(3, 4)), "precision": rng.uniform(1.0, 9.0, (3, 4))}
    both = posterior.beliefs(state, variance=True)
    for t in range(3):
        alone = posterior.beliefs({k: v[t : t + 1] for k, v in state.items()}, variance=True)
        for name in ("alpha", "delta", "h", "v"):
            assert np.array_equal(getattr(alone, name)[0], getattr(both, name)[t])


def test_without_information_h_is_nan_and_alpha_is_the_same_up_to_accuracy() -> None:
    posterior = Normal.of(3, mean=[0.0, 0.1, 0.3])
    fast = posterior.beliefs(posterior.init(1), information=False)
    slow = posterior.beliefs(posterior.init(1))
    assert np.isnan(fast.h).all()
    assert fast.alpha == pytest.approx(slow.alpha, abs=1e-10)


def test_quantiles() -> None:
    posterior = Normal.of(1, mean=2.0, sd=3.0)
    state = posterior.init(1)
    assert posterior.quantile(state, 0.9) == pytest.approx(stats.norm.ppf(0.9, 2.0, 3.0))
    assert posterior.quantile(state, 0.0) == -np.inf
    assert posterior.quantile(state, 1.0) == np.inf


@pytest.mark.statistical
def test_draws_have_the_posterior_distribution() -> None:
    posterior = Normal.of(1, mean=2.0, sd=3.0, noise=0.5)
    draws = posterior.sample(posterior.init(10_000), Stream(Keys(1, trials=10_000), 1, "test"))
    assert stats.kstest(draws[:, 0], stats.norm(2.0, 3.0).cdf).pvalue > 1e-4
    uniform = Stream(Keys(2, trials=10_000), 1, "test").uniform(1)
    rewards = posterior.draw_reward(np.full((10_000, 1), 2.0), uniform)
    assert stats.kstest(rewards[:, 0], stats.norm(2.0, 0.5).cdf).pvalue > 1e-4


def test_log_evidence_is_the_probability_of_the_data_up_to_a_constant() -> None:
    rewards = [1.0, 2.5, -0.3]
    found, exact = [], []
    for mean, sd in ((0.0, 1.0), (2.0, 0.3)):
        posterior = Normal.of(1, mean, sd, noise=0.8)
        state = posterior.update(posterior.init(1), seen(*((0, 0, y) for y in rewards)))
        covariance = 0.64 * np.eye(3) + sd**2
        found.append(posterior.log_evidence(state).item())
        exact.append(stats.multivariate_normal(np.full(3, mean), covariance).logpdf(rewards))
    assert found[1] - found[0] == pytest.approx(exact[1] - exact[0], rel=1e-10)


def test_weaker_prior_has_the_same_means() -> None:
    weaker = Normal.of(2, mean=[1.0, 2.0]).weaker()
    assert weaker.means.tolist() == [1.0, 2.0]
    assert weaker.sds.tolist() == [10.0, 10.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"sd": 0.0},
        {"sd": 1e60},
        {"mean": np.nan},
        {"noise": 0.0},
        {"noise": "x"},
        {"sd": [1, 2, 3]},
    ],
)
def test_bad_parameters_are_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Normal.of(2, **wrong)  # type: ignore[arg-type]


def test_bad_states_and_observations_are_rejected() -> None:
    posterior = Normal.of(2)
    state = posterior.init(1)
    for bad in (seen((1, 0, 0.0)), seen((0, 2, 0.0)), seen((0, -1, 0.0)), seen((0, 0, np.nan))):
        with pytest.raises(InputError):
            posterior.update(state, bad)
    for name, value in (("precision", 0.0), ("precision", np.nan), ("mean", np.inf)):
        broken = posterior.init(1)
        broken[name][0, 1] = value
        with pytest.raises(InputError, match=name):
            posterior.check_state(broken)
    with pytest.raises(InputError, match="of the shape"):
        posterior.beliefs({"mean": np.zeros((1, 2))})
