"""Run commands in this process and as real processes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

from typer.testing import CliRunner

from graphbandits.cli import app
from helpers.bad_input import tree


def split(line: str) -> list[str]:
    """Split a command line into words."""
    return line.split()


SIMULATE = split("simulate --policy ids-n --graph paper --horizon 3 --trials 2")
LINUX = sys.platform.startswith("linux")

#: Wide enough to show every table without line breaks.
RUNNER = CliRunner(env={"COLUMNS": "400"})


def run(*args: object) -> str:
    """Run a command that must succeed, and return its output."""
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 0, result.stderr
    # on a busy machine a run is long enough to print its progress every half minute
    printed = re.sub(r"^\[[^]]*\] \d+ %.*\n", "", result.stderr, flags=re.MULTILINE)
    assert printed == ""
    return result.stdout


def read_json(text: str) -> Any:
    """Parse strict JSON: one value, without NaN and Infinity."""

    def refuse(word: str) -> NoReturn:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def answer(*args: object) -> Any:
    """Run a command with ``--json``, and return the parsed output."""
    return read_json(run(*args, "--json"))


def command(*args: object) -> subprocess.CompletedProcess[str]:
    """Run a command as a real process."""
    return subprocess.run(
        [sys.executable, "-m", "graphbandits", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
    )


def refused_command(place: Path, args: list[str]) -> str:
    """Return the message of a refused command: one line, exit code 2, no file written."""
    before = tree(place)
    result = RUNNER.invoke(app, args)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.endswith("\n")
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("Error: ")
    assert tree(place) == before
    return result.stderr
