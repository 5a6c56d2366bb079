"""Local search for large independent sets, resumable, for any number of vertices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphbandits.graphs.invariants import swap_kernels as kernels
from graphbandits.graphs.invariants.adjacency import Adjacency
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.types import Ints

#: Visits of neighbours in a step: some milliseconds.
VISITS = 1_000_000
#: Swaps for each vertex without a gain, after which the set is disturbed.
PATIENCE = 20


class Swapping:
    """From an independent set to larger ones.

    >>> star = Adjacency(np.array([0, 3, 4, 5, 6]), np.array([1, 2, 3, 0, 0, 0]))
    >>> search = Swapping(star, np.array([0]))
    >>> search.run(Allowance(work=1), lambda: None, enough=3)
    >>> search.found
    array([1, 2, 3])
    """

    def __init__(self, graph: Adjacency, found: Ints) -> None:
        count = graph.count
        self._graph = graph
        self._inside = np.zeros(count, np.int64)
        self._inside[found] = 1
        self._best = self._inside.copy()
        self._against, self._place = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._lists, self._barred = np.zeros((2, count), np.int64), np.zeros(count, np.int64)
        self._state = np.zeros(7, np.int64)
        self._state[kernels.BEST] = len(found)
        self._state[kernels.SEED] = 88172645463325252
        self._begun = False

    @property
    def best(self) -> int:
        """Members of the largest set."""
        return int(self._state[kernels.BEST])

    @property
    def found(self) -> Ints:
        """The largest set."""
        return np.flatnonzero(self._best)

    def run(self, allowance: Allowance, told: Callable[[], None], enough: int) -> None:
        """Go on until a set has ``enough`` members or the allowance is over."""
        start, column = self._graph.start, self._graph.column
        own = self._inside, self._against, self._lists, self._place
        if not self._begun:
            kernels.begin_swaps(start, column, *own, self._state)
            self._begun = True
        patience = max(4000, PATIENCE * self._graph.count)
        while self.best < enough and not allowance.over:
            before = self.best
            kernels.swaps(
                start, column, *own, self._barred, self._best, self._state, patience, VISITS
            )
            allowance.spend(1)
            if self.best > before:
                told()
