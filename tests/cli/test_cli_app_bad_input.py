"""Tests of cli/__init__.py: invalid arguments of every command are refused in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.bad_input import tree
from helpers.privileges import unprivileged
from helpers.stores import whole_study
from typer.testing import CliRunner

from graphbandits import check_plugins, new_policy
from graphbandits.cli import app
from graphbandits.plugins import unload_plugin

EXPERIMENT = (
    'title = "A"\ngraph = "paper"\nhorizon = 5\ntrials = 2\npolicies = ["ts-n"]\nseed = 0\n'
)
DEEP = "[" * 2000 + "]" * 2000


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


def refused_command(place: Path, *args: str) -> str:
    """Return the message of a refused command: one line, exit code 2, no file written."""
    before = tree(place)
    result = CliRunner().invoke(app, list(args))
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr[:-1].isprintable()
    assert len(result.stderr) < 1500
    assert tree(place) == before
    return result.stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("horizon = 5", f"horizon = {'9' * 5000}", ["more than 300 digits"]),
        ("horizon = 5", f"horizon = {'9' * 4000}", ["more than 300 digits"]),
        ("seed = 0", f"seed = 0x{'f' * 5000}", ["more than 300 digits"]),
        ("seed = 0", f"seed = 0\n[record]\nrounds = [0x{'f' * 5000}]", ["more than 300 digits"]),
        ("seed = 0", f"seed = 0\nx = {DEEP}", ["nested too deeply"]),
        ("seed = 0", f"seed = 0\nx = {'{a=' * 2000}1{'}' * 2000}", ["nested too deeply"]),
        ("horizon = 5", f"horizon.{'a.' * 5000}a = 1", ["nested too deeply"]),
        ("ts-n", f"eps-greedy-lp(c={'-' * 100000}1)", ["c must be a finite number above 0"]),
        ("ts-n", f"eps-greedy-lp(c={DEEP})", ["cannot read the list"]),
        ("paper", f"cliques(size={'9' * 5000})", ["size must be a whole number"]),
        ("paper", "file:a\\u0000b", ["cannot read the graph file a\\x00b"]),
        ("paper", f"file:{'a' * 5000}", ["cannot read the graph file aaa", "File name too long"]),
        ("paper", "file:pipe.txt", ["pipe.txt", "regular file"]),
        ("seed = 0", 'seed = 0\nplugins = ["pipe.py"]', ["pipe.py", "regular file"]),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
@pytest.mark.parametrize("command", ["run", "audit"])
def test_invalid_experiment_files_are_refused(
    place: Path, command: str, old: str, new: str, words: list[str]
) -> None:
    assert old in EXPERIMENT
    (place / "bad.toml").write_text(EXPERIMENT.replace(old, new))
    message = refused_command(place, command, "bad.toml", "--trials=1")
    assert all(word in message for word in ["bad.toml", *words])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "pipe.toml"], ["pipe.toml", "regular file"]),
        (["run", "directory.html"], ["unknown experiment 'directory.html'"]),
        (["run", ""], ["unknown experiment ''"]),
        (["run", "a\x1b[31m\x00"], [r"unknown experiment 'a\x1b[31m\x00'"]),
        (["run", "good.toml", "--output=new", "--cluster="], ["cluster must be the address"]),
        (["run", "good.toml", "--output=new", "--cluster=x y"], ["not 'x y'"]),
        (["run", "good.toml", f"--workers={'9' * 25}"], ["workers must be at most 10000"]),
        (["run", "good.toml", "--dry-run", f"--workers={'9' * 4000}"], ["at most 10000"]),
        (["run", "good.toml", f"--trials={'9' * 5000}"], ["is not an integer"]),
        (["list", "--plugin=pipe.py"], ["pipe.py", "regular file"]),
        (["check", "pipe.py"], ["pipe.py", "regular file"]),
        (["check", "x" * 5000], ["neither a Python file nor a known name"]),
        (["graph", "file:pipe.txt"], ["pipe.txt", "regular file"]),
        (["graph", "papr", "--plot=new/a.png"], ["unknown graph 'papr'"]),
        (["graph", "paper", f"--plot={'x' * 300}.png"], ["File name too long"]),
        (["graph", "paper", "--plot=\x00.png"], ["embedded null byte"]),
        (["inspect", "--beta=1,1", "--beta=1,1", "--graph=file:pipe.txt"], ["regular file"]),
        (["new", "policy", "x" * 300], ["File name too long", "choose a shorter name"]),
        (["new", "policy", "my-x", f"--output={'x' * 300}"], ["File name too long"]),
        (["new", "policy", "my-x", "--output=\x00"], ["embedded null byte"]),
        (["new", "policy", "my-x", "--output="], ["exists"]),
        (["new", "policy", "my-x", "--output=pipe.py"], ["pipe.py already exists"]),
        (["new", "policy", "my-x", "--output=good.toml/x"], ["Not a directory"]),
        (["new", "experiment", "x" * 300], ["invalid experiment name"]),
        (["new", "experiment", ""], ["invalid experiment name"]),
        (["new", "experiment", "my-x", "--output=missing/x"], ["No such file"]),
        (["report", "store", "--output="], ["name of the report is empty"]),
        (["report", "store", "--output=."], ["is empty"]),
        (["report", "store", "--output=/"], ["is empty"]),
        (["report", "store", "--output=\x00.html"], ["cannot write"]),
        (["report", "store", "--output=directory.html"], ["directory.html is a directory"]),
        (["report", "store", f"--output={'x' * 300}"], ["File name too long"]),
        (["report", "good.toml"], ["good.toml"]),
        (["store", "verify", "pipe.toml"], ["pipe.toml has no studies"]),
        (["run", "good.toml", "--output=new", "--formats=png,jpg"], ["file format 'jpg'"]),
        (["store", "remove", "store", "--study=../x"], ["must be a valid file name"]),
        (["store", "export", "store", f"--output={'x' * 300}.csv"], ["File name too long"]),
        (["store", "export", "store", "--output=\x00.csv"], ["embedded null byte"]),
    ],
    ids=lambda value: " ".join(value)[:60].encode("unicode_escape").decode(),
)
def test_invalid_commands_are_refused(place: Path, args: list[str], words: list[str]) -> None:
    message = refused_command(place, *args)
    assert all(word in message for word in words), message


def test_unreadable_experiment_is_refused(place: Path) -> None:
    (place / "good.toml").chmod(0)
    with unprivileged():
        result = CliRunner().invoke(app, ["run", "good.toml"])
    assert result.exit_code == 2
    assert result.stderr == "Error: cannot read the experiment good.toml: Permission denied\n"


def test_policy_with_a_long_name_needs_an_explicit_path(place: Path) -> None:
    path = new_policy("x" * 300, place / "mine.py")
    assert check_plugins([path], only=["form"])[0].ok
    unload_plugin(path)
