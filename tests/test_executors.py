"""Executors: the same bits from all, deaths of workers are survived, no process is left behind."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from executor_pieces import (
    GRAPH,
    POLICY,
    alone,
    bits,
    children,
    command,
    computed,
    honest,
    marks,
    meanwhile,
    name_of,
    plans,
    running,
    tasks_of,
    trouble,
    until,
)

from graphbandits.engine import Plan
from graphbandits.engine.executors import (
    DaskExecutor,
    ProcessExecutor,
    ThreadExecutor,
    dask,
    executor_for,
)
from graphbandits.engine.executors.worker_runtime import LATEST, WorkerRuntime, pack, request_of
from graphbandits.engine.plan import Task
from graphbandits.errors import GraphBanditsError, InputError, PolicyError, SourceError
from graphbandits.plugins import load_plugin, loaded_plugins, unload_plugin


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the plug-ins are, and the marks that they leave."""
    folder = tmp_path_factory.mktemp("executors")
    files = {"crew_ts.py": POLICY.format(folder=str(folder)), "crew_graph.py": GRAPH}
    for name, text in files.items():
        (folder / name).write_text(text)
        load_plugin(folder / name)
    yield folder
    for name in files:
        unload_plugin(folder / name)


@pytest.fixture(scope="module")
def local_cluster() -> Iterator[DaskExecutor]:
    before = children()
    with DaskExecutor("local", 2) as executor:
        yield executor
    assert children() == before


@pytest.fixture(params=["threads", "processes", "cluster"])
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "cluster":
        yield request.getfixturevalue("local_cluster")
        return
    before = children()
    kinds = {"threads": ThreadExecutor, "processes": ProcessExecutor}
    with kinds[request.param](2) as executor:
        yield executor
    assert children() == before


# The same bits ---------------------------------------------------------------------------------


def test_the_same_bits_from_all(executor: Any) -> None:
    """Directed graphs, priors, fixed means, ratios; a policy and a graph from files."""
    tasks = tasks_of(plans())
    assert len({id(task.plan) for task in tasks}) > LATEST
    expected = alone(tasks)
    told = dict.fromkeys(expected, 0)

    def tell(task: Task, decisions: int) -> None:
        assert decisions > 0
        told[name_of(task)] += decisions

    assert computed(executor, tasks, tell) == expected
    assert told == {name_of(task): task.decisions for task in tasks}
    assert len(set(expected.values())) == len(expected)


@pytest.mark.parametrize("make", [ProcessExecutor, lambda count: DaskExecutor("local", count)])
def test_one_worker_gives_the_same_bits(make: Any) -> None:
    tasks = tasks_of(plans())[::3]
    before = children()
    with make(1) as executor:
        assert executor.workers == 1
        found = computed(executor, tasks)
        assert len(children() - before) == 1
    assert found == alone(tasks)
    assert children() == before


def test_plug_ins_travel_as_their_sources(folder: Path, tmp_path: Path) -> None:
    """A worker on another machine has no such file; another version has the same names."""
    file = tmp_path / "crew_far.py"
    text = (folder / "crew_ts.py").read_text().replace("crew-ts", "crew-far")
    other = text.replace("return super().propose(state, view)", "return np.eye(5)[[0] * 4]")
    worker, answers = WorkerRuntime(lambda: tmp_path / "copies"), []
    packed: list[tuple[Task, str, bytes]] = []
    for version in (text, other):
        file.write_text(version)
        load_plugin(file)
        plan = Plan.of("crew-far", graph="star(direction=out)", horizon=15, trials=4)
        task = Task(plan, "crew-far", 0, 4)
        answers.append(alone([task])[name_of(task)])
        packed.append((task, *pack(plan)))
    unload_plugin(file)
    file.unlink()
    assert answers[0] != answers[1]
    for turn in (0, 1, 0):  # also back to the first
        task, name, data = packed[turn]
        outcome = worker.compute(name, data, request_of(task))
        assert outcome is not None
        assert bits(task, outcome) == answers[turn]
    (copy,) = (one.path for one in loaded_plugins() if one.path.name == file.name)
    assert copy != file
    unload_plugin(copy)


