"""Tests of simulation/workers.py: sources that are edited during a run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import SRC
from helpers.executor_tasks import alone, bits, children, computed, name_of, until

from graphbandits.errors import GraphBanditsError, SourceError
from graphbandits.plugins import load_plugin, unload_plugin
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.plan import Plan, Task
from graphbandits.simulation.workers import ProcessExecutor

#: Plays arm 1 or arm 2, as given by a module next to it.
POLICY = '''
from dataclasses import dataclass

import numpy as np
from graphbandits.policies.thompson import TSN
from graphbandits.registry import register

@register("policy", "advised")
@dataclass(frozen=True)
class Advised(TSN):
    """Plays the arm of another module."""

    def propose(self, state, view):
        import advice
        return np.eye(view.problem.arms)[[advice.ARM] * view.keys.trials]
'''


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Task]]:
    """Tasks of a policy that imports a module in a function."""
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("advice", None)
    (tmp_path / "advice.py").write_text("ARM = 1\n")
    (tmp_path / "advised.py").write_text(POLICY)
    load_plugin(tmp_path / "advised.py")
    plan = Plan.of("advised", graph="star(direction=out)", horizon=5, trials=8)
    series_of(plan, "advised")
    yield [Task(plan, "advised", first, 4) for first in (0, 4)]
    unload_plugin(tmp_path / "advised.py")
    sys.modules.pop("advice", None)


def test_a_worker_that_starts_after_an_edit_refuses(tasks: list[Task], tmp_path: Path) -> None:
    expected, before = alone(tasks), children()
    with ProcessExecutor(1) as executor:
        (first,) = executor.run(tasks[:1])
        assert bits(*first) == expected[name_of(tasks[0])]
        (tmp_path / "advice.py").write_text("ARM = 22 // 11\n")
        # a process that has imported it continues
        assert computed(executor, tasks) == expected
        (pid,) = children() - before
        os.kill(int(pid), signal.SIGKILL)
        ((_, error),) = executor.run(tasks[1:])
    with pytest.raises(SourceError, match="the module advice on a worker differs from that of"):
        raise error  # type: ignore[misc]


def test_edited_or_removed_plug_in_keeps_its_loaded_source(
    tasks: list[Task], tmp_path: Path
) -> None:
    expected = alone(tasks)
    for act in (lambda: (tmp_path / "advised.py").write_text("no Python"), os.remove):
        act(*([tmp_path / "advised.py"] if act is os.remove else []))
        with ProcessExecutor(1) as executor:
            assert computed(executor, tasks) == expected


SCRIPT = """
import sys
from pathlib import Path
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.workers import ProcessExecutor
from graphbandits.simulation.plan import Task

plan = Plan.of("ts-n", graph="paper", horizon=2, trials=2)
with Path(sys.argv[1]).open("a") as file:
    file.write("EDITED = 1")
with ProcessExecutor(1) as executor:
    ((_, outcome),) = executor.run([Task(plan, "ts-n", 0, 1)])
print(getattr(outcome, "trials", outcome))
"""


def test_edited_package_is_detected(tmp_path: Path) -> None:
    source = SRC / "graphbandits"
    shutil.copytree(source, tmp_path / "graphbandits", ignore=shutil.ignore_patterns("*.pyc"))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "graphbandits" / "rng.py")],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("a worker has other sources of graphbandits than the process")


RAISES = '''
from dataclasses import dataclass
from graphbandits.policies.thompson import TSN
from graphbandits.registry import register

@register("policy", "raises")
@dataclass(frozen=True)
class Raises(TSN):
    """Raises exceptions that most handlers do not catch."""

    what: str = ""

    def propose(self, state, view):
        raise {"k": KeyboardInterrupt, "g": GeneratorExit, "b": BaseException}[self.what]("so")
'''


def test_any_exception_of_a_policy_in_a_worker_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "raises.py"
    file.write_text(RAISES)
    load_plugin(file)
    names = {"k": "KeyboardInterrupt", "g": "GeneratorExit", "b": "BaseException"}
    plan = Plan.of([f"raises(what={what})" for what in names], horizon=5, trials=2)
    before = children()
    with ProcessExecutor(1) as executor:
        ended = list(executor.run(Task(plan, policy, 0, 2) for policy in plan.policies))
        assert len(children() - before) == 1
    unload_plugin(file)
    for (_, error), name in zip(ended, names.values(), strict=True):
        assert isinstance(error, GraphBanditsError)
        assert str(error) == f"a worker failed: {name}: so"


@pytest.mark.parametrize("killed", [False, True])
def test_copies_of_plug_ins_are_removed_with_their_process(killed: bool, tmp_path: Path) -> None:
    """Also if the process is killed."""
    places, file, met = tmp_path / "temporary", tmp_path / "raises.py", tmp_path / "met"
    places.mkdir()
    file.write_text(RAISES)
    script = f"""
from pathlib import Path
from graphbandits import load_plugin
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.workers import ProcessExecutor
from graphbandits.simulation.plan import Task
load_plugin({str(file)!r})
Path({str(file)!r}).unlink()
plan = Plan.of("raises(what=k)", horizon=5, trials=2)
with ProcessExecutor(1) as executor:
    list(executor.run([Task(plan, "raises(what=k)", 0, 2)]))
    assert list(Path({str(places)!r}).rglob("raises.py"))
    if {killed}:
        Path({str(met)!r}).touch()
        input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(SRC), "TMPDIR": str(places)},
        stdin=subprocess.PIPE,
    ) as process:
        if killed:
            until(lambda: process.poll() is not None or met.exists())
            process.kill()
        assert process.wait() == (-signal.SIGKILL if killed else 0)
    until(lambda: not list(places.iterdir()), seconds=60)
