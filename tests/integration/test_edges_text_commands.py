"""Tests of the commands ``inspect`` and ``simulate`` with a graph written as edges."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.process


def run_json_command(*arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "graphbandits", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_commands_accept_edges_text() -> None:
    betas = ["--beta", "1,2", "--beta", "4,4", "--beta", "12,9"]
    shown = run_json_command("inspect", *betas, "--graph", "edges(1-2 1-3)", "--json")
    assert shown == run_json_command("inspect", *betas, "--graph", "star", "--json")
    settings = ["--policy", "ids-n", "--horizon", "20", "--trials", "5", "--json", "--workers", "1"]
    given = run_json_command("simulate", *settings, "--graph", "edges(1-2 1-3 2-3 3-4 3-5 4-5)")
    paper = run_json_command("simulate", *settings, "--graph", "paper")
    assert given["policies"] == paper["policies"]
