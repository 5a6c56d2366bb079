"""Tests of engine/executors/worker_runtime.py: sources that are edited during a run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import SRC
from helpers.executor_tasks import alone, bits, children, computed, name_of, until

from graphbandits.engine import Plan
from graphbandits.engine.executors import (
    DaskExecutor,
    ProcessExecutor,
    ThreadExecutor,
    worker_runtime,
)
from graphbandits.engine.executors.processes import terminate_all
from graphbandits.engine.executors.worker_runtime import serialize_plan, task_request
from graphbandits.engine.identity import check_sources, series_of
from graphbandits.engine.plan import Task
from graphbandits.errors import PolicyError, SourceError
from graphbandits.plugins import load_plugin, unload_plugin

pytestmark = pytest.mark.process

#: Plays arm 1 or arm 2, as given by a module next to it.
POLICY = '''
from dataclasses import dataclass

import numpy as np
from graphbandits.policies.ts_n import TSN
from graphbandits.registry import register
{above}

@register("policy", "advised")
@dataclass(frozen=True)
class Advised(TSN):
    """Plays the arm of another module."""

    def propose(self, state, view):
        {inside}
        return np.eye(view.problem.arms)[[advice.ARM] * view.keys.trials]
'''
CHANGED = r"advice\.py was changed after the run started: start the run again"


@pytest.fixture(params=["above", "inside"])
def tasks(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Task]]:
    """Tasks of a policy that imports a module at the top or in a function."""
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("advice", None)
    where = {"above": "", "inside": ""} | {request.param: "import advice"}
    (tmp_path / "advice.py").write_text("ARM = 1\n")
    (tmp_path / "advised.py").write_text(POLICY.format(**where))
    load_plugin(tmp_path / "advised.py")
    plan = Plan.of("advised", graph="star(direction=out)", horizon=5, trials=8)
    series_of(plan, "advised")
    yield [Task(plan, "advised", first, 4) for first in (0, 4)]
    unload_plugin(tmp_path / "advised.py")
    sys.modules.pop("advice", None)


def refused(outcome: Any, message: str = CHANGED) -> None:
    with pytest.raises(SourceError, match=message):
        raise outcome if isinstance(outcome, Exception) else AssertionError


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
    refused(error)


def test_threads_refuse_what_they_import_after_an_edit(
    tasks: list[Task], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "advice.py").write_text("ARM = 22 // 11\n")
    ((task, outcome),) = ThreadExecutor(1).run(tasks[:1])
    if "above" in request.node.name:
        (tmp_path / "advice.py").write_text("ARM = 1\n")
        assert bits(task, outcome) == alone(tasks)[name_of(tasks[0])]
    else:
        refused(outcome)


@pytest.mark.parametrize("tasks", ["inside"], indirect=True)
@pytest.mark.parametrize("where", ["thread", "worker"])
def test_modules_imported_during_the_run_are_checked_afterwards(
    tasks: list[Task], where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source is edited between its check and its import, in a thread and in a worker."""

    def check_then_edit(wanted: Any) -> None:
        check_sources(wanted)
        if "advice" not in sys.modules:
            (tmp_path / "advice.py").write_text("ARM = 22 // 11\n")

    monkeypatch.setattr(worker_runtime, "check_sources", check_then_edit)
    if where == "thread":
        ((_, outcome),) = ThreadExecutor(1).run(tasks[:1])
    else:
        worker = worker_runtime.WorkerRuntime(lambda: tmp_path / "copies")
        outcome = worker.compute(*serialize_plan(tasks[0].plan), task_request(tasks[0]))
    assert "advice" in sys.modules
    refused(outcome)


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
from graphbandits.engine import Plan
from graphbandits.engine.executors import ProcessExecutor
from graphbandits.engine.plan import Task
from graphbandits.engine.identity import worker_sources

plan = Plan.of(["ts-n", "ucb-n"], graph="paper", horizon=2, trials=2)
for policy in plan.policies:
    worker_sources(plan, policy)
with Path(sys.argv[1]).open("a") as file:
    file.write("EDITED = 1")
with ProcessExecutor(1) as executor:
    for task, outcome in executor.run(Task(plan, policy, 0, 1) for policy in plan.policies):
        print(task.policy, outcome if isinstance(outcome, Exception) else None)
