"""Tests of cli/plugins.py: ``graphbandits precompile``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.command_line import RUNNER

from graphbandits.cli import app

#: Prints the kernels that a live agent compiles.
DECIDE = """
from numba.core import event
class Compiled(event.Listener):
    names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass
event.register("numba:compile", Compiled())
from graphbandits import Agent, simulate
agent = Agent("POLICY", arms=["ann", "bob", "eve"], graph="star", seed=1)
decision = agent.decide()
agent.observe(decision, {decision.arm: 1})
simulate("POLICY", graph="random(r=0.25)", arms=4, horizon=3, trials=2, progress=False)
print(*Compiled.names)
"""


def run_python(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )


@pytest.mark.nightly
def test_nothing_is_compiled_after_precompile(tmp_path: Path) -> None:
    cache = tmp_path / "kernels"
    command = ("-m", "graphbandits", "precompile", "--policies", "ts-n-sampled")
    run = run_python(*command, "--cache", str(cache))
    assert str(cache) in run.stdout
    kept = {"NUMBA_CACHE_DIR": str(cache)}
    program = DECIDE.replace("POLICY", "ts-n-sampled")
    assert run_python("-c", program, **kept).stdout.split() == []
    # another policy needs more, so the list of compiled kernels can have entries
    other = DECIDE.replace("POLICY", "ucb-n")
    assert run_python("-c", other, **kept).stdout.split() != []


def test_unknown_names_are_errors_before_anything_is_compiled() -> None:
    for words, message in [
        (["--policies", "nope"], "unknown policy 'nope'"),
        (["--worlds", "nope"], "unknown world 'nope'"),
    ]:
        result = RUNNER.invoke(app, ["precompile", *words])
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stdout == ""


def test_a_directory_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    run = subprocess.run(
        [sys.executable, "-m", "graphbandits", "precompile", "--cache", str(blocked / "cache")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("Error: the machine code cannot be kept: ")
    assert run.stderr.count("\n") == 1
