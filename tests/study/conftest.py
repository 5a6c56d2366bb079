"""A small experiment file."""

from __future__ import annotations

from pathlib import Path

import pytest

SWEEP_FILE = """title = "More to see"
graph = "random(r={r})"
arms = 3
horizon = 12
trials = 6
policies = ["ts-n", "ids-n"]
[[sweeps]]
parameter = "r"
values = [0, 0.5]
"""


@pytest.fixture
def sweep_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP_FILE, "utf-8")
    return file
