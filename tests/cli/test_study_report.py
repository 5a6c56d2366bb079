"""Tests of cli/study.py: ``graphbandits report``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.report_pages import Page
from helpers.stores import Point, run_study
from typer.testing import CliRunner

from graphbandits.cli import app
from graphbandits.simulation.plan import Plan
from graphbandits.study.directory import Directory

NAMES = ["ts-n", "ids-n"]
SETTINGS: dict[str, Any] = {"graph": "edges(1>2 2>3 3-1)", "horizon": 20, "trials": 6, "seed": 3}
RUNNER = CliRunner(env={"COLUMNS": "300"})


def plan(policies: list[str] | str = NAMES, **changes: Any) -> Plan:
    return Plan.of(policies, **(SETTINGS | changes))


def run(*args: object) -> str:
    result = RUNNER.invoke(app, ["report", *map(str, args)])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def test_report_command_writes_page_and_summary(tmp_path: Path) -> None:
    study = run_study(tmp_path / "g", "a", [Point(plan())])
    text = run(tmp_path / "g")
    page, numbers = tmp_path / "g" / "report.html", tmp_path / "g" / "summary.json"
    assert text.split() == ["Written:", str(page), str(numbers)]
    root = Page(page.read_text("utf-8")).root
    assert root.all("h1")[0].text == study.title
    assert list(json.loads(numbers.read_text())) == ["a"]
    before = page.read_bytes(), numbers.read_bytes()
    run(tmp_path / "g")
    assert (page.read_bytes(), numbers.read_bytes()) == before


def test_report_command_selects_studies_and_output(tmp_path: Path) -> None:
    store = tmp_path / "s"
    run_study(store, "a", [Point(plan("ts-n"))])
    run_study(store, "b", [Point(plan("ids-n"))])
    run_study(store, "c", [Point(plan("ucb-n"), there={"ucb-n": []})])
    place = tmp_path / "page.html"
    run(store, "--study", "b", "--output", place)
    assert list(json.loads((tmp_path / "page.json").read_text())) == ["b"]
    assert not (store / "report.html").exists()
    text = run(store, "--output", place)
    assert "Incomplete: c, 0 of 6 trials. To continue: graphbandits run c" in text
    root = Page(place.read_text("utf-8")).root
    assert root.all("h1")[0].text == "3 studies in s"
    assert "The study c: no policy is complete yet." in root.text


def test_bad_input_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_study(tmp_path / "s", "a", [Point(plan("ts-n", trials=2))])
    run_study(tmp_path / "begun", "a", [Point(plan("ts-n", trials=2), there={"ts-n": []})])
    Directory.create(tmp_path / "empty")
    for args, fragment in [
        (["nowhere"], "nowhere has no studies: the directory does not exist"),
        (["empty"], "has no studies"),
        (["s", "--study", "b"], "no study 'b'"),
        (["s", "--output", "page.json"], "'page.json': give the name of an .html file"),
        (["s", "--output", "no/page.html"], "cannot write no/page"),
        (["begun"], "no policy in begun is complete yet"),
    ]:
        result = RUNNER.invoke(app, ["report", *args])
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: ")
        assert fragment in result.stderr
        assert result.stderr.count("\n") == 1
