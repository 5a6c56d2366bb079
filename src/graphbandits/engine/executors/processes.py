"""Processes of this machine: fresh Pythons, for policies that hold Python's lock.

A worker is started as a command and not through :mod:`multiprocessing`, so a script needs no
``if __name__ == "__main__"``. One that ends is replaced, and its task runs again.
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
from graphbandits.engine.executors.worker_runtime import pack, request_of
from graphbandits.engine.plan import DEATHS, Outcome, Task
from graphbandits.errors import InputError

#: What reading from a worker that has ended raises.
ENDED = (EOFError, OSError, pickle.UnpicklingError)
_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from graphbandits.engine.executors.{module} import serve; serve(*sys.argv[2:])"
)
#: A worker has one core: more threads of the linear algebra would only compete for it.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: Whether a process can be ended together with its children.
_GROUPS = os.name == "posix"


class WorkerProcess(subprocess.Popen[bytes]):
    """A fresh Python that runs ``serve(*arguments)`` of a module of this package."""

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
        """Have the worker run a task; one of ``ENDED`` is raised if it ends meanwhile."""
        requests, replies = cast(IO[bytes], self.stdin), cast(IO[bytes], self.stdout)
        reply: Outcome | int | None = None
        for sent in (b"", data):
            pickle.dump((plan, sent, request), requests)
            requests.flush()
            while isinstance(reply := pickle.load(replies), int):
                played(reply)
            if reply is not None:  # else the worker does not know the plan
                break
        return cast(Outcome, reply)

    def kill(self) -> None:
        """End the process and those that its policies have started."""
        super().kill()
        if _GROUPS:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)


def terminate_all(workers: Collection[WorkerProcess]) -> None:
    """End processes, wait for them, and close their pipes."""
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            with suppress(OSError):  # what was left to write
                cast(IO[bytes], pipe).close()


class ProcessExecutor(ThreadExecutor):
    """Runs tasks in worker processes, each started when a task finds no other idle.

    Parameters
    ----------
    workers : int
        Number of processes, at most. One thread of this process waits for each.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._workers: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        # for copies of plug-ins; workers remove it if this process is killed
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
            plan, data = pack(task.plan)
        request = request_of(task)
        for _ in range(DEATHS):
            worker = self._take()
            try:
                outcome = worker.compute(plan, data, request, played)
            except ENDED:
                with suppress(subprocess.TimeoutExpired):  # its pipe closes a moment before it ends
                    worker.wait(timeout=5)
                code = worker.poll()
                self._workers.discard(worker)
                terminate_all([worker])
            else:
                self._idle.append(worker)
                return outcome
        raise InputError(
            f"{DEATHS} worker processes ended, one after the other, while they ran {task} "
            f"({describe_exit(code)}): were they out of memory, or ended from outside? Else the "
            "policy ends its process: run it alone to see"
        )

    def _take(self) -> WorkerProcess:
        """A process that is idle, or a new one."""
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
    except ValueError:  # it ended by itself
        return f"exit code {code}"
