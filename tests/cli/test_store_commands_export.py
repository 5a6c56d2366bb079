"""Tests of cli/store_commands.py: ``graphbandits store export``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from helpers.bad_input import refuses
from helpers.stores import Point, run_study

from graphbandits.cli import store_commands
from graphbandits.engine import Plan
from graphbandits.errors import InputError

NAMES = ["ts-n", "ids-n"]


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
    with refuses(InputError, match="choose from a, b"):
        store_commands.export_(tmp_path, tmp_path / "t.csv", "final", ["c"], partial=False)
