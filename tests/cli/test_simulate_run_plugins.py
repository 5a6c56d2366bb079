"""Tests of cli/simulate.py: experiments and simulations with plug-ins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.plugin_command_line import EXPERIMENT, MINE, refused, run

from graphbandits import open_study, simulate
from graphbandits.plugins import load_plugin, unload_plugin


@pytest.mark.parametrize("workers", [1, 2])
def test_a_plug_in_is_simulated_as_from_python(plugin_place: Path, workers: int) -> None:
    words = ["simulate", "--plugin", "mine.py", "--policy", "mine", "--policy", "ids-n"]
    size = ["--graph", "two-ways(p=0.5)", "--horizon", 15, "--trials", 7, "--seed", 5]
    shown = json.loads(run(*words, *size, "--workers", workers, "--json"))
    load_plugin("mine.py")
    again = simulate(["mine", "ids-n"], graph="two-ways(p=0.5)", horizon=15, trials=7, seed=5)
    for name in ("mine", "ids-n"):
        assert shown["policies"][name]["regret"]["mean"] == again[name].mean[-1]


def test_a_policy_that_fails_in_a_run_is_named_with_its_line(plugin_place: Path) -> None:
    method = """    c: float = 0.5

    def propose(self, state, view):
        if view.t == 3:
            return 1 / 0
        return super().propose(state, view)
"""
    source = MINE.replace("    c: float = 0.5\n", method)
    (plugin_place / "plug.py").write_text(source)
    line = source.splitlines().index("            return 1 / 0") + 1
    words = "simulate --plugin plug.py --policy mine --graph empty --horizon 9 --trials 2"
    for workers in (1, 2):
        message = refused(*words.split(), "--workers", workers)
        assert "'mine' failed in round 3, in propose" in message
        assert f"plug.py, line {line}: ZeroDivisionError" in message


def test_experiment_file_with_a_plug_in_next_to_it(plugin_place: Path) -> None:
    folder = plugin_place / "studies"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    (folder / "study.toml").write_text(EXPERIMENT)
    shown = run("run", "studies/study.toml")
    unload_plugin(folder / "mine.py")
    assert "A study of mine" in shown
    results = open_study("study").results()
    assert list(results.policies) == ["mine", "ids-n"]
    wanted = {"graph": "star(direction=out)", "horizon": 20, "trials": 6, "seed": 3}
    assert wanted.items() <= results.settings.items()
    page = (plugin_place / "study" / "report.html").read_text()
    assert "graphbandits run studies/study.toml" in page
