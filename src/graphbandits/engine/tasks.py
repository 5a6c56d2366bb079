"""Tasks: what an executor runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphbandits.engine.shard import Shard
from graphbandits.errors import GraphBanditsError

if TYPE_CHECKING:
    from graphbandits.engine.plan import Plan

#: Number of workers that may end while they run a task before the task fails.
DEATHS = 3


@dataclass(frozen=True, eq=False)
class Task:
    """The trials ``first`` to ``first + trials - 1`` of one policy of a plan."""

    plan: Plan
    policy: str
    first: int
    trials: int

    @property
    def decisions(self) -> int:
        return self.trials * self.plan.horizon

    @property
    def label(self) -> str:
        """The policy, and where in a sweep, for messages."""
        return f"'{self.policy}'{self.plan.where}"

    def __str__(self) -> str:
        return f"'{self.policy}', trials {self.first} to {self.first + self.trials - 1}"


#: What becomes of a task: its shard, or the error that it ended with.
Outcome = Shard | GraphBanditsError
#: Called with a task and the number of its decisions made since the last call for it.
ProgressCallback = Callable[[Task, int], None]


def ignore_progress(task: Task, decisions: int) -> None:
    """Do nothing: the default progress callback."""
