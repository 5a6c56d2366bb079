"""Executors: run tasks in threads, in processes of this machine, or on a dask cluster."""

from __future__ import annotations

import os
from collections.abc import Collection

from graphbandits.engine.executors.dask import DaskExecutor
from graphbandits.engine.executors.processes import ProcessExecutor
from graphbandits.engine.executors.threads import ThreadExecutor
from graphbandits.engine.identity import unserializable_reason
from graphbandits.engine.loop import MonitorFactory
from graphbandits.engine.plan import Plan
from graphbandits.errors import InputError
from graphbandits.plugins import file_of
from graphbandits.policies.base import with_inner

__all__ = ["DaskExecutor", "ProcessExecutor", "ThreadExecutor", "executor_for"]

#: From this many decisions, the start-up time of processes (1 to 2 s) is negligible.
LARGE = 10**6


def executor_for(
    workers: int,
    cluster: str | None,
    parallel: str,
    plans: Collection[Plan],
    decisions: int | None = None,
    monitor: MonitorFactory | None = None,
) -> ThreadExecutor:
    """Choose an executor for plans.

    Parameters
    ----------
    workers : int
        Number of threads or processes.
    cluster : str or None
        Address of a dask scheduler.
    parallel : {"auto", "threads", "processes"}
        "auto" selects processes if a policy, world or posterior comes from a plug-in file, which
        may hold the GIL, or if there are a million decisions or more. It selects threads if there
        is only one worker or if a plan cannot be sent to another process.
    plans : collection of Plan
        Plans of the tasks.
    decisions : int, optional
        Number of decisions to compute. The default is the sum over all plans.
    monitor : callable, optional
        Returns a monitor for each block. Then the tasks run in threads of this process.

    Returns
    -------
    ThreadExecutor
        A thread executor, or a process or dask executor derived from it.

    Raises
    ------
    InputError
        If ``parallel`` is not one of the allowed values, or if a plan cannot be sent to another
        process and processes or a cluster are requested.

    Examples
    --------
    >>> from graphbandits.engine import Plan
    >>> type(executor_for(2, None, "auto", [Plan.of("ts-n", horizon=20, trials=6)])).__name__
    'ThreadExecutor'
    """
    if parallel not in ("auto", "threads", "processes"):
        raise InputError(f"parallel must be 'auto', 'threads' or 'processes', not {parallel!r}")
    if monitor is not None:
        if cluster is not None or parallel == "processes":
            raise InputError(
                "a monitor runs in threads of this process only: use parallel='threads' or 'auto', "
                "or remove the monitor"
            )
        if not callable(monitor):
            raise InputError(
                "monitor must be a function of the policy and the keys that returns a monitor for "
                f"the block, not {monitor!r}"
            )
        return ThreadExecutor(workers, monitor)
    if cluster is not None or parallel == "processes":
        otherwise = "use parallel='threads'" if cluster is None else "run without a cluster"
        for plan in plans:
            if reason := unserializable_reason(plan):
                raise InputError(f"{reason}; {otherwise}")
        return ProcessExecutor(workers) if cluster is None else DaskExecutor(cluster)
    if parallel == "auto" and workers > 1:
        if decisions is None:
            decisions = sum(plan.decisions for plan in plans)
        pieces = [
            one
            for plan in plans
            for policy in plan.policies.values()
            for one in (*with_inner(policy), *plan.models)
        ]
        from_files = any(map(file_of, pieces))
        if (from_files or decisions >= LARGE) and not any(map(unserializable_reason, plans)):
            return ProcessExecutor(workers)
    return ThreadExecutor(workers)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
