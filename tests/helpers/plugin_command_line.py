"""Run commands with a plug-in file."""

from __future__ import annotations

from typer.testing import CliRunner

from graphbandits.cli import app

RUNNER = CliRunner(env={"COLUMNS": "200"})
FILES = ("mine.py", "my_ucb.py", "plug.py")

MINE = '''
"""Thompson sampling under another name, and a graph."""

from dataclasses import dataclass

from graphbandits.graphs import from_matrix
from graphbandits.policies.thompson import TSN
from graphbandits.registry import register


@register("policy", "mine")
@dataclass(frozen=True)
class Mine(TSN):
    """As Thompson sampling."""

    c: float = 0.5


@register("graph", "two-ways")
@dataclass(frozen=True)
class TwoWays:
    """Two arms, each of which may show the other."""

    p: float = 0.25

    def process(self, arms):
        return from_matrix([[1.0, self.p], [0.75, 1.0]])
'''

EXPERIMENT = """
title = "A study of mine"
graph = "star(direction=out)"
arms = 4
horizon = 20
trials = 6
policies = ["mine", "ids-n"]
plugins = ["mine.py"]
seed = 3
"""


def run(*args: object, code: int = 0) -> str:
    """Run a command that ends with this exit code, and return its output."""
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return result.stdout


def refused(*args: object) -> str:
    """Return the error message of a refused command: one line, and no other output."""
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 2, (result.stdout, result.exception)
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("Error: ")
    return lines[0]
