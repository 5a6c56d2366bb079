"""Tests of the comparison with peers: worlds, loop, tables and messages, without a network."""

from __future__ import annotations

import doctest
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers import ROOT

from graphbandits.errors import InputError

pytestmark = pytest.mark.process

FOLDER = ROOT / "benchmarks" / "peers"


def load(name: str) -> ModuleType:
    for folder in (FOLDER.parent, FOLDER):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    return importlib.import_module(name)


class Scripted:
    """A policy that plays given arms and records what it learns."""

    def __init__(self, arms: list[int]) -> None:
        self.arms, self.told = iter(arms), []

    def choose(self) -> int:
        return next(self.arms)

    def learn(self, seen: Any) -> None:
        self.told.append(list(seen))


def test_worlds_are_the_same_for_every_reader(tmp_path: Path) -> None:
    module = load("peer_worlds")
    made = module.Worlds.make(tmp_path / "a", arms=3, rounds=40, trials=4, seed=1)
    again = module.Worlds.make(tmp_path / "b", arms=3, rounds=40, trials=4, seed=1)
    other = module.Worlds.make(tmp_path / "c", arms=3, rounds=40, trials=4, seed=2)
    assert made.digest() == again.digest() != other.digest()
    read = module.Worlds.read(tmp_path / "a")
    for trial in range(4):
        assert (read.outcomes(trial) == made.outcomes(trial)).all()
        assert read.outcomes(trial).shape == (40, 3)
        # 40 outcomes; 4.5 standard errors at most
        assert np.abs(read.outcomes(trial).mean(0) - read.means(trial)).max() < 0.36
    assert (made.outcomes(0) != made.outcomes(1)).any()


@pytest.mark.parametrize(
    ("arms", "kind"), [(5, "graph"), (10, "graph"), (50, "graph"), (7, "empty")]
)
def test_graphs_are_symmetric_and_have_all_loops(arms: int, kind: str) -> None:
    near = load("peer_worlds").neighbours(arms, kind)
    assert len(near) == arms
    for arm, revealed in enumerate(near):
        assert arm in revealed
        assert all(arm in near[other] for other in revealed)


def test_a_trial_by_hand() -> None:
    worker, worlds = load("worker"), load("peer_worlds")
    outcomes = [[1, 0, 0], [0, 1, 1], [1, 1, 0]]
    policy = Scripted([0, 2, 1])
    played, cpu = worker.play(policy, outcomes, [[0, 1], [0, 1], [2]])
    assert played == [0, 2, 1]
    assert policy.told == [[(0, 1), (1, 0)], [(2, 1)], [(0, 1), (1, 1)]]
    assert cpu >= 0.0
    # the best mean is 0.9: 0.9 - 0.5, 0.9 - 0.9 and 0.9 - 0.2
    assert worlds.regret(np.array([0.5, 0.2, 0.9]), played) == pytest.approx(1.1)


def task(folder: Path, feedback: str = "all", **changes: Any) -> dict[str, Any]:
    given = {
        "adapter": "graphbandits/ids-n",
        "neighbours": load("peer_worlds").neighbours(5, "graph"),
        "feedback": feedback,
        "worlds": str(folder),
        "trials": 2,
        "seconds": 60.0,
        "least": 2,
        "most_seconds": 60.0,
        "seed": 0,
        "warm_up": True,
    }
    return {**given, **changes}


def test_live_agent_and_simulation_have_the_same_regret(tmp_path: Path) -> None:
    load("peer_worlds").Worlds.make(tmp_path, arms=5, rounds=30, trials=2, seed=0)
    live, simulated = (load(name).run(task(tmp_path)) for name in ("worker", "simulated"))
    assert live["regrets"] == pytest.approx(simulated["regrets"], abs=1e-9)
    assert len(live["regrets"]) == 2
    assert live.keys() == simulated.keys()


def test_a_worker_ends_at_its_time_limit(tmp_path: Path) -> None:
    load("peer_worlds").Worlds.make(tmp_path, arms=5, rounds=30, trials=2, seed=0)
    report = load("worker").run(task(tmp_path, most_seconds=1e-6, seconds=1e-6, warm_up=False))
    assert report["regrets"] == []
    assert report["unfinished"] is None or report["unfinished"]["rounds"] == 1


def cell(arms: int, kind: str, row: Any, feedback: str, **changes: Any) -> dict[str, Any]:
    return {
        "arms": arms,
        "kind": kind,
        "peer": row.peer,
        "label": row.label,
        "feedback": feedback,
        "warm_up": True,
        "regrets": [1.0, 2.0, 3.0],
        "cpus": [3e-5, 2e-5, 4e-5],
        "unfinished": None,
        "loop": 1e-5,
        "import": 0.5,
        "first": 0.75,
        "peak": 50_000_000,
        **changes,
    }


