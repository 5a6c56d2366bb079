"""Tests of graphs/_independence.py: components, bounds, budgets and searches."""

from __future__ import annotations

import math
from types import SimpleNamespace

import networkx
import numpy as np
import pytest
from helpers.cases import each
from helpers.graph_number_oracles import (
    adjacency,
    cover_by_subsets,
    independence_by_subsets,
    is_cover,
    random_matrix,
    reflexive,
    single_component,
    undirected_graphs,
)
from hypothesis import given, settings
from numba.core import event

from graphbandits import _jit
from graphbandits._types import Ints
from graphbandits.graphs._independence import (
    Budget,
    CliqueProgram,
    CliqueSearch,
    Component,
    clique_size_bound,
    enlarge,
    fractional_matching,
    greedy_cover,
    matching_bound,
)
from graphbandits.graphs._sparse_kernels import clique_sizes


@settings(max_examples=150, deadline=None)
@given(undirected_graphs())
def test_components_match_networkx(edges: np.ndarray) -> None:
    graph = adjacency(edges)
    kept = np.flatnonzero(np.arange(len(edges)) % 3 != 1)
    inner = networkx.from_numpy_array(edges).subgraph(kept.tolist())
    want = sorted(sorted(part) for part in networkx.connected_components(inner))
    found = graph.components(kept)
    assert sorted(vertices.tolist() for vertices, _ in found) == want
    sizes = [len(vertices) for vertices, _ in found]
    assert sizes == sorted(sizes)
    for vertices, own in found:
        assert (own.matrix() == edges[np.ix_(vertices, vertices)]).all()
        assert is_cover(own.matrix(), greedy_cover(own))


def largest_with(edges: np.ndarray) -> Ints:
    """The size of the largest clique with each vertex, by all maximal cliques."""
    out = np.ones(len(edges), np.int64)
    for clique in networkx.find_cliques(networkx.from_numpy_array(edges)):
        out[clique] = np.maximum(out[clique], len(clique))
    return out


@each("listed", [True, False])
@settings(max_examples=100, deadline=None)
@given(undirected_graphs())
def test_clique_program_bounds_and_solves_both_numbers(listed: bool, edges: np.ndarray) -> None:
    """With all maximal cliques, and with one clique for each edge."""
    cover, independent = (
        cover_by_subsets(reflexive(edges)),
        independence_by_subsets(reflexive(edges)),
    )
    graph = adjacency(edges)
    with pytest.MonkeyPatch.context() as patch:
        if not listed:
            patch.setattr(CliqueProgram, "_maximal", lambda *_: [])
        program = CliqueProgram(graph, Budget())
    assert program.complete == listed
    part = single_component(edges, cover=True)
    for step in (program.bound_cover, program.solve_cover):
        step(part, Budget())
        assert part.lower <= cover <= part.upper == part.found.max() + 1
        assert is_cover(edges, part.found)
    if listed:
        assert part.lower == part.upper
        assert program.sizes is not None
        assert program.sizes.tolist() == largest_with(edges).tolist()
    part = single_component(edges, cover=False)
    isolated = not edges.any(axis=1).all()
    for step in (program.bound_independence, program.solve_independence):
        step(part, Budget())
        assert part.lower <= independent <= part.upper
        assert len(part.found) == part.lower
        assert not edges[np.ix_(part.found, part.found)].any()
    if listed or not isolated:
        part.lower = part.upper - 1  # close enough for the program in whole numbers
        program.solve_independence(part, Budget())
        assert part.upper == max(independent, part.lower)


