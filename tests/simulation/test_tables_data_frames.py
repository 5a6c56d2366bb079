"""Tests of simulation/tables.py: columns and rows of the tables."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import pandas
import polars
import pytest
from helpers.made_up_results import made, random_regret, recorded, recorded_eligible

from graphbandits import Results, simulate
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, UniformFeedback
from graphbandits.simulation.results import concat
from graphbandits.simulation.tables import QUANTILES, SCHEMA


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(
        ["ts-n", "ids-n", "ids-lp"], graph="star(direction=out)", horizon=60, trials=40, seed=1
    )


def test_the_frame_holds_the_curves(results: Results) -> None:
    frame = results.to_pandas()
    mine = frame[frame["policy"] == "ids-n"]
    assert mine["round"].tolist() == results.rounds.tolist()
    assert mine["mean"].tolist() == results["ids-n"].mean.tolist()
    assert mine["q0.9"].tolist() == results["ids-n"].quantiles[QUANTILES.index(0.9)].tolist()


@pytest.mark.parametrize("table", SCHEMA)
def test_frames_have_the_columns_of_the_schema(table: str) -> None:
    results = recorded_eligible() if table == "eligible" else recorded()
    frame, other = results.to_pandas(table), results.to_polars(table)
    assert list(frame.columns) == other.columns == list(SCHEMA[table])
    assert frame.to_dict("list") == other.to_dict(as_series=False)
    kinds = {"string": polars.String, "int64": polars.Int64, "double": polars.Float64}
    assert other.schema == {name: kinds[kind] for name, kind in SCHEMA[table].items()}


def test_the_long_frame_has_every_trial_and_round() -> None:
    parts = [made({"x": random_regret(s), "y": random_regret(s + 9)}, seed=s) for s in (5, 6)]
    results = concat(parts)
    frame = results.to_pandas("regret").set_index(["policy", "seed", "trial", "round"])["regret"]
    for s, part in zip((5, 6), parts, strict=True):
        for name in "xy":
            for trial in range(6):
                for t in range(1, 5):
                    assert frame[name, s, trial, t] == part[name].regret[trial, t - 1]  # type: ignore[index]
    final = results.to_polars("final").filter(policy="y", seed=6)
    assert final["trial"].to_list() == list(range(6))
    assert final["regret"].to_list() == parts[1]["y"].final.tolist()


def test_missing_tables_are_refused(results: Results) -> None:
    with pytest.raises(InputError, match="no table 'curves': did you mean 'curve'"):
        results.to_pandas("curves")
    summaries = {name: replace(one, regret=None) for name, one in results.policies.items()}
    with pytest.raises(InputError, match=r"no table 'regret'; .*study\.results\(\)"):
        replace(results, policies=summaries).to_polars("regret")
    with pytest.raises(InputError, match="these results have no fixed graph"):
        replace(results, graph=None).to_pandas("graph")
    uniform = replace(results, graph=Fixed(UniformFeedback(0.5, 5)))
    with pytest.raises(InputError, match=r"use results\.graph\.feedback\.r"):
        uniform.to_pandas("graph")


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_missing_package_is_reported(
    results: Results, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=re.escape(f'pip install "graphbandits[{package}]"')):
        getattr(results, f"to_{package}")()


def test_differences_are_a_frame(results: Results) -> None:
    frame = pandas.DataFrame(results.differences(simultaneous=True))
    assert frame["simultaneous"].all()
    assert len(frame) == 3
