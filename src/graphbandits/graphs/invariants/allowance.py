"""How long a search may go on: by the clock, or by its own work, which is the same in every run."""

from __future__ import annotations

import math

from graphbandits.jit import clock


class Allowance:
    """Seconds or units of work; a part of it spends from the whole.

    Seconds in which functions compile do not count: only the first call on a machine has them.

    >>> whole = Allowance(work=10)
    >>> part = whole.part(0.5)
    >>> part.spend(6)
    >>> part.over, whole.over
    (True, False)
    """

    def __init__(
        self,
        seconds: float = math.inf,
        work: float = math.inf,
        whole: Allowance | None = None,
    ) -> None:
        self._end = clock() + seconds
        self._work = work
        self._whole = whole

    @property
    def timed(self) -> bool:
        """Whether it is the clock that ends it."""
        return self._end < math.inf

    @property
    def seconds(self) -> float:
        """That are left."""
        return max(self._end - clock(), 0.0)

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self._work <= 0 or (self.timed and self.seconds <= 0.0)

    def spend(self, work: float) -> None:
        """Count work that was done."""
        self._work -= work
        if self._whole is not None:
            self._whole.spend(work)

    def part(self, share: float) -> Allowance:
        """A share of what is left."""
        seconds = share * self.seconds if self.timed else math.inf
        return Allowance(seconds, share * self._work, self)