# Errors ----------------------------------------------------------------------------------------


def test_a_task_that_raises_does_not_stop_the_others(executor: Any) -> None:
    sin = f"raise-{type(executor).__name__}"
    tasks = trouble(sin)
    ended = dict(executor.run(tasks))
    expected = honest(tasks)
    (failed,) = (task for task in ended if isinstance(ended[task], GraphBanditsError))
    assert (failed.policy, failed.first) == (f"crew-ts(sin={sin})", 4)
    error = ended.pop(failed)
    assert isinstance(error, PolicyError)
    assert "failed in round 3, in propose: " in str(error)
    assert "crew_ts.py, line" in str(error)
    assert len(ended) == 5
    for task, shard in ended.items():
        assert bits(task, shard) == expected[name_of(task)]


@pytest.mark.parametrize("kind", ["processes", "cluster"])
def test_a_task_that_kills_its_workers(
    kind: str, folder: Path, local_cluster: DaskExecutor
) -> None:
    sin = f"die-{kind}"
    tasks = trouble(sin)
    expected = honest(tasks)
    with ExitStack() as stack:
        executor: Any = local_cluster
        if kind == "processes":
            executor = stack.enter_context(ProcessExecutor(2))
        ended = dict(executor.run(tasks))
    (error,) = (error for error in ended.values() if isinstance(error, GraphBanditsError))
    assert f"ended, one after the other, while they ran 'crew-ts(sin={sin})', trials 4 to 7 (" in (
        str(error)
    )
    assert str(error).startswith("3 worker")
    assert isinstance(error, InputError)
    if kind == "processes":
        assert "(exit code 7)" in str(error)
        assert str(error).endswith("Else the policy ends its process: run it alone to see")
    assert len(set(marks(folder, sin))) == 3
    good = {task: shard for task, shard in ended.items() if shard is not error}
    assert len(good) == 5
    assert all(bits(task, shard) == expected[name_of(task)] for task, shard in good.items())


def test_a_worker_that_is_killed_while_it_is_busy(folder: Path) -> None:
    tasks = trouble("wait-processes")

    def kill() -> None:
        (pid,) = until(lambda: marks(folder, "wait-processes"))
        os.kill(pid, signal.SIGKILL)

    with meanwhile(kill), ProcessExecutor(2) as executor:
        assert computed(executor, tasks) == honest(tasks)
    assert len(marks(folder, "wait-processes")) == 2


def test_a_worker_that_is_killed_while_it_is_idle() -> None:
    tasks = tasks_of(plans()[:1])
    before = children()
    with ProcessExecutor(1) as executor:
        list(executor.run(tasks))
        (pid,) = children() - before
        os.kill(int(pid), signal.SIGKILL)
        assert computed(executor, tasks) == alone(tasks)


class UnforeseenError(Exception):
    pass


def test_what_the_caller_raises_when_told_is_not_an_error_of_the_task(executor: Any) -> None:
    def tell(task: Task, decisions: int) -> None:
        raise UnforeseenError

    for how in (executor, ThreadExecutor(1)):
        with pytest.raises(UnforeseenError):
            list(how.run(trouble("none"), tell))


@pytest.mark.parametrize("make", [ThreadExecutor, ProcessExecutor])
@pytest.mark.parametrize("count", [1, 2])
def test_progress_is_reported_while_a_task_runs(make: Any, count: int) -> None:
    """A task that would take minutes or, in a process, years; ended by Ctrl-C."""
    horizon = 10**9 if make is ProcessExecutor else 10**6
    plan = Plan.of("ts-n", graph="paper", horizon=horizon, trials=2, rounds=1)
    reports: list[int] = []

    def tell(task: Task, decisions: int) -> None:
        reports.append(decisions)
        if len(reports) == 3:
            raise KeyboardInterrupt

    before = children()
    with make(count) as executor, pytest.raises(KeyboardInterrupt):
        list(executor.run([Task(plan, "ts-n", 0, 2)], tell))
    assert all(0 < decisions < 10**8 for decisions in reports)
    assert children() == before


