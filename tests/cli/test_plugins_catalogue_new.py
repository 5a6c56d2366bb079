"""Tests of cli/plugins.py: ``graphbandits new``."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from helpers.plugin_command_line import refused, run

from graphbandits import new_experiment, new_graph, new_policy, new_posterior, new_world


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_a_new_policy_passes_the_contract(plugin_place: Path) -> None:
    shown = run("new", "policy", "my-ucb")
    assert "Wrote my_ucb.py" in shown
    assert run("check", "my_ucb.py").endswith("16 checks: 16 passed.\n\n")
    assert "MyUcb" in (plugin_place / "my_ucb.py").read_text()


@pytest.mark.nightly
def test_a_new_plugin_passes_the_contract_and_its_commands_run(plugin_place: Path) -> None:
    for kind, option in [("graph", "--graph"), ("world", "--world"), ("posterior", "--posterior")]:
        shown = run("new", kind, f"my-{kind}")
        assert f"Wrote my_{kind}.py" in shown
        check, simulate = (shlex.split(line)[1:] for line in shown.splitlines()[1:])
        verdicts = run(*check)
        assert "failed" not in verdicts
        assert len(re.findall(r"(\d+) checks: \1 passed\.", verdicts)) == 2  # of its examples
        assert simulate[simulate.index(option) + 1] == f"my-{kind}"
        assert re.search(r"ts-n +\d", run(*simulate, "--horizon", "20", "--trials", "4"))
        assert f"class My{kind.title()}" in (plugin_place / f"my_{kind}.py").read_text()


def test_invalid_names_of_new_plugins_are_refused(plugin_place: Path) -> None:
    for kind, taken, example in [
        ("graph", "star", "my-path"),
        ("world", "bernoulli", "my-world"),
        ("posterior", "beta-bernoulli", "my-normal"),
    ]:
        before = names_in(plugin_place)
        assert f"the {kind} '{taken}' already exists" in refused("new", kind, taken)
        assert f"as in {example}" in refused("new", kind, "My Own")
        assert names_in(plugin_place) == before


def test_new_commands_write_the_files_of_the_functions(plugin_place: Path) -> None:
    functions = {
        "policy": new_policy,
        "graph": new_graph,
        "world": new_world,
        "posterior": new_posterior,
        "experiment": new_experiment,
    }
    for kind, write in functions.items():
        run("new", kind, "my-own", "--output", "here")
        assert write("my-own", plugin_place / "there").read_bytes() == Path("here").read_bytes()
        Path("here").unlink()
        Path("there").unlink()


def test_new_policy_does_not_overwrite_files(plugin_place: Path) -> None:
    (plugin_place / "my_ucb.py").write_text("mine")
    assert "exists" in refused("new", "policy", "my-ucb")
    assert (plugin_place / "my_ucb.py").read_text() == "mine"
    run("new", "policy", "my-ucb", "--output", "plug.py")
    assert "my-ucb" in (plugin_place / "plug.py").read_text()
