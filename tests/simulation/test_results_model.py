"""Tests of simulation/results.py: statistics, intervals, quantiles and bands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from helpers.bad_input import refused, refuses
from helpers.made_up_results import made, random_regret
from scipy import stats

import graphbandits
from graphbandits import Results, as_process, simulate
from graphbandits.errors import InputError
from graphbandits.graphs import DenseFeedback, Fixed
from graphbandits.simulation.results import PolicyResult
from graphbandits.simulation.tables import QUANTILES

NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def two_policies() -> Results:
    return simulate(["ts-n", "ids-n"], graph="paper", horizon=3, trials=4, seed=1)


def test_unknown_policies_and_invalid_confidences_are_refused(two_policies: Results) -> None:
    refused(lambda: two_policies["ids-lp"], "'ids-lp'", "ts-n", "ids-n")
    refused(lambda: two_policies.interval("ids-lp"), "'ids-lp'", "ts-n")
    refused(lambda: two_policies.differences("ids-lp"), "'ids-lp'", "ts-n")
    for confidence in (0.0, 1.0, 95, -1, NAN):
        refused(
            lambda confidence=confidence: two_policies.interval("ts-n", confidence),
            "confidence",
            "between 0 and 1",
            repr(confidence),
        )


def test_renamed_results_keep_their_numbers() -> None:
    results = graphbandits.simulate(["ts-n", "ids-n"], graph="star", horizon=5, trials=4)
    other = results.renamed({"ids-n": "directed"})
    assert list(other.policies) == ["ts-n", "directed"]
    assert other["directed"] is results["ids-n"]
    assert other.settings["policies"]["directed"] == results.settings["policies"]["ids-n"]
    assert list(results.policies) == list(results.settings["policies"]) == ["ts-n", "ids-n"]
    swapped = results.renamed({"ids-n": "ts-n", "ts-n": "ids-n"})
    assert np.array_equal(swapped["ts-n"].final, results["ids-n"].final)
    with refuses(InputError, match="no policy 'idsn' in these results"):
        results.renamed({"idsn": "directed"})
    with refuses(InputError, match="two policies would have the name 'ts-n'"):
        results.renamed({"ids-n": "ts-n"})


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(
        ["ts-n", "ids-n", "ids-lp"], graph="star(direction=out)", horizon=60, trials=40, seed=1
    )


def test_summary_statistics_are_those_of_the_trials() -> None:
    rng = np.random.default_rng(0)
    regret = np.cumsum(rng.random((50, 4)), axis=1)
    result = PolicyResult.from_trials(regret, np.array([1, 2]))
    assert result.mean == pytest.approx(np.mean(regret, axis=0))
    assert result.standard_error == pytest.approx(stats.sem(regret, axis=0))
    ordered = np.sort(regret[:, 2])
    assert result.quantiles[QUANTILES.index(0.5), 2] == pytest.approx(
        (ordered[24] + ordered[25]) / 2
    )
    assert (result.final == regret[:, -1]).all()


def test_curves_rise_and_end_at_the_final_regret(results: Results) -> None:
    for result in results.policies.values():
        assert (np.diff(result.mean) >= 0).all()
        assert result.mean[-1] == pytest.approx(result.final.mean(), rel=1e-12)
        assert int(result.plays.sum()) == 60 * 40


def test_intervals_and_paired_differences_match_student(results: Results) -> None:
    best, other = results.ranking()[:2]
    assert results[best].mean[-1] <= results[other].mean[-1]
    paired = results.differences(other, confidence=0.9)
    difference = next(d for d in paired if d.first == best)
    test = stats.ttest_rel(results[best].final, results[other].final)
    interval = test.confidence_interval(0.9)
    assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high))
    assert difference.mean == pytest.approx((results[best].final - results[other].final).mean())
    alone = stats.ttest_1samp(results[best].final, 0.0).confidence_interval(0.95)
    assert results.interval(best) == pytest.approx((alone.low, alone.high))
    assert len(results.differences()) == 3


def test_one_trial_has_no_standard_error() -> None:
    results = simulate("ts-n", graph="paper", horizon=5, trials=1)
    assert np.isnan(results["ts-n"].standard_error).all()
    assert results.summary()["policies"]["ts-n"]["regret"]["standard_error"] is None


def test_any_quantile_is_computed_from_the_trials(results: Results) -> None:
    result = results["ts-n"]
    assert result.regret is not None
    for q in (0.0, 0.33, 0.9, 1.0):
        assert (result.quantile(q) == np.quantile(result.regret, q, axis=0)).all()
    for q in (-0.1, 1.1, float("nan")):
        with refuses(InputError):
            result.quantile(q)


def test_summaries_have_only_their_quantiles() -> None:
    result = replace(made({"ids-n": random_regret(0)})["ids-n"], regret=None)
    assert (result.quantile(0.75) == result.quantiles[QUANTILES.index(0.75)]).all()
    with pytest.raises(InputError, match=r"quantile 0.3 is not saved, only 0.1, .*study.results"):
        result.quantile(0.3)


def test_bands_are_intervals_or_quantiles(results: Results) -> None:
    low, high = results.band("ids-n", confidence=0.9)
    regret = results["ids-n"].regret
    assert regret is not None
    for t in (0, 17, -1):
        interval = stats.ttest_1samp(regret[:, t], 0.0).confidence_interval(0.9)
        assert (low[t], high[t]) == pytest.approx((interval.low, interval.high), nan_ok=True)
    assert results.interval("ids-n", 0.9) == (low[-1], high[-1])
    low, high = results.band("ids-n", "quantiles", levels=(0.2, 0.8))
    assert (low == np.quantile(regret, 0.2, axis=0)).all()
    assert (high == np.quantile(regret, 0.8, axis=0)).all()
    with refuses(InputError, match="no band 'quantile'"):
        results.band("ids-n", "quantile")
    with refuses(InputError, match=r"levels must be a lower and an upper level in \[0, 1\], not"):
        results.band("ids-n", "quantiles", levels=(0.9, 0.1))
    with refuses(InputError):
        results.band("ids-n", confidence=95)


def test_inconsistent_results_are_refused(results: Results) -> None:
    with refuses(InputError, match="results must have one policy or more"):
        replace(results, policies={})
    with refuses(InputError, match=r"'mean' of 'ts-n' has the shape \(60,\)"):
        replace(results, rounds=results.rounds[1:])
    with refuses(InputError):
        replace(results, graph=as_process("star", 3))
    other = Fixed(DenseFeedback(np.eye(5)), tuple("abcde"))
    with refuses(InputError):
        replace(results, graph=other)
    with refuses(InputError):
        _ = replace(results, settings={"runs": [{"seed": 1, "trials": 39}]}).runs


@pytest.mark.parametrize(
    "call",
    [
        lambda r: Results.concat(r),
        lambda r: Results.concat([r, None]),
        lambda r: r.differences(confidence="0.9"),
        lambda r: r["ts-n"].quantile("a"),
        lambda r: r.band("ts-n", "quantiles", levels=0.5),
        lambda r: r.band("ts-n", "quantiles", levels=("a", "b")),
    ],
)
def test_invalid_arguments_are_refused(call: Callable[[Results], object]) -> None:
    with pytest.raises(InputError):
        call(made({"ts-n": random_regret(0)}))


def test_one_trial_has_no_standard_error_to_show() -> None:
    shown = repr(simulate("ts-n", graph="paper", horizon=3, trials=1))
    assert "1 trial," in shown
    assert "nan" not in shown
