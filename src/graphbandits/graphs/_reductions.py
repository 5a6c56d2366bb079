"""Adjacency lists of a 0/1 graph, its reduction to connected components, and search budgets.

A vertex is simplicial if its neighbours are a clique. It belongs to some largest independent set,
and together with its neighbours it is a clique of some minimum clique cover. Simplicial vertices
and their neighbours are removed repeatedly; the components of the rest are searched one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from graphbandits._jit import clock
from graphbandits._types import Ints
from graphbandits.graphs import _sparse_kernels as kernels
from graphbandits.graphs.feedback import Feedback, SparseFeedback, matrices


class Budget:
    """Time limit or step limit of a search; steps of a part also count for its parent.

    Compilation time does not count. Searches that affect simulations use a step budget instead of a
    time limit, because with a time limit the results would depend on the machine.

    >>> budget = Budget(steps=10)
    >>> part = budget.part(0.5)
    >>> part.spend(6)
    >>> part.exhausted, budget.exhausted
    (True, False)
    """

    def __init__(
        self, seconds: float = math.inf, steps: float = math.inf, parent: Budget | None = None
    ) -> None:
        self._end = clock() + seconds
        self._steps = steps
        self._parent = parent

    @property
    def timed(self) -> bool:
        """Whether the budget is a time limit."""
        return self._end < math.inf

    @property
    def seconds(self) -> float:
        """Remaining seconds."""
        return max(self._end - clock(), 0.0)

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up."""
        return self._steps <= 0 or (self.timed and self.seconds <= 0.0)

    def spend(self, steps: float = 1) -> None:
        """Count steps."""
        self._steps -= steps
        if self._parent is not None:
            self._parent.spend(steps)

    def part(self, fraction: float) -> Budget:
        """Return a fraction of the remaining budget."""
        seconds = fraction * self.seconds if self.timed else math.inf
        return Budget(seconds, fraction * self._steps, self)


#: Components of at most this many vertices are searched on bit sets.
EXACT_LIMIT = 3000
#: In larger graphs, vertices with more neighbours are not tested for being simplicial.
SIMPLICIAL_DEGREE = 16

#: Called when the bounds of a component may have improved.
Improved = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Adjacency lists: ``column[start[v]:start[v+1]]`` are the neighbours of v, increasing."""

    start: Ints
    column: Ints

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self.start) - 1

    def sparse(self) -> Any:
        """Return the graph as a scipy sparse matrix."""
        ones = np.ones(len(self.column), np.int8)
        return scipy.sparse.csr_array(
            (ones, self.column, self.start), shape=(self.count, self.count)
        )

    def matrix(self) -> NDArray[np.bool_]:
        """Return the graph as a dense matrix (n, n), for few vertices."""
        matrix = np.zeros((self.count, self.count), np.bool_)
        matrix[np.repeat(np.arange(self.count), np.diff(self.start)), self.column] = True
        return matrix

    def components(self, vertices: Ints) -> list[tuple[Ints, Adjacency]]:
        """Return the components of the subgraph of ``vertices``, renumbered, smallest first."""
        if not len(vertices):
            return []
        inner = self.sparse()
        if len(vertices) < self.count:
            inner = inner[vertices][:, vertices]
        _, label = scipy.sparse.csgraph.connected_components(inner, directed=False)
        order = np.argsort(label, kind="stable")
        ends = np.cumsum(np.bincount(label)).tolist()
        if len(ends) == 1:
            return [(vertices, adjacency_lists(inner))]
        inner = adjacency_lists(inner[order][:, order])  # components are diagonal blocks
        parts = []
        for first, last in zip([0, *ends[:-1]], ends, strict=True):
            start = inner.start[first : last + 1]
            column = inner.column[start[0] : start[-1]]
            own = Adjacency(start - start[0], column - first)
            parts.append((vertices[order[first:last]], own))
        return sorted(parts, key=lambda part: len(part[0]))


def reveal_matrix(graph: Feedback) -> Any:
    """Return a sparse matrix: row i has ones at the arms that i reveals, including i."""
    if isinstance(graph, SparseFeedback):
        ones = (graph.weight > 0.0).astype(np.int8)
        found = scipy.sparse.csr_array(
            (ones, graph.column, graph.start), shape=(graph.arms, graph.arms)
        )
        if not ones.all():
            found.eliminate_zeros()
        return found
    return scipy.sparse.csr_array((matrices(graph, 1)[0] > 0.0).astype(np.int8))


def mutual_edges(graph: Feedback) -> Adjacency:
    """Return the graph of the arms that reveal each other."""
    matrix = reveal_matrix(graph)
    return _without_loops(matrix.multiply(matrix.T.tocsr()))


def either_direction(graph: Feedback) -> Adjacency:
    """Return the graph of the arms with an edge in at least one direction."""
    matrix = reveal_matrix(graph)
    return _without_loops(matrix.maximum(matrix.T.tocsr()))


def is_undirected(graph: Feedback) -> bool:
    """Whether every edge has both directions."""
    matrix = reveal_matrix(graph)
    return bool((matrix != matrix.T.tocsr()).nnz == 0)


def adjacency_lists(matrix: Any) -> Adjacency:
    """Convert a scipy sparse matrix to adjacency lists."""
    found = scipy.sparse.csr_array(matrix)
    found.sort_indices()
    return Adjacency(found.indptr.astype(np.int64), found.indices.astype(np.int64))


def _without_loops(matrix: Any) -> Adjacency:
    found = scipy.sparse.csr_array(matrix).tocoo()
    off = found.row != found.col
    ones = np.ones(int(off.sum()), np.int8)
    return adjacency_lists(
        scipy.sparse.csr_array((ones, (found.row[off], found.col[off])), shape=found.shape)
    )


@dataclass
class Component:
    """A connected component, the bounds on its number, and the certificate of one bound.

    ``found`` has the vertices of an independent set, or the clique label of each vertex.
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


def reduce_graph(graph: Adjacency) -> tuple[Ints, Ints, list[Component]]:
    """Return the simplicial vertices, the clique label of each removed vertex, and components.

    Vertices that are not removed have the label -1. Each component has bounds on its independence
    number, which are also lower bounds on its cover number, and the independent set of the lower
    bound.
    """
    count = graph.count
    clique, degree, queue, taken = (np.empty(count, np.int64) for _ in range(4))
    most = count if count <= EXACT_LIMIT else SIMPLICIAL_DEGREE
    found = kernels.simplicial(graph.start, graph.column, most, clique, degree, queue, taken)
    components = []
    for vertices, own in graph.components(np.flatnonzero(clique < 0)):
        inside = np.empty(own.count, np.int64)
        dropped = int(kernels.peel(own.start, own.column, inside))
        chosen = np.flatnonzero(inside)
        components.append(Component(vertices, own, len(chosen), len(chosen) + dropped, chosen))
    return taken[:found], clique, components


def greedy_cover(graph: Adjacency) -> Ints:
    """Compute a greedy clique cover; return the clique label of each vertex."""
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
    """Search the components whose bounds differ, smallest first; return bounds on the number.

    Each vertex of ``taken`` adds one to the number. The budget is divided among the components.
    """

    def bounds() -> tuple[int, int]:
        lower = len(taken) + sum(one.lower for one in components)
        return lower, len(taken) + sum(one.upper for one in components)

    def improved() -> None:
        report(*bounds())

    improved()
    remaining = [one for one in components if one.open]
    for k, one in enumerate(remaining):
        if budget.exhausted:
            break
        search(one, budget.part(1.0 / (len(remaining) - k)), improved)
        improved()
    return bounds()
