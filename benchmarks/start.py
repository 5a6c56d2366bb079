"""What the first decision of a process costs: with an empty cache, and with machine code in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from display import Table, digits, seconds
from settings import Settings

AGENT = """
import json, time
times = [time.process_time()]
from graphbandits import Agent
times.append(time.process_time())
agent = Agent("ids-n", arms=5, graph="ring", seed=0)
times.append(time.process_time())
agent.decide()
times.append(time.process_time())
status = open("/proc/self/status").read()
memory = int(status.split("VmRSS:")[1].split()[0]) / 1024
print(json.dumps([b - a for a, b in zip(times, times[1:])] + [memory]))
"""
LIBRARIES = """
import time
start = time.process_time()
import numba, numpy
print(time.process_time() - start)
"""
PARTS = ("import Agent", "make an agent", "first decision")
COMMANDS = {
    "Agent, first decision": ["-c", AGENT],
    "inspect": [
        *("-m", "graphbandits", "inspect", "--beta", "1,2", "--beta", "4,4", "--graph", "star"),
    ],
    "simulate": [
        *("-m", "graphbandits", "simulate", "--policy", "ids-n", "--policy", "ts-n"),
        *("--graph", "paper", "--horizon", "10", "--trials", "10"),
    ],
    "reproduce": ["-m", "graphbandits", "reproduce", "--trials", "2", "--output", "figures"],
}
#: Imports in the table.
IMPORTS = 10


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """Every command with an empty cache and again; the parts of a start; the slowest imports."""
    commands = []
    with tempfile.TemporaryDirectory() as folder:
        for name in settings.start_commands:
            cache = Path(folder, name)
            cold, *warm = (_cpu(COMMANDS[name], cache) for _ in range(1 + 2))
            commands.append({"command": name, "cold": cold, "warm": min(warm)})
        cache = Path(folder, "Agent, first decision")
        starts = [
            json.loads(_run(["-c", AGENT], cache).stdout) for _ in range(settings.start_passes)
        ]
        bare = min(
            float(_run(["-c", LIBRARIES], cache).stdout) for _ in range(settings.start_passes)
        )
        listing = _run(["-X", "importtime", "-c", "from graphbandits import Agent"], cache).stderr
    parts = [min(start[k] for start in starts) for k in range(len(PARTS))]
    return {
        "commands": commands,
        "processes": settings.start_passes,
        "libraries": bare,
        "parts": dict(zip(PARTS, parts, strict=True)),
        "memory": min(start[-1] for start in starts),
        "imports": _slowest(listing),
    }


def _run(words: list[str], cache: Path) -> subprocess.CompletedProcess[str]:
    # without byte code on disk every import would compile its source
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            [sys.executable, *words],
            env=kept | {"NUMBA_CACHE_DIR": str(cache)},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )


def _cpu(words: list[str], cache: Path) -> float:
    """CPU seconds of the process and of its workers."""
    before = os.times()
    _run(words, cache)
    after = os.times()
    return after.children_user + after.children_system - before[2] - before[3]


def _slowest(listing: str) -> list[dict[str, Any]]:
    """Modules with the longest imports of their own, without what they import."""
    found = re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", listing)
    ranked = sorted(((int(own), name) for own, name in found), reverse=True)[:IMPORTS]
    return [{"module": name, "seconds": own / 1e6} for own, name in ranked]


def tables(section: dict[str, Any]) -> list[Table]:
    """Tables of the commands, of the parts of a start and of the slowest imports."""
    commands = [
        (
            row["command"],
            seconds(row["cold"]),
            seconds(row["warm"]),
            digits(row["cold"] / row["warm"]),
        )
        for row in section["commands"]
    ]
    parts = {"numpy and numba alone": section["libraries"]} | section["parts"]
    together = sum(section["parts"].values())
    rows = [(name, seconds(value)) for name, value in (parts | {"together": together}).items()]
    slowest = [(row["module"], seconds(row["seconds"])) for row in section["imports"]]
    return [
        Table(
            "The first run of a command",
            ("command", "empty cache", "warm", "ratio"),
            commands,
            "CPU time of a fresh process and its workers. Warm: the same command again, the faster "
            "of two.",
            texts=1,
        ),
        Table(
            "A warm process up to its first decision",
            ("part", "CPU time"),
            rows,
            "CPU time of the parts: a live agent with five arms and ids-n, in memory; minimum of "
            f"{section['processes']} processes. The import of Agent includes numpy and numba. "
            f"After the decision the process has {section['memory']:.0f} MB of resident memory.",
            texts=1,
        ),
        Table(
            "The slowest imports of Agent",
            ("module", "time"),
            slowest,
            "Time of a module without what it imports, in one process: python -X importtime.",
            texts=1,
        ),
    ]
