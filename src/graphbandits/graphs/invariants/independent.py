"""The largest independent set of an undirected graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.csgraph import maximum_bipartite_matching

from graphbandits.graphs.invariants.adjacency import Adjacency
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.clique_search import CliqueSearch
from graphbandits.graphs.invariants.parts import (
    SEARCHED,
    Part,
    Told,
    clique_bound,
    parts_of,
    reduce,
    search_all,
)
from graphbandits.types import Ints


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
    if part.graph.count > SEARCHED:
        # the linear program with z_i + z_j <= 1 on edges, which half-integers solve
        pairs = maximum_bipartite_matching(part.graph.sparse()) >= 0
        part.upper = min(part.upper, part.graph.count - -(-int(pairs.sum()) // 2))
        return
    search = CliqueSearch(~part.graph.matrix() & ~np.eye(part.graph.count, dtype=np.bool_))
    search.begin(np.ones(part.graph.count, np.int64), part.lower)

    def improved() -> None:
        part.upper = min(part.upper, search.upper)
        if search.best > part.lower:
            part.lower, part.found = search.best, search.clique
        told()

    improved()
    search.run(allowance, improved)
