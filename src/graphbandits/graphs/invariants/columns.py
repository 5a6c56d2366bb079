"""Clique covers as set covers: the linear program over all cliques bounds their number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from graphbandits.graphs.highs import fractional_cover, whole_cover
from graphbandits.graphs.invariants import clique_kernels as kernels
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.clique_search import CliqueSearch
from graphbandits.graphs.invariants.parts import Part, Told
from graphbandits.types import Floats, Ints

#: Weights are rounded to whole multiples of 1 / SCALE, so that bounds are exact.
SCALE = 10**7
#: With more vertices a linear program has no end within seconds.
MOST = 400


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
        """Raise the lower bound, then look for a cover among the cliques that came up."""
        part = self._part
        if part.graph.count > MOST:
            return
        pricing = allowance.part(0.7)
        while part.open and not pricing.over:
            found = fractional_cover(self._matrix(), pricing.seconds)
            if found is None or not self._price(found[1], pricing):
                break
            told()
        if part.open and not allowance.over:
            self._round(allowance.seconds)
            told()

    def _price(self, y: Floats, allowance: Allowance) -> bool:
        """Whether there are new cliques by which the linear program may improve."""
        weight = np.floor(y * SCALE).astype(np.int64)
        cliques, sizes = kernels.greedy_heavy(self._edges, weight)
        heavy = [
            cliques[k, :size]
            for k, size in enumerate(sizes)
            if weight[cliques[k, :size]].sum() > SCALE
        ]
        if any([self._add(np.sort(clique)) for clique in heavy]):
            return True
        # weights are positive for the search: a little more makes the bound a little worse
        weight += 1
        self._search.begin(weight, SCALE - 1)
        self._search.run(allowance)
        bound = -(-int(weight.sum()) // max(self._search.upper, 1))
        self._part.lower = max(self._part.lower, bound)
        return len(self._search.clique) > 0 and self._add(self._grown(self._search.clique))

    def _round(self, seconds: float) -> None:
        part = self._part
        x, _ = whole_cover(self._matrix(), seconds)
        if x is None or x.sum() >= part.upper:
            return
        label = np.full(part.graph.count, -1)
        chosen = [c for c, on in zip(self._known.values(), x, strict=True) if on]
        for k, clique in enumerate(chosen):
            label[clique[label[clique] < 0]] = k
        used = np.unique(label)
        if used[0] >= 0 and len(used) < part.upper:
            part.found, part.upper = np.searchsorted(used, label), len(used)
