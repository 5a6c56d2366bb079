"""Tests of simulation/workers.py: schedulers and workers that fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from helpers.cases import each
from helpers.executor_tasks import (
    bits,
    command,
    faulty_tasks,
    in_background,
    marks,
    name_of,
    plans,
    tasks_of,
    until,
    without_faults,
)

from graphbandits.errors import InputError
from graphbandits.simulation import workers
from graphbandits.simulation.plan import Task
from graphbandits.simulation.workers import DaskExecutor, task_request

pytestmark = pytest.mark.usefixtures("folder")


def test_task_of_a_killed_dask_worker_moves_to_another(folder: Path, tmp_path: Path) -> None:
    """The second worker joins while the first is busy, and runs all tasks including its task."""
    fault = "wait-cluster"
    tasks, done = faulty_tasks(fault), []
    expected = without_faults(tasks)
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
            assert until(lambda: marks(folder, fault)) == [first.pid]
            worker()
            until(lambda: len(done) == 5)
            first.kill()

        with in_background(disturb), DaskExecutor(address) as executor:
            for one in executor.run(tasks):
                done.append(one)
            assert executor.workers >= 1
    assert {name_of(task): bits(task, shard) for task, shard in done} == expected
    assert done[-1][0].policy == f"faulty-ts(fault={fault})"
    assert len(marks(folder, fault)) == 2


def test_lost_scheduler_is_reported(tmp_path: Path) -> None:
    place = tmp_path / "scheduler.json"
    words = ("scheduler", "--host=127.0.0.1", "--port=0", "--no-dashboard")
    with command("-m", "dask", *words, f"--scheduler-file={place}", folder=tmp_path) as scheduler:
        address = json.loads(until(lambda: place.exists() and place.read_text()))["address"]

        def taking() -> Iterator[Task]:
            yield from tasks_of(plans()[:1])[:1]
            scheduler.kill()

        message = r"lost the connection to the dask scheduler at tcp://.* \("
        with DaskExecutor(address) as executor, pytest.raises(InputError, match=message):
            list(executor.run(taking()))


def test_unreachable_scheduler_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    message = (
        r"no dask scheduler answers at tcp://127\.0\.0\.1:9 \(.*start one with 'dask scheduler'"
    )
    with pytest.raises(InputError, match=message), DaskExecutor("tcp://127.0.0.1:9"):
        pass
    assert capfd.readouterr() == ("", "")


def test_cluster_without_workers_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr(workers, "NO_WORKER_TIMEOUT", 0.0)
    monkeypatch.setattr(workers, "POLL_INTERVAL", 0.01)
    how: dict[str, Any] = {"host": "127.0.0.1", "protocol": "tcp://", "n_workers": 0}
    with (
        LocalCluster(processes=False, dashboard_address="127.0.0.1:0", **how) as empty,
        DaskExecutor(empty.scheduler_address) as executor,
        pytest.raises(InputError, match="has had no worker for 0 s: start one with 'dask worker"),
    ):
        list(executor.run(tasks_of(plans()[:1])))


@each(
    ("changed", "difference"),
    [
        ({"versions": {"numpy": "1.0", "scipy": "2.0"}}, "numpy is .* and not 1.0, scipy is"),
        ({"sources": "other"}, "a worker has other sources of graphbandits than the process"),
        ({"code": ["module advice 1234"]}, "the module advice on a worker differs"),
        ({"machine": "Other"}, "machine is .* and not Other"),
    ],
)
def test_workers_of_other_versions_or_sources_end_the_run(
    cluster: str, changed: dict[str, Any], difference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def request(task: Task) -> dict[str, Any]:
        made = task_request(task)
        return made | {"facts": made["facts"] | changed}

    monkeypatch.setattr(workers, "task_request", request)
    message = f"the worker at tcp://127.0.0.1:.* would compute other bits: .*{difference}"
    with DaskExecutor(cluster) as executor, pytest.raises(InputError, match=message):
        list(executor.run(tasks_of(plans()[:1])))


def test_task_whose_workers_end_is_an_error(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """dask repeats a task three times."""
    from distributed import KilledWorker

    last = SimpleNamespace(address="tcp://host:1")
    with DaskExecutor(cluster) as executor:
        killed = KilledWorker("task", last, 3)  # type: ignore[no-untyped-call]
        future = Mock(result=Mock(side_effect=killed))
        monkeypatch.setattr(executor._client, "submit", lambda *given, **how: future)
        ((task, error),) = executor.run(tasks_of(plans()[:1])[:1])
    message = f"4 workers of the cluster ended while they held {task} (the last one at tcp://host:1"
    assert str(error).startswith(message)


def test_missing_dask_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="a cluster needs dask"):
        DaskExecutor("tcp://host:8786")


@each("address", ["", "local", "here", "127.0.0.1:8786", "tcp://host", "tcp://a b:1"])
def test_invalid_addresses_are_refused(address: str) -> None:
    with pytest.raises(InputError, match="cluster must be the address of a dask scheduler"):
        DaskExecutor(address)
