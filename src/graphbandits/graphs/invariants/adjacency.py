"""One 0/1 graph as lists of neighbours: both directions, either one, or as it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from graphbandits.graphs.feedback import Feedback, Sparse
from graphbandits.graphs.in_neighbours import matrices
from graphbandits.graphs.invariants.sparse_kernels import induce
from graphbandits.types import Ints


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Neighbours of v, increasing: ``column[start[v]:start[v+1]]``."""

    start: Ints
    column: Ints

    @property
    def count(self) -> int:
        """How many vertices."""
        return len(self.start) - 1

    @cached_property
    def _numbers(self) -> Ints:
        return np.full(self.count, -1)

    def among(self, vertices: Ints) -> Adjacency:
        """The graph among some vertices in increasing order, renumbered."""
        start = np.empty(len(vertices) + 1, np.int64)
        column = np.empty(int((self.start[vertices + 1] - self.start[vertices]).sum()), np.int64)
        edges = induce(self.start, self.column, vertices, self._numbers, start, column)
        return Adjacency(start, column[:edges].copy())

    def sparse(self) -> Any:
        """As a matrix of scipy."""
        ones = np.ones(len(self.column), np.int8)
        return csr_array((ones, self.column, self.start), shape=(self.count, self.count))

    def matrix(self) -> NDArray[np.bool_]:
        """As a matrix (n, n), for few vertices."""
        matrix = np.zeros((self.count, self.count), np.bool_)
        matrix[np.repeat(np.arange(self.count), np.diff(self.start)), self.column] = True
        return matrix

    def components(self) -> list[Ints]:
        """The vertices of each connected part, the smallest part first."""
        if not self.count:
            return []
        if not len(self.column):
            return list(np.arange(self.count)[:, None])
        _, label = connected_components(self.sparse(), directed=False)
        order = np.argsort(label, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(label))[:-1])
        return sorted(parts, key=len)


def directed(graph: Feedback) -> Any:
    """Row i has ones at the arms that i reveals, itself too; a matrix of scipy."""
    if isinstance(graph, Sparse):
        there = (graph.weight > 0.0).astype(np.int8)
        found = csr_array((there, graph.column, graph.start), shape=(graph.arms, graph.arms))
        if not there.all():
            found.eliminate_zeros()
        return found
    return csr_array((matrices(graph, 1)[0] > 0.0).astype(np.int8))


def mutual(graph: Feedback) -> Adjacency:
    """An edge where both observe each other."""
    forth = directed(graph)
    return _adjacency(forth.multiply(forth.T.tocsr()))


def either(graph: Feedback) -> Adjacency:
    """An edge where at least one observes the other."""
    forth = directed(graph)
    return _adjacency(forth.maximum(forth.T.tocsr()))


def undirected(graph: Feedback) -> bool:
    """Whether every edge goes both ways."""
    forth = directed(graph)
    return bool((forth != forth.T.tocsr()).nnz == 0)


def rows(matrix: Any) -> Adjacency:
    """The entries of each row of a matrix of scipy."""
    found = csr_array(matrix)
    found.sort_indices()
    return Adjacency(found.indptr.astype(np.int64), found.indices.astype(np.int64))


def _adjacency(matrix: Any) -> Adjacency:
    found = csr_array(matrix).tocoo()
    off = found.row != found.col
    ones = np.ones(int(off.sum()), np.int8)
    return rows(csr_array((ones, (found.row[off], found.col[off])), shape=found.shape))
