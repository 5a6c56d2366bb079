"""What a crew is given to do, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphbandits.engine.shard import Shard
from graphbandits.errors import GraphBanditsError

if TYPE_CHECKING:
    from graphbandits.engine.plan import Plan

#: A task at which as many workers died is given up.
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


@dataclass(frozen=True, eq=False)
class Done:
    """A task that is over: its shard, or the error that it ended with.

    ``seconds`` is how long the worker took for it, and ``cpu`` what kind of processor it has.
    """

    task: Task
    seconds: float
    cpu: str
    shard: Shard | None = None
    error: GraphBanditsError | None = None


#: Called with a task and the number of its decisions made since the last call for it.
Tell = Callable[[Task, int], None]


def nobody(task: Task, decisions: int) -> None:
    """Who does not want to be told."""
