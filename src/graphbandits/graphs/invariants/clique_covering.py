"""The least number of cliques that the vertices of an undirected graph can be partitioned into."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphbandits.graphs.invariants.adjacency import (
    SEARCHED,
    Adjacency,
    Component,
    Improved,
    greedy_cover,
    reduced,
    search_components,
)
from graphbandits.graphs.invariants.bounds import (
    CliqueProgram,
    fractional_matching,
    matching_bound,
)
from graphbandits.graphs.invariants.budget import Budget
from graphbandits.graphs.invariants.independent import MATCHED
from graphbandits.graphs.invariants.searches import CliqueSearch, Colouring
from graphbandits.types import Ints


def cover_by_cliques(
    graph: Adjacency, budget: Budget, report: Callable[[int, int], None]
) -> tuple[int, int, Ints]:
    """Bounds on the number of cliques, and for each vertex the number of its clique."""
    taken, clique, components = reduced(graph)
    for one in components:
        one.found = greedy_cover(one.graph)
        one.upper = int(one.found.max()) + 1
    lower, upper = search_components(taken, components, _search, budget, report)
    used = len(taken)
    for one in components:
        clique[one.vertices] = used + one.found
        used += one.upper
    return lower, upper, clique


def _search(part: Component, budget: Budget, improved: Improved) -> None:
    count = part.graph.count
    if count > SEARCHED:
        twice = count
        if count <= MATCHED:
            twice, pairs = fractional_matching(part.graph)
            if (upper := int(pairs.max()) + 1) < part.upper:
                part.upper, part.found = upper, pairs
        part.lower = max(part.lower, matching_bound(part.graph, twice))
        improved()
        if part.open and budget.timed:
            program = CliqueProgram(part.graph, budget)
            program.bound_cover(part, budget)
            improved()
            program.solve_cover(part, budget)
        return
    apart = ~part.graph.matrix() & ~np.eye(count, dtype=np.bool_)
    independent = CliqueSearch(apart)

    def larger() -> None:
        part.lower = max(part.lower, independent.best)
        improved()

    larger()
    independent.run(budget.part(0.05 if budget.timed else 0.25), larger)
    colouring = Colouring(apart, independent.clique)
    colouring.know(part.found)

    def fewer() -> None:
        if colouring.best < part.upper:
            part.upper, part.found = colouring.best, colouring.colours
        if colouring.finished:
            part.lower = part.upper
        improved()

    fewer()
    colouring.run(budget.part(0.05), fewer, part.lower)
    if part.open and not budget.timed:
        colouring.improve(budget.part(0.08), fewer, part.lower)
    elif part.open:
        program = CliqueProgram(part.graph, budget.part(0.4))
        program.bound_cover(part, budget.part(0.4))
        improved()
        if program.sizes is None:  # too many cliques to visit them all
            largest = CliqueSearch(part.graph.matrix())
            largest.run(budget.part(0.3), improved)
            part.lower = max(part.lower, -(-count // largest.upper))
            improved()
        colouring.know(part.found)
        colouring.improve(budget.part(0.2), fewer, part.lower)
        program.solve_cover(part, budget.part(0.7))
        colouring.know(part.found)
        colouring.improve(budget.part(0.5), fewer, part.lower)
    if part.open:
        colouring.run(budget, fewer, part.lower)
