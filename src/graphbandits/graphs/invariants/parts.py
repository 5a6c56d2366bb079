"""Independent sets and clique covers part by part: simplicial vertices go, components part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphbandits.graphs.invariants import sparse_kernels as kernels
from graphbandits.graphs.invariants.adjacency import Adjacency
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.types import Ints

#: Up to so many vertices a component is searched on bit sets.
SEARCHED = 3000
#: In larger graphs a vertex with more neighbours is not looked at for being simplicial.
FEW = 16

#: Called whenever the bounds of a part may have changed.
Told = Callable[[], None]


@dataclass
class Part:
    """A component, what is known of it, and what shows it.

    ``found`` are the vertices of an independent set, or the number of its clique for each vertex.
    """

    vertices: Ints
    graph: Adjacency
    lower: int
    upper: int
    found: Ints

    @property
    def open(self) -> bool:
        """Whether the bounds do not meet yet."""
        return self.lower < self.upper


def reduce(graph: Adjacency) -> tuple[Ints, Ints, Ints]:
    """Simplicial vertices, the clique of each vertex that goes with them, else -1; the rest."""
    count = graph.count
    clique, degree, queue, taken = (np.empty(count, np.int64) for _ in range(4))
    most = count if count <= SEARCHED else FEW
    found = kernels.simplicial(graph.start, graph.column, most, clique, degree, queue, taken)
    return taken[:found], clique, np.flatnonzero(clique < 0)


def parts_of(graph: Adjacency, rest: Ints) -> list[Part]:
    """The components among ``rest``, with bounds on both numbers that take no search.

    ``lower`` bounds both from below, ``upper`` too; ``found`` is an independent set.
    """
    inner = graph.among(rest)
    parts = []
    for vertices in inner.components():
        own = inner.among(vertices) if len(vertices) < inner.count else inner
        parts.append(Part(rest[vertices], own, *independent_bounds(own)))
    return parts


def independent_bounds(graph: Adjacency) -> tuple[int, int, Ints]:
    """A lower and an upper bound on the independence number, and the set of the first."""
    inside = np.empty(graph.count, np.int64)
    ventured = kernels.peel(graph.start, graph.column, inside)
    found = np.flatnonzero(inside)
    return len(found), len(found) + int(ventured), found


def clique_bound(graph: Adjacency) -> Ints:
    """The number of its clique for each vertex, greedily."""
    clique = np.empty(graph.count, np.int64)
    kernels.greedy_cliques(graph.start, graph.column, clique)
    return clique


def search_all(
    parts: list[Part],
    search: Callable[[Part, Allowance, Told], None],
    allowance: Allowance,
    told: Told,
) -> None:
    """Search the parts whose bounds do not meet, small ones first, each with its share."""
    told()
    left = [part for part in parts if part.open]
    for k, part in enumerate(left):
        if allowance.over:
            return
        search(part, allowance.part(1.0 / (len(left) - k)), told)
        told()
