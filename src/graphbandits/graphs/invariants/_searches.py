"""Resumable searches for a largest clique and for a colouring with few colours.

Kernels cannot read the clock. Each search stores its stack outside of the kernel and runs in steps
of a few milliseconds. Between steps the budget is checked, progress is reported and Ctrl-C works.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Ints
from graphbandits.graphs.invariants import _clique_kernels, _colouring_kernels
from graphbandits.graphs.invariants._adjacency import Improved
from graphbandits.graphs.invariants._budget import Budget

#: Seed of the randomized searches.
SEED = 88172645463325252


def degeneracy_order(matrix: NDArray[np.bool_]) -> Ints:
    """Return the vertices in degeneracy order: the vertex of least degree comes last."""
    count = len(matrix)
    degree = matrix.sum(axis=1)
    order = np.empty(count, np.int64)
    for place in range(count - 1, -1, -1):
        v = int(degree.argmin())
        order[place] = v
        degree -= matrix[v]
        degree[v] = 4 * count
    return order


class CliqueSearch:
    """Branch and bound for a clique of more than ``known`` vertices of a graph (n, n).

    >>> import numpy as np
    >>> ring = np.roll(np.eye(5, dtype=bool), 1, axis=1)
    >>> search = CliqueSearch(ring | ring.T)
    >>> search.run(Budget(), lambda: None)
    >>> search.best, search.upper
    (2, 2)
    """

    def __init__(self, matrix: NDArray[np.bool_], known: int = 0) -> None:
        count = len(matrix)
        self._order = degeneracy_order(matrix)
        self._adjacent = _clique_kernels.bit_sets(matrix[np.ix_(self._order, self._order)])
        self._chunk = max(1, 20_000_000 // (count * count))
        colours = int(_clique_kernels.new_stack(self._adjacent, 1, 0)[2].max())
        # the number of colours bounds the depth and keeps the stack small
        self._stack = _clique_kernels.new_stack(self._adjacent, colours + 2, known)
        self._best = np.zeros(colours + 2, np.int64)
        self._state = np.array([0, known, 0])
        self.finished = bool(self._stack[3][0] < 0)

    def set_known(self, size: int) -> None:
        """Set the size of a clique found elsewhere; only larger ones are searched."""
        if size > self.best:
            self._state[_clique_kernels.BEST], self._state[_clique_kernels.SIZE] = size, 0

    @property
    def best(self) -> int:
        """Size of the largest known clique."""
        return int(self._state[_clique_kernels.BEST])

    @property
    def clique(self) -> Ints:
        """Vertices of the largest clique that this search found, in increasing order."""
        return np.sort(self._order[self._best[: self._state[_clique_kernels.SIZE]]])

    @property
    def upper(self) -> int:
        """Upper bound on the size of all cliques."""
        return _clique_kernels.upper_bound(self._stack, self._state)

    def run(self, budget: Budget, improved: Improved) -> None:
        """Search until the tree is complete or the budget is used up."""
        while not self.finished and not budget.exhausted:
            self.finished = _clique_kernels.clique_search(
                self._adjacent, self._stack, self._best, self._state, self._chunk
            )
            budget.spend()
            improved()


class Colouring:
    """Exact search (DSATUR with backtracking, starting from a clique) and tabu search.

    >>> import numpy as np
    >>> ring = np.roll(np.eye(5, dtype=bool), 1, axis=1)
    >>> search = Colouring(ring | ring.T, np.array([0, 1]))
    >>> search.run(Budget(), lambda: None)
    >>> search.best, search.finished
    (3, True)
    """

    def __init__(self, matrix: NDArray[np.bool_], clique: Ints) -> None:
        count = len(matrix)
        degree = matrix.sum(axis=1)
        first = np.zeros(count, np.bool_)
        first[clique] = True
        self._order = np.lexsort((-degree, ~first))  # first the clique, then by decreasing degree
        own = matrix[np.ix_(self._order, self._order)]
        start = np.concatenate([[0], np.cumsum(own.sum(axis=1))])
        self._rows = start, np.nonzero(own)[1].astype(np.int32)
        self._chunk = max(1, 1_000_000 // count)
        self._clique = len(clique)
        self._best = np.arange(count)
        self._state = np.array([self._clique, count, 0])
        self._seed = SEED
        self._stack = _colouring_kernels.new_stack(
            self._rows, np.arange(self._clique), int(degree.max(initial=0)) + 2
        )
        self.finished = False

    @property
    def best(self) -> int:
        """Number of colours of the best colouring."""
        return int(self._state[_colouring_kernels.BEST])

    @property
    def colours(self) -> Ints:
        """Best colouring."""
        out = np.empty_like(self._best)
        out[self._order] = self._best
        return out

    def set_known(self, colours: Ints) -> None:
        """Set a colouring found elsewhere; only colourings with fewer colours are searched."""
        if (used := int(colours.max()) + 1) < self.best:
            self._best, self._state[_colouring_kernels.BEST] = colours[self._order], used

    def run(self, budget: Budget, improved: Improved, enough: int = 0) -> None:
        """Search until the best is proved, has ``enough`` colours, or the budget is used up."""
        while not self.finished and self.best > enough and not budget.exhausted:
            self.finished = _colouring_kernels.dsatur(
                self._rows,
                self._stack,
                self._best,
                self._state,
                self._clique,
                enough,
                self._chunk,
            )
            budget.spend()
            improved()

    def improve(self, budget: Budget, improved: Improved, enough: int) -> None:
        """Reduce the number of colours by tabu search, down to ``enough``."""
        while self.best > enough and not budget.exhausted:
            colours = self.best - 1
            sizes = np.bincount(self._best, minlength=self.best)
            # the smallest class is dissolved, and the last class takes its colour
            least = int(sizes.argmin())
            colour = self._best.copy()
            colour[colour == least] = colours + 1
            colour[colour == colours] = least
            gone = np.flatnonzero(colour == colours + 1)
            colour[gone] = np.arange(len(gone)) % colours
            near = np.zeros((len(colour), colours), np.int32)
            conflicts = _colouring_kernels.count_conflicts(self._rows, colour, near)
            state = np.array([conflicts, 0, self._seed, conflicts])
            barred = np.zeros(near.shape, np.int64)
            done = conflicts == 0
            while not done and not budget.exhausted:
                done = _colouring_kernels.tabu(
                    self._rows, colour, near, barred, state, self._chunk // 10 + 1
                )
                budget.spend()
            self._seed = int(state[_colouring_kernels.SEED])
            if done:
                self._best, self._state[_colouring_kernels.BEST] = colour, colours
                improved()
