"""Search budgets: a time limit, or a number of steps, which is independent of the machine."""

from __future__ import annotations

import math

from graphbandits._jit import clock


class Budget:
    """Time limit or step limit of a search; steps of a part also count for its parent.

    Compilation time does not count. Searches that affect simulations use a step budget instead of a
    time limit, because with a time limit the results would depend on the machine.

    >>> budget = Budget(steps=10)
    >>> part = budget.part(0.5)
    >>> part.spend(6)
    >>> part.exhausted, budget.exhausted
    (True, False)
    """

    def __init__(
        self, seconds: float = math.inf, steps: float = math.inf, parent: Budget | None = None
    ) -> None:
        self._end = clock() + seconds
        self._steps = steps
        self._parent = parent

    @property
    def timed(self) -> bool:
        """Whether the budget is a time limit."""
        return self._end < math.inf

    @property
    def seconds(self) -> float:
        """Remaining seconds."""
        return max(self._end - clock(), 0.0)

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up."""
        return self._steps <= 0 or (self.timed and self.seconds <= 0.0)

    def spend(self, steps: float = 1) -> None:
        """Count steps."""
        self._steps -= steps
        if self._parent is not None:
            self._parent.spend(steps)

    def part(self, fraction: float) -> Budget:
        """Return a fraction of the remaining budget."""
        seconds = fraction * self.seconds if self.timed else math.inf
        return Budget(seconds, fraction * self._steps, self)