def test_ctrl_c_passes_through(executor: Any) -> None:
    def tell(task: Task, decisions: int) -> None:
        raise KeyboardInterrupt

    for how in (executor, ThreadExecutor(1)):
        with pytest.raises(KeyboardInterrupt):
            list(how.run(trouble("none"), tell))


# Laziness and ends -----------------------------------------------------------------------------


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


@pytest.mark.parametrize("how", ["generator", "context"])
def test_closing_early_ends_what_is_running(how: str, folder: Path) -> None:
    """With tasks that would take years."""
    before = children()
    sin = f"stay-{how}"
    for make in (ThreadExecutor, ProcessExecutor):
        plan = Plan.of("ts-n", graph="paper", horizon=10**9, trials=8, rounds=1)
        endless = [Task(plan, "ts-n", first, 4) for first in (0, 4)]
        with make(3) as executor:
            outcomes: Any = executor.run([*tasks_of(plans()[:1])[:1], *endless])
            bits(*next(outcomes))
            if how == "generator":
                outcomes.close()
        assert children() <= before
        assert list(outcomes) == []
    tasks = trouble(sin)[1:2]
    with ProcessExecutor(2) as executor:
        outcomes = executor.run([*tasks, *trouble("none")[:1]])
        bits(*next(outcomes))
        until(lambda: marks(folder, sin))
    assert children() == before
    assert not any(map(running, marks(folder, sin)))


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from executor_pieces import trouble
from graphbandits.engine.executors import DaskExecutor, ProcessExecutor
from graphbandits.plugins import load_plugin

load_plugin({plugin!r})
with {executor} as executor:
    for task, outcome in executor.run(trouble({sin!r})[1:]):
        Path("first").write_text(type(outcome).__name__)
