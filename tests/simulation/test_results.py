"""Tests of simulation/results.py: statistics, bands, and combination."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused, refuses
from helpers.cases import each
from helpers.made_up_results import made, random_regret, same
from scipy import stats

import graphbandits
from graphbandits import Results, as_process, simulate
from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs import DenseFeedback, Fixed
from graphbandits.simulation.results import PolicyResult, concat
from graphbandits.simulation.tables import QUANTILES


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


def test_differences_from_the_best_are_simultaneous(results: Results) -> None:
    best, *others = results.ranking()
    pairs = {d.second: d for d in results.differences(simultaneous=True) if d.first == best}
    found = results.from_best()
    assert found.keys() == set(others)
    for name, difference in found.items():
        assert difference == pairs[name].reversed()


def test_one_trial_has_no_standard_error() -> None:
    results = simulate("ts-n", graph="paper", horizon=5, trials=1)
    assert "1 trial," in repr(results)
    assert "nan" not in repr(results)
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


def test_unknown_policies_and_invalid_confidences_are_refused(results: Results) -> None:
    for call in (results.__getitem__, results.interval, results.differences):
        refused(lambda call=call: call("ids"), "'ids'", "ts-n", "ids-n")
    for level in (0.0, 1.0, 95, -1, math.nan):
        refused(lambda level=level: results.interval("ts-n", level), "confidence", repr(level))


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


@each(
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


def halves(values: dict[str, Floats], cut: int, **settings: Any) -> list[Results]:
    parts = {name: (regret[:cut], regret[cut:]) for name, regret in values.items()}
    return [
        made({name: part[i] for name, part in parts.items()}, first=first, **settings)
        for i, first in enumerate((0, cut))
    ]


VALUES = {name: random_regret(i) for i, name in enumerate("xyz")}


def test_two_halves_combine_to_the_whole() -> None:
    whole, together = made(VALUES), Results.concat(halves(VALUES, 2))
    same(together, whole)
    assert together.runs == [{"seed": 3, "first_trial": 0, "trials": 6}]
    assert together.settings["trials"] == together.trials == 6


def test_policies_of_the_same_worlds_are_combined() -> None:
    parts = [made({name: values}) for name, values in VALUES.items()]
    same(concat(parts), made(VALUES))
    same(concat([*parts, parts[0]]), made(VALUES))
    assert list(concat(parts[::-1]).policies) == ["z", "y", "x"]
    assert concat(parts[:1]) is parts[0]


def test_grid_of_runs_and_policies_is_combined() -> None:
    parts = [p for name in "xyz" for p in halves({name: VALUES[name]}, 4)]
    same(concat(parts), made(VALUES))
    for some in (parts[:-1], [*parts[:4], parts[5]]):
        with pytest.raises(InputError, match="every policy in every run, but seed 3, trials"):
            concat(some)


@each("first", [0, 3, 5])
def test_overlapping_trials_are_refused(first: int) -> None:
    with pytest.raises(InputError, match=f"the same worlds would count twice: .*trials {first} to"):
        concat([made(VALUES), made({n: v[::-1][:5] for n, v in VALUES.items()}, first=first)])


@each(
    ("change", "words"),
    [
        ({"horizon": 9}, ["horizon: 4 and 9"]),
        ({"delay": 3, "problem": "b" * 64}, ["delay: None and 3"]),
        ({"problem": "b" * 64, "graph": "paper"}, ["graph: 'some' and 'paper'"]),
        ({"regret": "realised"}, ["regret: 'pseudo' and 'realised'"]),
        ({"ratios": "joint"}, ["ratios: None and 'joint'"]),
        ({"problem": None}, ["register the graph, the world or the posterior in a plug-in"]),
    ],
)
def test_different_problems_are_not_combined(change: dict[str, Any], words: list[str]) -> None:
    one, other = made(VALUES), made(VALUES, seed=9)
    concat([one, other])
    with pytest.raises(InputError) as caught:
        concat([one, replace(other, settings=dict(other.settings) | change)])
    for word in words:
        assert word in str(caught.value)
    with pytest.raises(InputError, match=r"recorded rounds: \[1, 2, 3, 4\] and \[2, 4, 6, 8\]"):
        concat([one, replace(other, rounds=other.rounds * 2)])


def test_the_same_policy_with_other_numbers_or_another_source_is_refused() -> None:
    one = made(VALUES)
    changed = made(VALUES | {"y": VALUES["y"] * 2})
    with pytest.raises(InputError, match="policy 'y' has two different results"):
        concat([one, changed])
    ways = [made({"x": VALUES["x"]}, policies={"x": {"source": s}}) for s in ("1a", "2b")]
    with pytest.raises(InputError, match="different sources of policy 'x'"):
        concat(ways)
    moved = [
        made({"x": VALUES["x"]}, seed=s, policies={"x": {"source": "1a", "plugin": f"/{s}.py"}})
        for s in (1, 2)
    ]
    assert concat(moved).settings["policies"]["x"]["plugin"] == "/1.py"


def test_versions_that_differ_are_listed() -> None:
    parts = [
        made(VALUES, seed=s, versions={"numpy": n, "python": "3.11"})
        for s, n in enumerate(["2.0", "2.1", "2.0", "2.2"])
    ]
    for together in (concat(parts), concat([concat(parts[:2]), concat(parts[2:])])):
        assert together.settings["versions"] == {"numpy": ["2.0", "2.1", "2.2"], "python": "3.11"}


def test_invalid_combinations_are_refused() -> None:
    with pytest.raises(InputError, match="concat needs a list of one or more results"):
        concat([])
    with pytest.raises(InputError, match="results without a seed cannot be combined"):
        concat([made(VALUES, seed=None), made(VALUES, seed=None)])
    first, later = (made(VALUES, seed=seed) for seed in (3, 5))
    summaries = {name: replace(result, regret=None) for name, result in first.policies.items()}
    summary = replace(first, policies=summaries)
    with pytest.raises(InputError, match="cannot add trials to those of 'x': these results are"):
        concat([summary, later])
    assert concat([summary, first])["x"].regret is not None
