"""Tests of cli/plugins.py: ``graphbandits check``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.plugin_command_line import MINE, refused, run

from graphbandits import check_plugins
from graphbandits.testing import Verdict, contract


@pytest.mark.process
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


@pytest.mark.statistical
def test_check_accepts_text_forms_of_worlds_and_posteriors() -> None:
    """They have three arms."""
    chosen = ("normal(sd=2)", "gaussian(noise=0.5)", "bernoulli")
    verdicts = check_plugins(chosen, only=["form", "mean", "prior"])
    assert {verdict.outcome for verdict in verdicts} == {"passed"}
    assert [(v.check.kind, v.check.name) for v in verdicts] == [
        ("posterior", "form"),
        ("posterior", "mean"),
        *[("world", "form"), ("world", "prior")] * 3,  # two examples without parameters
    ]
    assert verdicts[0].example.arms == verdicts[2].example.arms == 3
    assert verdicts[0].example.sds.tolist() == [2.0] * 3
    assert verdicts[2].example.prior.noise == 0.5
    assert "noise must be" in refused("check", "normal(noise=-1)")


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
