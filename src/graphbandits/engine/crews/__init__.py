"""Crews: who runs shards. Threads of this process, processes of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Protocol, Self

from graphbandits.engine.tasks import Done, Task

#: Called with a task and the number of its decisions made since the last call for it.
Tell = Callable[[Task, int], None]


def _nobody(task: Task, decisions: int) -> None:
    """Who does not want to be told."""


class Crew(Protocol):
    """Workers that run tasks; a context, and leaving it ends all of them at once."""

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""

    def work(self, tasks: Iterable[Task], advance: Tell = _nobody) -> Iterator[Done]:
        """Run tasks, and give each back when it is over, in the order in which they end.

        The next task is asked for only when a worker is nearly free. A task that raises comes back
        with its error, and the others go on; so does one at which three workers died. ``advance``
        is called by the thread that iterates. Closing the iterator ends what is running.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
