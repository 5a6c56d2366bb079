"""Tests of cli/__init__.py: invalid arguments of every command are refused in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.command_line import refused_command
from helpers.stores import whole_study

EXPERIMENT = (
    'title = "A"\ngraph = "paper"\nhorizon = 5\ntrials = 2\npolicies = ["ts-n"]\nseed = 0\n'
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a store, an experiment, pipes and a directory."""
    monkeypatch.chdir(tmp_path)
    whole_study(Path("store"))
    Path("good.toml").write_text(EXPERIMENT)
    Path("directory.html").mkdir()
    for ending in ("toml", "py", "txt"):
        os.mkfifo(f"pipe.{ending}")
    return tmp_path


def test_invalid_commands_are_refused(place: Path) -> None:
    for args, words in [
        (["run", "directory.html"], ["unknown experiment 'directory.html'"]),
        (["run", "a\x1b[31m\x00"], [r"unknown experiment 'a\x1b[31m\x00'"]),
        (["run", "good.toml", "--output=new", "--cluster=x y"], ["not 'x y'"]),
        (["run", "good.toml", "--dry-run", f"--workers={'9' * 4000}"], ["at most 10000"]),
        (["list", "--plugin=pipe.py"], ["pipe.py", "regular file"]),
        (["check", "x" * 5000], ["neither a Python file nor a known name"]),
        (["graph", "papr", "--plot=new/a.png"], ["unknown graph 'papr'"]),
        (["graph", "paper", "--plot=\x00.png"], ["embedded null byte"]),
        (["new", "policy", "x" * 300], ["File name too long", "choose a shorter name"]),
        (["new", "policy", "my-x", "--output=\x00"], ["embedded null byte"]),
        (["new", "policy", "my-x", "--output=pipe.py"], ["pipe.py already exists"]),
        (["new", "experiment", "x" * 300], ["invalid experiment name"]),
        (["new", "experiment", "my-x", "--output=missing/x"], ["No such file"]),
        (["report", "store", "--output=."], ["is empty"]),
        (["report", "store", "--output=\x00.html"], ["cannot write"]),
        (["report", "store", f"--output={'x' * 300}"], ["File name too long"]),
        (["store", "verify", "pipe.toml"], ["pipe.toml has no studies"]),
        (["store", "remove", "store", "--study=../x"], ["must be a valid file name"]),
        (["store", "export", "store", "--output=\x00.csv"], ["embedded null byte"]),
    ]:
        message = refused_command(place, args)
        assert message[:-1].isprintable()
        assert len(message) < 1500
        assert all(word in message for word in words), message
