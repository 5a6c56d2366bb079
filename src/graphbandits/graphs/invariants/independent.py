"""The largest independent set of an undirected graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import maximum_bipartite_matching

from graphbandits.graphs.invariants.adjacency import Adjacency
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.clique_search import CliqueSearch
from graphbandits.graphs.invariants.colouring import Colouring
from graphbandits.graphs.invariants.parts import (
    SEARCHED,
    Part,
    Told,
    clique_bound,
    parts_of,
    reduce,
    search_all,
)
from graphbandits.graphs.invariants.spectral import spectral_independence
from graphbandits.graphs.invariants.swapping import Swapping
from graphbandits.types import Ints

#: With more vertices a matching of two copies takes longer than all the rest.
MATCHED = 200_000


def independent_set(
    graph: Adjacency, allowance: Allowance, report: Callable[[int, int], None]
) -> tuple[int, int, Ints]:
    """Bounds on the size of the largest independent set, and the set of the first bound."""
    taken, _, rest = reduce(graph)
    parts = parts_of(graph, rest)
    for part in parts:
        part.upper = min(part.upper, int(clique_bound(part.graph).max()) + 1)

    def bounds() -> tuple[int, int]:
        lower = len(taken) + sum(part.lower for part in parts)
        return lower, len(taken) + sum(part.upper for part in parts)

    search_all(parts, _search, allowance, lambda: report(*bounds()))
    found = [taken, *(part.vertices[part.found] for part in parts)]
    return *bounds(), np.sort(np.concatenate(found))


def _search(part: Part, allowance: Allowance, told: Told) -> None:
    swapping = Swapping(part.graph, part.found)

    def swapped() -> None:
        if swapping.best > part.lower:
            part.lower, part.found = swapping.best, swapping.found
        told()

    if part.graph.count > SEARCHED:
        if part.graph.count <= MATCHED:
            # the linear program with z_i + z_j <= 1 on edges, which half-integers solve
            pairs = maximum_bipartite_matching(part.graph.sparse()) >= 0
            part.upper = min(part.upper, part.graph.count - -(-int(pairs.sum()) // 2))
            told()
        if allowance.timed:
            swapping.run(allowance, swapped, part.upper)
        return
    apart = ~part.graph.matrix() & ~np.eye(part.graph.count, dtype=np.bool_)
    search = CliqueSearch(apart)
    search.begin(np.ones(part.graph.count, np.int64), part.lower)

    def improved() -> None:
        part.upper = min(part.upper, search.upper)
        if search.best > part.lower:
            part.lower, part.found = search.best, search.clique
        told()

    improved()
    if not allowance.timed:
        search.run(allowance, improved)
        return
    search.run(allowance.part(0.02), improved)
    if part.open:
        swapping.run(allowance.part(0.05), swapped, part.upper)
        search.know(part.lower)
        search.run(allowance.part(0.6), improved)
    if part.open:
        part.upper = min(part.upper, spectral_independence(part.graph.matrix()))
        told()
        swapping.run(allowance.part(0.6), swapped, part.upper)
        _cover(part, apart, allowance, told)


def _cover(part: Part, apart: NDArray[np.bool_], allowance: Allowance, told: Told) -> None:
    """Each clique of a cover has at most one member of the set."""
    cover = Colouring(apart, np.empty(0, np.int64))
    cover.know(clique_bound(part.graph))

    def fewer() -> None:
        part.upper = min(part.upper, cover.best)
        told()

    cover.improve(allowance, fewer, part.lower)