@each("most", [0, 3])
def test_bounds_hold_with_too_many_cliques(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphbandits.graphs._independence.MOST_CLIQUES", most)
    edges = networkx.to_numpy_array(networkx.petersen_graph()) > 0
    program = CliqueProgram(adjacency(edges), Budget())
    assert not program.complete
    part = single_component(edges, cover=True)
    program.bound_cover(part, Budget())
    program.solve_cover(part, Budget())
    assert (part.lower, part.upper) == (5, 10)  # by the sizes of its cliques
    stopped = CliqueProgram(adjacency(edges), Budget(steps=0))
    assert (stopped.complete, stopped.sizes) == (False, None)


def test_integer_program_closes_the_gap_of_the_relaxation() -> None:
    """The Petersen graph has no triangle: the relaxation gives 5, and four vertices are apart."""
    edges = networkx.to_numpy_array(networkx.petersen_graph()) > 0
    program, part = CliqueProgram(adjacency(edges), Budget()), single_component(edges, cover=False)
    program.bound_independence(part, Budget())
    assert part.upper == 5
    part.lower = 4  # larger gaps are not tried
    program.solve_independence(part, Budget())
    assert part.upper == 4


@settings(max_examples=150, deadline=None)
@given(undirected_graphs())
def test_clique_sizes_bound_the_cover(edges: np.ndarray) -> None:
    want, cover = largest_with(edges), cover_by_subsets(reflexive(edges))
    assert clique_size_bound(want) <= cover
    high = np.empty(len(edges), np.int64)
    graph = adjacency(edges)
    for most in (0, 2, 64):
        clique_sizes(graph.start, graph.column, most, high)
        assert (want <= high).all()
        assert clique_size_bound(high) <= cover
    assert high[high <= 3].tolist() == want[high <= 3].tolist()


@settings(max_examples=150, deadline=None)
@given(undirected_graphs())
def test_fractional_matching_is_optimal(edges: np.ndarray) -> None:
    """Between a largest matching and half the vertices; pairs lose one for each odd cycle."""
    twice, label = fractional_matching(adjacency(edges))
    graph = networkx.from_numpy_array(edges)
    most = len(networkx.max_weight_matching(graph, maxcardinality=True))
    assert is_cover(edges, label)
    assert np.bincount(label).max() <= 2
    pairs = len(edges) - (label.max() + 1)
    assert pairs <= most <= twice / 2 <= 1.5 * most
    assert twice / 2 <= pairs + len(edges) / 6  # an odd cycle has three vertices or more
    cover = cover_by_subsets(reflexive(edges))
    assert matching_bound(adjacency(edges), twice) <= cover
    assert matching_bound(adjacency(edges), len(edges)) <= cover
    if networkx.is_bipartite(graph):
        assert 2 * pairs == 2 * most == twice
        assert matching_bound(adjacency(edges), twice) == cover == label.max() + 1


def test_budget_excludes_compilation_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(_jit, "time", SimpleNamespace(monotonic=lambda: now))
    before = _jit.clock()
    budget = Budget(seconds=5.0)
    part = budget.part(0.5)
    with event.trigger_event("numba:compile"):
        now += 3.0
        with event.trigger_event("numba:compile"):  # a callee
            now += 4.0
    assert math.isclose(_jit.clock(), before)
    assert math.isclose(part.seconds, 2.5)
    now += 2.0
    assert math.isclose(_jit.clock(), before + 2.0)
    assert math.isclose(budget.seconds, 3.0)


def swapped(edges: np.ndarray, found: np.ndarray, enough: int, steps: int) -> Component:
    """The component after some steps of the local search, which reports every larger set."""
    part = Component(np.arange(len(edges)), adjacency(edges), len(found), enough, found)
    sizes = [len(found)]
    enlarge(part, Budget(steps=steps), lambda: sizes.append(part.lower))
    assert sizes == sorted(set(sizes))
    assert len(part.found) == part.lower == sizes[-1]
    assert not edges[np.ix_(part.found, part.found)].any()
    return part


def test_swaps_find_largest_set_of_most_small_graphs() -> None:
    """Not of all: of the complete bipartite graph of 2 and 3 vertices they may keep the 2."""
    rng, largest = np.random.default_rng(10), 0
    for _ in range(200):
        edges = random_matrix(rng, int(rng.integers(1, 10)), rng.random()) > 0
        np.fill_diagonal(edges, False)
        want = independence_by_subsets(reflexive(edges))
        part = swapped(edges, np.empty(0, np.int64), want, 3)
        inside = np.isin(np.arange(len(edges)), part.found)
        assert (inside | edges[part.found].any(axis=0)).all()  # none can be added
        largest += part.lower == want
    assert largest >= 190


@each("p", [0.02, 0.3, 0.9])
def test_swaps_keep_the_set_independent(p: float) -> None:
    edges = random_matrix(np.random.default_rng(9), 300, p) > 0
    np.fill_diagonal(edges, False)
    sizes = [swapped(edges, np.array([0]), 300, steps).lower for steps in range(4)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1 < sizes[-1]
    first, again = (swapped(edges, np.array([0]), 300, 3) for _ in range(2))
    assert first.found.tolist() == again.found.tolist()


def test_known_clique_is_not_searched() -> None:
    edges = networkx.to_numpy_array(networkx.complete_graph(4)) > 0
    for known, want in ((3, [0, 1, 2, 3]), (4, [])):
        search = CliqueSearch(edges)
        search.set_known(known)
        search.run(Budget(), lambda: None)
        assert (search.upper, search.clique.tolist()) == (4, want)
        search = CliqueSearch(edges, known)
        search.run(Budget(), lambda: None)
        assert (search.upper, search.clique.tolist()) == (4, want)
