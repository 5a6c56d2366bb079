"""One 0/1 graph as lists of neighbours: mutual edges, edges in either direction, or as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from graphbandits.graphs.feedback import Feedback, Sparse
from graphbandits.graphs.revealers import matrices
from graphbandits.types import Ints


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
    if isinstance(graph, Sparse):
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
