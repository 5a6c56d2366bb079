"""Workers of a dask cluster, on other machines or on this one."""

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
from graphbandits.engine.executors.threads import LOOK, ExecutorError, Outcomes, ThreadExecutor
from graphbandits.engine.executors.worker_runtime import WorkerRuntime, connect, pack, request_of
from graphbandits.engine.plan import DEATHS, Outcome, Plan, ProgressCallback, Task
from graphbandits.engine.provenance import identity
from graphbandits.errors import InputError, SourceError

#: Seconds within which a scheduler answers.
ANSWERS = 5.0
#: Seconds that a cluster may be without any worker.
PATIENCE = 60.0
#: Number of submitted tasks for each worker: the next one is there when one ends.
DEPTH = 2
#: Number of submitted tasks, at most: one thread of this process waits for each.
MOST_SUBMITTED = 10_000


class WorkerDiedError(InputError):
    """Workers ended while they had a task; maybe because of another task."""


def check_address(address: str) -> None:
    """Raise InputError for what is no address of a scheduler."""
    if address != "local" and not re.fullmatch(r"[a-z]+://[^\s/]+:\d+", address):
        raise InputError(
            "a cluster is 'local' or the address of a dask scheduler, such as "
            f"tcp://192.168.1.5:8786, not '{address}'"
        )


class DaskExecutor(ThreadExecutor):
    """Runs tasks on the workers of a dask scheduler, those that join later included.

    A worker that would give other bits refuses a task, because of its versions or of the sources
    of the policy. Then others get the tasks of this policy; without others they fail.

    Parameters
    ----------
    address : str
        Address of the scheduler, ``tcp://host:port``; "local" starts a scheduler and ``workers``
        workers on this machine, and ends them.
    workers : int
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
        self.workers, self._threads = self._own_count, MOST_SUBMITTED
        self._looked = 0.0
        self._futures: set[Any] = set()
        self._deaths: Counter[Task] = Counter()
        self._refused: defaultdict[tuple[Plan, str], set[str]] = defaultdict(set)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for name in ("distributed", "distributed.client"):  # our errors say what matters
                logger = logging.getLogger(name)
                stack.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.CRITICAL)
            # a large plan is sent on purpose: dask would warn of it
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
                    # there is no scheduler without a port for its dashboard: any that is free
                    dashboard_address="127.0.0.1:0",
                    silence_logs=False,
                    # a task whose worker ends is reported at once
                    scheduler_kwargs={"dashboard": False, "allowed_failures": 0},
                )
                self._address = stack.enter_context(scheduler).scheduler_address
                stack.callback(lambda: terminate_all(self._own))
            self._client: Any = self._connected()
            stack.callback(self._client.close, timeout=ANSWERS)
            self._met = time.monotonic()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *reason: object) -> None:
        super().__exit__(*reason)
        self._stack.close()

    def _connected(self) -> Any:
        try:
            with warnings.catch_warnings():
                # of patch levels and of packages that do not matter; we compare what does
                warnings.filterwarnings("ignore", message="(?s).*Mismatched versions found")
                return self._distributed.Client(
                    self._address, timeout=ANSWERS, set_as_default=False, name="graphbandits"
                )
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"no dask scheduler answers at {self._address} ({line_of(error)}): start one with "
                "'dask scheduler', or name another address"
            ) from None

    def _run(self, tasks: Iterable[Task], progress: ProgressCallback) -> Outcomes:
        """Run tasks, and then one by one those that had a worker that ended.

        dask blames all tasks that the worker held; of those that run alone only the guilty fail.
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
            if not isinstance(outcome, WorkerDiedError) or self._deaths[task] >= DEATHS:
                yield suspects.pop(0), outcome

    def _interrupt(self) -> None:
        with self._lock:  # nothing is submitted after this
            super()._interrupt()
            if self._client.status == "running":
                self._client.cancel(list(self._futures), force=True)

    def _capacity(self) -> int:
        """Number of tasks to have at a time, for the workers that there are now.

        On this machine, those that have ended are replaced.
        """
        now = time.monotonic()
        if now - self._looked > LOOK:
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
            elif now - self._met > PATIENCE:
                raise InputError(
                    f"the cluster at {self._address} has had no worker for {PATIENCE:g} s: start "
                    f"one with 'dask worker {self._address}'"
                )
            self.workers = self._own_count or threads
        return DEPTH * max(1, self.workers)

    def _nthreads(self) -> dict[str, int]:
        """Number of threads of each worker, by its address."""
        try:
            return dict(self._client.nthreads())
        except (OSError, RuntimeError, ValueError) as error:
            raise self._gone(error) from None

    def _compute(self, task: Task, played: Callable[[int], None]) -> Outcome:
        with self._lock:
            plan, data = pack(task.plan)
            unfit = self._refused[task.plan, task.policy]
        unknowing = ""  # the worker that has not got the plan
        while True:
            how: dict[str, Any] = {}
            if unknowing or unfit:
                fit = [unknowing] if unknowing else sorted(self._nthreads().keys() - unfit)
                how = {"workers": fit, "allow_other_workers": True}  # these may leave
            sent = data if unknowing else b""
            worker, outcome = self._result(task, (identity(), plan, sent, request_of(task)), how)
            unknowing = worker if outcome is None else ""
            if isinstance(outcome, SourceError):
                error = SourceError(f"the worker at {worker} would give other bits: {outcome}")
                with self._lock:
                    known = any(worker in refused for refused in self._refused.values())
                    unfit.add(worker)
                if not self._nthreads().keys() - unfit:
                    return error
                if not known:
                    print(f"graphbandits goes on without a worker: {error}", file=sys.stderr)
            elif outcome is not None:
                return outcome

    def _result(
        self, task: Task, given: tuple[Any, ...], how: Mapping[str, Any]
    ) -> tuple[str, Outcome | None]:
        """What :func:`compute` returns in a worker."""
        with self._lock:
            if self._stop.is_set():
                raise InterruptedError
            future = self._client.submit(compute, *given, pure=False, **how)
            self._futures.add(future)
        try:
            result: tuple[str, Outcome | None] = future.result()
            return result
        except self._distributed.KilledWorker as error:
            self._deaths[task] += error.allowed_failures + 1
            raise WorkerDiedError(
                f"{self._deaths[task]} workers of the cluster ended, one after the other, while "
                f"they ran {task} (the last at {error.last_worker.address}): were they out of "
                "memory, or ended from outside?"
            ) from None
        except (OSError, self._distributed.CancelledError) as error:
            raise self._gone(error) from None
        except Exception as error:
            raise ExecutorError(
                f"the cluster at {self._address} cannot run graphbandits ({line_of(error)}): "
                "install the same version for its scheduler and all of its workers"
            ) from error
        finally:
            self._futures.discard(future)

    def _gone(self, error: BaseException) -> ExecutorError:
        return ExecutorError(
            f"the dask scheduler at {self._address} went away ({line_of(error)}): start it again, "
            "with its workers; nothing is lost but what was running"
        )


