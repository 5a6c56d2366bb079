"""Execute tasks on the workers of a dask cluster, on other machines or on this one."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from graphbandits.engine.executors.processes import WorkerProcess, terminate_all
from graphbandits.engine.executors.threads import (
    POLL_INTERVAL,
    ExecutorError,
    Outcomes,
    ThreadExecutor,
)
from graphbandits.engine.executors.worker_runtime import (
    WorkerRuntime,
    connect,
    serialize_plan,
    task_request,
)
from graphbandits.engine.plan import MAX_WORKER_DEATHS, Outcome, Plan, ProgressCallback, Task
from graphbandits.engine.provenance import required_versions
from graphbandits.errors import InputError, SourceError

#: Seconds to wait for an answer of the scheduler.
CONNECT_TIMEOUT = 5.0
#: Seconds to wait for workers if the cluster has none.
NO_WORKER_TIMEOUT = 60.0
#: Number of submitted tasks per worker: the next task is available when one ends.
TASKS_PER_WORKER = 2
#: Maximum number of submitted tasks. One thread of this process waits for each.
MAX_SUBMITTED = 10_000


class WorkerDiedError(InputError):
    """Workers ended while they held a task; another task may be the cause."""


def check_address(address: str) -> None:
    """Raise InputError if the address is not that of a scheduler."""
    if address != "local" and not re.fullmatch(r"[a-z]+://[^\s/]+:\d+", address):
        raise InputError(
            "cluster must be 'local' or the address of a dask scheduler, such as "
            f"tcp://192.168.1.5:8786, not '{address}'"
        )


class DaskExecutor(ThreadExecutor):
    """Execute tasks on the workers of a dask scheduler, including workers that join later.

    A worker refuses a task if its versions or its sources of the policy differ, because its results
    could have other bits. Then other workers get the tasks of this policy. If there are no other
    workers, the tasks fail.

    Parameters
    ----------
    address : str
        Address of the scheduler, ``tcp://host:port``. "local" starts a scheduler and ``workers``
        workers on this machine, and stops them at the end.
    workers : int, default=1
        Number of workers if the address is "local".
    """

    def __init__(self, address: str, workers: int = 1) -> None:
        super().__init__(workers)
        check_address(address)
        try:
            self._distributed: Any = import_module("distributed")
        except ImportError:
            raise InputError(
                "a cluster needs dask.distributed: python -m pip install 'graphbandits[cluster]'"
            ) from None
        self._address = address
        self._own: list[WorkerProcess] = []
        self._own_count = self.workers if address == "local" else 0
        self.workers, self._threads = self._own_count, MAX_SUBMITTED
        self._looked = 0.0
        self._futures: set[Any] = set()
        self._deaths: Counter[Task] = Counter()
        self._refused: defaultdict[tuple[Plan, str], set[str]] = defaultdict(set)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for name in ("distributed", "distributed.client"):  # our errors have the relevant part
                logger = logging.getLogger(name)
                stack.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.CRITICAL)
            # large plans are expected: do not warn about them
            large = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
            stack.enter_context(import_module("dask").config.set(large))
            if self._own_count:
                folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
                self._folder = stack.enter_context(folder)
                scheduler = self._distributed.LocalCluster(
                    n_workers=0,
                    processes=False,
                    protocol="tcp://",
                    host="127.0.0.1",
                    # the scheduler needs a port for its dashboard: use any free port
                    dashboard_address="127.0.0.1:0",
                    silence_logs=False,
                    # report a task immediately if its worker ends
                    scheduler_kwargs={"dashboard": False, "allowed_failures": 0},
                )
                self._address = stack.enter_context(scheduler).scheduler_address
                stack.callback(lambda: terminate_all(self._own))
            self._client: Any = self._connected()
            stack.callback(self._client.close, timeout=CONNECT_TIMEOUT)
            self._met = time.monotonic()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *reason: object) -> None:
        super().__exit__(*reason)
        self._stack.close()

    def _connected(self) -> Any:
        try:
            with warnings.catch_warnings():
                # dask also warns about irrelevant packages; we compare the relevant versions
                warnings.filterwarnings("ignore", message="(?s).*Mismatched versions found")
                return self._distributed.Client(
                    self._address,
                    timeout=CONNECT_TIMEOUT,
                    set_as_default=False,
                    name="graphbandits",
                )
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"no dask scheduler answers at {self._address} ({first_line(error)}): start one "
                "with 'dask scheduler', or give another address"
            ) from None

    def _run(self, tasks: Iterable[Task], progress: ProgressCallback) -> Outcomes:
        """Run tasks, then run those again one by one whose worker ended.

        dask reports all tasks that the worker held. If they run one by one, only the task that
        ends its worker fails.
        """
        suspects: list[Task] = []
        with closing(super()._run(tasks, progress)) as outcomes:
            for task, outcome in outcomes:
                if isinstance(outcome, WorkerDiedError):
                    suspects.append(task)
                else:
                    yield task, outcome
        while suspects:
            ((task, outcome),) = super()._run(suspects[:1], progress)
            if not isinstance(outcome, WorkerDiedError) or self._deaths[task] >= MAX_WORKER_DEATHS:
                yield suspects.pop(0), outcome

    def _interrupt(self) -> None:
        with self._lock:  # no task is submitted after this
            super()._interrupt()
            if self._client.status == "running":
                self._client.cancel(list(self._futures), force=True)

    def _capacity(self) -> int:
        """Return the number of tasks to submit at a time, for the current number of workers.

        Local workers that have ended are replaced.
        """
        now = time.monotonic()
        if now - self._looked > POLL_INTERVAL:
            self._looked = now
            if self._own_count:
                ended = [worker for worker in self._own if worker.poll() is not None]
                terminate_all(ended)
                self._own = [worker for worker in self._own if worker not in ended]
                while len(self._own) < self._own_count:
                    self._own.append(WorkerProcess("dask", self._folder, self._address))
            threads = sum(self._nthreads().values())
            if threads:
                self._met = now
            elif now - self._met > NO_WORKER_TIMEOUT:
                raise InputError(
                    f"the cluster at {self._address} has had no worker for "
                    f"{NO_WORKER_TIMEOUT:g} s: start one with 'dask worker {self._address}'"
                )
            self.workers = self._own_count or threads
        return TASKS_PER_WORKER * max(1, self.workers)

    def _nthreads(self) -> dict[str, int]:
        """Return the number of threads of each worker, by address."""
        try:
            return dict(self._client.nthreads())
        except (OSError, RuntimeError, ValueError) as error:
            raise self._scheduler_lost(error) from None

    def _compute(self, task: Task, played: Callable[[int], None]) -> Outcome:
        with self._lock:
            plan, data = serialize_plan(task.plan)
            refused = self._refused[task.plan, task.policy]
        without_plan = ""  # worker that does not have the plan
        while True:
            placement: dict[str, Any] = {}
            if without_plan or refused:
                chosen = (
                    [without_plan] if without_plan else sorted(self._nthreads().keys() - refused)
                )
                # others are allowed, because the chosen workers may leave
                placement = {"workers": chosen, "allow_other_workers": True}
            sent = data if without_plan else b""
            worker, outcome = self._result(
                task, (required_versions(), plan, sent, task_request(task)), placement
            )
            without_plan = worker if outcome is None else ""
            if isinstance(outcome, SourceError):
                error = SourceError(f"the worker at {worker} would compute other bits: {outcome}")
                with self._lock:
                    is_known = any(worker in known for known in self._refused.values())
                    refused.add(worker)
                if not self._nthreads().keys() - refused:
                    return error
                if not is_known:
                    print(f"graphbandits does not use one of the workers: {error}", file=sys.stderr)
            elif outcome is not None:
                return outcome

    def _result(
        self, task: Task, arguments: tuple[Any, ...], placement: Mapping[str, Any]
    ) -> tuple[str, Outcome | None]:
        """Call :func:`compute` in a worker and return its result."""
        with self._lock:
            if self._stop.is_set():
                raise InterruptedError
            future = self._client.submit(compute, *arguments, pure=False, **placement)
            self._futures.add(future)
        try:
            result: tuple[str, Outcome | None] = future.result()
            return result
        except self._distributed.KilledWorker as error:
            self._deaths[task] += error.allowed_failures + 1
            raise WorkerDiedError(
                f"{self._deaths[task]} workers of the cluster in a row ended while they ran {task} "
                f"(the last one at {error.last_worker.address}): check their memory, and whether "
                "another program killed them"
            ) from None
        except (OSError, self._distributed.CancelledError) as error:
            raise self._scheduler_lost(error) from None
        except Exception as error:
            raise ExecutorError(
                f"the cluster at {self._address} cannot run graphbandits ({first_line(error)}): "
                "install the same version of graphbandits for the scheduler and all workers"
            ) from error
        finally:
            self._futures.discard(future)

    def _scheduler_lost(self, error: BaseException) -> ExecutorError:
        return ExecutorError(
            f"lost the connection to the dask scheduler at {self._address} ({first_line(error)}): "
            "start the scheduler and its workers again; only the running tasks are lost"
        )


def first_line(error: BaseException) -> str:
    """Return the first line of an error message."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".:") if lines else type(error).__name__


