"""Tests of posteriors/dirichlet.py: states, checks, quantiles, draws and theorems."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.cases import each
from scipy.stats import beta

from graphbandits.errors import InputError
from graphbandits.posteriors import Dirichlet, Observations
from graphbandits.rng import Keys, Stream


def observed(trial: list[int], arm: list[int], reward: list[float]) -> Observations:
    return Observations(np.array(trial), np.array(arm), np.array(reward, float))


def some_state(posterior: Dirichlet, trials: int = 2) -> dict[str, np.ndarray]:
    state = posterior.init(trials)
    rng = np.random.default_rng(5)
    state["weights"] += rng.integers(0, 9, state["weights"].shape)
    return state


def test_update_counts_the_values() -> None:
    posterior = Dirichlet.of(2, values=(0, 1, 5), weights=(1, 2, 0.5))
    state = posterior.init(trials=2)
    seen = observed([0, 1, 1, 1], [0, 1, 1, 0], [5, 0, 0, 1])
    assert posterior.update(state, seen) is state
    assert state["weights"].tolist() == [
        [[1.0, 2.0, 1.5], [1.0, 2.0, 0.5]],
        [[1.0, 3.0, 0.5], [3.0, 2.0, 0.5]],
    ]


def test_mean_is_the_average_of_the_values() -> None:
    posterior = Dirichlet([[1.0, 2.0, 1.0]], (-2.0, 0.0, 6.0))
    assert posterior.mean(posterior.init(trials=1)).tolist() == [[1.0]]


def test_an_unlisted_reward_is_refused() -> None:
    posterior = Dirichlet.of(2, values=(1, 2, 5))
    for wrong in (3.0, 0.0, 6.0, math.nan):
        with pytest.raises(InputError, match="a reward must be"):
            posterior.update(posterior.init(trials=1), observed([0], [0], [wrong]))
    with pytest.raises(InputError, match="a reward must be 1, 2 or 5, not 3"):
        posterior.check_reward(3)
    assert posterior.check_reward(5) == 5.0


def test_statistics_scale_with_the_values() -> None:
    """A change of units by a power of two changes no digit; a shift only rounds."""
    weights = np.random.default_rng(7).integers(1, 20, (3, 4)).astype(float)
    values = np.array([0.0, 1.0, 2.5, 3.0])
    one, two, three = (
        Dirichlet(weights, tuple(v.tolist())) for v in (values, 64.0 * values, values - 10.0)
    )
    a, b, c = (p.beliefs(p.init(trials=1), variance=True) for p in (one, two, three))
    assert (a.alpha == b.alpha).all()
    assert (a.h == b.h).all()
    assert (64.0 * a.delta == b.delta).all()
    assert (4096.0 * a.v == b.v).all()  # type: ignore[operator]
    for name in ("alpha", "delta", "h", "v"):
        assert getattr(c, name) == pytest.approx(getattr(a, name), rel=1e-12)
    assert c.rho == pytest.approx(a.rho - 10.0, rel=1e-14)


def test_mirrored_values_give_mirrored_posteriors() -> None:
    """Two arms: the better one is the worse one of the mirrored problem."""
    weights = np.array([[2.0, 5.5, 1.0], [1.5, 2.0, 2.0]])
    one = Dirichlet(weights, (0.0, 1.0, 4.0), "strict")
    two = Dirichlet(weights[:, ::-1], (-4.0, -1.0, 0.0), "strict")
    a, b = (p.beliefs(p.init(trials=1), variance=True) for p in (one, two))
    assert a.alpha == pytest.approx(b.alpha[:, ::-1], rel=1e-12)
    assert a.h == pytest.approx(b.h, rel=1e-11)


def test_equal_arms_share_the_probability() -> None:
    posterior = Dirichlet.of(5000, values=(0, 1, 3))
    found = posterior.beliefs(posterior.init(trials=1), variance=True)
    assert found.alpha == pytest.approx(np.full((1, 5000), 1 / 5000), rel=1e-12)
    assert (found.h == found.h[0, 0]).all()


def test_information_is_at_most_the_entropy_and_at_least_pinskers_bound() -> None:
    posterior = Dirichlet.of(4, values=(0, 0.25, 1))
    found = posterior.beliefs(some_state(posterior, 6), variance=True)
    entropy = -(found.alpha * np.log(found.alpha)).sum(axis=1)
    assert (found.h <= entropy[:, None]).all()
    assert (found.h >= 2.0 * found.v).all()  # type: ignore[operator]


def test_a_million_observations_are_resolved() -> None:
    weights = np.array([[1e6, 1.0, 1.0], [1e6, 1.0, 2.0]])  # both means are next to the first value
    posterior = Dirichlet(weights, (0.0, 1.0, 2.0))
    found = posterior.beliefs(posterior.init(trials=1))
    mean = posterior.mean(posterior.init(trials=1))[0]
    assert 0.6 < found.alpha[0, 1] < 0.9
    assert found.delta[0, 0] - found.delta[0, 1] == pytest.approx(mean[1] - mean[0], rel=1e-9)


@each("level", [1e-6, 0.1, 0.5, 0.77, 1.0 - 1e-9])
def test_quantiles_of_two_values_are_those_of_beta(level: float) -> None:
    a, b = np.array([0.3, 1.0, 7.5, 4000.0]), np.array([0.4, 1.0, 0.5, 2000.0])
    posterior = Dirichlet(np.stack([b, a], axis=1), (0.0, 1.0))
    found = posterior.quantile(posterior.init(trials=1), level)[0]
    assert found == pytest.approx(beta(a, b).ppf(level), rel=1e-9)


def test_quantiles_invert_the_sum_of_the_density() -> None:
    posterior = Dirichlet.of(2, values=(-1, 0, 2, 3))
    state = some_state(posterior, 1)
    edges = np.linspace(-1.0, 3.0, 40001)
    middle = 0.5 * (edges[1:] + edges[:-1])
    below = np.cumsum(np.exp(posterior.log_density(state, middle))[0], axis=1) * 1e-4
    assert below[:, -1] == pytest.approx(np.ones(2), abs=1e-8)
    for level in (0.01, 0.4, 0.95):
        found = posterior.quantile(state, level)[0]
        for arm in range(2):
            assert np.interp(found[arm], edges[1:], below[arm]) == pytest.approx(level, abs=1e-7)
    assert posterior.quantile(state, 0.0).tolist() == [[-1.0, -1.0]]
    assert posterior.quantile(state, 1.0).tolist() == [[3.0, 3.0]]


def test_probabilities_of_rewards_given_the_mean() -> None:
    """They add up to 1, have the given mean, and average to the predictive probabilities."""
    posterior = Dirichlet.of(2, values=(-1, 0, 2, 3))
    state = some_state(posterior, 1)
    theta = np.linspace(-0.9, 2.9, 39)
    chance = np.exp([posterior.log_conditional(state, y, theta) for y in posterior.values])
    assert chance.sum(axis=0) == pytest.approx(np.ones((1, 2, 39)), rel=1e-12)
    average = np.tensordot(np.array(posterior.values), chance, 1)
    assert average == pytest.approx(np.broadcast_to(theta, (1, 2, 39)), rel=1e-11, abs=1e-12)


def test_density_is_zero_outside_of_the_support() -> None:
    posterior = Dirichlet.of(1, values=(0, 1, 2))
    outside = posterior.log_density(posterior.init(trials=1), np.array([-1.0, 0.0, 2.0, 3.0]))
    assert (outside == -np.inf).all()


def test_order_of_draws_has_no_ties_at_the_largest_value() -> None:
    posterior = Dirichlet.of(2, values=(0, 1), weights=(0.2, 1e9))
    stream = Stream(Keys(3, 0, 200), 1, "test")
    draws = posterior.sample(posterior.init(200), stream)
    order = posterior.sample_order(posterior.init(200), stream)
    assert (draws == 1.0).any()
    assert len(np.unique(order)) == order.size


def test_rewards_of_a_mean_are_next_to_it() -> None:
    posterior = Dirichlet.of(1, values=(0, 1, 5))
    theta = np.array([0.25, 2.0, 5.0, 0.0])
    u = (np.arange(400) + 0.5) / 400.0
    drawn = np.stack([posterior.draw_reward(theta, np.full(4, x)) for x in u])
    assert drawn.mean(axis=0) == pytest.approx(theta)
    assert np.isin(drawn, posterior.values).all()
    assert np.exp(posterior.log_likelihood(5.0, theta)) == pytest.approx([0.0, 0.25, 1.0, 0.0])
