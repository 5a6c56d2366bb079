"""Processes that share an agent and are killed lose nothing and count nothing twice."""

from __future__ import annotations

import subprocess
import sys

import pytest
from helpers import ROOT

#: Entries that the writers must reach at least, so that the kills meet them at work.
LEAST_ENTRIES_PER_KILL = 5


def kill_writers(store: str, kills: int, seed: int) -> None:
    command = [sys.executable, str(ROOT / "tests/helpers/killed_writers.py"), store]
    done = subprocess.run(
        [*command, str(kills), str(seed)], capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr[-3000:]
    entries = int(done.stdout.split()[2])
    assert entries > LEAST_ENTRIES_PER_KILL * kills


def test_killed_writers_lose_nothing(store_url: str) -> None:
    kill_writers(store_url, kills=5, seed=1)


@pytest.mark.nightly
def test_many_killed_writers_lose_nothing(store_url: str) -> None:
    kill_writers(store_url, kills=200, seed=2)
