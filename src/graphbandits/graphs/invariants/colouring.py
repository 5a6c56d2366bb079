"""Colourings of a graph of some thousand vertices: exact, and good ones quickly; resumable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graphbandits.graphs.invariants import colour_kernels as kernels
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.types import Ints


class Colouring:
    """DSATUR with backtracking from a clique of ``matrix``, and tabu search beside it.

    >>> import numpy as np
    >>> ring = np.roll(np.eye(5, dtype=bool), 1, axis=1)
    >>> search = Colouring(ring | ring.T, np.array([0, 1]))
    >>> search.run(Allowance(), lambda: None)
    >>> search.best, search.finished
    (3, True)
    """

    def __init__(self, matrix: NDArray[np.bool_], clique: Ints) -> None:
        count = len(matrix)
        degree = matrix.sum(axis=1)
        first = np.zeros(count, np.bool_)
        first[clique] = True
        self._order = np.lexsort((-degree, ~first))  # the clique, then many neighbours first
        own = matrix[np.ix_(self._order, self._order)]
        self._start = np.concatenate([[0], np.cumsum(own.sum(axis=1))])
        self._column = np.nonzero(own)[1].astype(np.int32)
        self._chunk = max(1, 1_000_000 // count)
        self._clique = len(clique)
        self._best = np.arange(count)
        self._state = np.zeros(3, np.int64)
        self._state[kernels.BEST] = count
        self._seed = 88172645463325252
        self.finished = False
        self._begin(int(degree.max(initial=0)) + 2)

    def _begin(self, colours: int) -> None:
        count = len(self._best)
        self._colour = np.full(count, -1)
        self._near = np.zeros((count, colours), np.int32)
        self._saturation = np.zeros(count, np.int64)
        self._vertex, self._tried = np.arange(count), np.zeros(count, np.int64)
        self._used = np.minimum(np.arange(count + 1), self._clique)
        for v in range(self._clique):
            self._colour[v] = v
            kernels.paint(self._start, self._column, v, v, self._near, self._saturation)
        self._state[kernels.DEPTH], self._state[kernels.TRYING] = self._clique, 0

    @property
    def best(self) -> int:
        """Colours of the best colouring."""
        return int(self._state[kernels.BEST])

    @property
    def colours(self) -> Ints:
        """The best colouring."""
        out = np.empty_like(self._best)
        out[self._order] = self._best
        return out

    def know(self, colours: Ints) -> None:
        """A colouring found elsewhere."""
        if (used := int(colours.max()) + 1) < self.best:
            self._best, self._state[kernels.BEST] = colours[self._order], used

    def run(self, allowance: Allowance, told: Callable[[], None], enough: int = 0) -> None:
        """Go on until no colouring has fewer colours, ``enough`` do, or the allowance is over."""
        while not self.finished and self.best > enough and not allowance.over:
            done = kernels.dsatur(
                self._start,
                self._column,
                self._colour,
                self._near,
                self._saturation,
                self._vertex,
                self._tried,
                self._used,
                self._best,
                self._state,
                self._clique,
                enough,
                self._chunk,
            )
            self.finished = bool(done)
            allowance.spend(1)
            told()

    def improve(self, allowance: Allowance, told: Callable[[], None], enough: int) -> None:
        """Tabu search for colourings with ever fewer colours, down to ``enough``."""
        while self.best > enough and not allowance.over:
            colours = self.best - 1
            sizes = np.bincount(self._best, minlength=self.best)
            least = int(sizes.argmin())  # its members move elsewhere, the last class takes its name
            colour = self._best.copy()
            colour[colour == least] = colours + 1
            colour[colour == colours] = least
            gone = np.flatnonzero(colour == colours + 1)
            colour[gone] = np.arange(len(gone)) % colours
            near = np.zeros((len(colour), colours), np.int32)
            conflicts = kernels.conflicts_of(self._start, self._column, colour, near)
            state = np.array([conflicts, 0, self._seed, conflicts])
            barred = np.zeros(near.shape, np.int64)
            done = conflicts == 0
            while not done and not allowance.over:
                done = kernels.tabu(
                    self._start, self._column, colour, near, barred, state, self._chunk // 10 + 1
                )
                allowance.spend(1)
            self._seed = int(state[kernels.SEED])
            if done:
                self._best, self._state[kernels.BEST] = colour, colours
                told()
