"""The cost of each test: a plug-in of pytest, and the file that tells costly tests from cheap.

    CPU_LOG=build/cpu PYTHONPATH=tests/tools python -m pytest -p costs ...
    python tests/tools/costs.py build/cpu.*.jsonl

The cost of a test is its CPU time, child processes included, or half of its time by the clock if
that is more: a test that waits takes time, too, but a busy machine makes everything wait. It
includes the set-up of the fixtures that the test shares with others, because each of them may be
the first, and no compilation of kernels. The plug-in writes one line of JSON for each test. The
command writes ``tests/costs.json``: the tests that cost at least ``COSTLY`` seconds.
``tests/conftest.py`` gives them the mark ``costly``. ``make nightly`` does both.
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

#: Seconds from which on a test is costly.
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
        self.shared: dict[str, float] = {}
        self.in_shared = 0.0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        event.register("numba:compile", self.compilation)

    def now(self) -> tuple[float, float]:
        """Return CPU time and time without compilation."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = time.process_time() + children.ru_utime + children.ru_stime
        return cpu - self.compilation.seconds, time.perf_counter() - self.compilation.seconds

    def since(self, before: tuple[float, float]) -> float:
        cpu, clock = self.now()
        return max(cpu - before[0], (clock - before[1]) / 2.0)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        before = self.now()
        yield
        if fixturedef.scope != "function":
            self.shared[fixturedef.argname] = self.since(before)
            self.in_shared += self.since(before)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        before, self.in_shared = self.now(), 0.0
        yield
        own = max(0.0, self.since(before) - self.in_shared)
        cost = own + max((self.shared.get(name, 0.0) for name in item.fixturenames), default=0.0)
        with self.path.open("a") as file:
            file.write(json.dumps({"id": item.nodeid, "cost": round(cost, 4)}) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker or not config.getoption("numprocesses", None):
        path = Path(f"{os.environ.get('CPU_LOG', 'build/cpu')}.{worker or 'main'}.jsonl")
        config.pluginmanager.register(Recorder(path))


def main() -> None:
    lines = [line for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]
    found: dict[str, float] = {}
    for entry in map(json.loads, lines):
        found[entry["id"]] = max(entry["cost"], found.get(entry["id"], 0.0))
    costs = {test: round(cost, 1) for test, cost in found.items() if cost >= COSTLY}
    FILE.write_text(json.dumps(costs, indent=0, sort_keys=True) + "\n")
    print(f"{len(found)} tests, {sum(found.values()):.0f} s; {len(costs)} are costly ({FILE})")


if __name__ == "__main__":
    main()
