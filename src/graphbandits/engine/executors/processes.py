"""Execute tasks in processes of this machine, for policies that hold the GIL.

Workers are started as commands and not with :mod:`multiprocessing`. Therefore a script needs no
``if __name__ == "__main__"``. If a worker ends, it is replaced, and its task runs again.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import IO, Any, Self, cast

from graphbandits.engine.executors.threads import ThreadExecutor
from graphbandits.engine.executors.worker_runtime import serialize_plan, task_request
from graphbandits.engine.plan import MAX_WORKER_DEATHS, Outcome, Task
from graphbandits.errors import InputError

#: Exceptions from reading from a worker that has ended.
WORKER_ENDED_ERRORS = (EOFError, OSError, pickle.UnpicklingError)
_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from graphbandits.engine.executors.{module} import serve; serve(*sys.argv[2:])"
)
#: Each worker uses one core: more threads for linear algebra would compete for it.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: Whether a process can be killed together with its children.
_GROUPS = os.name == "posix"


class WorkerProcess(subprocess.Popen[bytes]):
    """A Python process that runs ``serve(*arguments)`` of a module of this package."""

    def __init__(self, module: str, *arguments: str) -> None:
        command = _COMMAND.format(module=module)
        super().__init__(
            [sys.executable, "-P", "-c", command, json.dumps(sys.path), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | _ONE_THREAD,
            process_group=0 if _GROUPS else None,
        )

    def compute(
        self, plan: str, data: bytes, request: dict[str, Any], played: Callable[[int], None]
    ) -> Outcome:
        """Run a task in the worker; raise one of WORKER_ENDED_ERRORS if the worker ends."""
        requests, replies = cast(IO[bytes], self.stdin), cast(IO[bytes], self.stdout)
        reply: Outcome | int | None = None
        for sent in (b"", data):
            pickle.dump((plan, sent, request), requests)
            requests.flush()
            while isinstance(reply := pickle.load(replies), int):
                played(reply)
            if reply is not None:  # None: the plan is not in the cache of the worker
                break
        return cast(Outcome, reply)

    def kill(self) -> None:
        """Kill the process and its children."""
        super().kill()
        if _GROUPS:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)


def terminate_all(workers: Collection[WorkerProcess]) -> None:
    """Kill processes, wait for them, and close their pipes."""
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            with suppress(OSError):  # unsent data
                cast(IO[bytes], pipe).close()


class ProcessExecutor(ThreadExecutor):
    """Execute tasks in worker processes, which are started on demand.

    Parameters
    ----------
    workers : int
        Maximum number of processes. One thread of this process waits for each.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._workers: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        # directory for copies of plug-ins; workers remove it if this process is killed
        self._folder = tempfile.mkdtemp()
        return self

    def __exit__(self, *reason: object) -> None:
        super().__exit__(*reason)
        terminate_all(self._workers)
        self._workers.clear()
        self._idle.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _interrupt(self) -> None:
        with self._lock:  # no worker is started after this
            super()._interrupt()
            for worker in list(self._workers):
                worker.kill()

    def _compute(self, task: Task, played: Callable[[int], None]) -> Outcome:
        with self._lock:
            plan, data = serialize_plan(task.plan)
        request = task_request(task)
        for _ in range(MAX_WORKER_DEATHS):
            worker = self._idle_or_new_worker()
            try:
                outcome = worker.compute(plan, data, request, played)
            except WORKER_ENDED_ERRORS:
                # the pipe closes shortly before the process ends
                with suppress(subprocess.TimeoutExpired):
                    worker.wait(timeout=5)
                code = worker.poll()
                self._workers.discard(worker)
                terminate_all([worker])
            else:
                self._idle.append(worker)
                return outcome
        raise InputError(
            f"{MAX_WORKER_DEATHS} worker processes in a row ended while they ran {task} "
            f"({describe_exit(code)}): check the memory, and whether another program killed them; "
            "if not, the policy ends its process: run it alone to find out"
        )

    def _idle_or_new_worker(self) -> WorkerProcess:
        """Return an idle worker, or a new one."""
        with self._lock:
            if self._stop.is_set():
                raise InterruptedError
            while self._idle:
                worker = self._idle.pop()
                if worker.poll() is None:
                    return worker
                self._workers.discard(worker)
                terminate_all([worker])
            worker = WorkerProcess("worker_runtime", self._folder)
            self._workers.add(worker)
            return worker


def describe_exit(code: int | None) -> str:
    """Describe how a process ended.

    >>> describe_exit(7), describe_exit(-11)
    ('exit code 7', 'exit code -11, SIGSEGV')
    """
    try:
        return f"exit code {code}, {signal.Signals(-(code or 0)).name}"
    except ValueError:  # not ended by a signal
        return f"exit code {code}"
