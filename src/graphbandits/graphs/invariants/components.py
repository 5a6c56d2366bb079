"""Independent sets and clique covers by components, after an exact reduction.

A simplicial vertex, whose neighbours are a clique, belongs to some largest independent set, and
forms a clique of some least clique cover with its neighbours. Both are removed, again and again;
what remains falls into components, which are searched one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphbandits.graphs.invariants import sparse_kernels as kernels
from graphbandits.graphs.invariants.adjacency import Adjacency
from graphbandits.graphs.invariants.budget import Budget
from graphbandits.types import Ints

#: Components of at most this many vertices are searched on bit sets.
SEARCHED = 3000
#: Above, vertices with more neighbours are not tested for being simplicial.
FEW = 16

#: Called when the bounds of a component may have improved.
Improved = Callable[[], None]


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
    components: list[Component],
    search: Callable[[Component, Budget, Improved], None],
    budget: Budget,
    improved: Improved,
) -> None:
    """Search the components whose bounds differ, small ones first, each with its share."""
    improved()
    left = [component for component in components if component.open]
    for k, component in enumerate(left):
        if budget.exhausted:
            return
        search(component, budget.part(1.0 / (len(left) - k)), improved)
        improved()