def line_of(error: BaseException) -> str:
    """An error in one line."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".:") if lines else type(error).__name__


# What runs in workers ---------------------------------------------------------------------------


def _folder() -> Path:
    """Where a worker puts its files; dask removes them, later if the worker is killed."""
    from distributed import get_worker

    return Path(get_worker().local_directory, "plugins")


#: One for all dask workers of this process, for they share its plug-ins.
_RUNTIME = WorkerRuntime(_folder)


def compute(
    wanted: Mapping[str, str], plan: str, data: bytes, request: Mapping[str, Any]
) -> tuple[str, Outcome | None]:
    """Run a task in a thread of a dask worker.

    Returns the address of the worker, and what :meth:`WorkerRuntime.compute` does; an error if
    the versions are not those ``wanted``.
    """
    from distributed import get_worker

    worker = get_worker()
    key, here = worker.get_current_task(), identity()

    def advance(rounds: int) -> None:
        # dask cannot end it from outside: hours of work must not outlive the run
        state = worker.state.tasks.get(key)
        if state is None or state.state not in ("executing", "long-running"):
            raise InterruptedError

    differing = [name for name in wanted if here.get(name) != wanted[name]]
    if differing:
        both = (f"{name} is {here.get(name)} there and {wanted[name]} here" for name in differing)
        return worker.address, SourceError("; ".join(both) + ". Install the same versions on both")
    outcome = _RUNTIME.compute(plan, data, request, advance)
    if isinstance(outcome, SourceError):
        outcome = SourceError(f"{outcome}, with the same version on both")
    return worker.address, outcome


def serve(folder: str, address: str) -> None:
    """Be a worker of the scheduler at ``address`` until the parent process is gone."""
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
