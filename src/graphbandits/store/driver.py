"""The driver: compute the shards that a store lacks. Simulations in memory use it, too."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from graphbandits.engine import Plan, Task
from graphbandits.engine.executors import Executor, executor_for
from graphbandits.engine.shard import Shard
from graphbandits.errors import GraphBanditsError, whole_number

if TYPE_CHECKING:
    from graphbandits.store.directory import Store

#: Decisions of a shard, at most, so that a kill costs a minute of work and not an hour.
DECISIONS = 5 * 10**6
#: How often a run looks again for shards that were removed or damaged while it worked.
PASSES = 5


@dataclass(frozen=True)
class WorkerOptions:
    """Who computes: ``workers`` here, or those of a ``cluster``; ``shard`` is trials of a shard.

    ``parallel`` is "threads", "processes" or "auto": see :func:`graphbandits.simulate`.
    """

    workers: int = 1
    cluster: str | None = None
    shard: int | None = None
    parallel: str = "auto"

    def __post_init__(self) -> None:
        whole_number(self.workers, "workers")
        if self.shard is not None:
            whole_number(self.shard, "shard")


@dataclass(frozen=True, eq=False)
class Failure:
    """A task that could not be computed, and why."""

    task: Task
    error: GraphBanditsError

    def __str__(self) -> str:
        last = self.task.first + self.task.trials - 1
        return f"{self.task.label}, trials {self.task.first} to {last}: {self.error}"


class ShardStore(Protocol):
    """Where shards are kept: a directory (:class:`Store`) or memory."""

    def missing(self, task: Task) -> Sequence[tuple[int, int]]:
        """The trials of a task that are not there, as (first, trials)."""

    def put(self, task: Task, shard: Shard) -> None:
        """Keep the outcome of a task."""

    def is_shared(self) -> bool:
        """Whether other runs work here at the moment."""


class RunMonitor:
    """Receives the progress of a run; every method may be overridden, and does nothing here."""

    def warn(self, message: str) -> None:
        """Something that the user should know, in one sentence."""

    def prepared(self, store: Store, tasks: Sequence[Task], options: WorkerOptions) -> None:
        """Everything has been checked and the store is open; nothing has been computed."""

    def checked(self, task: Task) -> None:
        """The shards that are there of a task have been verified."""

    def all_checked(self) -> None:
        """No more shards are verified before computing begins."""

    def started(self, wanted: Mapping[Task, int], tasks: Sequence[Task], workers: int) -> None:
        """Computing begins: the trials that are there of each wanted task, and what is to do."""

    def advanced(self, task: Task, decisions: int) -> None:
        """A running task has made so many more decisions."""

    def finished(self, task: Task, seconds: float | None) -> None:
        """A shard is there; ``seconds`` is None if another run has computed it."""

    def failed(self, failure: Failure) -> None:
        """A task could not be computed; the others go on."""

    def stopped(self) -> None:
        """Computing has ended, for whatever reason."""

    def computed(self, failures: Sequence[Failure]) -> None:
        """All tasks have ended; the pages have not been written yet."""

    def read(self, study: Any) -> None:
        """The results of a study (:class:`graphbandits.Study`) have been read."""

    def written(self, files: Sequence[Path]) -> None:
        """The report, its numbers and the figures have been written."""


def run_missing(
    store: ShardStore,
    wanted: Sequence[Task],
    options: WorkerOptions | None = None,
    monitor: RunMonitor | None = None,
    executor: Executor | None = None,
) -> list[Failure]:
    """Compute the trials of the wanted tasks that a store lacks; return what failed.

    Each shard is kept as soon as it is there. A task that raises does not stop the others.
    ``executor`` is in place of the one that the options describe.
    """
    options, monitor = options or WorkerOptions(), monitor or RunMonitor()
    lacking = {task: list(store.missing(task)) for task in wanted}
    tasks = split(lacking, options)
    if executor is None:
        decisions = sum(task.decisions for task in tasks)
        plans = list({id(task.plan): task.plan for task in wanted}.values())
        executor = executor_for(
            options.workers, options.cluster, options.parallel, plans, decisions
        )
    failures: list[Failure] = []
    if not tasks:
        return failures
    there = {task: task.trials - sum(n for _, n in gaps) for task, gaps in lacking.items()}
    # before the executor is entered, for the monitor may measure how long it will take
    monitor.started(there, tasks, executor.workers)
    try:
        with executor:
            for _ in range(PASSES):
                failures += _compute(store, wanted, tasks, executor, monitor)
                # shards may have been removed or set aside while this ran
                failed = {(f.task.plan, f.task.policy, f.task.first) for f in failures}
                again = split({task: store.missing(task) for task in wanted}, options)
                tasks = [t for t in again if (t.plan, t.policy, t.first) not in failed]
                if not tasks:
                    break
    finally:
        monitor.stopped()
    return failures


def _compute(
    store: ShardStore,
    wanted: Sequence[Task],
    tasks: Sequence[Task],
    executor: Executor,
    monitor: RunMonitor,
) -> list[Failure]:
    whole = {(task.plan, task.policy): task for task in wanted}
    if store.is_shared():  # so that two runs do not compute the same shards at the same time
        tasks = random.sample(tasks, len(tasks))

    def still_missing() -> Iterator[Task]:
        for task in tasks:
            gaps = store.missing(whole[task.plan, task.policy])
            end = task.first + task.trials
            if any(first < end and task.first < first + count for first, count in gaps):
                yield task
            else:
                monitor.finished(task, None)

    failures = []
    for task, outcome in executor.run(still_missing(), monitor.advanced):
        if isinstance(outcome, Shard):
            store.put(task, outcome)
            monitor.finished(task, outcome.seconds)
        else:
            failures.append(Failure(task, outcome))
            monitor.failed(failures[-1])
    return failures


def shard_size(wanted: Sequence[Task], plan: Plan, options: WorkerOptions) -> int:
    """Trials of a shard: those that run in lockstep, fewer where a trial is long."""
    if options.shard is not None:
        return options.shard
    share = -(-sum(task.trials for task in wanted) // options.workers)  # some for each worker
    return max(1, min(plan.block, DECISIONS // plan.horizon, share))


def split(lacking: Mapping[Task, Sequence[tuple[int, int]]], options: WorkerOptions) -> list[Task]:
    """Split what is missing into tasks: plan by plan, in each the first trials of all policies.

    Tasks begin at multiples of the shard size, so that runs of other lengths make the same shards.
    """
    wanted = list(lacking)
    by_plan: dict[int, list[tuple[int, int, Task]]] = {}
    for place, whole in enumerate(wanted):
        size = shard_size(wanted, whole.plan, options)
        for first, trials in lacking[whole]:
            start, end = first, first + trials
            while start < end:
                stop = min((start // size + 1) * size, end)
                task = Task(whole.plan, whole.policy, start, stop - start)
                by_plan.setdefault(id(whole.plan), []).append((start, place, task))
                start = stop
    return [
        task
        for entries in by_plan.values()
        for _, _, task in sorted(entries, key=lambda entry: entry[:2])
    ]
