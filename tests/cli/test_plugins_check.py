"""Tests of cli/plugins.py: ``graphbandits check``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from helpers.plugin_command_line import MINE, refused, run

from graphbandits import check_plugins
from graphbandits.testing import Verdict, contract


def test_check_prints_one_verdict_per_check(plugin_place: Path) -> None:
    verdicts: list[dict[str, Any]] = json.loads(run("check", "mine.py", "--json"))
    assert {verdict["outcome"] for verdict in verdicts} == {"passed"}
    for kind, plugin in (("policy", "mine"), ("graph", "two-ways")):
        found = [v["check"] for v in verdicts if (v["kind"], v["plugin"]) == (kind, plugin)]
        assert found == [check.name for check in contract(kind)]


def test_check_prints_what_the_function_returns(plugin_place: Path) -> None:
    seen: list[Verdict] = []
    verdicts = check_plugins(
        [plugin_place / "mine.py", "ts-n"], only=["form"], finished=seen.append
    )
    assert seen == verdicts
    shown = json.loads(run("check", "mine.py", "ts-n", "--only", "form", "--json"))
    assert [verdict.to_dict() for verdict in verdicts] == shown


def test_check_accepts_names_and_single_checks(plugin_place: Path) -> None:
    shown = run("check", "ts-n", "cliques(size=2)", "--only", "form", "--only", "simplex")
    assert re.findall(r"^(\w+ \S+)$", shown, re.MULTILINE) == [
        "policy ts-n",
        "graph cliques(size=2)",
    ]
    assert shown.count("passed   form") == 2
    assert shown.count("passed   simplex") == 1


def test_contract_violation_is_shown_with_exit_code_1(plugin_place: Path) -> None:
    (plugin_place / "plug.py").write_text(
        MINE.replace("    c: float = 0.5\n", "    c: float = 0.5\n    needs = None\n")
    )
    shown = run("check", "plug.py", "--only", "form", code=1)
    assert "failed" in shown
    assert "needs must be a Needs object, not None" in shown
    verdicts = json.loads(run("check", "plug.py", "--only", "form", "--json", code=1))
    assert [verdict["outcome"] for verdict in verdicts] == ["failed", "passed"]


def test_check_refuses_unknown_names(plugin_place: Path) -> None:
    assert "did you mean 'ids-n'" in refused("check", "ids_n")
    assert "did you mean 'simplex'" in refused("check", "ts-n", "--only", "simplx")
