"""Tests of live/evidence.py: predictions against SciPy, sums against updates."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.cases import each
from scipy import stats

from graphbandits.live.evidence import natural_family
from graphbandits.posteriors import (
    BetaBernoulli,
    BetaInterval,
    Dirichlet,
    GammaPoisson,
    Normal,
    NormalInverseGamma,
    Observations,
)

ZERO = np.array([0])
#: Priors of two arms, and outcomes (reward, weight) of the second one.
EXAMPLES: dict[str, tuple[Any, list[tuple[float, float]]]] = {
    "beta": (BetaBernoulli.of(2, [1.0, 90.0], [1.0, 10.0]), [(1, 1), (0, 1), (0.3, 10), (1, 1)]),
    "dirichlet": (
        Dirichlet.of(2, values=(1, 5, 7), weights=[[1, 1, 1], [0.5, 20, 3]]),
        [(7, 1), (1, 1), (1, 1), (5, 1)],
    ),
    "gamma": (
        GammaPoisson.of(2, shape=[1.0, 40.0], rate=[1.0, 8.0]),
        [(3, 1), (0, 1), (6.4, 2.5), (5, 1)],
    ),
    "normal": (
        Normal.of(2, mean=[0.0, 3.0], sd=[1.0, 0.2], noise=0.7),
        [(2.5, 1), (9.0, 1), (3.1, 12), (-1.0, 1)],
    ),
    "student": (
        NormalInverseGamma.of(2, [0.0, 3.0], [1.0, 8.0], [2.0, 9.0], [1.0, 4.0]),
        [(2.5, 1), (9.0, 1), (3.1, 1), (-1.0, 1)],
    ),
}


def state_after(posterior: Any, outcomes: list[tuple[float, float]]) -> Any:
    state = posterior.init(1)
    for reward, weight in outcomes:
        one = Observations(ZERO, ZERO + 1, np.array([float(reward)]), np.array([float(weight)]))
        state = posterior.update(state, one)
    return state


def log_probability(posterior: Any, state: Any, reward: float, weight: float) -> float:
    """Return the predictive log probability of an outcome of the second arm, by SciPy."""
    values = {name: float(array[0, 1]) for name, array in state.items() if array.ndim == 2}
    if isinstance(posterior, BetaBernoulli):
        total = round(reward * weight)
        return float(stats.betabinom.logpmf(total, round(weight), values["a"], values["b"]))
    if isinstance(posterior, Dirichlet):
        weights = state["weights"][0, 1]
        return float(np.log(weights[posterior.values.index(reward)] / weights.sum()))
    if isinstance(posterior, GammaPoisson):
        p = values["rate"] / (values["rate"] + weight)
        return float(stats.nbinom.logpmf(round(reward * weight), values["shape"], p))
    if isinstance(posterior, Normal):
        spread = np.sqrt(1.0 / values["precision"] + posterior.noise**2 / weight)
        return float(stats.norm.logpdf(reward, values["mean"], spread))
    n, a, b = values["count"], values["shape"], values["scale"]
    spread = np.sqrt(b / a * (n + 1.0) / n)
    return float(stats.t.logpdf(reward, 2.0 * a, values["mean"], spread))


@each("name", EXAMPLES)
def test_ratio_of_predictions_is_that_of_scipy(name: str) -> None:
    posterior, outcomes = EXAMPLES[name]
    family = natural_family(posterior)
    assert family is not None
    states = [state_after(posterior, outcomes[:k]) for k in range(4)]
    for reward, weight in [*outcomes, outcomes[0]]:
        added = family.statistic(ZERO + 1, np.array([float(reward)]), np.array([float(weight)]))
        found, expected = (
            np.array(values)
            for values in (
                [family.log_predictive(family.of_state(s)[1:], added)[0] for s in states],
                [log_probability(posterior, s, reward, weight) for s in states],
            )
        )
        np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9, atol=1e-11)
        assert np.ptp(expected) > 1e-3


@each("name", EXAMPLES)
def test_statistics_add_up_to_the_updated_state(name: str) -> None:
    posterior, outcomes = EXAMPLES[name]
    family = natural_family(posterior)
    assert family is not None
    reward, weight = np.array(outcomes, float).T
    added = family.statistic(np.ones(len(outcomes), np.int64), reward, weight)
    state = state_after(posterior, outcomes)
    expected = family.of_state(state)
    found = np.array([family.prior[0], family.prior[1] + added.sum(axis=0)])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(family.of_state(posterior.init(1)), family.prior, rtol=1e-14)
    np.testing.assert_allclose(
        family.mean(np.arange(2), expected), posterior.mean(state)[0], rtol=1e-12
    )


@each("name", EXAMPLES)
def test_weak_prior_has_the_same_means_and_is_no_stronger(name: str) -> None:
    """The first arms have the default prior, which is its own weak prior."""
    posterior, _ = EXAMPLES[name]
    family = natural_family(posterior)
    assert family is not None
    np.testing.assert_array_equal(family.weak[0], family.prior[0])
    assert (family.weak[1] <= family.prior[1]).all()
    assert (family.weak[1] < family.prior[1]).any()
    arms = np.arange(2)
    np.testing.assert_allclose(family.mean(arms, family.weak), family.mean(arms, family.prior))


def test_small_steps_of_large_counts_keep_their_digits() -> None:
    """After 1e9 outcomes a difference of two values of log Gamma would have no digits left."""
    family = natural_family(GammaPoisson.of(1))
    assert family is not None
    before = np.array([[3e9, 1e9]])
    added = np.array([[4.0, 1.0]])
    other = np.array([[5.0, 1.0]])
    found = family.log_predictive(before, other) - family.log_predictive(before, added)
    # p(5) / p(4) = (shape + 4) / (5 (rate + 1)), without the factorials of the omitted term
    expected = np.log((3e9 + 4.0) / (1e9 + 1.0)) - np.log(4.0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


class Shifted(BetaBernoulli):
    """A subclass may have other updates."""


def test_posteriors_without_exact_predictions_have_no_family() -> None:
    assert natural_family(BetaInterval.of(2)) is None
    assert natural_family(BetaBernoulli.of(2, discount=0.9)) is None
    assert natural_family(Normal.of(2, half_life=5.0)) is None
    assert natural_family(Shifted.of(2)) is None
