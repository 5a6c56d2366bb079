"""The least number of cliques that the vertices of an undirected graph can be parted into."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graphbandits.graphs.invariants.adjacency import Adjacency
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.clique_search import CliqueSearch
from graphbandits.graphs.invariants.colouring import Colouring
from graphbandits.graphs.invariants.columns import MOST, Columns
from graphbandits.graphs.invariants.pairs import cover_by_pairs, pairs_bound
from graphbandits.graphs.invariants.parts import (
    SEARCHED,
    Part,
    Told,
    clique_bound,
    parts_of,
    reduce,
    search_all,
)
from graphbandits.graphs.invariants.shares import cliques_with, shares_bound
from graphbandits.graphs.invariants.spectral import spectral_cover
from graphbandits.types import Ints


def cover_by_cliques(
    graph: Adjacency, allowance: Allowance, report: Callable[[int, int], None]
) -> tuple[int, int, Ints]:
    """Bounds on the number of cliques, and for each vertex the number of its clique."""
    taken, clique, rest = reduce(graph)
    parts = parts_of(graph, rest)
    for part in parts:
        part.found = clique_bound(part.graph)
        part.upper = int(part.found.max()) + 1

    def bounds() -> tuple[int, int]:
        lower = len(taken) + sum(part.lower for part in parts)
        return lower, len(taken) + sum(part.upper for part in parts)

    search_all(parts, _search, allowance, lambda: report(*bounds()))
    used = len(taken)
    for part in parts:
        clique[part.vertices] = used + part.found
        used += part.upper
    return *bounds(), clique


def _search(part: Part, allowance: Allowance, told: Told) -> None:
    if part.graph.count > SEARCHED:
        found, pairs = cover_by_pairs(part.graph, part.found, allowance)
        if (upper := int(found.max()) + 1) < part.upper:
            part.upper, part.found = upper, found
        told()
        part.lower = max(part.lower, pairs_bound(part.graph, pairs))
        return
    edges = part.graph.matrix()
    apart = ~edges & ~np.eye(part.graph.count, dtype=np.bool_)
    independent = CliqueSearch(apart)

    def more() -> None:
        part.lower = max(part.lower, independent.best)
        told()

    more()
    many = part.graph.count > MOST
    independent.run(allowance.part(0.1 if many and allowance.timed else 0.25), more)
    colouring = Colouring(apart, independent.clique)
    colouring.know(part.found)

    def fewer() -> None:
        if colouring.best < part.upper:
            part.upper, part.found = colouring.best, colouring.colours
        if colouring.finished:
            part.lower = part.upper
        told()

    fewer()
    colouring.run(allowance.part(0.05), fewer, part.lower)
    if part.open and not colouring.finished:
        colouring.improve(allowance.part(0.08), fewer, part.lower)
    if part.open and allowance.timed:
        _raise_lower(part, edges, apart, allowance.part(0.5 if many else 0.05), told)
    if part.open and allowance.timed and many:
        colouring.improve(allowance.part(0.98), fewer, part.lower)
    elif part.open and allowance.timed:
        Columns(part, edges).run(allowance.part(0.8), told)
        colouring.know(part.found)
    if part.open:
        colouring.run(allowance, fewer, part.lower)


def _raise_lower(
    part: Part,
    edges: NDArray[np.bool_],
    apart: NDArray[np.bool_],
    allowance: Allowance,
    told: Told,
) -> None:
    """Bounds that are there before the linear program over cliques is, if it ever is."""

    def shared(sizes: Ints) -> None:
        part.lower = max(part.lower, shares_bound(sizes))
        told()

    if not cliques_with(edges, allowance, shared):
        part.lower = max(part.lower, spectral_cover(apart))
        told()
