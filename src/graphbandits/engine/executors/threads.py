"""Execute tasks in threads of this process: no start-up time, and kernels release the GIL."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Event, Lock, current_thread, main_thread
from typing import Self

from graphbandits.engine.executors.worker_runtime import (
    as_package_error,
    run_task,
    serialize_plan,
    throttled,
)
from graphbandits.engine.loop import MonitorFactory
from graphbandits.engine.plan import Outcome, ProgressCallback, Task, ignore_progress
from graphbandits.engine.shard import Shard
from graphbandits.errors import InputError, check_integer

Outcomes = Generator[tuple[Task, Outcome]]
#: Seconds between two checks of the number of workers.
POLL_INTERVAL = 0.5


class ExecutorError(InputError):
    """The executor cannot run any more tasks."""


class ThreadExecutor:
    """Execute tasks in threads.

    With one worker, tasks run in the thread of the caller, which suits debuggers and Ctrl-C. The
    executor is a context manager; leaving the context stops all running tasks. Other executors
    override how a task is computed and interrupted.

    Parameters
    ----------
    workers : int
        Number of tasks that run at a time.
    monitor : callable, optional
        Returns a monitor for each task; see :func:`graphbandits.simulate`.

    Examples
    --------
    >>> from graphbandits.engine import Plan
    >>> plan = Plan.of("ts-n", horizon=20, trials=6)
    >>> tasks = [Task(plan, "ts-n", first, 3) for first in (0, 3)]
    >>> with ThreadExecutor(2) as executor:
    ...     sorted(shard.first for task, shard in executor.run(tasks))
    [0, 3]
    """

    def __init__(self, workers: int, monitor: MonitorFactory | None = None) -> None:
        self.workers = check_integer(workers, "workers")
        self._monitor = monitor
        self._threads = self.workers
        self._stop = Event()
        self._lock = Lock()
        self._running: Outcomes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        if self._running is not None:
            self._running.close()
        serialize_plan.cache_clear()  # large graphs

    def run(
        self, tasks: Iterable[Task], progress: ProgressCallback = ignore_progress
    ) -> Iterator[tuple[Task, Outcome]]:
        """Run tasks and yield each with its outcome, in order of completion.

        The next task is taken from ``tasks`` only when a worker is nearly free. If a task raises
        an exception, its outcome is the error, and the other tasks continue. The same holds for a
        task during which three workers ended. Closing the iterator stops the running tasks.

        Parameters
        ----------
        tasks : iterable of Task
            Tasks to run.
        progress : callable, optional
            Called with a task and the number of its decisions since the last call, in the thread
            that iterates.

        Returns
        -------
        iterator of (Task, Shard or GraphBanditsError)
            Tasks and their outcomes.

        Raises
        ------
        ExecutorError
            During the iteration, if no more tasks can run.
        """
        self._stop.clear()
        here = self.workers == 1 and type(self) is ThreadExecutor
        self._running = (self._run_here if here else self._run)(tasks, progress)
        return self._running

    def _run_here(self, tasks: Iterable[Task], progress: ProgressCallback) -> Outcomes:
        def report(decisions: int) -> None:
            try:
                progress(task, decisions)
            except BaseException:  # raised by the callback, not by the task
                self._stop.set()
                raise

        for task in tasks:
            yield task, self._outcome(task, report)

    def _run(self, tasks: Iterable[Task], progress: ProgressCallback) -> Outcomes:
        events: SimpleQueue[tuple[Task, int | Outcome]] = SimpleQueue()
        pool = ThreadPoolExecutor(self._threads, "graphbandits")
        done: tuple[Task, Outcome] | None = None
        waiting, running = iter(tasks), 0

        def run(task: Task) -> None:
            events.put((task, self._outcome(task, lambda number: events.put((task, number)))))

        try:
            while True:
                for task in islice(waiting, max(0, self._capacity() - running)):
                    pool.submit(run, task)
                    running += 1
                if done is not None:  # the next tasks run while the caller handles this one
                    yield done
                    done = None
                if not running:
                    return
                try:
                    task, event = events.get(timeout=POLL_INTERVAL)
                except Empty:
                    continue
                if isinstance(event, int):
                    progress(task, event)
                elif isinstance(event, ExecutorError):
                    raise event
                else:
                    running -= 1
                    done = task, event
        finally:
            if running:
                self._interrupt()
            pool.shutdown(cancel_futures=True)

    def _capacity(self) -> int:
        """Return the number of tasks to submit at a time: one more than there are workers."""
        return self.workers + 1

    def _outcome(self, task: Task, report: Callable[[int], None]) -> Outcome:
        """Run a task and return its shard or its error; an interruption is raised."""
        reported = 0

        def played(rounds: int) -> None:
            nonlocal reported
            decisions = rounds * task.trials
            if decisions > reported:  # the task may run again from the beginning
                report(decisions - reported)
                reported = decisions

        try:
            outcome = self._compute(task, played)
            if isinstance(outcome, Shard):
                played(task.plan.horizon)
            return outcome
        except BaseException as error:
            pressed = isinstance(error, KeyboardInterrupt) and current_thread() is main_thread()
            if pressed or self._stop.is_set():
                raise
            return as_package_error(error)

    def _compute(self, task: Task, played: Callable[[int], None]) -> Outcome:
        """Run a task and report the rounds played so far; stop if ``_stop`` is set."""
        report = throttled(played)

        def advance(rounds: int) -> None:
            if self._stop.is_set():
                raise InterruptedError
            report(rounds)

        return run_task(task, advance, self._monitor)

    def _interrupt(self) -> None:
        """Stop all running tasks."""
        self._stop.set()
