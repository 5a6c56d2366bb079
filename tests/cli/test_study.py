"""Tests of cli/study.py: ``graphbandits store``: export, verify and remove."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from helpers.stores import Point, run_study
from typer.testing import CliRunner

from graphbandits import open_studies
from graphbandits.cli import app
from graphbandits.cli import study as store_commands
from graphbandits.errors import InputError
from graphbandits.simulation.plan import Plan

NAMES = ["ts-n", "ids-n"]
RUNNER = CliRunner(env={"COLUMNS": "300"})


def test_export_command_prints_what_was_written_and_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan.of(NAMES, graph="star", horizon=2, trials=4)
    run_study(tmp_path, "a", [Point(plan, there={"ts-n": [(0, 1)]})])
    run_study(tmp_path, "b", [Point(replace(plan, seed=1))])
    store_commands.export_(tmp_path, tmp_path / "t.csv", "final", ["b"], partial=True)
    captured = capsys.readouterr()
    assert "t.csv: 8 rows" in captured.out.replace("\n", "")
    assert captured.err == ""
    store_commands.export_(tmp_path, tmp_path / "t.csv", "final", [], partial=True)
    captured = capsys.readouterr()
    assert "t.csv: 13 rows" in captured.out.replace("\n", "")
    assert captured.err == "incomplete: a: ts-n (1 of 4 trials)\n"
    assert len(pandas.read_csv(tmp_path / "t.csv")) == 13
    with pytest.raises(InputError, match="no study 'c'"):
        store_commands.export_(tmp_path, tmp_path / "t.csv", "final", ["c"], partial=False)


def test_verify_command_lists_problems_and_sets_the_exit_code(tmp_path: Path) -> None:
    plan = Plan.of(NAMES, graph="star", horizon=2, trials=4)
    run_study(tmp_path, "a", [Point(plan)])
    result = RUNNER.invoke(app, ["store", "verify", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path}: 2 shards read, no problems.\n")
    shard = min(tmp_path.rglob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-1])
    result = RUNNER.invoke(app, ["store", "verify", str(tmp_path)])
    first, last = result.stdout.splitlines()
    assert result.exit_code == 1
    assert first.startswith(f"{shard.relative_to(tmp_path)} is damaged (its sha256 differs")
    assert last == f"{tmp_path}: 2 shards read, 1 problem."
    found = json.loads(RUNNER.invoke(app, ["store", "verify", str(tmp_path), "--json"]).stdout)
    assert [one["file"] for one in found["findings"]] == [str(shard.relative_to(tmp_path))]


def test_remove_command_removes_a_study_or_its_trials_of_a_policy(tmp_path: Path) -> None:
    plan = Plan.of(NAMES, graph="star", horizon=2, trials=4)
    study = run_study(tmp_path, "a", [Point(plan)])
    run_study(tmp_path, "b", [Point(replace(plan, seed=1))])
    words = ["store", "remove", str(tmp_path), "--study"]
    assert RUNNER.invoke(app, [*words, "a", "--policy", "ts-n"]).exit_code == 0
    assert [part.policy for part in study.progress().missing] == ["ts-n"]
    assert RUNNER.invoke(app, [*words, "a"]).exit_code == 0
    assert list(open_studies(tmp_path)) == ["b"]
    refused = RUNNER.invoke(app, [*words, "c"])
    assert refused.exit_code == 2
    assert "no study 'c'" in refused.stderr
