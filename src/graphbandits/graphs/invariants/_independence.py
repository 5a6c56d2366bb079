"""Largest independent set and minimum clique cover of an undirected graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphbandits._types import Ints
from graphbandits.graphs.invariants._adjacency import (
    EXACT_LIMIT,
    Adjacency,
    Component,
    Improved,
    greedy_cover,
    reduce_graph,
    search_components,
)
from graphbandits.graphs.invariants._bounds import (
    MOST_CLIQUES,
    CliqueProgram,
    fractional_matching,
    matching_bound,
)
from graphbandits.graphs.invariants._budget import Budget
from graphbandits.graphs.invariants._searches import SEED, CliqueSearch, Colouring
from graphbandits.graphs.invariants._sparse_kernels import swap

#: Above this number of vertices, a fractional matching takes longer than all other steps.
MOST_MATCHED = 200_000
#: Visited neighbours per step of the local search.
VISITS = 1_000_000


def independent_set(
    graph: Adjacency, budget: Budget, report: Callable[[int, int], None]
) -> tuple[int, int, Ints]:
    """Return bounds on the independence number, and the set of the lower bound."""
    taken, _, components = reduce_graph(graph)
    for one in components:
        one.upper = min(one.upper, int(greedy_cover(one.graph).max()) + 1)
    lower, upper = search_components(taken, components, _search_set, budget, report)
    found = [taken, *(one.vertices[one.found] for one in components)]
    return lower, upper, np.sort(np.concatenate(found))


def _search_set(part: Component, budget: Budget, improved: Improved) -> None:
    count = part.graph.count
    if count > EXACT_LIMIT:
        if count <= MOST_MATCHED:
            # bound of the linear program with z_i + z_j <= 1 on edges
            part.upper = min(part.upper, count - -(-fractional_matching(part.graph)[0] // 2))
            improved()
        if budget.timed:
            enlarge(part, budget.part(0.1), improved)
            _solve(part, budget.part(0.6), improved)
            enlarge(part, budget, improved)
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
        enlarge(part, budget.part(0.05), improved)
        _solve(part, budget.part(0.5), improved)
    if part.open:
        search.set_known(part.lower)
        search.run(budget.part(0.6), searched)
    if part.open:
        enlarge(part, budget.part(0.5), improved)
        # each clique of a cover has at most one vertex of the set
        cover = Colouring(apart, np.empty(0, np.int64))
        cover.set_known(greedy_cover(part.graph))
        cover.improve(budget, improved, part.lower)
        part.upper = min(part.upper, cover.best)


def enlarge(part: Component, budget: Budget, improved: Improved) -> None:
    """Search for a larger independent set by swaps, until it has ``part.upper`` vertices.

    >>> star = Adjacency(np.array([0, 3, 4, 5, 6]), np.array([1, 2, 3, 0, 0, 0]))
    >>> part = Component(np.arange(4), star, lower=1, upper=3, found=np.array([0]))
    >>> enlarge(part, Budget(steps=1), lambda: None)
    >>> part.lower, part.found
    (3, array([1, 2, 3]))
    """
    graph = part.graph
    inside, barred = np.zeros((2, graph.count), np.int64)
    inside[part.found] = 1
    state = np.array([0, SEED])
    while part.open and not budget.exhausted:
        gained = swap(graph.start, graph.column, inside, barred, state, VISITS)
        budget.spend()
        if gained > 0:
            part.lower, part.found = part.lower + gained, np.flatnonzero(inside)
            improved()


def _solve(part: Component, budget: Budget, improved: Improved) -> None:
    """Bound the number by the linear program over cliques, then solve the integer program."""
    if part.open and not budget.exhausted:
        program = CliqueProgram(part.graph, budget, MOST_CLIQUES)
        program.bound_independence(part, budget)
        improved()
        program.solve_independence(part, budget)
        improved()


def cover_by_cliques(
    graph: Adjacency, budget: Budget, report: Callable[[int, int], None]
) -> tuple[int, int, Ints]:
    """Return bounds on the clique cover number, and the clique label of each vertex."""
    taken, clique, components = reduce_graph(graph)
    for one in components:
        one.found = greedy_cover(one.graph)
        one.upper = int(one.found.max()) + 1
    lower, upper = search_components(taken, components, _search_cover, budget, report)
    used = len(taken)
    for one in components:
        clique[one.vertices] = used + one.found
        used += one.upper
    return lower, upper, clique


def _search_cover(part: Component, budget: Budget, improved: Improved) -> None:
    count = part.graph.count
    if count > EXACT_LIMIT:
        twice = count
        if count <= MOST_MATCHED:
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
    colouring.set_known(part.found)

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
        if program.sizes is None:  # too many cliques to list
            largest = CliqueSearch(part.graph.matrix())
            largest.run(budget.part(0.3), improved)
            part.lower = max(part.lower, -(-count // largest.upper))
            improved()
        colouring.set_known(part.found)
        colouring.improve(budget.part(0.2), fewer, part.lower)
        program.solve_cover(part, budget.part(0.7))
        colouring.set_known(part.found)
        colouring.improve(budget.part(0.5), fewer, part.lower)
    if part.open:
        colouring.run(budget, fewer, part.lower)
