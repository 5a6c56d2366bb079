"""What the crews of this machine share: one thread of this process looks after each worker."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, current_thread, main_thread
from typing import Self

from graphbandits.engine.settings import cpu
from graphbandits.engine.tasks import Done, Task, Tell, nobody
from graphbandits.errors import GraphBanditsError, whole_number

#: Tasks that wait for a free worker, so that none waits for whoever keeps the results.
AHEAD = 1


class LocalCrew(ABC):
    """A crew of ``count`` workers; :meth:`_run` is how one of them does a task."""

    def __init__(self, count: int) -> None:
        self.workers = whole_number(count, "workers")
        self._stop = Event()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._end()

    def work(self, tasks: Iterable[Task], advance: Tell = nobody) -> Iterator[Done]:
        """See :class:`graphbandits.engine.crews.Crew`."""
        self._stop.clear()
        self._pool = pool = ThreadPoolExecutor(self.workers, "graphbandits")
        reports: SimpleQueue[Done | tuple[Task, int]] = SimpleQueue()
        waiting, flying, done = iter(tasks), 0, None
        try:
            while not self._stop.is_set():
                while flying < self.workers + AHEAD:
                    task = next(waiting, None)
                    if task is None:
                        break
                    pool.submit(self._report, task, reports.put)
                    flying += 1
                if done is not None:  # while it is looked at, the next ones run
                    yield done
                    done = None
                    continue
                if not flying:
                    return
                report = reports.get()
                if isinstance(report, Done):
                    done = report
                    flying -= 1
                else:
                    advance(*report)
        finally:
            self._end()

    def _report(self, task: Task, put: Callable[[Done | tuple[Task, int]], None]) -> None:
        with suppress(InterruptedError):
            put(self._done(task, lambda decisions: put((task, decisions))))

    def _done(self, task: Task, tell: Callable[[int], None]) -> Done:
        """A task that is over, however it ended; InterruptedError if it was not to go on."""
        start = time.perf_counter()
        try:
            return self._run(task, tell)
        except BaseException as error:
            if self._stop.is_set():
                raise InterruptedError from None
            if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                raise
            return Done(task, time.perf_counter() - start, cpu(), error=_known(error))

    @abstractmethod
    def _run(self, task: Task, tell: Callable[[int], None]) -> Done:
        """Do a task, and tell decisions on the way; give up once ``_stop`` is set."""

    def _interrupt(self) -> None:
        """Have all that is running end soon."""
        self._stop.set()

    def _end(self) -> None:
        self._interrupt()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _known(error: BaseException) -> GraphBanditsError:
    """An error of ours; behind any other stands what it was."""
    if isinstance(error, GraphBanditsError):
        return error
    said = GraphBanditsError(f"a worker failed: {type(error).__name__}: {error}".rstrip(": "))
    said.__cause__ = error
    return said
