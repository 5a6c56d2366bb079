"""Tests of engine/executors: identical bits, failing workers, no process left."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import TESTS
from helpers.cases import each
from helpers.executor_tasks import (
    alone,
    bits,
    children,
    command,
    computed,
    faulty_tasks,
    in_background,
    marks,
    name_of,
    plans,
    running,
    tasks_of,
    until,
    without_faults,
)

from graphbandits.errors import GraphBanditsError, InputError, PolicyError
from graphbandits.plugins import load_plugin, loaded_plugins, unload_plugin
from graphbandits.simulation.plan import Plan, Task
from graphbandits.simulation.workers import (
    MAX_CACHED_PLANS,
    DaskExecutor,
    ProcessExecutor,
    ThreadExecutor,
    WorkerRuntime,
    executor_for,
    serialize_plan,
    task_request,
)

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture(params=["threads", "processes", "cluster"])
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "cluster":
        with DaskExecutor(request.getfixturevalue("cluster")) as executor:
            yield executor
        return
    before = children()
    kinds = {"threads": ThreadExecutor, "processes": ProcessExecutor}
    with kinds[request.param](2) as executor:
        yield executor
    assert children() == before


def test_all_executors_give_identical_bits(executor: Any) -> None:
    """Directed graphs, priors, fixed means, ratios; a policy and a graph from files."""
    tasks = tasks_of(plans())
    assert len({id(task.plan) for task in tasks}) > MAX_CACHED_PLANS
    expected = alone(tasks)
    reported = dict.fromkeys(expected, 0)

    def report(task: Task, decisions: int) -> None:
        assert decisions > 0
        reported[name_of(task)] += decisions

    assert computed(executor, tasks, report) == expected
    assert reported == {name_of(task): task.decisions for task in tasks}
    assert len(set(expected.values())) == len(expected)


def test_plug_ins_are_sent_as_source(folder: Path, tmp_path: Path) -> None:
    """A worker on another machine has no such file; another version has the same names."""
    file = tmp_path / "sent_source.py"
    text = (folder / "faulty_ts.py").read_text().replace("faulty-ts", "sent-source")
    other = text.replace("return super().propose(state, view)", "return np.eye(5)[[0] * 4]")
    worker, answers = WorkerRuntime(lambda: tmp_path / "copies"), []
    packed: list[tuple[Task, tuple[str, bytes], dict[str, Any]]] = []
    for version in (text, other):
        file.write_text(version)
        load_plugin(file)
        plan = Plan.of("sent-source", graph="star(direction=out)", horizon=15, trials=4)
        task = Task(plan, "sent-source", 0, 4)
        answers.append(alone([task])[name_of(task)])
        packed.append((task, serialize_plan(plan), task_request(task)))
    unload_plugin(file)
    file.unlink()
    assert answers[0] != answers[1]
    for turn in (0, 1, 0):  # also back to the first
        task, sent, request = packed[turn]
        outcome = worker.compute(*sent, request)
        assert outcome is not None
        assert bits(task, outcome) == answers[turn]
    (copy,) = (one.path for one in loaded_plugins() if one.path.name == file.name)
    assert copy != file
    unload_plugin(copy)


def test_a_task_that_raises_does_not_stop_the_others(executor: Any) -> None:
    fault = f"raise-{type(executor).__name__}"
    tasks = faulty_tasks(fault)
    ended = dict(executor.run(tasks))
    expected = without_faults(tasks)
    (failed,) = (task for task in ended if isinstance(ended[task], GraphBanditsError))
    assert (failed.policy, failed.first) == (f"faulty-ts(fault={fault})", 4)
    error = ended.pop(failed)
    assert isinstance(error, PolicyError)
    assert "failed in round 3, in propose: " in str(error)
    assert "faulty_ts.py, line" in str(error)
    assert len(ended) == 5
    for task, shard in ended.items():
        assert bits(task, shard) == expected[name_of(task)]


def test_task_that_kills_its_workers_is_reported(folder: Path) -> None:
    tasks = faulty_tasks("die-processes")
    expected = without_faults(tasks)
    with ProcessExecutor(2) as executor:
        ended = dict(executor.run(tasks))
    (error,) = (error for error in ended.values() if isinstance(error, GraphBanditsError))
    assert isinstance(error, InputError)
    assert str(error).startswith(
        "3 worker processes in a row ended while they ran 'faulty-ts(fault=die-processes)', "
        "trials 4 to 7 (exit code 7)"
    )
    assert len(set(marks(folder, "die-processes"))) == 3
    good = {task: shard for task, shard in ended.items() if shard is not error}
    assert len(good) == 5
    assert all(bits(task, shard) == expected[name_of(task)] for task, shard in good.items())


def test_busy_worker_that_is_killed_is_replaced(folder: Path) -> None:
    tasks = faulty_tasks("wait-processes")

    def kill() -> None:
        (pid,) = until(lambda: marks(folder, "wait-processes"))
        os.kill(pid, signal.SIGKILL)

    with in_background(kill), ProcessExecutor(2) as executor:
        assert computed(executor, tasks) == without_faults(tasks)
    assert len(marks(folder, "wait-processes")) == 2


def test_idle_worker_that_is_killed_is_replaced() -> None:
    tasks = tasks_of(plans()[:1])
    before = children()
    with ProcessExecutor(1) as executor:
        list(executor.run(tasks))
        (pid,) = children() - before
        os.kill(int(pid), signal.SIGKILL)
        assert computed(executor, tasks) == alone(tasks)


class UnforeseenError(Exception):
    pass


def test_exception_of_the_progress_callback_is_not_an_error_of_the_task(executor: Any) -> None:
    """Also Ctrl-C."""
    for error in (UnforeseenError, KeyboardInterrupt):

        def report(task: Task, decisions: int, error: type[BaseException] = error) -> None:
            raise error

        for how in (executor, ThreadExecutor(1)):
            with pytest.raises(error):
                list(how.run(faulty_tasks("none"), report))


@each("make", [ThreadExecutor, ProcessExecutor])
@each("count", [1, 2])
def test_progress_is_reported_while_a_task_runs(make: Any, count: int) -> None:
    """A task that would take minutes or, in a process, years; ended by Ctrl-C."""
    horizon = 10**9 if make is ProcessExecutor else 10**6
    plan = Plan.of("ts-n", graph="paper", horizon=horizon, trials=2, rounds=1)
    reports: list[int] = []

    def report(task: Task, decisions: int) -> None:
        reports.append(decisions)
        if len(reports) == 3:
            raise KeyboardInterrupt

    before = children()
    with make(count) as executor, pytest.raises(KeyboardInterrupt):
        list(executor.run([Task(plan, "ts-n", 0, 2)], report))
    assert all(0 < decisions < 10**8 for decisions in reports)
    assert children() == before


def test_tasks_are_taken_when_workers_are_nearly_free(executor: Any) -> None:
    taken = ended = 0
    ahead = []

    def tasks() -> Iterator[Task]:
        nonlocal taken
        for task in tasks_of(plans()):
            taken += 1
            ahead.append(taken - ended)
            yield task

    for _ in executor.run(tasks()):
        ended += 1
    assert ended == taken == 24
    assert max(ahead) <= 2 * executor.workers + 1  # the one that is handed over is not ended yet


def test_no_more_processes_than_tasks() -> None:
    before = children()
    with ProcessExecutor(5) as executor:
        assert children() == before
        list(executor.run(tasks_of(plans()[:1])[:1]))
        assert len(children() - before) == 1
    assert children() == before


def test_closing_early_ends_running_tasks(folder: Path) -> None:
    """With tasks that would take years; closed by the generator, or by the context."""
    before = children()
    plan = Plan.of("ts-n", graph="paper", horizon=10**9, trials=8, rounds=1)
    endless = [Task(plan, "ts-n", first, 4) for first in (0, 4)]
    for make, closes in ((ThreadExecutor, True), (ThreadExecutor, False), (ProcessExecutor, True)):
        with make(3) as executor:
            outcomes: Any = executor.run([*tasks_of(plans()[:1])[:1], *endless])
            bits(*next(outcomes))
            if closes:
                outcomes.close()
        assert children() <= before
        assert list(outcomes) == []
    with ProcessExecutor(2) as executor:
        outcomes = executor.run([*faulty_tasks("stay")[1:2], *faulty_tasks("none")[:1]])
        bits(*next(outcomes))
        until(lambda: marks(folder, "stay"))
    assert children() == before
    assert not any(map(running, marks(folder, "stay")))


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from helpers.executor_tasks import faulty_tasks
from graphbandits.simulation.workers import ProcessExecutor
from graphbandits.plugins import load_plugin

load_plugin({plugin!r})
with ProcessExecutor(2) as executor:
    for task, outcome in executor.run(faulty_tasks({fault!r})[1:]):
        Path("first").write_text(type(outcome).__name__)
"""


