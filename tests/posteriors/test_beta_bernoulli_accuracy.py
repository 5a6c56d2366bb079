"""Tests of posteriors/beta_bernoulli.py.

Accuracy of alpha, Delta, h and v for parameters from 1e-3 to 1e9.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.accuracy_checks import (
    LEAST,
    QUANTITIES,
    SETTINGS,
    TOLERANCES,
    WITH_VARIANCE,
    assert_accurate,
    assert_valid,
    errors,
    known,
)
from helpers.wide_range_cases import Case, Params, live_cases, read_fixture
from helpers.wide_range_oracle import WideBeliefs, wide_beliefs
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits._types import State
from graphbandits.posteriors import Beliefs, BetaBernoulli

ROUNDING = {"simulation": 1e-12, "strict": 1e-10}  # below this an estimate need not see an error


def beliefs(params: Params, accuracy: str, estimate: bool = False) -> Beliefs:
    """The library's values; any warning or floating-point exception is an error."""
    a, b = np.array(params, float).T
    posterior = BetaBernoulli(a, b)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        state = posterior.init(trials=1)
        if estimate:
            return posterior.beliefs(state, accuracy=accuracy, estimate=True, variance=True)
        return posterior.beliefs(state, accuracy=accuracy, variance=True)


def assert_estimate_covers_error(case: Case, truth: WideBeliefs, accuracy: str) -> None:
    """The estimate is within the tolerance, and the true error is at most ten times as large."""
    got = beliefs(case.params, accuracy, estimate=True)
    assert got.error is not None
    assert got.error.shape == (1,)
    estimate = float(got.error[0])
    assert 0.0 <= estimate <= TOLERANCES[accuracy], (case.name, estimate)
    true = max(
        float(errors(getattr(got, name)[0], getattr(truth, name), accuracy).max())
        for name in known(truth)
    )
    assert true <= max(10.0 * estimate, ROUNDING[accuracy]), (case.name, true, estimate)


#: Stored posteriors per test.
TOGETHER = 30


@cache
def stored() -> list[tuple[Case, WideBeliefs]]:
    return read_fixture()


@pytest.mark.parametrize("accuracy", SETTINGS)
@pytest.mark.parametrize("first", range(0, 212, TOGETHER))
def test_stored_exact_values_are_reproduced(first: int, accuracy: str) -> None:
    assert len(stored()) == 212
    for number, (case, truth) in enumerate(stored()[first : first + TOGETHER]):
        assert_accurate(beliefs(case.params, accuracy), case, truth, accuracy)
        if number % 3 == 0:
            assert_estimate_covers_error(case, truth, accuracy)


@pytest.mark.nightly
@pytest.mark.parametrize("accuracy", SETTINGS)
def test_error_estimates_of_all_posteriors_cover_the_error(accuracy: str) -> None:
    for case, truth in stored():
        assert_estimate_covers_error(case, truth, accuracy)


def check_computed(every: int) -> None:
    for case in live_cases()[::every]:
        truth = wide_beliefs(case.params)
        for accuracy in SETTINGS:
            assert_accurate(beliefs(case.params, accuracy), case, truth, accuracy)
            assert_estimate_covers_error(case, truth, accuracy)


def test_some_computed_exact_values_are_reproduced() -> None:
    check_computed(every=7)


@pytest.mark.nightly
def test_all_computed_exact_values_are_reproduced() -> None:
    check_computed(every=1)


def test_computing_v_does_not_change_other_statistics() -> None:
    """Few arms and many, equal ones among them, in blocks: h is the same whether v is asked for."""
    for arms in (2, 5, 14, 30):
        a, b = np.random.default_rng(arms).integers(1, 9, (2, 40, arms)).astype(float)
        posterior = BetaBernoulli.of(arms)
        for accuracy in SETTINGS:
            without = posterior.beliefs({"a": a, "b": b}, accuracy)
            with_v = posterior.beliefs({"a": a, "b": b}, accuracy, variance=True)
            assert without.v is None
            for name in (*QUANTITIES, "rho"):
                assert np.array_equal(getattr(without, name), getattr(with_v, name))


def test_error_estimate_includes_v_if_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    """A v that is off with wide panels only shows in the estimate."""
    posterior = BetaBernoulli([3.0, 2.0, 7.5], [1.0, 2.0, 4.0])
    integrated = BetaBernoulli._integrated

    def off(
        self: BetaBernoulli, state: State, accuracy: str, variance: bool, cut: float
    ) -> Beliefs:
        found = integrated(self, state, accuracy, variance, cut)
        return replace(found, v=found.v * (1.0 + 1e-6 * cut)) if variance else found

    monkeypatch.setattr(BetaBernoulli, "_integrated", off)
    state = posterior.init(trials=1)
    for asked, least, most in ((False, 0.0, 1e-11), (True, 4e-7, 6e-7)):
        found = posterior.beliefs(state, "strict", estimate=True, variance=asked)
        assert found.error is not None
        assert least <= found.error[0] <= most


