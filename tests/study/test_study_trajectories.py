"""Tests of study/study.py: trajectories in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import pytest
from helpers.bad_input import refuses
from helpers.made_up_results import same
from helpers.stores import Point, run_study, sweep

from graphbandits import Study, simulate
from graphbandits.errors import InputError
from graphbandits.simulation.plan import Plan
from graphbandits.study.directory import Directory

BOTH = ("actions", "observations")
SETTINGS: dict[str, Any] = {"horizon": 12, "trials": 10, "seed": 3, "record": BOTH}
NAMED = networkx.DiGraph()
NAMED.add_edge("ann", "bob", probability=0.5)
NAMED.add_edges_from([("bob", "eve"), ("eve", "bob")])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study in shards of four trials, with a gap in the trials of ids-n."""
    points = [
        Point(
            Plan.of(["ts-n", "ids-n"], graph=graph, arms=arms, **SETTINGS),
            {"graph": text},
            0,
            there={"ids-n": [(0, 4), (8, 2)]},
        )
        for text, graph, arms in (("named", NAMED, None), ("star", "star", 3))
    ]
    place = tmp_path_factory.mktemp("store")
    return run_study(place, "study", points, sweeps=[sweep("graph", x="graph")])


def test_tables_equal_those_of_a_simulation(study: Study) -> None:
    for graph, names in ((NAMED, ["arm_name"]), ("star", [])):
        arms = None if names else 3
        expected = simulate(["ts-n"], graph=graph, arms=arms, **SETTINGS).trajectories("ts-n")
        found = study.trajectories(graph="named" if names else "star", policy="ts-n")
        for table, more in (("actions", []), ("observations", ["reward", "weight"])):
            rows = found.table(table)
            assert rows.column_names == ["seed", "trial", "round", "arm", *names, *more]
            assert rows.equals(expected.table(table))
        assert found.to_pandas().equals(expected.to_pandas())
        assert found.to_polars("observations").equals(expected.to_polars("observations"))


def test_only_shards_of_the_chosen_trials_are_read(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, firsts = Directory.read, []

    def counting(self: Directory, file: Any, *how: Any) -> Any:
        firsts.append(file.first)
        return read(self, file, *how)

    monkeypatch.setattr(Directory, "read", counting)
    cell = study.cell(graph="star")
    tables = cell.trajectories("ts-n", trials=[9, 1, 2])
    assert firsts == []  # nothing is read before a table is requested
    assert sorted(set(tables.table("actions")["trial"].to_pylist())) == [1, 2, 9]
    assert firsts == [0, 8]
    firsts.clear()
    reader = cell.trajectories("ts-n").batches("actions")
    reader.read_next_batch()
    assert firsts == [0]  # shard by shard
    # trials that are stored can be read although others are missing
    assert cell.trajectories("ids-n", trials=range(8, 10)).table("actions").num_rows == 24


def test_results_have_trajectories_on_request(study: Study) -> None:
    cell = study.cell(graph="star")
    whole = cell.results("ts-n", trajectories=True)
    wanted = simulate("ts-n", graph="star", arms=3, **SETTINGS)
    same(whole, wanted)
    for table in BOTH:
        assert whole.to_polars(table).equals(wanted.to_polars(table))
    summary = cell.results("ts-n")
    assert summary["ts-n"].trajectories is None
    for read in (lambda: summary.trajectories("ts-n"), lambda: summary.to_pandas("actions")):
        with pytest.raises(InputError, match=r"read without actions: use study\.trajectories"):
            read()


def test_missing_trials_policies_and_recordings_are_reported(study: Study, tmp_path: Path) -> None:
    star = {"graph": "star"}
    for how in ({}, {"trials": 5}, {"trials": "3"}):
        with refuses(InputError):
            study.trajectories(star, policy="ids-n", **how)  # type: ignore[arg-type]
    with refuses(InputError):
        study.trajectories(star, policy="ids")
    with refuses(InputError):
        study.trajectories(star, policy="ts-n").table("regret")
    bare = run_study(tmp_path, "bare", [Point(Plan.of("ts-n", horizon=3, trials=2))])
    with refuses(InputError):
        bare.trajectories(policy="ts-n")
    with refuses(InputError):
        bare.batches("actions")
