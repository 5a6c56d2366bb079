"""Tests of simulation/statistics.py: simultaneous intervals."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from helpers.cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from graphbandits import Results
from graphbandits._types import Floats
from graphbandits.simulation import statistics
from graphbandits.simulation.results import PolicyResult
from graphbandits.simulation.statistics import max_t, standard_error


def of(final: Floats) -> Results:
    """Results of one round with the final regret (trials, policies)."""
    policies = {
        f"p{i}": PolicyResult.from_trials(column[:, None], np.array([len(column)]))
        for i, column in enumerate(final.T)
    }
    return Results(np.array([1]), policies, ("a",), {})


def sample(correlation: Floats, trials: int, seed: int = 0) -> Floats:
    """Columns whose sample correlation is exactly this."""
    draws = np.random.default_rng(seed).normal(size=(trials, len(correlation)))
    columns = np.linalg.qr(draws - draws.mean(axis=0))[0] @ np.linalg.cholesky(correlation).T
    return np.asarray(columns, np.float64)


def all_pairs(columns: Floats) -> Floats:
    pairs = combinations(range(columns.shape[1]), 2)
    return np.stack([columns[:, i] - columns[:, j] for i, j in pairs], axis=1)


@each(
    ("policies", "trials", "confidence"),
    [
        (3, 30, 0.9),
        (3, 2000, 0.99),
        (5, 30, 0.95),
        (5, 2000, 0.9),
        (12, 30, 0.99),
        (12, 2000, 0.95),
    ],
)
def test_all_pairs_of_independent_policies_match_tukey(
    policies: int, trials: int, confidence: float
) -> None:
    found = max_t(all_pairs(sample(np.eye(policies), trials)), confidence)
    tukey = stats.studentized_range.ppf(confidence, policies, trials - 1) / math.sqrt(2)
    assert found == pytest.approx(tukey, abs=0.01)


@each(
    ("treatments", "freedom", "table"),
    [(2, 10, 2.57), (3, 10, 2.76), (3, 20, 2.54), (3, 60, 2.41), (3, 10**5, 2.35)],
)
def test_comparisons_with_one_control_match_dunnett(
    treatments: int, freedom: int, table: float
) -> None:
    """Dunnett, New tables for multiple comparisons with a control, Biometrics 20 (1964): 5%."""
    policies = sample(np.eye(treatments + 1), freedom + 1)
    found = max_t(policies[:, 1:] - policies[:, :1], 0.95)
    assert found == pytest.approx(table, abs=0.01)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    trials=st.integers(2, 40),
    columns=st.integers(1, 7),
    confidence=st.sampled_from([0.5, 0.9, 0.999]),
)
def test_critical_value_is_between_student_and_sidak(
    seed: int, trials: int, columns: int, confidence: float
) -> None:
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(trials, columns)) @ rng.normal(size=(columns, columns))
    found = max_t(mixed, confidence)
    each = confidence ** (1 / columns)
    assert found >= stats.t.ppf(0.5 + confidence / 2, trials - 1) * (1 - 1e-9)
    assert found <= stats.t.ppf(0.5 + each / 2, trials - 1) * (1 + 1e-9)
    assert found == max_t(mixed, confidence)
    assert found == pytest.approx(max_t(-3.0 * mixed[:, ::-1], confidence), abs=0.02)


def test_one_pair_matches_student() -> None:
    results = of(np.random.default_rng(2).normal(size=(15, 2)) * [1.0, 4.0])
    (alone,), (together,) = (results.differences(simultaneous=s) for s in (False, True))
    assert (alone.low, alone.high) == (together.low, together.high)
    assert (alone.simultaneous, together.simultaneous) == (False, True)
    interval = stats.ttest_rel(results["p1"].final, results["p0"].final).confidence_interval()
    sign = 1.0 if together.first == "p1" else -1.0
    assert sorted([sign * interval.low, sign * interval.high]) == pytest.approx(
        [together.low, together.high]
    )


def test_copies_of_a_policy_do_not_widen_intervals() -> None:
    """A copy of a policy adds a difference of zero and repeats the others."""
    base = np.random.default_rng(3).normal(size=(50, 3))
    once = of(base).differences(simultaneous=True)
    twice = of(np.column_stack([base, base[:, 1]])).differences(simultaneous=True)
    widths = {(d.first, d.second): d.high - d.low for d in twice}
    same = next(d for d in twice if {d.first, d.second} == {"p1", "p3"})
    assert (same.mean, same.standard_error, same.low, same.high) == (0.0, 0.0, 0.0, 0.0)
    for d in once:
        assert widths[d.first, d.second] == pytest.approx(d.high - d.low, rel=3e-3)


def test_constant_differences_have_zero_width() -> None:
    final = np.random.default_rng(4).normal(size=(20, 1)) + np.array([0.0, 0.1, 0.1, 0.7])
    for d in of(final).differences(simultaneous=True):
        assert d.low == pytest.approx(d.mean, abs=1e-12)
        assert d.high == pytest.approx(d.mean, abs=1e-12)


def test_one_trial_has_no_interval_and_few_trials_use_the_sidak_bound() -> None:
    rng = np.random.default_rng(5)
    for d in of(rng.normal(size=(1, 3))).differences(simultaneous=True):
        assert math.isnan(d.low)
        assert math.isnan(d.high)
        assert math.isfinite(d.mean)
    for trials in (2, 3, 4):
        paired = all_pairs(rng.normal(size=(trials, 5)))
        bound = stats.t.ppf(0.5 + 0.95**0.1 / 2, trials - 1)
        assert max_t(paired, 0.95) == pytest.approx(bound)


def test_family_of_comparisons_is_the_requested_one() -> None:
    results = of(np.random.default_rng(6).normal(size=(200, 5)) + np.arange(5) / 10)
    pairs = {(d.first, d.second): d for d in results.differences(simultaneous=True)}
    assert len(pairs) == 10
    for d in results.differences("p0", simultaneous=True):
        assert d.second == "p0"
        wide = pairs.get((d.first, "p0")) or pairs["p0", d.first]
        alone = next(e for e in results.differences("p0") if e.first == d.first)
        assert alone.high - alone.low < d.high - d.low < wide.high - wide.low
    only = of(np.ones((3, 1)))
    assert only.differences(simultaneous=True) == []
    with pytest.raises(ValueError, match="confidence"):
        only.differences(confidence=95, simultaneous=True)


def test_simultaneous_intervals_have_their_coverage(monkeypatch: Any) -> None:
    """600 experiments of 60 trials of 4 dependent policies; singly the pairs would hold 72%."""
    monkeypatch.setattr(statistics, "DIRECTIONS", 2**9)
    rng = np.random.default_rng(7)
    mixing = np.array([[1, 0.5, 0, 0], [0, 2, 1, 0], [0, 0, 0.5, -1], [0.3, 0, 0, 1]])
    held = alone = 0
    experiments, confidence = 600, 0.9
    for _ in range(experiments):
        paired = all_pairs(rng.normal(size=(60, 4)) @ mixing)
        t = np.abs(paired.mean(axis=0)) / standard_error(paired)
        held += bool((t <= max_t(paired, confidence)).all())
        alone += bool((t <= stats.t.ppf(0.95, 59)).all())
    error = math.sqrt(confidence * (1 - confidence) / experiments)
    assert abs(held / experiments - confidence) < 3 * error
    assert alone / experiments < confidence - 3 * error