wide = st.floats(-3.0, 9.0).map(lambda power: min(max(10.0**power, 1e-3), 1e9))
whole = st.floats(0.0, 9.0).map(lambda power: float(round(10.0**power)))
parameter = st.one_of(wide, whole, st.sampled_from([1e-3, 0.5, 1.0, 2.0, 1e9]))
arm = st.tuples(parameter, parameter)
posteriors = st.lists(arm, min_size=2, max_size=12)


@st.composite
def close_posteriors(draw: st.DrawFn) -> Params:
    """Arms within a few standard deviations of each other, of sizes 1 to 1e9."""
    mean = draw(st.floats(0.02, 0.98))
    arms = []
    for _ in range(draw(st.integers(2, 8))):
        size = 10.0 ** draw(st.floats(0.0, 9.0))
        shift = draw(st.floats(-6.0, 6.0)) * math.sqrt(mean * (1.0 - mean) / size)
        centre = min(max(mean + shift, 0.01), 0.99)
        arms.append((max(size * centre, 1e-3), max(size * (1.0 - centre), 1e-3)))
    return arms


problems = st.one_of(posteriors, close_posteriors())


def assert_pinsker(got: Beliefs, case: object) -> None:
    """h >= 2 v >= 0, for each divergence is at least twice the square of its shift."""
    assert got.v is not None
    assert np.isfinite(got.v).all(), case
    assert got.v.min() >= 0.0, case
    assert (2.0 * got.v <= got.h * (1.0 + 1e-12) + 1e-300).all(), (got.h, got.v, case)


def assert_same(one: np.ndarray, other: np.ndarray, relative: float, case: object) -> None:
    compared = np.maximum(one, other) > LEAST
    apart = np.abs(one - other)[compared]
    assert (apart <= relative * np.maximum(one, other)[compared]).all(), (one, other, case)


@settings(max_examples=60, deadline=None)
@given(problems)
def test_both_accuracy_settings_are_valid_and_agree(case: Params) -> None:
    quick, strict = (beliefs(case, accuracy) for accuracy in SETTINGS)
    assert_valid(quick, "simulation", case)
    assert_valid(strict, "strict", case)
    for got in (quick, strict):
        assert_pinsker(got, case)
    for name in WITH_VARIANCE:
        apart = np.abs(getattr(quick, name) - getattr(strict, name)).max()
        assert apart <= 1e-10, (name, apart, case)


@settings(max_examples=30, deadline=None)
@given(problems, st.randoms(use_true_random=False))
def test_relabelling_arms_permutes_strict_beliefs(case: Params, random) -> None:
    order = list(range(len(case)))
    random.shuffle(order)
    here, there = beliefs(case, "strict"), beliefs([case[i] for i in order], "strict")
    for name in WITH_VARIANCE:
        assert_same(getattr(here, name)[0][order], getattr(there, name)[0], 1e-9, (case, order))


@settings(max_examples=30, deadline=None)
@given(problems, st.data())
def test_equal_arms_have_equal_beliefs(case: Params, data: st.DataObject) -> None:
    copies = data.draw(st.lists(st.sampled_from(range(len(case))), min_size=1, max_size=20))
    arms = [*case, *(case[i] for i in copies)]
    for accuracy in SETTINGS:
        got = beliefs(arms, accuracy)
        for name in WITH_VARIANCE:
            values = getattr(got, name)[0]
            assert_same(values[len(case) :], values[copies], 1e-12, (accuracy, name, arms))


@settings(max_examples=30, deadline=None)
@given(st.one_of(st.lists(arm, min_size=2, max_size=2), close_posteriors().map(lambda c: c[:2])))
def test_exchanging_outcomes_swaps_two_arms(case: Params) -> None:
    """theta -> 1 - theta exchanges the best and the other: alpha, Delta swap, h and v stay."""
    here, there = beliefs(case, "strict"), beliefs([(b, a) for a, b in case], "strict")
    assert here.v is not None
    assert there.v is not None
    assert_same(here.alpha[0], there.alpha[0][::-1], 2e-8, case)
    assert_same(here.delta[0], there.delta[0][::-1], 2e-8, case)
    assert_same(here.h[0], there.h[0], 2e-8, case)
    assert_same(here.v[0], there.v[0], 2e-8, case)


@settings(max_examples=30, deadline=None)
@given(problems, st.integers(0, 12))
def test_arm_that_cannot_be_best_changes_nothing(case: Params, place: int) -> None:
    """Beta(1e6, 1e6) stays above Beta(30, 1e8) with probability 1 - 1e-1000."""
    arms = [*case, (1e6, 1e6)]
    place = min(place, len(arms))
    more = [*arms[:place], (30.0, 1e8), *arms[place:]]
    here, there = beliefs(arms, "strict"), beliefs(more, "strict")
    kept = [i for i in range(len(more)) if i != place]
    for name in WITH_VARIANCE:
        assert_same(getattr(here, name)[0], getattr(there, name)[0][kept], 2e-8, (arms, place))
    assert there.alpha[0][place] <= LEAST
    assert there.h[0][place] <= LEAST
