"""The heaviest clique of a graph of some thousand vertices, resumable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graphbandits.graphs.invariants import clique_kernels as kernels
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.bit_kernels import Words, pack
from graphbandits.types import Ints


def nobody() -> None:
    """To be told of progress, but not interested."""


def words_of(matrix: NDArray[np.bool_]) -> Words:
    """Rows as bit sets."""
    words = np.empty((len(matrix), -(-matrix.shape[1] // 64)), np.uint64)
    pack(np.ascontiguousarray(matrix), words)
    return words


def degeneracy_order(matrix: NDArray[np.bool_]) -> Ints:
    """Vertices of least degree, each among those left, last."""
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
    """Branch and bound for the heaviest clique of a matrix (n, n) of edges.

    >>> import numpy as np
    >>> ring = np.roll(np.eye(5, dtype=bool), 1, axis=1)
    >>> search = CliqueSearch(ring | ring.T)
    >>> search.run(Allowance())
    >>> search.best, search.upper
    (2, 2)
    """

    def __init__(self, matrix: NDArray[np.bool_]) -> None:
        count = len(matrix)
        self._order = degeneracy_order(matrix)
        self._adjacent = words_of(matrix[np.ix_(self._order, self._order)])
        self._everyone = words_of(np.ones((1, count), np.bool_))[0]
        self._chunk = max(1, 20_000_000 // (count * count))
        listed, bound = np.empty(count, np.int32), np.empty(count, np.int64)
        self._root(np.ones(count, np.int64), 0, listed, bound)
        depths = int(bound[-1]) + 2  # colours bound the depth, which keeps the stack small
        self._candidates = np.zeros((depths, self._adjacent.shape[1]), np.uint64)
        self._listed = np.zeros((depths, count), np.int32)
        self._bound = np.zeros((depths, count), np.int64)
        self._place, self._chosen, self._held = (np.zeros(depths, np.int64) for _ in range(3))
        self._best = np.zeros(depths, np.int64)
        self._state = np.zeros(3, np.int64)
        self.begin(np.ones(count, np.int64))

    def _root(self, weight: Ints, need: int, listed: NDArray[np.int32], bound: Ints) -> int:
        words, count = len(self._everyone), len(weight)
        left, free = np.empty(words, np.uint64), np.empty(words, np.uint64)
        rest, group = np.empty(count, np.int64), np.empty(count, np.int64)
        return kernels.colour_order(
            self._adjacent, weight, self._everyone, need, listed, bound, left, free, rest, group
        )

    def begin(self, weight: Ints, known: int = 0) -> None:
        """Start anew with positive weights, for cliques that weigh more than ``known``."""
        self._weight = np.ascontiguousarray(weight[self._order])
        self._state[:] = 0, known, 0
        self._candidates[0] = self._everyone
        listed = self._root(self._weight, known, self._listed[0], self._bound[0])
        self._place[0] = listed - 1
        self.finished = listed == 0

    def know(self, weight: int) -> None:
        """A clique of this weight was found elsewhere: go on with heavier ones."""
        if weight > self.best:
            self._state[kernels.BEST], self._state[kernels.SIZE] = weight, 0

    @property
    def best(self) -> int:
        """The weight of the heaviest clique found, or what was known before."""
        return int(self._state[kernels.BEST])

    @property
    def clique(self) -> Ints:
        """Its vertices, in increasing order; none if no heavier one than was known was found."""
        return np.sort(self._order[self._best[: self._state[kernels.SIZE]]])

    @property
    def upper(self) -> int:
        """No clique weighs more."""
        if self.finished:
            return self.best
        k = self._place[0] + (self._state[kernels.DEPTH] > 0)  # its branch is not finished
        return max(self.best, int(self._bound[0, k]) if k >= 0 else 0)

    def run(self, allowance: Allowance, told: Callable[[], None] = nobody) -> None:
        """Go on until it is finished or the allowance is over."""
        while not self.finished and not allowance.over:
            self.finished = kernels.clique_search(
                self._adjacent,
                self._weight,
                self._candidates,
                self._listed,
                self._bound,
                self._place,
                self._chosen,
                self._held,
                self._best,
                self._state,
                self._chunk,
            )
            allowance.spend(1)
            told()
