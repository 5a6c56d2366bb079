"""Crews: the same bits whoever works, nobody's death is noticed, nobody is left behind."""

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
from crew_pieces import (
    GRAPH,
    POLICY,
    alone,
    bits,
    children,
    command,
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
from graphbandits.engine.crews import Cluster, Processes, Threads, cluster, crew_of, flight
from graphbandits.engine.crews.study import Studies, done_of, request
from graphbandits.engine.crews.travel import LATEST, Packer
from graphbandits.engine.tasks import Task
from graphbandits.errors import InputError, PolicyError
from graphbandits.plugins import load_plugin, loaded_plugins, unload_plugin


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the plug-ins are, and the marks that they leave."""
    folder = tmp_path_factory.mktemp("crews")
    files = {"crew_ts.py": POLICY.format(folder=str(folder)), "crew_graph.py": GRAPH}
    for name, text in files.items():
        (folder / name).write_text(text)
        load_plugin(folder / name)
    yield folder
    for name in files:
        unload_plugin(folder / name)


@pytest.fixture(scope="module")
def local_cluster() -> Iterator[Cluster]:
    before = children()
    with Cluster("local", 2) as crew:
        yield crew
    assert children() == before


@pytest.fixture(params=["threads", "processes", "cluster"])
def crew(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "cluster":
        yield request.getfixturevalue("local_cluster")
        return
    before = children()
    with {"threads": Threads, "processes": Processes}[request.param](2) as crew:
        yield crew
    assert children() == before


# The same bits ---------------------------------------------------------------------------------


def test_the_same_bits_whoever_works(crew: Any) -> None:
    """Directed graphs, priors, fixed means, ratios; a policy and a graph from files."""
    tasks = tasks_of(plans())
    assert len({id(task.plan) for task in tasks}) > LATEST
    expected = alone(tasks)
    told = dict.fromkeys(expected, 0)

    def tell(task: Task, decisions: int) -> None:
        assert decisions > 0
        told[name_of(task)] += decisions

    found = {name_of(done.task): bits(done) for done in crew.work(tasks, tell)}
    assert found == expected
    assert told == {name_of(task): task.decisions for task in tasks}
    assert len(set(expected.values())) == len(expected)


@pytest.mark.parametrize("make", [Processes, lambda count: Cluster("local", count)])
def test_one_worker_gives_the_same_bits(make: Any) -> None:
    tasks = tasks_of(plans())[::3]
    before = children()
    with make(1) as crew:
        assert crew.workers == 1
        found = {name_of(done.task): bits(done) for done in crew.work(tasks)}
        assert len(children() - before) == 1
    assert found == alone(tasks)
    assert children() == before


def test_plug_ins_travel_as_their_sources(folder: Path, tmp_path: Path) -> None:
    """A worker on another machine has no such file; another version has the same names."""
    file = tmp_path / "crew_far.py"
    text = (folder / "crew_ts.py").read_text().replace("crew-ts", "crew-far")
    other = text.replace("return super().propose(state, view)", "return np.eye(5)[[0] * 4]")
    worker, answers = Studies(lambda: tmp_path / "copies"), []
    packed: list[tuple[Task, str, bytes]] = []
    for version in (text, other):
        file.write_text(version)
        load_plugin(file)
        plan = Plan.of("crew-far", graph="star(direction=out)", horizon=15, trials=4)
        task = Task(plan, "crew-far", 0, 4)
        answers.append(alone([task])[name_of(task)])
        told = Packer()(plan)
        packed.append((task, told.name, told.data))
    unload_plugin(file)
    file.unlink()
    assert answers[0] != answers[1]
    for turn in (0, 1, 0):  # also back to the first
        task, name, data = packed[turn]
        answer = worker.answer(request(name, task), data, lambda rounds: None)
        assert answer is not None
        assert bits(done_of(task, *answer)) == answers[turn]
    (copy,) = (one.path for one in loaded_plugins() if one.path.name == file.name)
    assert copy != file
    unload_plugin(copy)


# Errors ----------------------------------------------------------------------------------------


def test_a_task_that_raises_does_not_stop_the_others(crew: Any) -> None:
    sin = f"raise-{type(crew).__name__}"
    tasks = trouble(sin)
    ended = {name_of(done.task): done for done in crew.work(tasks)}
    expected = honest(tasks)
    failed = [done for done in ended.values() if done.error is not None]
    assert [(done.task.policy, done.task.first) for done in failed] == [(f"crew-ts(sin={sin})", 4)]
    assert isinstance(failed[0].error, PolicyError)
    assert "failed in round 3, in propose: " in str(failed[0].error)
    assert "crew_ts.py, line" in str(failed[0].error)
    del ended[name_of(failed[0].task)]
    assert len(ended) == 5
    for name, done in ended.items():
        assert bits(done) == expected[name]


@pytest.mark.parametrize("kind", ["processes", "cluster"])
def test_a_task_that_kills_its_workers(kind: str, folder: Path, local_cluster: Cluster) -> None:
    sin = f"die-{kind}"
    tasks = trouble(sin)
    expected = honest(tasks)
    with ExitStack() as stack:
        crew: Any = local_cluster if kind == "cluster" else stack.enter_context(Processes(2))
        ended = list(crew.work(tasks))
    (error,) = (done.error for done in ended if done.error is not None)
    assert f"ended, one after the other, while they ran 'crew-ts(sin={sin})', trials 4 to 7 (" in (
        str(error)
    )
    assert str(error).startswith("3 worker")
    assert isinstance(error, InputError)
    if kind == "processes":
        assert "(exit code 7)" in str(error)
        assert str(error).endswith("Else the policy ends its process: run it alone to see")
    assert len(set(marks(folder, sin))) == 3
    good = {name_of(done.task): bits(done) for done in ended if done.error is None}
    assert len(good) == 5
    assert all(data == expected[name] for name, data in good.items())


def test_a_worker_that_is_killed_while_it_is_busy(folder: Path) -> None:
    tasks = trouble("wait-processes")

    def kill() -> None:
        (pid,) = until(lambda: marks(folder, "wait-processes"))
        os.kill(pid, signal.SIGKILL)

    with meanwhile(kill), Processes(2) as crew:
        found = {name_of(done.task): bits(done) for done in crew.work(tasks)}
    assert found == honest(tasks)
    assert len(marks(folder, "wait-processes")) == 2


def test_a_worker_that_is_killed_while_it_is_idle() -> None:
    tasks = tasks_of(plans()[:1])
    before = children()
    with Processes(1) as crew:
        list(crew.work(tasks))
        (pid,) = children() - before
        os.kill(int(pid), signal.SIGKILL)
        found = {name_of(done.task): bits(done) for done in crew.work(tasks)}
    assert found == alone(tasks)


class UnforeseenError(Exception):
    pass


def test_what_the_caller_raises_when_told_is_not_an_error_of_the_task(crew: Any) -> None:
    def tell(task: Task, decisions: int) -> None:
        raise UnforeseenError

    for how in (crew, Threads(1)):
        with pytest.raises(UnforeseenError):
            list(how.work(trouble("none"), tell))


def test_ctrl_c_passes_through(crew: Any) -> None:
    def tell(task: Task, decisions: int) -> None:
        raise KeyboardInterrupt

    for how in (crew, Threads(1)):
        with pytest.raises(KeyboardInterrupt):
            list(how.work(trouble("none"), tell))


# Laziness and ends -----------------------------------------------------------------------------


def test_tasks_are_taken_when_workers_are_nearly_free(crew: Any) -> None:
    taken = ended = 0
    ahead = []

    def tasks() -> Iterator[Task]:
        nonlocal taken
        for task in tasks_of(plans()):
            taken += 1
            ahead.append(taken - ended)
            yield task

    for _ in crew.work(tasks()):
        ended += 1
    assert ended == taken == 24
    assert max(ahead) <= 2 * crew.workers + 1  # the one that is handed over is not ended yet


def test_no_more_processes_than_tasks() -> None:
    before = children()
    with Processes(5) as crew:
        assert children() == before
        list(crew.work(tasks_of(plans()[:1])[:1]))
        assert len(children() - before) == 1
    assert children() == before


@pytest.mark.parametrize("how", ["generator", "context"])
def test_closing_early_ends_what_is_running(how: str, folder: Path) -> None:
    """With tasks that would take years."""
    before = children()
    sin = f"stay-{how}"
    for make in (Threads, Processes):
        plan = Plan.of("ts-n", graph="paper", horizon=10**9, trials=8, rounds=1)
        endless = [Task(plan, "ts-n", first, 4) for first in (0, 4)]
        with make(3) as crew:
            outcomes: Any = crew.work([*tasks_of(plans()[:1])[:1], *endless])
            bits(next(outcomes))
            if how == "generator":
                outcomes.close()
        assert children() <= before
        assert list(outcomes) == []
    tasks = trouble(sin)[1:2]
    with Processes(2) as crew:
        outcomes = crew.work([*tasks, *trouble("none")[:1]])
        bits(next(outcomes))
        until(lambda: marks(folder, sin))
    assert children() == before
    assert not any(map(running, marks(folder, sin)))


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from crew_pieces import trouble
from graphbandits.engine.crews import Cluster, Processes
from graphbandits.plugins import load_plugin

load_plugin({plugin!r})
with {crew} as crew:
    for done in crew.work(trouble({sin!r})[1:]):
        Path("first").write_text(str(done.error))
"""


@pytest.mark.parametrize("crew", ["Processes(2)", "Cluster('local', 2)"])
def test_workers_end_when_whoever_asked_is_killed(crew: str, folder: Path, tmp_path: Path) -> None:
    """No guard around the script is needed, nor a word on standard error."""
    sin = f"stay-{crew[0]}"
    words = {"tests": str(Path(__file__).parent), "plugin": str(folder / "crew_ts.py")}
    (tmp_path / "script.py").write_text(SCRIPT.format(crew=crew, sin=sin, **words))
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
    assert (tmp_path / "first").read_text() == "None"
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

        with meanwhile(disturb), Cluster(address) as crew:
            for one in crew.work(tasks):
                done.append(one)
            assert crew.workers >= 1
    assert {name_of(one.task): bits(one) for one in done} == expected
    assert done[-1].task.policy == f"crew-ts(sin={sin})"
    assert len(marks(folder, sin)) == 2


def test_a_scheduler_that_goes_away(tmp_path: Path) -> None:
    place = tmp_path / "scheduler.json"
    words = ("scheduler", "--host=127.0.0.1", "--port=0", "--no-dashboard")
    with command("-m", "dask", *words, f"--scheduler-file={place}", folder=tmp_path) as scheduler:
        address = json.loads(until(lambda: place.exists() and place.read_text()))["address"]

        def taking() -> Iterator[Task]:
            yield from tasks_of(plans()[:1])[:1]
            scheduler.kill()

        with Cluster(address) as crew, pytest.raises(InputError, match=r"at tcp://.* went away \("):
            list(crew.work(taking()))


def test_a_scheduler_that_is_not_there(capfd: pytest.CaptureFixture[str]) -> None:
    saying = (
        r"no dask scheduler answers at tcp://127\.0\.0\.1:9 \(.*start one with 'dask scheduler'"
    )
    with pytest.raises(InputError, match=saying), Cluster("tcp://127.0.0.1:9"):
        pass
    assert capfd.readouterr() == ("", "")


def test_a_cluster_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr(cluster, "PATIENCE", 0.0)
    monkeypatch.setattr(cluster, "LOOK", 0.01)
    how: dict[str, Any] = {"host": "127.0.0.1", "protocol": "tcp://", "n_workers": 0}
    with (
        LocalCluster(processes=False, dashboard_address="127.0.0.1:0", **how) as empty,
        Cluster(empty.scheduler_address) as crew,
        pytest.raises(InputError, match=r"no worker for 0 s: start one with 'dask worker tcp://"),
    ):
        list(crew.work(tasks_of(plans()[:1])))


def test_workers_of_other_versions_are_refused(
    local_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = flight.identity()
    other = theirs | {"numpy": "1.0", "scipy": "2.0"}
    monkeypatch.setattr(flight, "identity", lambda: other)
    with pytest.raises(InputError) as refused:
        list(local_cluster.work(tasks_of(plans()[:1])))
    saying = (
        f"would give other bits: numpy is {theirs['numpy']} there and 1.0 here; "
        f"scipy is {theirs['scipy']} there and 2.0 here."
    )
    assert str(refused.value).startswith("the worker at tcp://127.0.0.1:")
    assert saying in str(refused.value)


def test_a_cluster_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'graphbandits\[cluster\]'"):
        Cluster("local")


@pytest.mark.parametrize("address", ["", "here", "127.0.0.1:8786", "tcp://host", "tcp://a b:1"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(InputError, match=r"'local' or the address of a dask scheduler"):
        Cluster(address)


def test_who_is_chosen() -> None:
    plan = plans()[0]
    assert isinstance(crew_of(2, "local", "auto", [plan]), Cluster)
    assert isinstance(crew_of(1, None, "processes", [plan]), Processes)
    assert crew_of(3, None, "threads", [plan]).workers == 3
    with pytest.raises(InputError, match="parallel is 'auto', 'threads' or 'processes', not 'no'"):
        crew_of(2, None, "no", [plan])
    with pytest.raises(InputError, match="workers must be a whole number of at least 1, not 0"):
        crew_of(0, None, "auto", [plan])
