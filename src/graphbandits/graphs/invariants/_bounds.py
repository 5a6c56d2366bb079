"""Bounds on independence and clique cover numbers by cliques, linear programs and matchings.

independence <= fractional clique cover <= clique cover: the linear program over the cliques of a
graph bounds the first from above and the last from below. If there are few cliques, as in most real
networks, HiGHS also solves both integer programs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from graphbandits._types import Floats, Ints
from graphbandits.graphs.dominating_sets import fractional_cover, integer_cover, integer_packing
from graphbandits.graphs.invariants._adjacency import Adjacency, Component
from graphbandits.graphs.invariants._budget import Budget
from graphbandits.graphs.invariants._sparse_kernels import clique_sizes

#: Above this number of edges, the cliques are not listed.
MOST_EDGES = 100_000
#: Programs with more cliques or entries take more than a few seconds and exceed the time limit.
MOST_CLIQUES = 20_000
MOST_ENTRIES = 400_000
#: Weights are rounded to multiples of 1 / SCALE to make the bounds exact.
SCALE = 10**7
#: Rounding errors of HiGHS.
ROUNDING = 1e-6
#: Vertices with more neighbours are not tested for triangles.
TRIANGLE_DEGREE = 64
#: The integer program is solved if its relaxation leaves a relative gap of at most this size.
LARGEST_GAP = 0.1


class CliqueProgram:
    """Integer program over the cliques of a component, and its linear relaxation.

    If there are few maximal cliques, all are listed. Otherwise the list has a clique for each edge,
    which suffices for bounds on the independence number. If all maximal cliques, at most
    ``visits``, were visited, ``sizes`` has the size of the largest clique of each vertex.
    """

    def __init__(self, graph: Adjacency, budget: Budget, visits: float = math.inf) -> None:
        self.sizes: Ints | None = None
        self.complete = False
        self._matrix: Any = None
        self._z = self._y = np.empty(0)
        if len(graph.column) > 2 * MOST_EDGES:
            return
        bounds = graph.start.tolist()
        column = graph.column.tolist()
        near = [set(column[i:j]) for i, j in pairwise(bounds)]
        cliques = self._maximal(near, budget.part(0.8), visits) or _one_for_each_edge(near, budget)
        entries = np.array([v for clique in cliques for v in clique], np.int64)
        if cliques and len(cliques) <= MOST_CLIQUES and len(entries) <= MOST_ENTRIES:
            column = np.repeat(np.arange(len(cliques)), [len(clique) for clique in cliques])
            shape = graph.count, len(cliques)
            self._matrix = scipy.sparse.csr_array(
                (np.ones(len(entries)), (entries, column)), shape=shape
            )

    def _maximal(self, near: list[set[int]], budget: Budget, visits: float) -> list[list[int]]:
        """List all maximal cliques; empty if there are too many."""
        import networkx  # slow to import, rarely needed

        graph = networkx.from_dict_of_lists(dict(enumerate(near)))
        cliques: list[list[int]] = []
        sizes = [1] * len(near)
        for k, clique in enumerate(networkx.find_cliques(graph)):
            for v in clique:
                sizes[v] = max(sizes[v], len(clique))
            if k <= MOST_CLIQUES:
                cliques.append(clique)
            if k >= visits or (k % 256 == 0 and budget.exhausted):
                return []
        self.sizes = np.array(sizes)
        self.complete = len(cliques) <= MOST_CLIQUES
        return cliques if self.complete else []

    def _relax(self, budget: Budget) -> bool:
        """Solve the relaxation; return whether a solution was found."""
        if self._matrix is not None and not len(self._z) and not budget.exhausted:
            self._z, self._y = fractional_cover(self._matrix, budget.seconds) or (self._z, self._y)
        return len(self._z) > 0

    def bound_cover(self, part: Component, budget: Budget) -> None:
        """Improve the lower bound on the cover number, and round the relaxation to a cover."""
        if self.sizes is not None:
            part.lower = max(part.lower, clique_size_bound(self.sizes))
        if not self._relax(budget):
            return
        if self.complete:
            # y / (the largest sum of y over a clique) is a fractional independent set
            weight = np.floor(self._y * SCALE).astype(np.int64)
            heaviest = int((self._matrix.T.astype(np.int64) @ weight).max())
            part.lower = max(part.lower, -(-int(weight.sum()) // heaviest))
        self._cover_by(part, self._z)

    def solve_cover(self, part: Component, budget: Budget) -> None:
        """Search for a minimum cover by integer programming."""
        if part.open and self.complete and not budget.exhausted:
            x, bound = integer_cover(self._matrix, budget.seconds)
            if x is not None:
                self._cover_by(part, x)
            part.lower = max(part.lower, min(math.ceil(bound - ROUNDING), part.upper))

    def _cover_by(self, part: Component, x: Floats) -> None:
        """Build a cover greedily from cliques in decreasing order of x."""
        label, used = np.full(part.graph.count, -1), 0
        cliques = self._matrix.T.tocsr()
        for k in np.lexsort((-np.diff(cliques.indptr), -x)).tolist():
            clique = cliques.indices[cliques.indptr[k] : cliques.indptr[k + 1]]
            clique = clique[label[clique] < 0]
            if len(clique):
                label[clique] = used
                used += 1
        if used < part.upper:
            part.found, part.upper = label, used

    def bound_independence(self, part: Component, budget: Budget) -> None:
        """Improve the upper bound on the independence number."""
        if self._relax(budget):
            upper = float(self._z.sum() / (self._matrix @ self._z).min())
            part.upper = min(part.upper, math.floor(upper + ROUNDING))

    def solve_independence(self, part: Component, budget: Budget) -> None:
        """Search for a largest independent set by integer programming, if the gap is small."""
        gap = part.upper - part.lower
        if (
            not 0 < gap <= max(1.0, LARGEST_GAP * part.upper)
            or not len(self._z)
            or budget.exhausted
        ):
            return
        x, bound = integer_packing(self._matrix.T, budget.seconds)
        valid = x is not None and not (part.graph.sparse() @ x)[x > 0.0].any()
        if x is not None and valid and x.sum() > part.lower:
            part.found, part.lower = np.flatnonzero(x), int(x.sum())
        if bound < part.upper:
            part.upper = max(part.lower, math.floor(bound + ROUNDING))


def _one_for_each_edge(near: list[set[int]], budget: Budget) -> list[list[int]]:
    """Return cliques that together have all edges; empty if the budget is used up."""
    cliques: list[list[int]] = []
    done: list[set[int]] = [{v} for v in range(len(near))]
    order = sorted(range(len(near)), key=lambda v: len(near[v]))
    rank = np.argsort(order).tolist()
    for u in order:
        if budget.exhausted:
            return []
        while left := near[u] - done[u]:
            clique, common = [u], near[u]
            while common:  # prefer new edges of u, then vertices of low degree
                v = min(left or common, key=rank.__getitem__)
                clique.append(v)
                common, left = common & near[v], left & near[v]
            cliques.append(clique)
            for v in clique:
                done[v].update(clique)
    return cliques


def clique_size_bound(sizes: Ints) -> int:
    """Return a lower bound on the cover number from the largest clique size of each vertex.

    A clique of k vertices is the sum of 1/k over them, so there are at least sum 1 / sizes[v].

    >>> clique_size_bound(np.array([3, 3, 3, 2, 2, 2]))
    3
    """
    many = enumerate(np.bincount(sizes).tolist())
    return math.ceil(sum((Fraction(n, size) for size, n in many if n), Fraction(0)))


def fractional_matching(graph: Adjacency) -> tuple[int, Ints]:
    """Return twice the size of a largest fractional matching, and a cover by pairs and vertices.

    A largest matching between two copies of the graph consists of paths and cycles. Every second
    edge of them is a pair of the cover; odd cycles leave one vertex unpaired. Balinski (1965).
    """
    after = scipy.sparse.csgraph.maximum_bipartite_matching(graph.sparse(), perm_type="column")
    heads = np.setdiff1d(np.arange(graph.count), after)
    following, label, used = after.tolist(), [-1] * graph.count, 0
    for v in [
        *heads.tolist(),
        *range(graph.count),
    ]:  # first paths from their first vertex, then cycles
        while v >= 0 and label[v] < 0:
            u = following[v]
            label[v] = used
            if u >= 0 and label[u] < 0:
                label[u] = used
                u = following[u]
            used += 1
            v = u
    return int((after >= 0).sum()), np.array(label)


def matching_bound(graph: Adjacency, twice: int) -> int:
    """Return a lower bound on the cover number; fractional matchings have at most ``twice`` / 2.

    Compared with one clique per vertex, a clique of s vertices saves
    s - 1 = floor(s/2) + ceil(s/2) - 1. The first terms sum to the size of a matching. The other
    terms are at most max (ceil(s/2) - 1) / s over s <= k for each vertex whose cliques have at most
    k vertices, which is 0 for k = 2.
    """
    sizes = np.empty(graph.count, np.int64)
    clique_sizes(graph.start, graph.column, TRIANGLE_DEGREE, sizes)
    rest, share = Fraction(0), Fraction(0)
    for size, many in enumerate(np.bincount(sizes).tolist()):
        if size:
            share = max(share, Fraction((size + 1) // 2 - 1, size))
            rest += many * share
    return max(clique_size_bound(sizes), graph.count - twice // 2 - math.floor(rest))
