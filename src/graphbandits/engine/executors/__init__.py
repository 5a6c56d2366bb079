"""Executors: run tasks in threads, in processes of this machine, or on a dask cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, Self

from graphbandits.engine.executors.dask import DaskExecutor
from graphbandits.engine.executors.processes import ProcessExecutor
from graphbandits.engine.executors.serialization import why_not
from graphbandits.engine.executors.threads import ThreadExecutor
from graphbandits.engine.tasks import Outcome, ProgressCallback, Task, ignore_progress
from graphbandits.errors import InputError
from graphbandits.plugins import file_of

if TYPE_CHECKING:
    from graphbandits.engine.plan import Plan

__all__ = ["DaskExecutor", "Executor", "ProcessExecutor", "ThreadExecutor", "executor_for"]

#: From this many decisions on, the second or two that processes take to start do not matter.
LARGE = 10**6


class Executor(Protocol):
    """Workers that run tasks; a context manager, and leaving it ends all work at once."""

    workers: int
    """Number of tasks that run at a time."""

    def run(
        self, tasks: Iterable[Task], progress: ProgressCallback = ignore_progress
    ) -> Iterator[tuple[Task, Outcome]]:
        """Run tasks, and yield each with its shard or its error, in order of completion.

        The next task is taken from ``tasks`` only when a worker is nearly free. A task that raises
        yields its error, and the others go on; so does one during which three workers ended.
        ``progress`` is called by the thread that iterates. Closing the iterator ends what is
        running.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *reason: object) -> None: ...


def executor_for(
    workers: int,
    cluster: str | None,
    parallel: str,
    plans: Collection[Plan],
    decisions: int | None = None,
) -> Executor:
    """Choose an executor for plans.

    Parameters
    ----------
    workers : int
        Number of threads or processes.
    cluster : str or None
        Address of a dask scheduler, or "local" for one with as many workers.
    parallel : {"auto", "threads", "processes"}
        "auto" is processes if a policy comes from a plug-in file, which may hold Python's lock, or
        if the work is large, unless there is one worker only or a plan cannot be sent to another
        process.
    plans : collection of Plan
        The plans whose tasks are to run.
    decisions : int or None
        Number of decisions that are left; all of the plans' by default.

    Examples
    --------
    >>> from graphbandits.engine import Plan
    >>> type(executor_for(2, None, "auto", [Plan.of("ts-n", horizon=20, trials=6)])).__name__
    'ThreadExecutor'
    """
    if parallel not in ("auto", "threads", "processes"):
        raise InputError(f"parallel is 'auto', 'threads' or 'processes', not {parallel!r}")
    if cluster is not None:
        _check_serializable(plans, "run without a cluster")
        return DaskExecutor(cluster, workers)
    if parallel == "processes":
        _check_serializable(plans, "use parallel='threads'")
        return ProcessExecutor(workers)
    if decisions is None:
        decisions = sum(plan.decisions for plan in plans)
    large = decisions >= LARGE
    if parallel == "auto" and workers > 1 and (large or _from_files(plans)):
        return ThreadExecutor(workers) if any(map(why_not, plans)) else ProcessExecutor(workers)
    return ThreadExecutor(workers)


def _from_files(plans: Collection[Plan]) -> bool:
    return any(file_of(policy) for plan in plans for policy in plan.policies.values())


def _check_serializable(plans: Collection[Plan], otherwise: str) -> None:
    for plan in plans:
        if why := why_not(plan):
            raise InputError(f"{why}; {otherwise}")