@pytest.fixture
def results() -> dict[str, Any]:
    tables = load("peer_tables")
    kinds = ("empty", "graph")
    cells = [
        cell(5, kind, row, feedback)
        for row in tables.ROWS
        for kind in kinds
        for feedback in row.feedbacks(kind)
        if row.peer != "mabwiser"
    ]
    for own in cells:
        if own["peer"] == "river" and own["kind"] == "graph":
            own["regrets"] = [2.0, 4.0, 6.0]
        if own["label"] == "graph feedback":
            own.update(regrets=[], cpus=[], unfinished={"rounds": 7, "cpu": 0.25})
        if own["peer"] == "smpybandits":
            own.update(failed="out of luck")
    known = {"date": "2026-01-01T00:00:00", "seconds": 60.0, "versions": {"x": "1"}}
    return {
        "format": 1,
        "settings": {"arms": [5], "rounds": 10, "trials": 3, "seconds": 1, "least": 1, "seed": 0},
        "machine": {"cpu": "a CPU", "cores": 2, "system": "Linux"},
        "worlds": {"5": "0"},
        "peers": {**dict.fromkeys(tables.PEERS, known), "mabwiser": {"missing": "no wheel"}},
        "cells": cells,
    }


def test_tables(results: dict[str, Any]) -> None:
    empty, graph, start = load("peer_tables").tables(results)
    for table in (empty, graph, start):
        assert {len(row) for row in table.rows} == {len(table.columns)}
    rows = {tuple(row[:3]): row[3:] for row in graph.rows}
    assert rows["graphbandits", "ids-n, simulate", "all"] == ["3", "2.0 ± 2.5", "-", "20.0 us"]
    # paired: 2 - 1, 4 - 2, 6 - 3
    assert rows["river", "Thompson", "own"] == ["3", "4.0 ± 5.0", "2.0 ± 2.5", "20.0 us"]
    assert rows["vowpalwabbit", "graph feedback", "all"] == ["0", "-", "-", "250 ms"]
    assert rows["mabwiser", "Thompson", "-"] == ["-", "not installed", "-", "-"]
    assert rows["smpybandits", "Thompson", "own"] == ["-", "failed", "-", "-"]
    assert "mabwiser is not installed: no wheel." in graph.note
    assert "finished 7 rounds of 10" in graph.note
    assert "failed: out of luck." in graph.note
    assert not any("graph feedback" in row for row in empty.rows)
    assert ["river", "500 ms", "750 ms", "50.0"] in [list(row) for row in start.rows]


def test_the_figure_is_drawn(results: dict[str, Any], tmp_path: Path) -> None:
    load("peer_figure").draw(results, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").stat().st_size > 10_000


def test_packages_are_replaced_only_in_the_same_worlds(results: dict[str, Any]) -> None:
    compare = load("compare")
    new = {
        **results,
        "peers": {"river": {"missing": "gone"}},
        "cells": [],
    }
    merged = compare.merge(results, new)
    assert merged["peers"]["river"] == {"missing": "gone"}
    assert {own["peer"] for own in merged["cells"]} == {own["peer"] for own in results["cells"]} - {
        "river"
    }
    with pytest.raises(InputError, match="other worlds"):
        compare.merge(results, {**new, "worlds": {"5": "1"}})


def test_the_document_is_filled_from_the_results_file(tmp_path: Path) -> None:
    compare, tables, document = load("compare"), load("peer_tables"), load("document")
    page = tmp_path / "peers.md"
    page.write_text(compare.DOCUMENT.read_text())
    document.write_document(page, tables.contents(compare.read_results(compare.RESULTS)))
    assert page.read_text() == compare.DOCUMENT.read_text()


def test_a_peer_without_a_package_index_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environments = load("environments")
    failed = subprocess.CompletedProcess((), 1, "", "NewConnectionError: x\nERROR: No matching")
    monkeypatch.setattr(environments.subprocess, "run", lambda *_, **__: failed)
    found = environments.prepare("river", tmp_path)
    assert found == environments.Environment(None, "the package index cannot be reached")


@pytest.mark.parametrize(
    "given",
    [
        ["--only", "nobody"],
        ["--seconds", "0"],
        ["--arms", "1"],
        ["--trials", "0"],
        ["--write-docs", "--output", "none"],
    ],
)
def test_command_reports_errors_in_one_line(given: list[str]) -> None:
    command = [sys.executable, str(FOLDER / "compare.py"), *given]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1


def test_results_of_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"format": 1}))
    with pytest.raises(InputError, match="holds no results of this comparison"):
        load("compare").read_results(path)


@pytest.mark.parametrize("name", ["environments", "peer_tables", "peer_worlds"])
def test_docstring_examples_are_correct(name: str) -> None:
    outcome = doctest.testmod(load(name), optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0