"""


@pytest.mark.parametrize("executor", ["ProcessExecutor(2)", "DaskExecutor('local', 2)"])
def test_workers_end_when_their_parent_is_killed(
    executor: str, folder: Path, tmp_path: Path
) -> None:
    """No guard around the script is needed, nor a word on standard error."""
    sin = f"stay-{executor[0]}"
    words = {"tests": str(Path(__file__).parent), "plugin": str(folder / "crew_ts.py")}
    (tmp_path / "script.py").write_text(SCRIPT.format(executor=executor, sin=sin, **words))
    with command("-W", "error", "script.py", folder=tmp_path) as process:
        (busy,) = until(lambda: marks(folder, sin))
        until(lambda: (tmp_path / "first").exists() and (tmp_path / "first").read_text())
        workers = Path(f"/proc/{process.pid}/task").glob("*/children")
        pids = [int(pid) for file in workers for pid in file.read_text().split()]
        assert busy in pids
        assert len(pids) == 2
        process.kill()  # by SIGKILL, and nobody else of its group
        process.wait()
        until(lambda: not any(map(running, pids)), seconds=60)
    assert (tmp_path / "first").read_text() == "Shard"
    assert (tmp_path / "log").read_text() == ""


# A cluster -------------------------------------------------------------------------------------


def test_a_scheduler_and_workers_of_which_a_busy_one_is_killed(
    folder: Path, tmp_path: Path
) -> None:
    """The second worker joins while the first is busy, does all else, and then its task."""
    sin = "wait-cluster"
    tasks, done = trouble(sin), []
    expected = honest(tasks)
    with ExitStack() as stack:

        def start(*words: str) -> Any:
            return stack.enter_context(
                command("-m", "dask", *words, folder=tmp_path, log="dask.log")
            )

        def worker() -> Any:
            return start("worker", address, "--nthreads=1", "--no-dashboard", "--no-nanny")

        place = tmp_path / "scheduler.json"
        start(
            "scheduler",
            "--host=127.0.0.1",
            "--port=0",
            "--no-dashboard",
            f"--scheduler-file={place}",
        )
        address = json.loads(until(lambda: place.exists() and place.read_text()))["address"]
        first = worker()

        def disturb() -> None:
            assert until(lambda: marks(folder, sin)) == [first.pid]
            worker()
            until(lambda: len(done) == 5)
            first.kill()

        with meanwhile(disturb), DaskExecutor(address) as executor:
            for one in executor.run(tasks):
                done.append(one)
            assert executor.workers >= 1
    assert {name_of(task): bits(task, shard) for task, shard in done} == expected
    assert done[-1][0].policy == f"crew-ts(sin={sin})"
    assert len(marks(folder, sin)) == 2


def test_a_scheduler_that_goes_away(tmp_path: Path) -> None:
    place = tmp_path / "scheduler.json"
    words = ("scheduler", "--host=127.0.0.1", "--port=0", "--no-dashboard")
    with command("-m", "dask", *words, f"--scheduler-file={place}", folder=tmp_path) as scheduler:
        address = json.loads(until(lambda: place.exists() and place.read_text()))["address"]

        def taking() -> Iterator[Task]:
            yield from tasks_of(plans()[:1])[:1]
            scheduler.kill()

        saying = r"at tcp://.* went away \("
        with DaskExecutor(address) as executor, pytest.raises(InputError, match=saying):
            list(executor.run(taking()))


def test_a_scheduler_that_is_not_there(capfd: pytest.CaptureFixture[str]) -> None:
    saying = (
        r"no dask scheduler answers at tcp://127\.0\.0\.1:9 \(.*start one with 'dask scheduler'"
    )
    with pytest.raises(InputError, match=saying), DaskExecutor("tcp://127.0.0.1:9"):
        pass
    assert capfd.readouterr() == ("", "")


def test_a_cluster_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr(dask, "PATIENCE", 0.0)
    monkeypatch.setattr(dask, "LOOK", 0.01)
    how: dict[str, Any] = {"host": "127.0.0.1", "protocol": "tcp://", "n_workers": 0}
    with (
        LocalCluster(processes=False, dashboard_address="127.0.0.1:0", **how) as empty,
        DaskExecutor(empty.scheduler_address) as executor,
        pytest.raises(InputError, match=r"no worker for 0 s: start one with 'dask worker tcp://"),
    ):
        list(executor.run(tasks_of(plans()[:1])))


def test_workers_of_other_versions_are_refused(
    local_cluster: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = dask.identity()
    other = theirs | {"numpy": "1.0", "scipy": "2.0"}
    monkeypatch.setattr(dask, "identity", lambda: other)
    errors = [error for _, error in local_cluster.run(tasks_of(plans()[:1]))]
    saying = (
        f"would give other bits: numpy is {theirs['numpy']} there and 1.0 here; "
        f"scipy is {theirs['scipy']} there and 2.0 here."
    )
    for error in errors:
        assert isinstance(error, SourceError)
        assert str(error).startswith("the worker at tcp://127.0.0.1:")
        assert saying in str(error)


def test_a_cluster_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'graphbandits\[cluster\]'"):
        DaskExecutor("local")


@pytest.mark.parametrize("address", ["", "here", "127.0.0.1:8786", "tcp://host", "tcp://a b:1"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(InputError, match=r"'local' or the address of a dask scheduler"):
        DaskExecutor(address)


def test_who_is_chosen() -> None:
    plan = plans()[0]
    assert isinstance(executor_for(2, "local", "auto", [plan]), DaskExecutor)
    assert isinstance(executor_for(1, None, "processes", [plan]), ProcessExecutor)
    assert executor_for(3, None, "threads", [plan]).workers == 3
    with pytest.raises(InputError, match="parallel is 'auto', 'threads' or 'processes', not 'no'"):
        executor_for(2, None, "no", [plan])
    with pytest.raises(InputError, match="workers must be a whole number of at least 1, not 0"):
        executor_for(0, None, "auto", [plan])
