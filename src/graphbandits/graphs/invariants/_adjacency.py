"""One 0/1 graph as lists of neighbours, its reduction and its components.

A simplicial vertex, whose neighbours are a clique, belongs to some largest independent set, and
forms a clique of some least clique cover with its neighbours. Both are removed, again and again;
what remains falls into components, which are searched one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from graphbandits._types import Ints
from graphbandits.graphs.feedback import Feedback, SparseFeedback, matrices
from graphbandits.graphs.invariants import _sparse_kernels as kernels
from graphbandits.graphs.invariants._budget import Budget

#: Components of at most this many vertices are searched on bit sets.
SEARCHED = 3000
#: Above, vertices with more neighbours are not tested for being simplicial.
FEW = 16

#: Called when the bounds of a component may have improved.
Improved = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Neighbours of v, increasing: ``column[start[v]:start[v+1]]``."""

    start: Ints
    column: Ints

    @property
    def count(self) -> int:
        """The number of vertices."""
        return len(self.start) - 1

    def sparse(self) -> Any:
        """The graph as a matrix of scipy."""
        ones = np.ones(len(self.column), np.int8)
        return csr_array((ones, self.column, self.start), shape=(self.count, self.count))

    def matrix(self) -> NDArray[np.bool_]:
        """The graph as a matrix (n, n), for few vertices."""
        matrix = np.zeros((self.count, self.count), np.bool_)
        matrix[np.repeat(np.arange(self.count), np.diff(self.start)), self.column] = True
        return matrix

    def components(self, vertices: Ints) -> list[tuple[Ints, Adjacency]]:
        """Connected components among ``vertices`` (increasing), renumbered, smallest first."""
        if not len(vertices):
            return []
        inner = self.sparse()
        if len(vertices) < self.count:
            inner = inner[vertices][:, vertices]
        _, label = connected_components(inner, directed=False)
        order = np.argsort(label, kind="stable")
        ends = np.cumsum(np.bincount(label)).tolist()
        if len(ends) == 1:
            return [(vertices, rows(inner))]
        inner = rows(inner[order][:, order])  # each component is a block of it
        parts = []
        for first, last in zip([0, *ends[:-1]], ends, strict=True):
            start = inner.start[first : last + 1]
            column = inner.column[start[0] : start[-1]]
            own = Adjacency(start - start[0], column - first)
            parts.append((vertices[order[first:last]], own))
        return sorted(parts, key=lambda part: len(part[0]))


def directed(graph: Feedback) -> Any:
    """A matrix of scipy: row i has ones at the arms that i reveals, itself too."""
    if isinstance(graph, SparseFeedback):
        there = (graph.weight > 0.0).astype(np.int8)
        found = csr_array((there, graph.column, graph.start), shape=(graph.arms, graph.arms))
        if not there.all():
            found.eliminate_zeros()
        return found
    return csr_array((matrices(graph, 1)[0] > 0.0).astype(np.int8))


def mutual(graph: Feedback) -> Adjacency:
    """An edge between arms that observe each other."""
    forth = directed(graph)
    return _without_loops(forth.multiply(forth.T.tocsr()))


def either(graph: Feedback) -> Adjacency:
    """An edge between arms of which at least one observes the other."""
    forth = directed(graph)
    return _without_loops(forth.maximum(forth.T.tocsr()))


def undirected(graph: Feedback) -> bool:
    """Whether every edge has both directions."""
    forth = directed(graph)
    return bool((forth != forth.T.tocsr()).nnz == 0)


def rows(matrix: Any) -> Adjacency:
    """The entries of each row of a matrix of scipy."""
    found = csr_array(matrix)
    found.sort_indices()
    return Adjacency(found.indptr.astype(np.int64), found.indices.astype(np.int64))


def _without_loops(matrix: Any) -> Adjacency:
    found = csr_array(matrix).tocoo()
    off = found.row != found.col
    ones = np.ones(int(off.sum()), np.int8)
    return rows(csr_array((ones, (found.row[off], found.col[off])), shape=found.shape))


@dataclass
class Component:
    """A component, the bounds on its number, and the certificate of one of them.

    ``found`` holds the vertices of an independent set, or the clique number of each vertex.
    """

    vertices: Ints
    graph: Adjacency
    lower: int
    upper: int
    found: Ints

    @property
    def open(self) -> bool:
        """Whether the bounds differ."""
        return self.lower < self.upper


def reduced(graph: Adjacency) -> tuple[Ints, Ints, list[Component]]:
    """Simplicial vertices, the clique of each vertex removed with them (else -1), components.

    Each component has bounds on its independence number, which are lower bounds on its cover
    number as well, and the independent set of the lower one.
    """
    count = graph.count
    clique, degree, queue, taken = (np.empty(count, np.int64) for _ in range(4))
    most = count if count <= SEARCHED else FEW
    found = kernels.simplicial(graph.start, graph.column, most, clique, degree, queue, taken)
    components = []
    for vertices, own in graph.components(np.flatnonzero(clique < 0)):
        inside = np.empty(own.count, np.int64)
        dropped = int(kernels.peel(own.start, own.column, inside))
        chosen = np.flatnonzero(inside)
        components.append(Component(vertices, own, len(chosen), len(chosen) + dropped, chosen))
    return taken[:found], clique, components


def greedy_cover(graph: Adjacency) -> Ints:
    """A clique cover by a greedy choice: the clique number of each vertex."""
    clique = np.empty(graph.count, np.int64)
    kernels.greedy_cliques(graph.start, graph.column, clique)
    return clique


def search_components(
    taken: Ints,
    components: list[Component],
    search: Callable[[Component, Budget, Improved], None],
    budget: Budget,
    report: Callable[[int, int], None],
) -> tuple[int, int]:
    """Search the components whose bounds differ, small ones first; returns bounds on the number.

    Each vertex of ``taken`` adds one to the number. Each component has its share of the budget.
    """

    def bounds() -> tuple[int, int]:
        lower = len(taken) + sum(one.lower for one in components)
        return lower, len(taken) + sum(one.upper for one in components)

    def improved() -> None:
        report(*bounds())

    improved()
    left = [one for one in components if one.open]
    for k, one in enumerate(left):
        if budget.exhausted:
            break
        search(one, budget.part(1.0 / (len(left) - k)), improved)
        improved()
    return bounds()