# Code that runs in workers ----------------------------------------------------------------------


def _folder() -> Path:
    """Return the directory for the files of a worker; dask removes it."""
    from distributed import get_worker

    return Path(get_worker().local_directory, "plugins")


#: Shared by all dask workers of this process, because they share the loaded plug-ins.
_RUNTIME = WorkerRuntime(_folder)


def compute(
    expected: Mapping[str, str], plan: str, data: bytes, request: Mapping[str, Any]
) -> tuple[str, Outcome | None]:
    """Run a task in a thread of a dask worker.

    Return the address of the worker, and the result of :meth:`WorkerRuntime.compute`; the result
    is an error if the versions are not the expected ones.
    """
    from distributed import get_worker

    worker = get_worker()
    key, here = worker.get_current_task(), required_versions()

    def advance(rounds: int) -> None:
        # dask cannot stop a thread: end the task if it was cancelled
        state = worker.state.tasks.get(key)
        if state is None or state.state not in ("executing", "long-running"):
            raise InterruptedError

    differing = [name for name in expected if here.get(name) != expected[name]]
    if differing:
        both = (f"{name} is {here.get(name)} there and {expected[name]} here" for name in differing)
        return worker.address, SourceError("; ".join(both) + ". Install the same versions on both")
    outcome = _RUNTIME.compute(plan, data, request, advance)
    if isinstance(outcome, SourceError):
        outcome = SourceError(f"{outcome}, with the same version on both")
    return worker.address, outcome


def serve(folder: str, address: str) -> None:
    """Run a worker of the scheduler at ``address`` until the parent process ends."""
    from distributed import Worker

    connect(folder)

    async def work() -> None:
        worker: Any = Worker(
            address, nthreads=1, memory_limit=0, local_directory=folder, dashboard=False
        )
        async with worker:
            await worker.finished()

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    asyncio.run(work())
