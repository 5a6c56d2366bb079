"""Clique covers as set covers: the linear program over all cliques bounds their number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from graphbandits.graphs.highs import fractional_cover, whole_cover
from graphbandits.graphs.invariants import clique_kernels as kernels
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.clique_search import CliqueSearch, words_of
from graphbandits.graphs.invariants.maximal_kernels import heavy_maximal
from graphbandits.graphs.invariants.parts import Part, Told
from graphbandits.types import Floats, Ints

#: Weights are rounded to whole multiples of 1 / SCALE, so that bounds are exact.
SCALE = 10**7
#: With more vertices a linear program has no end within seconds.
MOST = 400
#: More columns are too many for the search in whole numbers, more nodes for finding them.
MOST_COLUMNS = 20_000
NODES = 200_000


class Columns:
    """Column generation: cliques join the linear program while one weighs more than 1 by its duals.

    Whatever the duals y are, sum(y) / (weight of the heaviest clique) is a lower bound (Farley
    1990), so that it holds before the end as well. Mehrotra and Trick (1996).
    """

    def __init__(self, part: Part, edges: NDArray[np.bool_]) -> None:
        self._part, self._edges = part, edges
        self._search = CliqueSearch(edges)
        self._known = dict[bytes, Ints]()
        for k in range(part.upper):
            self._add(self._grown(np.flatnonzero(part.found == k)))
        self._weight = np.ones(part.graph.count, np.int64)
        self._heaviest = part.graph.count

    def _grown(self, clique: Ints) -> Ints:
        return kernels.grow(self._edges, clique)

    def _add(self, clique: Ints) -> bool:
        key = clique.tobytes()
        new = key not in self._known
        self._known[key] = clique
        return new

    def _matrix(self) -> csr_array:
        cliques = list(self._known.values())
        row = np.concatenate(cliques)
        column = np.repeat(np.arange(len(cliques)), [len(clique) for clique in cliques])
        shape = self._part.graph.count, len(cliques)
        return csr_array((np.ones(len(row)), (row, column)), shape=shape)

    def run(self, allowance: Allowance, told: Told) -> None:
        """Raise the lower bound, then look for a cover among the cliques that can be in one."""
        part = self._part
        pricing = allowance.part(0.7)
        while part.open and not pricing.over:
            found = fractional_cover(self._matrix(), pricing.seconds)
            if found is None or not self._price(found[1], pricing):
                break
            told()
        if part.open and not allowance.over:
            complete = self._enumerate()
            self._round(allowance.seconds, complete)
            told()

    def _price(self, y: Floats, allowance: Allowance) -> bool:
        """Whether there are new cliques by which the linear program may improve."""
        # weights are positive for the search: a little more makes the bound a little worse
        weight = np.floor(y * SCALE).astype(np.int64) + 1
        cliques, sizes = kernels.greedy_heavy(self._edges, weight)
        heavy = [
            cliques[k, :size]
            for k, size in enumerate(sizes)
            if weight[cliques[k, :size]].sum() > SCALE + size
        ]
        before = len(self._known)
        for clique in heavy:
            self._add(np.sort(clique))
        if len(self._known) > before:
            return True
        self._search.begin(weight, SCALE - 1)
        self._search.run(allowance)
        heaviest = self._search.upper
        bound = -(-int(weight.sum()) // heaviest)
        self._part.lower = max(self._part.lower, bound)
        if int(weight.sum()) * self._heaviest > int(self._weight.sum()) * heaviest:
            self._weight, self._heaviest = weight, heaviest
        return len(self._search.clique) > 0 and self._add(self._grown(self._search.clique))

    def _enumerate(self) -> bool:
        """Whether the columns are now all the maximal cliques that a smaller cover can have.

        With weights w of which no clique has more than W, a cover by k cliques has only cliques of
        weight at least sum(w) - (k - 1) W: the others cover at most (k - 1) W.
        """
        least = int(self._weight.sum()) - (self._part.upper - 2) * self._heaviest
        out = np.empty((MOST_COLUMNS, -(-self._part.graph.count // 64)), np.uint64)
        count = heavy_maximal(words_of(self._edges), self._weight, max(least, 1), NODES, out)
        if count < 0:
            return False
        self._known.clear()
        for word in out[:count]:
            members = np.unpackbits(word.view(np.uint8), bitorder="little")
            self._add(np.flatnonzero(members))
        return True

    def _round(self, seconds: float, complete: bool) -> None:
        part = self._part
        covered = np.zeros(part.graph.count, np.bool_)
        for clique in self._known.values():
            covered[clique] = True
        if not covered.all():  # no cover is smaller
            part.lower = part.upper
            return
        x, bound = whole_cover(self._matrix(), seconds)
        if x is not None and x.sum() < part.upper:
            label = np.full(part.graph.count, -1)
            chosen = [c for c, on in zip(self._known.values(), x, strict=True) if on]
            for k, clique in enumerate(chosen):
                label[clique[label[clique] < 0]] = k
            used = np.unique(label)
            if used[0] >= 0 and len(used) < part.upper:
                part.found, part.upper = np.searchsorted(used, label), len(used)
        if complete:
            part.lower = max(part.lower, min(math.ceil(bound - 1e-6), part.upper))
