"""Summaries, paired differences, files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from graphbandits import Results, simulate
from graphbandits.results import QUANTILES, PolicyResult, recorded_rounds


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


def test_intervals_and_paired_differences_are_student_s(results: Results) -> None:
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


def test_saved_results_are_the_same_to_the_last_bit(results: Results, tmp_path) -> None:
    copy = Results.load(results.save(tmp_path / "run"))
    assert (copy.rounds == results.rounds).all()
    assert copy.arms == results.arms
    assert copy.settings == results.settings
    assert list(copy.policies) == list(results.policies)
    for name, result in results.policies.items():
        for part in ("mean", "standard_error", "quantiles", "final", "plays"):
            mine, theirs = getattr(result, part), getattr(copy[name], part)
            assert mine.dtype == theirs.dtype
            assert (mine == theirs).all(), (name, part)


def test_saving_again_replaces_and_leaves_nothing_behind(results: Results, tmp_path) -> None:
    results.save(tmp_path / "run")
    other = simulate("ts-n", graph="paper", horizon=5, trials=3)
    other.save(tmp_path / "run")
    assert list(Results.load(tmp_path / "run").policies) == ["ts-n"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_nothing_is_pickled(results: Results, tmp_path) -> None:
    target = results.save(tmp_path / "run")
    names = sorted(path.name for path in target.iterdir())
    assert names == ["curve.parquet", "final.parquet", "manifest.json", "plays.parquet"]
    for path in target.glob("*.parquet"):
        assert path.read_bytes()[:4] == b"PAR1"
    assert json.loads((target / "manifest.json").read_text())["settings"]["seed"] == 1


def test_the_frame_holds_the_curves(results: Results) -> None:
    frame = results.to_pandas()
    mine = frame[frame["policy"] == "ids-n"]
    assert mine["round"].tolist() == results.rounds.tolist()
    assert mine["mean"].tolist() == results["ids-n"].mean.tolist()
    assert mine["q0.9"].tolist() == results["ids-n"].quantiles[QUANTILES.index(0.9)].tolist()


def test_one_trial_has_no_standard_error() -> None:
    results = simulate("ts-n", graph="paper", horizon=5, trials=1)
    assert np.isnan(results["ts-n"].standard_error).all()
    assert results.summary()["policies"]["ts-n"]["regret"]["standard_error"] is None


@pytest.mark.parametrize("horizon", [1, 2, 199, 200, 201, 1000, 10**6])
def test_recorded_rounds_are_few_and_include_the_ends(horizon: int) -> None:
    rounds = recorded_rounds(horizon)
    assert rounds[0] == 1
    assert rounds[-1] == horizon
    assert len(rounds) <= 200
    assert (np.diff(rounds) > 0).all()
