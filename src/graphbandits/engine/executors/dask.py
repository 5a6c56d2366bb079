"""Execute tasks on the workers of a dask cluster."""

from __future__ import annotations

import logging
import re
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from graphbandits.engine.executors.threads import POLL_INTERVAL, ExecutorError, ThreadExecutor
from graphbandits.engine.executors.worker_runtime import (
    MAX_CACHED_PLANS,
    WorkerRuntime,
    serialize_plan,
    task_request,
)
from graphbandits.engine.plan import Outcome, Task
from graphbandits.errors import InputError, SourceError

#: Seconds to wait for an answer of the scheduler.
CONNECT_TIMEOUT = 5.0
#: Seconds to wait for workers if the cluster has none.
NO_WORKER_TIMEOUT = 60.0
#: Number of submitted tasks per worker: the next task is available when one ends.
TASKS_PER_WORKER = 2
#: Maximum number of submitted tasks. One thread of this process waits for each.
MAX_SUBMITTED = 10_000


def check_address(address: str) -> None:
    """Raise InputError if the address is not that of a scheduler."""
    if not re.fullmatch(r"[a-z]+://[^\s/]+:\d+", address):
        raise InputError(
            "cluster must be the address of a dask scheduler, such as tcp://192.168.1.5:8786, not "
            f"'{address}': start one with 'dask scheduler'"
        )


class DaskExecutor(ThreadExecutor):
    """Execute tasks on the workers of a dask scheduler, including workers that join later.

    dask places the tasks and repeats those whose worker ended. A worker of other versions or
    sources ends the run, because its results could have other bits.

    Parameters
    ----------
    address : str
        Address of the scheduler, ``tcp://host:port``.
    """

    def __init__(self, address: str) -> None:
        super().__init__(1)
        check_address(address)
        try:
            self._distributed: Any = import_module("distributed")
        except ImportError:
            raise InputError(
                "a cluster needs dask.distributed: python -m pip install 'graphbandits[cluster]'"
            ) from None
        self._address = address
        self._threads = MAX_SUBMITTED
        self._looked = 0.0
        self._futures: set[Any] = set()
        self._sent: dict[str, Any] = {}  # serialized plans on the cluster, the last one used last

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for name in ("distributed", "distributed.client"):  # our errors have the relevant part
                logger = logging.getLogger(name)
                stack.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.CRITICAL)
            # large plans are expected: do not warn about them
            large = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
            stack.enter_context(import_module("dask").config.set(large))
            self._client: Any = self._connected()
            stack.callback(self._client.close, timeout=CONNECT_TIMEOUT)
            self._met = time.monotonic()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *reason: object) -> None:
        super().__exit__(*reason)
        self._sent.clear()
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

    def _interrupt(self) -> None:
        with self._lock:  # no task is submitted after this
            super()._interrupt()
            if self._client.status == "running":
                self._client.cancel(list(self._futures), force=True)

    def _capacity(self) -> int:
        """Return the number of tasks to submit at a time, for the current number of workers."""
        now = time.monotonic()
        if now - self._looked > POLL_INTERVAL:
            self._looked = now
            try:
                threads = sum(self._client.nthreads().values())
            except (OSError, RuntimeError, ValueError) as error:
                raise self._scheduler_lost(error) from None
            if threads:
                self._met = now
            elif now - self._met > NO_WORKER_TIMEOUT:
                raise InputError(
                    f"the cluster at {self._address} has had no worker for "
                    f"{NO_WORKER_TIMEOUT:g} s: start one with 'dask worker {self._address}'"
                )
            self.workers = max(1, threads)
        return TASKS_PER_WORKER * self.workers

    def _compute(self, task: Task, played: Callable[[int], None]) -> Outcome:
        request = task_request(task)
        with self._lock:
            if self._stop.is_set():
                raise InterruptedError
            name, data = serialize_plan(task.plan)
            # a task itself, so that dask can copy it to workers and create it again
            plan = self._sent.pop(name, None) or self._client.submit(bytes, data, key=name)
            self._sent[name] = plan
            if len(self._sent) > MAX_CACHED_PLANS:
                del self._sent[next(iter(self._sent))]
            future = self._client.submit(compute, name, plan, request, pure=False)
            self._futures.add(future)
        try:
            worker, outcome = future.result()
        except self._distributed.KilledWorker as error:
            raise InputError(
                f"{error.allowed_failures + 1} workers of the cluster ended while they held {task} "
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
        if isinstance(outcome, SourceError):
            raise ExecutorError(f"the worker at {worker} would compute other bits: {outcome}")
        found: Outcome = outcome
        return found

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


def compute(name: str, plan: bytes, request: Mapping[str, Any]) -> tuple[str, Outcome | None]:
    """Run a task in a thread of a dask worker; return its address and the outcome."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def advance(rounds: int) -> None:
        # dask cannot stop a thread: end the task if it was cancelled
        state = worker.state.tasks.get(key)
        if state is None or state.state not in ("executing", "long-running"):
            raise InterruptedError

    return worker.address, _RUNTIME.compute(name, plan, request, advance)
