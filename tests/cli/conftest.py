"""Fixtures of the tests of the command line: working directories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.plugin_command_line import FILES, MINE

from graphbandits.plugins import unload_plugin
from graphbandits.study.experiment import load_experiment


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiments with 5 rounds instead of 1000."""

    def load(name: str) -> Any:
        return load_experiment(name).model_copy(update={"horizon": 5})

    for module in ("graphbandits.study", "graphbandits.study.run"):
        monkeypatch.setattr(f"{module}.load_experiment", load)


@pytest.fixture
def bad_files(place: Path) -> Path:
    """A working directory with invalid graph files and a valid one."""
    (place / "above.txt").write_text("ann bob 0.5\nbob ann 1.5\n")
    (place / "good.txt").write_text("ann bob\nbob carol\n")
    (place / "folder").mkdir()
    return place


@pytest.fixture
def plugin_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with a plug-in, which is unloaded afterwards."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    yield tmp_path
    for name in FILES:
        unload_plugin(tmp_path / name)
