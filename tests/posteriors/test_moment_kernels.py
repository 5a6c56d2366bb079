"""h and v of many arms whose posteriors all differ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from helpers.cases import each
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits import BetaBernoulli
from graphbandits._types import Floats
from graphbandits.posteriors._beta_kernels import (
    ALPHA,
    JOINT,
    MANY_DISTINCT,
    SOME,
    SURVIVAL,
    choose_arms,
    enlarge,
    integrate_adaptively,
    make_space,
    with_reach,
)
from graphbandits.posteriors._moment_kernels import ACCEPTED_BOUND, fill_gains_of_many
from graphbandits.posteriors._pair_kernels import FEW_DISTINCT, fill_gains, group_arms
from graphbandits.posteriors._quadrature_kernels import NODES, SIMULATION, phi

#: Accuracy of simulations.
ABSOLUTE = 1e-10


def scattered(rng: np.random.Generator, arms: int) -> Floats:
    return rng.uniform(1.0, 21.0, (2, arms))


def nearly_uniform(rng: np.random.Generator, arms: int) -> Floats:
    return rng.uniform(1.0, 1.01, (2, arms))


def leaders(rng: np.random.Generator, arms: int, count: int) -> Floats:
    parameters = rng.uniform([[1.0], [20.0]], [[3.0], [40.0]], (2, arms))
    parameters[:, :count] = rng.uniform([[50.0], [10.0]], [[60.0], [15.0]], (2, count))
    return parameters


def one_leader(rng: np.random.Generator, arms: int) -> Floats:
    return leaders(rng, arms, 1)


def twenty_leaders(rng: np.random.Generator, arms: int) -> Floats:
    return leaders(rng, arms, 20)


def two_scales(rng: np.random.Generator, arms: int) -> Floats:
    wide, narrow = rng.uniform(1.0, 2.0, (2, arms)), rng.uniform(400.0, 600.0, (2, arms))
    return np.where(rng.random(arms) < 0.5, wide, narrow)


def all_sizes(rng: np.random.Generator, arms: int) -> Floats:
    return 10.0 ** rng.uniform(-3.0, 6.0, (2, arms))


def near_ties(rng: np.random.Generator, arms: int) -> Floats:
    mean = rng.normal(0.5, 1e-3, arms)
    return rng.uniform(10.0, 1000.0, arms) * np.array([mean, 1.0 - mean])


def ties_of_all_sizes(rng: np.random.Generator, arms: int) -> Floats:
    mean = rng.uniform(0.3, 0.31, arms)
    return 10.0 ** rng.uniform(0.0, 6.0, arms) * np.array([mean, 1.0 - mean])


def tiny_parameters(rng: np.random.Generator, arms: int) -> Floats:
    return rng.uniform(1e-3, 0.05, (2, arms))


def rare_successes(rng: np.random.Generator, arms: int) -> Floats:
    return 10.0 ** rng.uniform([[-3.0], [2.0]], [[1.0], [5.0]], (2, arms))


def mostly_zero(rng: np.random.Generator, arms: int) -> Floats:
    """The conditional means of an arm are not close to each other."""
    return rng.uniform([[3.0 / arms], [1.0]], [[6.0 / arms], [2.0]], (2, arms))


def equal_pairs(rng: np.random.Generator, arms: int) -> Floats:
    """Every posterior but one stands for two or three arms."""
    parameters = np.repeat(scattered(rng, arms // 2), 2, axis=1)
    return np.append(parameters, parameters[:, : 1 + arms % 2], axis=1)


Mix = Callable[[np.random.Generator, int], Floats]
MIXES = (
    *(scattered, nearly_uniform, one_leader, twenty_leaders, two_scales, all_sizes, near_ties),
    *(ties_of_all_sizes, tiny_parameters, rare_successes, mostly_zero, equal_pairs),
)


def both(parameters: Floats, accepted: float = ACCEPTED_BOUND) -> tuple[Floats, Floats, int]:
    """h and v by moments and from all pairs, and how many arms the moments left to the pairs."""
    a, b = np.ascontiguousarray(parameters)
    setting, space = with_reach(SIMULATION, len(a)), make_space(len(a))
    distinct = group_arms(a, b, space.group, space.first)
    panels = -1
    while panels < 0:  # the work space is too small
        space = enlarge(space, distinct, distinct, -panels)
        active, lead, padded, low = choose_arms(a, b, distinct, setting, distinct, space)
        panels, *_ = integrate_adaptively(active, lead, padded, low, setting, False, 1.0, space)
    line, work, found = space.line, space.work, np.empty((2, 2, active))
    few = np.empty((FEW_DISTINCT, FEW_DISTINCT))
    given = space.arms, active, space.panels_of, space.r
    fill_gains(
        *(*given, line[JOINT], work[ALPHA], line[SOME], line[SURVIVAL], few, work),
        *found[0],
    )
    joint = line[JOINT, : panels * NODES]
    exact = fill_gains_of_many(*given, joint, work[ALPHA], accepted, active, work, *found[1])
    return found[0], found[1], exact


def check_statistics(mix: Mix, arms: int) -> None:
    a, b = mix(np.random.default_rng(arms), arms)
    posterior = BetaBernoulli(a, b)
    state = posterior.init(trials=1)
    fast = posterior.beliefs(state, variance=True)
    strict = posterior.beliefs(state, "strict", variance=True)
    for name in ("alpha", "delta", "h", "v"):
        assert np.abs(getattr(fast, name) - getattr(strict, name)).max() <= ABSOLUTE, name


@each("mix", MIXES)
@each("arms", [50, 300])
def test_all_statistics_match_strict_ones(mix: Mix, arms: int) -> None:
    check_statistics(mix, arms)


@pytest.mark.nightly
@each("mix", MIXES)
@each("arms", [1000, 2000])
def test_all_statistics_of_many_arms_match_strict_ones(mix: Mix, arms: int) -> None:
    check_statistics(mix, arms)


@each("mix", MIXES)
@each("arms", [30, 500])
def test_moments_match_pairs(mix, arms: int) -> None:
    pairs, moments, _ = both(mix(np.random.default_rng(arms), arms))
    assert np.abs(moments - pairs).max() <= ACCEPTED_BOUND


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 60),
    st.integers(0, 2**32),
    st.tuples(*[st.floats(-3.0, 6.0)] * 4),
)
def test_moments_match_pairs_in_any_box(arms: int, seed: int, ends) -> None:
    low, high = np.sort(np.reshape(ends, (2, 2)), axis=0)[:, :, None]
    parameters = 10.0 ** np.random.default_rng(seed).uniform(low, high, (2, arms))
    pairs, moments, _ = both(parameters)
    assert np.abs(moments - pairs).max() <= ACCEPTED_BOUND


def test_few_arms_need_all_pairs() -> None:
    """Otherwise the time would grow with the square again."""
    mixes = [mix for mix in MIXES if mix is not mostly_zero]
    counts = [both(mix(np.random.default_rng(1), 3000))[2] for mix in mixes]
    assert max(counts) < 200
    assert min(counts) == 0


@each("arms", [100, 300])
def test_mutant_that_computes_too_few_arms_from_pairs_is_inaccurate(arms: int) -> None:
    parameters = ties_of_all_sizes(np.random.default_rng(0), arms)
    pairs, moments, exact = both(parameters)
    _, mutant, fewer = both(parameters, accepted=np.inf)
    assert fewer < exact
    assert np.abs(moments - pairs).max() <= ACCEPTED_BOUND
    assert np.abs(mutant - pairs).max() > ABSOLUTE


def test_rest_of_the_series_is_bounded() -> None:
    u = np.concatenate([np.linspace(-1.0 + 1e-12, 2.0, 3001), np.geomspace(2.0, 1e6, 100)])
    exact = np.array([phi(value) for value in u])
    rest = np.abs(exact - (u**2 / 2 - u**3 / 6 + u**4 / 12))
    assert (rest <= u**4 / 4 + 1e-15).all()
    assert rest[0] == pytest.approx(1 / 4)  # no smaller bound holds at -1


@each("variance", [False, True])
def test_trials_of_a_block_do_not_affect_each_other(variance: bool) -> None:
    """Also if only some of them have many distinct posteriors."""
    arms = MANY_DISTINCT + 150
    rng = np.random.default_rng(7)
    few = np.ones((2, arms)) + rng.integers(0, 4, (2, arms))
    trials = [scattered(rng, arms), few, near_ties(rng, arms), few + 1.0, scattered(rng, arms)]
    a, b = np.swapaxes(trials, 0, 1)
    posterior = BetaBernoulli.of(arms)
    block = posterior.beliefs({"a": a, "b": b}, variance=variance)
    for t in range(len(trials)):
        alone = posterior.beliefs({"a": a[t : t + 1], "b": b[t : t + 1]}, variance=variance)
        for name in ("alpha", "delta", "h", "v", "rho") if variance else ("alpha", "h", "rho"):
            assert (getattr(block, name)[t] == getattr(alone, name)[0]).all(), name


@pytest.mark.nightly
def test_a_hundred_thousand_different_posteriors() -> None:
    arms = 100_000
    a, b = scattered(np.random.default_rng(0), arms)
    posterior = BetaBernoulli(a, b)
    found = posterior.beliefs(posterior.init(trials=1), estimate=True, variance=True)
    assert found.error[0] < ABSOLUTE
    assert found.alpha.sum() == pytest.approx(1.0, abs=1e-11)
    mean = a / (a + b)
    expected = found.rho[0] - found.alpha[0] @ mean
    assert found.alpha[0] @ found.delta[0] == pytest.approx(expected, rel=1e-9)
    assert (found.h >= 2.0 * found.v - 1e-15).all()
    # the entropy of the best arm bounds what one outcome tells
    entropy = -(found.alpha * np.log(np.maximum(found.alpha, 1e-300))).sum()
    assert 0.0 < found.h.max() < entropy