"""


@pytest.mark.parametrize(
    ("module", "refused"),
    [("policies/ts_n.py", {"ts-n"}), ("graphs/_storage.py", {"ts-n", "ucb-n"})],
)
def test_edited_package_is_detected(tmp_path: Path, module: str, refused: set[str]) -> None:
    """A module of the policy, and a module that decodes plans in a worker."""
    source = SRC / "graphbandits"
    shutil.copytree(source, tmp_path / "graphbandits", ignore=shutil.ignore_patterns("*.pyc"))
    file = tmp_path / "graphbandits" / module
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(file)],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    changed = f"{file} was changed after the run started: start the run again"
    assert found == {policy: changed if policy in refused else "None" for policy in found}
    assert set(found) == {"ts-n", "ucb-n"}


#: A worker of a cluster with other versions or sources.
OTHER = """
import sys
from pathlib import Path
from graphbandits.engine import provenance
from graphbandits.engine.executors import dask
if sys.argv[3] == "versions":
    theirs = dask.required_versions() | {"numpy": "1.0"}
    dask.required_versions = lambda: theirs
else:
    import graphbandits.policies.ts_n as module
    provenance._IMPORTED_DIGESTS[Path(module.__file__)] = "of another day"
dask.serve(*sys.argv[1:3])
"""


@contextmanager
def another_worker(executor: Any, folder: Path, kind: str) -> Iterator[None]:
    """An incompatible worker that joins the workers of an executor, ended with the context."""
    words = ["-c", OTHER, str(folder / "dask"), executor._address, kind]
    source = str(SRC)
    with subprocess.Popen(
        [sys.executable, *words],
        env=os.environ | {"PYTHONPATH": source},
        stdin=subprocess.PIPE,
        process_group=0,
    ) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("kind", "difference"),
    [("versions", "numpy is 1.0 there and"), ("sources", "ts_n.py was changed after the run")],
)
def test_incompatible_worker_is_excluded(
    kind: str, difference: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without other workers, its tasks are errors."""
    plan = Plan.of(["ts-n", "ucb-n"], graph="star(direction=out)", horizon=5, trials=24)
    tasks = [Task(plan, name, first, 2) for name in plan.policies for first in range(0, 24, 2)]
    expected = alone(tasks)
    with DaskExecutor("local", 1) as executor, another_worker(executor, tmp_path, kind):
        until(lambda: len(executor._client.nthreads()) == 1)

        def waiting() -> Iterator[Task]:
            until(lambda: len(executor._client.nthreads()) == 2)  # its own has joined
            yield from tasks

        assert computed(executor, waiting()) == expected
        assert len(executor._client.nthreads()) == 2
        lines = capfd.readouterr().err.splitlines()
        warnings = [line for line in lines if "does not use one of the workers" in line]
        assert len(warnings) == 1
        assert "would compute other bits: " in warnings[0]
        assert difference in warnings[0]
        executor._own_count = 0
        terminate_all(executor._own)
        until(lambda: len(executor._client.nthreads()) == 1)
        for task, outcome in executor.run(tasks):
            if task.policy == "ts-n" or kind == "versions":
                refused(outcome, difference)
            else:
                assert bits(task, outcome) == expected[name_of(task)]


RAISES = '''
from dataclasses import dataclass
from graphbandits.policies.ts_n import TSN
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
    for (_, error), (what, name) in zip(ended, names.items(), strict=True):
        assert isinstance(error, PolicyError)
        assert str(error) == f"policy 'raises(what={what})' failed: {file}, line 14: {name}: so"


@pytest.mark.parametrize("killed", [False, True])
def test_copies_of_plug_ins_are_removed_with_their_process(killed: bool, tmp_path: Path) -> None:
    """Also if the process is killed."""
    places, file, met = tmp_path / "temporary", tmp_path / "raises.py", tmp_path / "met"
    places.mkdir()
    file.write_text(RAISES)
    script = f"""
from pathlib import Path
from graphbandits import load_plugin
from graphbandits.engine import Plan
from graphbandits.engine.executors import ProcessExecutor
from graphbandits.engine.plan import Task
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
