"""Tests of _files.py: temporary names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from graphbandits._files import _temporary_path, is_abandoned, machine_id, temporary_for


def ended_process() -> int:
    """Return the id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_temporary_names_contain_the_process() -> None:
    name = _temporary_path(Path("a-b.json")).name
    assert temporary_for(name) == "a-b.json"
    assert not is_abandoned(name)
    token = name.rpartition("-")[2]
    dead = name.replace(token, f"{machine_id()}{ended_process():08x}{token[16:]}")
    assert is_abandoned(dead)
    elsewhere = dead.replace(machine_id(), "0123abcd")
    assert temporary_for(elsewhere) == "a-b.json"
    assert not is_abandoned(elsewhere)
    for other in ("a-b.json", ".a-b.json", ".a-b.json-draft", ".nfs000000000001", "." + token):
        assert temporary_for(other) is None
