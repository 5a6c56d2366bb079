"""Budgets of searches: a time limit, or a number of steps that is the same on every machine."""

from __future__ import annotations

import math

from graphbandits._jit import clock


class Budget:
    """Seconds or steps that a search may take; a part of a budget spends from the whole.

    Time in which functions compile does not count: only the first call on a machine compiles.
    Searches that affect simulations use steps, because a clock would make their results depend on
    the machine.

    >>> whole = Budget(steps=10)
    >>> part = whole.part(0.5)
    >>> part.spend(6)
    >>> part.exhausted, whole.exhausted
    (True, False)
    """

    def __init__(
        self, seconds: float = math.inf, steps: float = math.inf, whole: Budget | None = None
    ) -> None:
        self._end = clock() + seconds
        self._steps = steps
        self._whole = whole

    @property
    def timed(self) -> bool:
        """Whether the budget is a time limit."""
        return self._end < math.inf

    @property
    def seconds(self) -> float:
        """The seconds left."""
        return max(self._end - clock(), 0.0)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left."""
        return self._steps <= 0 or (self.timed and self.seconds <= 0.0)

    def spend(self, steps: float = 1) -> None:
        """Count steps that were taken."""
        self._steps -= steps
        if self._whole is not None:
            self._whole.spend(steps)

    def part(self, share: float) -> Budget:
        """A share of what is left."""
        seconds = share * self.seconds if self.timed else math.inf
        return Budget(seconds, share * self._steps, self)
