"""Tests of simulation/tables.py: data frames, and tables of trajectories."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import polars
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.made_up_results import made, random_regret, recorded, recorded_eligible

from graphbandits import Results, simulate
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, UniformFeedback
from graphbandits.simulation import tables as trajectory_tables
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


@each("table", list(SCHEMA))
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
    with pytest.raises(InputError, match=r"no table 'regret': .*study\.results\(\)"):
        replace(results, policies=summaries).to_polars("regret")
    with pytest.raises(InputError, match="these results have no fixed graph"):
        replace(results, graph=None).to_pandas("graph")
    uniform = replace(results, graph=Fixed(UniformFeedback(0.5, 5)))
    with pytest.raises(InputError, match=r"use results\.graph\.feedback\.r"):
        uniform.to_pandas("graph")


@each("package", ["pandas", "polars"])
def test_missing_package_is_reported(
    results: Results, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=re.escape(f'pip install "graphbandits[{package}]"')):
        getattr(results, f"to_{package}")()


BOTH = ("actions", "observations")
NAMED = networkx.DiGraph()
NAMED.add_edge("ann", "bob", probability=0.5)
NAMED.add_edges_from([("bob", "eve"), ("eve", "bob")])
HOW: dict[str, Any] = {"graph": NAMED, "horizon": 8, "record": BOTH}


@pytest.fixture(scope="module")
def results_recorded() -> Results:
    """Trials of two seeds."""
    return concat(
        [
            simulate(["ts-n", "ucb-n"], seed=5, trials=4, first_trial=2, **HOW),
            simulate(["ts-n", "ucb-n"], seed=6, trials=3, **HOW),
        ]
    )


def test_one_row_per_play_and_per_observation(results_recorded: Results) -> None:
    tables, seen = results_recorded.trajectories("ucb-n"), results_recorded["ucb-n"].trajectories
    assert seen is not None
    assert seen.action is not None
    assert seen.observations is not None
    actions = tables.table("actions").to_pydict()
    assert actions["seed"] == [5] * 32 + [6] * 24
    numbers = np.repeat([2, 3, 4, 5, 0, 1, 2], 8)
    assert actions["trial"] == numbers.tolist()
    assert actions["round"] == list(range(1, 9)) * 7
    assert actions["arm"] == seen.action.ravel().tolist()
    assert actions["arm_name"] == [("ann", "bob", "eve")[arm] for arm in actions["arm"]]
    observed = tables.to_pandas("observations")
    assert observed["reward"].tolist() == seen.observations.reward.tolist()
    assert observed["arm"].tolist() == seen.observations.arm.tolist()
    assert set(observed["weight"]) == {1.0}
    # every play is observed
    played = tables.to_pandas("actions").merge(observed, on=["seed", "trial", "round", "arm"])
    assert len(played) == 56


def test_trials_can_be_chosen(results_recorded: Results) -> None:
    chosen = results_recorded.trajectories("ts-n", trials=[2, 5, 3]).to_pandas("actions")
    pairs = chosen[["seed", "trial"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [[5, 2], [5, 3], [5, 5], [6, 2]]
    whole = results_recorded.trajectories("ts-n").to_pandas("actions")
    assert chosen.equals(whole[whole["trial"].isin([2, 3, 5])].reset_index(drop=True))
    assert results_recorded.trajectories("ts-n", 1).table("actions").num_rows == 8


@each("rows", [1, 9, 20])
def test_batches_have_the_same_rows(
    results_recorded: Results, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [results_recorded.trajectories("ts-n").table(table) for table in BOTH]
    monkeypatch.setattr(trajectory_tables, "ROWS", rows)
    for table, expected in zip(BOTH, whole, strict=True):
        reader = results_recorded.trajectories("ts-n").batches(table)
        assert reader.schema == expected.schema
        parts = list(reader)
        assert len(parts) > 3
        assert expected.equals(type(expected).from_batches(parts))


def test_unknown_trials_policies_and_tables_are_refused(results_recorded: Results) -> None:
    for how in ({"trials": 6}, {"trials": [0, -1]}, {"trials": 0.5}):
        with refuses(InputError):
            results_recorded.trajectories("ts-n", **how)  # type: ignore[arg-type]
    with refuses(InputError):
        results_recorded.trajectories("ts")
    with refuses(InputError):
        results_recorded.trajectories("ts-n").batches("action")
    bare = simulate("ts-n", horizon=2, trials=2)
    with refuses(InputError):
        bare.trajectories("ts-n")
    with refuses(InputError):
        bare.to_pandas("actions")
    played = simulate("ts-n", horizon=2, trials=2, record="actions")
    with refuses(InputError):
        played.trajectories("ts-n").table("observations")
