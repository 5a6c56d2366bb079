"""CPU seconds of each test: a plug-in of pytest, and the file that tells costly tests from cheap.

    CPU_LOG=build/cpu PYTHONPATH=tests/tools python -m pytest -p costs ...
    python tests/tools/costs.py build/cpu.*.jsonl

The plug-in writes one line of JSON for each test. The command writes ``tests/costs.json``: the
tests that take at least ``COSTLY`` CPU seconds, child processes included, compilation of kernels
excluded. ``tests/conftest.py`` gives them the mark ``costly``. ``make nightly`` does both.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numba.core import event

#: CPU seconds from which on a test is costly.
COSTLY = 0.1
FILE = Path(__file__).parents[1] / "costs.json"


class Compilation(event.Listener):
    """CPU seconds in Numba's compiler; nested compilations count once."""

    def __init__(self) -> None:
        self.seconds, self.depth, self.since = 0.0, 0, 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.since = time.process_time()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.process_time() - self.since


class Recorder:
    def __init__(self, path: Path) -> None:
        self.path, self.compilation = path, Compilation()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        event.register("numba:compile", self.compilation)

    def spent(self) -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = time.process_time() + children.ru_utime + children.ru_stime
        return spent - self.compilation.seconds

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = self.spent()
        yield
        line = json.dumps({"id": item.nodeid, "cpu": round(self.spent() - before, 4)})
        with self.path.open("a") as file:
            file.write(line + "\n")


def pytest_configure(config: pytest.Config) -> None:
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker or not config.getoption("numprocesses", None):
        path = Path(f"{os.environ.get('CPU_LOG', 'build/cpu')}.{worker or 'main'}.jsonl")
        config.pluginmanager.register(Recorder(path))


def main() -> None:
    entries = [
        json.loads(line) for path in sys.argv[1:] for line in Path(path).read_text().splitlines()
    ]
    costs = {entry["id"]: round(entry["cpu"], 1) for entry in entries if entry["cpu"] >= COSTLY}
    FILE.write_text(json.dumps(costs, indent=0, sort_keys=True) + "\n")
    total = sum(entry["cpu"] for entry in entries)
    print(f"{len(entries)} tests, {total:.0f} CPU s; {len(costs)} are costly ({FILE})")


if __name__ == "__main__":
    main()
