"""Tasks of executors, and plug-ins that fail in workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits.errors import GraphBanditsError
from graphbandits.graphs import from_matrix
from graphbandits.simulation.plan import Plan, Task
from graphbandits.simulation.shard import Shard
from graphbandits.simulation.workers import ThreadExecutor
from helpers import SRC
from helpers.service import children as children_of
from helpers.service import wait_for

#: A task that can be compared: its plan, policy and first trial.
Name = tuple[int, str, int]

#: Thompson sampling that dies, raises or waits for a file, in round 3 of trial 4.
POLICY = '''
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from graphbandits.policies.thompson import TSN
from graphbandits.registry import register

FOLDER = Path({folder!r})


@register("policy", "faulty-ts")
@dataclass(frozen=True)
class FaultyTS(TSN):
    """Thompson sampling, with a mark and a fault."""

    fault: str = ""

    def propose(self, state, view):
        if self.fault and view.t == 3 and view.keys.first_trial == 4:
            with FOLDER.joinpath(self.fault).open("a") as marks:
                marks.write(str(os.getpid()) + chr(10))
                if self.fault.endswith("orphans"):
                    marks.write(str(subprocess.Popen(["sleep", "600"]).pid) + chr(10))
            marks = FOLDER.joinpath(self.fault).read_text().split()
            if self.fault.startswith("die"):
                os._exit(7)
            if self.fault.startswith("raise"):
                raise RuntimeError("no idea")
            first = self.fault.startswith("wait") and len(marks) == 1
            while self.fault.startswith("stay") or first:
                time.sleep(0.01)
        return super().propose(state, view)
'''

GRAPH = '''
from dataclasses import dataclass

import numpy as np
from graphbandits.graphs import DenseFeedback
from graphbandits.registry import register
from graphbandits.rng import Stream


@dataclass(frozen=True)
class Drawn:
    arms: int
    p: float
    names = None
    deterministic = True
    rounds = None

    def round(self, t, keys):
        u = Stream(keys, t, "drawn-graph").uniform(self.arms**2)
        edges = u.reshape(-1, self.arms, self.arms) < self.p
        return DenseFeedback((edges | np.eye(self.arms, dtype=bool)).astype(float))


@register("graph", "drawn-graph")
@dataclass(frozen=True)
class DrawnGraph:
    """Directed edges drawn each round."""

    p: float = 0.3

    def process(self, arms):
        return Drawn(5 if arms is None else arms, self.p)
'''


def plans() -> list[Plan]:
    """Return plans of all kinds, more than a worker keeps at a time."""
    prior = BetaBernoulli(np.array([1.0, 2.0, 0.5]), np.array([3.0, 1.0, 0.75]))
    strict = BetaBernoulli(prior.a, prior.b, "strict")
    directed = from_matrix(np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.9], [0.2, 0.0, 1.0]]))
    kept: dict[str, Any] = {"horizon": 20, "trials": 5, "first_trial": 3}
    return [
        Plan.of(["ts-n", "ids-n"], Bernoulli(prior), directed, seed=1, **kept),
        Plan.of(["faulty-ts", "ids-n"], graph="drawn-graph(p=0.4)", arms=4, seed=2, **kept),
        Plan.of("ids-n", Bernoulli(strict), directed, seed=3, ratios="bound", **kept),
        Plan.of("ts-n", Bernoulli(prior, fixed=np.array([0.2, 0.5, 0.4])), directed, **kept),
        Plan.of("exp3-set", graph="star(direction=out)", regret="realised", rounds=3, **kept),
        *(Plan.of("ts-n", graph="random(r=uniform)", arms=3, seed=i, **kept) for i in range(5)),
    ]


def tasks_of(plans: list[Plan], block: int = 3) -> list[Task]:
    """Return blocks of all plans in turns: every plan occurs again later."""
    return [
        Task(plan, policy, first, min(block, plan.first_trial + plan.trials - first))
        for part in range(2)
        for plan in plans
        for first in [plan.first_trial + part * block]
        for policy in plan.policies
    ]


def faulty_tasks(fault: str, trials: int = 12) -> list[Task]:
    """Six tasks of two policies; the second fails."""
    plan = Plan.of(
        [f"faulty-ts(fault={fault})", "ts-n"],
        graph="ring(directed=true)",
        horizon=15,
        trials=trials,
    )
    faulty = [Task(plan, policy, 4, 4) for policy in plan.policies]
    others = [Task(plan, policy, first, 4) for first in (0, 8) for policy in plan.policies]
    return [others[0], *faulty, *others[1:]]


def name_of(task: Task) -> Name:
    return id(task.plan), task.policy, task.first


def alone(tasks: list[Task]) -> dict[Name, bytes]:
    """Return the bits of all tasks computed in this thread."""
    return computed(ThreadExecutor(1), tasks)


def computed(executor: Any, tasks: Iterable[Task], *progress: Any) -> dict[Name, bytes]:
    """Return the bits of all tasks; no task may fail."""
    return {name_of(task): bits(task, outcome) for task, outcome in executor.run(tasks, *progress)}


def without_faults(tasks: list[Task]) -> dict[Name, bytes]:
    """The bits of the same tasks without faults."""
    twins = {name_of(task): Task(task.plan, "ts-n", task.first, task.trials) for task in tasks}
    return {name: computed(ThreadExecutor(1), [twin]).popitem()[1] for name, twin in twins.items()}


def bits(task: Task, outcome: Shard | GraphBanditsError) -> bytes:
    assert isinstance(outcome, Shard), outcome
    assert outcome.first == task.first
    assert outcome.trials == task.trials
    assert outcome.cpu
    return outcome.to_parquet({})


def children() -> set[int]:
    """Return the child processes, including ended ones that were not waited for."""
    return set(children_of(os.getpid()))


def until(true: Callable[[], Any], seconds: float = 240.0) -> Any:
    """Wait until a condition holds, and return its value."""
    return wait_for(true, seconds)


def marks(folder: Path, fault: str) -> list[int]:
    """Return the processes in which a policy has reached its fault."""
    file = folder / fault
    text = file.read_text() if file.exists() else ""
    return [int(line) for line in text.split("\n")[:-1]]


def running(pid: int) -> bool:
    """Whether a process is running; ended ones that were not waited for do not count."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@contextmanager
def in_background(act: Callable[[], None]) -> Iterator[None]:
    """Call a function in another thread; its exceptions are raised here at the end."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()
    if raised:
        raise raised[0]


@contextmanager
def command(*words: str, folder: Path, log: str = "log") -> Iterator[subprocess.Popen[bytes]]:
    """Start a Python process with the sources of this repository, killed with the context."""
    source = SRC
    with (folder / log).open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(source)},
            stdout=out,
            stderr=out,
            process_group=0,
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
