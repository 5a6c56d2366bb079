"""Tests of the benchmarks: small sizes, the reference, and the document they fill."""

from __future__ import annotations

import doctest
import importlib
import io
import json
import re
import subprocess
import sys
from itertools import groupby
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers import ROOT
from helpers import postgres as helpers_postgres
from helpers.bad_input import refuses
from helpers.oracles import exact_beliefs
from rich.console import Console

from graphbandits import Agent
from graphbandits.errors import InputError

pytestmark = pytest.mark.process

FOLDER = ROOT / "benchmarks"


def load(name: str) -> ModuleType:
    """Import a module of the benchmarks, which are scripts in one directory and no package."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(name)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, Any]:
    """Return the results of all sections at the smallest sizes, read from a file."""
    settings = load("settings").Settings(
        arms=(50,),
        seconds=0.02,
        horizon=20,
        posterior_arms=60,
        referenced=1,
        many_arms=(30,),
        distinct=20,
        degree=3,
        different_arms=(30,),
        long_arms=4,
        long_rounds=40,
        long_windows=2,
        round_arms=(5,),
        stream_megabytes=1,
        strict_arms=(2,),
        policy_arms=(3,),
        policy_rounds=4,
        model_arms=(2,),
        model_rounds=2,
        start_commands=("Agent, first decision",),
        start_passes=1,
        worker_trials=4,
        worker_rounds=5,
        store_trials=2,
        summary_trials=40,
        live_arms=(5,),
        live_distinct=3,
        live_seconds=0.02,
        live_events=60,
        live_decisions=3,
        live_some_arms=20,
        live_writers=(1, 2),
        live_write_seconds=0.05,
        service_arms=(5,),
        service_workers=(1,),
        service_clients=(1, 2),
        service_seconds=0.05,
        service_turns=1,
        graph_arms=(5, 150),
        sparse_arms=(60,),
        graph_seconds=0.02,
    )
    run, document = load("run"), load("document")
    console = Console(file=io.StringIO(), width=80)
    path = tmp_path_factory.mktemp("bench") / "results.json"
    document.write_results(path, run.run(settings, list(run.SECTIONS), console))
    assert [p.name for p in path.parent.iterdir()] == ["results.json"]
    return document.read_results(path)


def test_results_have_the_documented_keys(results: dict[str, Any]) -> None:
    run = load("run")
    assert tuple(results) == load("document").KEYS
    assert set(results["sections"]) == set(run.SECTIONS)
    (measured,) = results["runs"]
    assert measured["sections"] == list(run.SECTIONS)
    assert measured["settings"]["arms"] == [50]
    assert {"numpy", "numba", "graphbandits"} <= set(measured["versions"])
    assert measured["cpu"]["model"]
    json.dumps(results, allow_nan=False)


def test_every_table_has_a_cell_for_each_column_and_fits_80_characters(results) -> None:
    run = load("run")
    for name, section in results["sections"].items():
        for table in run.SECTIONS[name].tables(section):
            assert table.rows, table.title
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
            console = Console(width=80, record=True, file=io.StringIO())
            table.show(console)
            shown = console.export_text()
            for cell in {cell for row in table.rows for cell in row}:
                assert cell in shown, (table.title, cell)


def test_grid_reference_is_less_accurate_than_the_library(results) -> None:
    """The accuracy of the statistics is 1e-10; a grid of 1000 points does not reach it."""
    for cell in results["sections"]["baseline"]["cells"]:
        assert cell["reference_disagreement"] < 1e-15
        assert max(cell["errors"]["graphbandits"].values()) < 1e-10
        assert max(cell["errors"]["baseline"].values()) > 1e-7


def test_the_quadrature_of_the_reference_agrees_with_exact_rationals() -> None:
    reference = load("reference")
    pairs = [(1, 1), (7, 3), (2, 9), (7, 3), (90, 31), (1, 1), (7, 3)]
    got, want = reference.by_quadrature(pairs), exact_beliefs(pairs)
    for part in ("alpha", "delta", "h"):
        assert getattr(got, part) == pytest.approx(getattr(want, part), rel=1e-15, abs=1e-18)
    assert reference.disagreement(*np.array(pairs, float).T) <= 1e-16


def test_posteriors_have_the_stated_number_of_distinct_arms() -> None:
    posteriors = load("posteriors")
    a, b = posteriors.all_different(200, 3, seed=1)
    assert [len(set(zip(*row, strict=True))) for row in zip(a, b, strict=True)] == [200] * 3
    a, b = posteriors.few_different(5000, 40, seed=1)
    assert len(set(zip(a[0], b[0], strict=True))) == 40
    assert (np.minimum(a, b) >= 1.0).all()


def test_the_graph_of_many_arms_is_directed_and_has_the_requested_degree(tmp_path) -> None:
    load("many_arms").make_graph(str(tmp_path), 2000, 20, seed=3)
    start, column, weight = (np.load(tmp_path / f"{n}.npy") for n in ("start", "column", "weight"))
    row = np.repeat(np.arange(2000), np.diff(start))
    edges = set(zip(row.tolist(), column.tolist(), strict=True))
    assert len(edges) == len(column)
    assert (weight[row == column] == 1.0).sum() == 2000
    # Poisson(20) edges per arm, minus a few duplicates; 4.5 standard errors
    degree = (len(column) - 2000) / 2000
    assert 20 * (1 - 20 / 2000) - 4.5 * np.sqrt(20 / 2000) <= degree <= 20 + 4.5 * np.sqrt(0.01)
    assert sum((j, i) in edges for i, j in edges if i != j) < len(edges) / 10


def test_the_journal_that_is_replayed_is_that_of_an_agent(tmp_path) -> None:
    """It has the events that an agent writes, and what they say is what is learned."""
    module, settings = load("live_agents"), load("settings").Settings
    place = str(tmp_path / "agents.db")
    module.write_journal(place, settings(live_events=2 * module.PATTERN + 40, live_some_arms=7))
    agent = Agent(store=place)
    decisions = module.PATTERN + 20
    status = agent.status()
    assert (status["decisions"], status["open"], status["outcomes"]) == (
        decisions,
        0,
        3 * decisions,
    )
    ones, zeros = dict.fromkeys(range(7), 1), dict.fromkeys(range(7), 1)
    for event in agent.history():
        for arm, reward in event.get("outcomes", {}).items():
            (ones if reward else zeros)[int(arm)] += 1
    assert agent.state == {"a": ones, "b": zeros}
    written = agent._journal.of_decision(decisions)
    number = agent.decide().number
    assert number == decisions + 1
    agent.observe(agent.pending[0], {})
    for old, new in zip(written, agent._journal.of_decision(number), strict=True):
        assert (old.kind, old.body.keys()) == (new.kind, new.body.keys())
    # what is repeated has ids of its own
    assert agent.decision(written[0].body["id"]).number == decisions


def test_live_agents_have_different_histories() -> None:
    module, settings = load("live_agents"), load("settings").Settings
    state = module.experienced_agent(50, settings(live_distinct=10)).state
    assert len(set(zip(state["a"].values(), state["b"].values(), strict=True))) == 10


def test_without_postgresql_the_rows_state_it(results, monkeypatch) -> None:
    module = load("live_agents")
    monkeypatch.setattr(helpers_postgres, "_program", {"initdb": None, "postgres": None}.get)
    monkeypatch.delenv("GRAPHBANDITS_REQUIRE_POSTGRES", raising=False)
    with module.databases() as (places, missing):
        assert list(places) == ["SQLite"]
    assert missing == {"PostgreSQL": "PostgreSQL is not installed"}
    section = {**results["sections"]["live-agents"], "missing": missing}
    for part in ("calls", "replay", "writers"):
        section[part] = [row for row in section[part] if row["store"] != "PostgreSQL"]
        assert section[part]
    *stored, overhead, memory = module.tables(section)
    for table in stored:
        (row,) = (row for row in table.rows if "PostgreSQL" in row)
        assert len(row) == len(table.columns)
        assert row[row.index("PostgreSQL") + 1] == "not available"
        assert table.note.endswith(" PostgreSQL: PostgreSQL is not installed.")
    assert "PostgreSQL" not in overhead.note + memory.note


def test_a_rate_counts_the_steps_of_its_time(monkeypatch) -> None:
    module = load("live_agents")
    moments = iter([10.0, 11.0, 14.0, 15.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(moments))
    assert module.rate_of(iter([None] * 9), 4.5) == (3 / 5.0, 3.0)


def test_the_document_is_filled_again_to_the_same_text(results, tmp_path) -> None:
    run, document = load("run"), load("document")
    page = tmp_path / "performance.md"
    page.write_text(run.DOCUMENT.read_text())
    document.write_document(page, run.contents(results))
    once = page.read_text()
    assert "| arms |" in once
    document.write_document(page, run.contents(results))
    assert page.read_text() == once


def test_the_document_is_filled_from_the_results_file(tmp_path) -> None:
    run, document = load("run"), load("document")
    page = tmp_path / "performance.md"
    page.write_text(run.DOCUMENT.read_text())
    document.write_document(page, run.contents(document.read_results(run.RESULTS)))
    assert page.read_text() == run.DOCUMENT.read_text()


def test_versions_and_dates_are_in_the_generated_lines_only() -> None:
    run, document = load("run"), load("document")
    results = document.read_results(run.RESULTS)
    measured = [name for record in results["runs"] for name in record["sections"]]
    assert sorted(measured) == sorted(results["sections"])
    text = run.DOCUMENT.read_text()
    for name in run.contents(results):
        text = document.replace_between_markers(text, name, "")
    assert not re.search(r"\b\d+\.\d+\.\d+\b|\b20\d\d-\d\d-\d\d\b", text)


def test_a_document_without_its_markers_is_refused_and_not_changed(results, tmp_path) -> None:
    run, document = load("run"), load("document")
    page = tmp_path / "performance.md"
    text = run.DOCUMENT.read_text().replace("<!-- end round -->", "")
    page.write_text(text)
    with refuses(InputError):
        document.write_document(page, run.contents(results))
    assert page.read_text() == text


def test_results_that_lack_a_section_are_refused(results, tmp_path) -> None:
    run, document = load("run"), load("document")
    page = tmp_path / "performance.md"
    page.write_text(run.DOCUMENT.read_text())
    sections = {name: own for name, own in results["sections"].items() if name != "round"}
    with refuses(InputError):
        document.write_document(page, run.contents({**results, "sections": sections}))


def test_command_reports_errors_in_one_line(tmp_path) -> None:
    command = [sys.executable, str(FOLDER / "run.py"), "--write-docs", "--output"]
    for given, reason in (
        (tmp_path / "none.json", "cannot read"),
        (FOLDER / "run.py", "no results"),
    ):
        run = subprocess.run([*command, str(given)], capture_output=True, text=True)
        assert run.returncode == 2
        assert reason in run.stderr
        assert run.stderr.count("\n") == 1


def test_machine_kernels_do_the_counted_work() -> None:
    kernels = load("machine_kernels")
    x = np.linspace(0.1, 1.0, 37)
    # v (1 + s + ... + s^CHAIN), for each element and round
    want = 3 * x.sum() * sum(0.5**k for k in range(kernels.CHAIN + 1))
    assert kernels.multiply_adds(x, 0.5, 3) == pytest.approx(want, rel=1e-13)
    assert kernels.one_after_another(1.0, 0.5, 3) == 1.875
    out = np.empty(37)
    kernels.triad(out, x, x[::-1].copy(), 2.0)
    assert out == pytest.approx(x + 2.0 * x[::-1], rel=1e-15)


def test_calls_take_turns_and_each_is_counted_at_least_twice() -> None:
    order: list[str] = []
    calls = {name: (lambda name=name: order.append(name)) for name in ("one", "two")}
    least = load("timing").least_cpu_in_turns(calls, seconds=1e-9)
    assert order[:2] == ["one", "two"]  # to warm up
    turns = [name for name, _ in groupby(order[2:])]  # a call may be repeated within its turn
    assert turns == ["one", "two"] * 2
    assert all(0.0 <= value < np.inf for value in least.values())


@pytest.mark.parametrize("name", ["display", "document", "timing", "work"])
def test_docstring_examples_of_the_benchmarks_are_correct(name: str) -> None:
    outcome = doctest.testmod(load(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
