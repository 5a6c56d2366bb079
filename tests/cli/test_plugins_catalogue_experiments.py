"""Tests of cli/plugins.py: ``graphbandits list experiments``."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from graphbandits.cli import app
from graphbandits.study.experiment import experiment_names

RUNNER = CliRunner(env={"COLUMNS": "80"})


def run(*args: object) -> str:
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 0, (result.stderr, result.exception)
    assert result.stderr == ""
    return result.stdout


def test_listing_shows_sweeps_and_number_of_runs() -> None:
    entries = {
        e["name"]: e for e in json.loads(run("list", "experiments", "--json"))["experiments"]
    }
    assert list(entries) == experiment_names()
    assert entries["paper-1a"]["runs"] == 1
    assert entries["paper-1a"]["sweeps"] == {}
    assert entries["density"]["runs"] == 22
    assert list(entries["density"]["sweeps"]) == ["r", "p"]
    assert entries["arms"]["size"] == {
        "arms": [2, 3, 5, 10, 20, 50, 100],
        "rounds": 1000,
        "trials": 200,
    }
    assert entries["eps-greedy-sensitivity"]["policies"][0] == "eps-greedy-lp(c=…)"
    shown = run("list", "experiments")
    assert "eps-greedy-sensitivity " in shown
    assert max(map(len, shown.splitlines())) <= 80
