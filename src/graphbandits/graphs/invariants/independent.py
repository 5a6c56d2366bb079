"""The largest independent set of an undirected graph."""

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
    MOST_CLIQUES,
    CliqueProgram,
    fractional_matching,
)
from graphbandits.graphs.invariants.budget import Budget
from graphbandits.graphs.invariants.searches import CliqueSearch, Colouring, LocalSearch
from graphbandits.types import Ints

#: With more vertices a fractional matching takes longer than all the rest.
MATCHED = 200_000


def independent_set(
    graph: Adjacency, budget: Budget, report: Callable[[int, int], None]
) -> tuple[int, int, Ints]:
    """Bounds on the size of the largest independent set, and the set of the lower bound."""
    taken, _, components = reduced(graph)
    for one in components:
        one.upper = min(one.upper, int(greedy_cover(one.graph).max()) + 1)
    lower, upper = search_components(taken, components, _search, budget, report)
    found = [taken, *(one.vertices[one.found] for one in components)]
    return lower, upper, np.sort(np.concatenate(found))


def _search(part: Component, budget: Budget, improved: Improved) -> None:
    count = part.graph.count
    if count > SEARCHED:
        if count <= MATCHED:
            # the linear program with z_i + z_j <= 1 on edges
            part.upper = min(part.upper, count - -(-fractional_matching(part.graph)[0] // 2))
            improved()
        if budget.timed:
            _enlarge(part, budget.part(0.1), improved)
            _solve(part, budget.part(0.6), improved)
            _enlarge(part, budget, improved)
        return
    apart = ~part.graph.matrix() & ~np.eye(count, dtype=np.bool_)
    search = CliqueSearch(apart, part.lower)

    def searched() -> None:
        part.upper = min(part.upper, search.upper)
        if search.best > part.lower:
            part.lower, part.found = search.best, search.clique
        improved()

    searched()
    if not budget.timed:
        search.run(budget, searched)
        return
    search.run(budget.part(0.02), searched)
    if part.open:
        _enlarge(part, budget.part(0.05), improved)
        _solve(part, budget.part(0.5), improved)
    if part.open:
        search.know(part.lower)
        search.run(budget.part(0.6), searched)
    if part.open:
        _enlarge(part, budget.part(0.5), improved)
        # each clique of a cover has at most one member of the set
        cover = Colouring(apart, np.empty(0, np.int64))
        cover.know(greedy_cover(part.graph))
        cover.improve(budget, improved, part.lower)
        part.upper = min(part.upper, cover.best)


def _enlarge(part: Component, budget: Budget, improved: Improved) -> None:
    """Search for a larger set by swaps."""
    local = LocalSearch(part.graph, part.found)

    def swapped() -> None:
        part.lower, part.found = local.best, local.found
        improved()

    local.run(budget, swapped, part.upper)


def _solve(part: Component, budget: Budget, improved: Improved) -> None:
    """Bound the number by the linear program over cliques, and solve it in whole numbers."""
    if part.open and not budget.exhausted:
        program = CliqueProgram(part.graph, budget, MOST_CLIQUES)
        program.bound_independence(part, budget)
        improved()
        program.solve_independence(part, budget)
        improved()
