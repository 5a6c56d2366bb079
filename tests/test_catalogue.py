"""Tests of catalogue.py: new experiment files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.cases import each
from typer.testing import CliRunner

from graphbandits.cli import app
from graphbandits.study.experiment import TABLES, Experiment, keys_of, load_experiment

RUNNER = CliRunner(env={"COLUMNS": "80"})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def started(place: Path) -> str:
    result = RUNNER.invoke(app, ["new", "experiment", "my-study"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "Wrote my-study.toml. Next:",
        "  graphbandits run my-study.toml --dry-run",
        "  graphbandits run my-study.toml",
    ]
    return (place / "my-study.toml").read_text("utf-8")


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """First and last line of each disabled option: lines with # and no space after it."""
    lines = text.splitlines()
    off = [re.match(r"#\S", line) is not None for line in lines] + [False]
    start = None
    for number, here in enumerate(off):
        if here and start is None:
            start = number
        if not here and start is not None:
            yield start, number
            start = None


def switched_on(text: str, start: int, end: int) -> str:
    lines = text.splitlines()
    lines[start:end] = [line.removeprefix("#") for line in lines[start:end]]
    return "\n".join(lines)


def test_new_experiment_file_runs_unchanged_and_is_small(place: Path, started: str) -> None:
    (plan,) = load_experiment("my-study.toml").plans()
    assert plan.decisions <= 10**5
    result = RUNNER.invoke(app, ["run", "my-study.toml", "--trials=3", "--workers=1"])
    assert result.exit_code == 0, result.stderr
    assert (place / "my-study" / "report.html").is_file()


def test_every_option_of_a_new_experiment_file_can_be_enabled(place: Path, started: str) -> None:
    found = list(blocks(started))
    assert len(found) > 15
    plain = load_experiment("my-study.toml").model_dump()
    for start, end in found:
        text = switched_on(started, start, end)
        assert text != started
        (place / "on.toml").write_text(text, "utf-8")
        experiment = load_experiment("on.toml")
        assert experiment.plans(), text
        given = tomllib.loads(text).keys() - tomllib.loads(started).keys()
        assert given, "a block has no key"
        changed = {key for key, value in experiment.model_dump().items() if value != plain[key]}
        assert changed <= given


def test_new_experiment_file_shows_every_key_of_every_table(started: str) -> None:
    shown: dict[str, set[str]] = {name: set() for name in ("", *TABLES)}
    for text in (started, *(switched_on(started, *block) for block in blocks(started))):
        for key, value in tomllib.loads(text).items():
            shown[""].add(key)
            for table in value if isinstance(value, list) else [value]:
                if key in TABLES:
                    shown[key] |= set(table)
    assert shown[""] == set(keys_of(Experiment))
    for name, table in TABLES.items():
        assert shown[name] == set(keys_of(table)), name


@each(
    ("words", "message"),
    [
        (["a b"], "'a b': use letters, digits, '.', '+', '-' and '_', as in a-b\n"),
        (["../up"], "as in up\n"),
        (["///"], "as in my-study\n"),
        (["paper-1a"], "Error: the experiment 'paper-1a' already exists: choose another name"),
        (["here"], "Error: here.toml already exists: choose another file with --output"),
        (["--output", "here.toml"], "Error: here.toml already exists"),
        (["--output", "no/where.toml"], "Error: cannot write no/where.toml"),
    ],
)
def test_invalid_names_of_new_experiments_are_refused(
    place: Path, words: list[str], message: str
) -> None:
    (place / "here.toml").write_text("mine")
    result = RUNNER.invoke(app, ["new", "experiment", *words])
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert [path.name for path in place.iterdir()] == ["here.toml"]
    assert (place / "here.toml").read_text() == "mine"


def test_new_experiment_has_default_name_and_path(place: Path) -> None:
    assert RUNNER.invoke(app, ["new", "experiment"]).exit_code == 0
    result = RUNNER.invoke(app, ["new", "experiment", "--output", "my file.toml"])
    assert "graphbandits run 'my file.toml' --dry-run" in result.stdout
    assert {path.name for path in place.iterdir()} == {"my-experiment.toml", "my file.toml"}
    assert load_experiment("my file.toml").title == "my-experiment"
