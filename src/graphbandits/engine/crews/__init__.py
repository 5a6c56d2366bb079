"""Crews: who runs shards. Threads of this process, processes of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, Self

from graphbandits.engine.crews.cluster import Cluster
from graphbandits.engine.crews.processes import Processes
from graphbandits.engine.crews.threads import Threads
from graphbandits.engine.crews.travel import why_not
from graphbandits.engine.tasks import Done, Task, Tell, nobody
from graphbandits.errors import InputError
from graphbandits.plugins import file_of

if TYPE_CHECKING:
    from graphbandits.engine.plan import Plan

__all__ = ["Cluster", "Crew", "Processes", "Threads", "crew_of", "why_not"]

#: From this many decisions on the second or two that processes take to start does not matter.
LARGE = 10**6


class Crew(Protocol):
    """Workers that run tasks; a context, and leaving it ends all of them at once."""

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""

    def work(self, tasks: Iterable[Task], advance: Tell = nobody) -> Iterator[Done]:
        """Run tasks, and give each back when it is over, in the order in which they end.

        The next task is asked for only when a worker is nearly free. A task that raises comes back
        with its error, and the others go on; so does one at which three workers died. ``advance``
        is called by the thread that iterates. Closing the iterator ends what is running.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *reason: object) -> None: ...


def crew_of(
    workers: int,
    cluster: str | None,
    parallel: str,
    plans: Collection[Plan],
    decisions: int | None = None,
) -> Cluster | Processes | Threads:
    """Who is to run these plans: ``parallel`` is "threads", "processes" or "auto".

    That is processes if a policy comes from a plug-in file, which may hold Python's lock, or if the
    work is large, unless there is one worker only or a plan cannot be told to another process.
    ``decisions`` is how many are left of those of the plans. ``cluster`` is the address of a dask
    scheduler, or "local" for one of as many workers.

    >>> from graphbandits.engine import Plan
    >>> type(crew_of(2, None, "auto", [Plan.of("ts-n", horizon=20, trials=6)])).__name__
    'Threads'
    """
    if parallel not in ("auto", "threads", "processes"):
        raise InputError(f"parallel is 'auto', 'threads' or 'processes', not {parallel!r}")
    if cluster is not None:
        _check_travel(plans, "run without a cluster")
        return Cluster(cluster, workers)
    if parallel == "processes":
        _check_travel(plans, "use parallel='threads'")
        return Processes(workers)
    if decisions is None:
        decisions = sum(plan.decisions for plan in plans)
    large = decisions >= LARGE
    if parallel == "auto" and workers > 1 and (large or _from_files(plans)):
        return Threads(workers) if any(map(why_not, plans)) else Processes(workers)
    return Threads(workers)


def _from_files(plans: Collection[Plan]) -> bool:
    return any(file_of(policy) for plan in plans for policy in plan.policies.values())


def _check_travel(plans: Collection[Plan], otherwise: str) -> None:
    for plan in plans:
        if why := why_not(plan):
            raise InputError(f"{why}; {otherwise}")