def test_workers_end_when_their_parent_is_killed(folder: Path, tmp_path: Path) -> None:
    """Also processes that a policy started. The script prints nothing to standard error."""
    fault = "stay-orphans"
    words = {"tests": str(TESTS), "plugin": str(folder / "faulty_ts.py")}
    (tmp_path / "script.py").write_text(SCRIPT.format(fault=fault, **words))
    with command("-W", "error", "script.py", folder=tmp_path) as process:
        busy, child = until(lambda: len(found := marks(folder, fault)) == 2 and found)
        until(lambda: (tmp_path / "first").exists() and (tmp_path / "first").read_text())
        workers = Path(f"/proc/{process.pid}/task").glob("*/children")
        pids = [int(pid) for file in workers for pid in file.read_text().split()]
        assert busy in pids
        assert len(pids) == 2
        process.kill()  # by SIGKILL, without the other processes of its group
        process.wait()
        until(lambda: not any(map(running, [*pids, child])), seconds=60)
    assert (tmp_path / "first").read_text() == "Shard"
    assert (tmp_path / "log").read_text() == ""


def test_executor_for_chooses_the_executor() -> None:
    plan = plans()[0]
    assert isinstance(executor_for(2, "tcp://host:8786", "auto", [plan], 1), DaskExecutor)
    assert isinstance(executor_for(1, None, "processes", [plan], 1), ProcessExecutor)
    assert executor_for(3, None, "threads", [plan], 1).workers == 3
    with pytest.raises(InputError, match="parallel must be 'auto', 'threads' or 'processes'"):
        executor_for(2, None, "no", [plan], 1)
