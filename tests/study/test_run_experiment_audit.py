"""Tests of study/run.py and of its command, ``graphbandits audit``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from graphbandits import audit_experiment
from graphbandits._files import json_text
from graphbandits.cli import app
from graphbandits.plugins import unload_plugin

MUTANT = '''"""A policy that claims the theorems of IDS-N without being IDS-N."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphbandits.policies.information_directed import IDSN
from graphbandits.registry import register


@register("policy", "mutant")
@dataclass(frozen=True)
class Mutant(IDSN):
    """Plays the arm of largest regret."""

    rule = staticmethod(lambda alpha, delta, h, gain: np.eye(len(delta[0]))[delta.argmax(axis=1)])
'''
FILE = """title = "A mutant"
graph = "edges(1>2 2>3 3-4)"
horizon = 20
trials = 1000
policies = ["ids-n", "ucb-n"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mutant.py").write_text(MUTANT)
    (tmp_path / "some.toml").write_text(FILE)
    yield tmp_path
    unload_plugin(tmp_path / "mutant.py")


def test_audit_command_reports_violation_and_replay_command(folder: Path) -> None:
    command = ["audit", "some.toml", "--trials=4", "--plugin=mutant.py", "--policy=mutant"]
    found = CliRunner().invoke(app, [*command, "--json"])
    assert found.exit_code == 1
    report = json.loads(found.stdout)
    assert report["holds"] is False
    (one,) = report["audits"].values()
    assert one["policies"] == ["ids-n", "mutant"]
    broken = {s["name"]: s["worst"] for s in one["statements"] if s["violations"]}
    worst = broken["Proposition 2"]
    assert worst["policy"] == "mutant"
    assert f"Error: Proposition 2 (Psi <= psi) does not hold: {worst['value']:.9g}" in found.stderr
    assert worst["replay"] in found.stderr
    assert "Traceback" not in found.stderr

    words = shlex.split(worst["replay"])
    assert words[0] == "graphbandits"
    again = json.loads(CliRunner().invoke(app, [*words[1:], "--json"]).stdout)
    pi, delta = np.array(worst["pi"]), np.array(again["delta"])
    assert pi.argmax() == delta.argmax()
    ratio = (pi @ delta) ** 2 / (pi @ np.array(again["gain"]["joint"]))
    assert ratio == pytest.approx(worst["value"], rel=1e-9)
    assert again["ratio"]["ts-n"] == pytest.approx(worst["limit"], rel=1e-9)


def test_audit_command_lists_checked_statements(folder: Path) -> None:
    found = CliRunner().invoke(app, ["audit", "some.toml", "--trials=2", "--workers=1"])
    assert found.exit_code == 0, found.output
    assert "A mutant: ids-n; 2 trials of 20 rounds, seed 0" in found.stdout
    assert "Checked 100.0% of 40 rounds" in found.stdout
    assert "No violation." in found.stdout
    rows = {line.split("  ")[0].strip(): line for line in found.stdout.splitlines()}
    assert " 160 " in rows["Proposition 1"]
    assert " 40 " in rows["Theorem 2"]
    assert "none" in rows["Theorem 3"]


def test_experiments_without_a_covered_policy_are_refused(folder: Path) -> None:
    found = CliRunner().invoke(app, ["audit", "russo-van-roy-bernoulli"])
    assert (found.exit_code, found.stdout) == (2, "")
    assert "no theorem covers any of its policies" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


def test_audit_command_prints_result_of_audit_experiment(folder: Path) -> None:
    titles: list[str] = []
    found = audit_experiment(
        "some.toml",
        trials=2,
        policies=["mutant"],
        plugins=["mutant.py"],
        workers=1,
        progress=False,
        finished=lambda one: titles.append(one.title),
    )
    assert not found.holds
    assert titles == ["A mutant"]
    command = ["audit", "some.toml", "--trials=2", "--plugin=mutant.py", "--policy=mutant"]
    shown = CliRunner().invoke(app, [*command, "--json"])
    assert json.loads(shown.stdout) == json.loads(json_text(found.to_dict()))
    assert shown.stderr == "".join(f"Error: {sentence}\n" for sentence in found.broken)


def test_sweeps_are_audited_for_each_value(folder: Path) -> None:
    Path("swept.toml").write_text(
        'title = "Swept"\nhorizon = 5\ntrials = 2\narms = 3\npolicies = ["ts-n"]\n'
        '[[sweeps]]\nparameter = "r"\nvalues = [0.0, 0.5]\ngraph = "random(r={r})"\n'
    )
    found = CliRunner().invoke(app, ["audit", "swept.toml", "--trials=2", "--json"])
    assert found.exit_code == 0, found.output
    audits = json.loads(found.stdout)["audits"]
    assert [one["graph"] for one in audits.values()] == ["random(r=0.0)", "random(r=0.5)"]
