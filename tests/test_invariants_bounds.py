"""The bounds and searches inside the numbers of a graph, each against an oracle of its own."""

from __future__ import annotations

import math
from types import SimpleNamespace

import networkx
import numpy as np
import pytest
from helpers.graph_number_oracles import (
    check,
    cover_by_subsets,
    edges_of,
    independence_by_subsets,
    random_matrix,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import event
from scipy.sparse import csr_array

from graphbandits import jit
from graphbandits.graphs import Sparse, clique_cover, independence
from graphbandits.graphs.invariants.adjacency import Adjacency, Component, greedy_cover, rows
from graphbandits.graphs.invariants.bounds import (
    CliqueProgram,
    clique_size_bound,
    fractional_matching,
    matching_bound,
)
from graphbandits.graphs.invariants.budget import Budget
from graphbandits.graphs.invariants.dominating import Revealing
from graphbandits.graphs.invariants.independent import enlarge
from graphbandits.graphs.invariants.searches import CliqueSearch
from graphbandits.graphs.invariants.sparse_kernels import clique_sizes
from graphbandits.types import Ints


@st.composite
def graphs(draw, most: int = 9) -> np.ndarray:
    """Undirected, without loops."""
    arms = draw(st.integers(1, most))
    upper = np.zeros((arms, arms), bool)
    place = np.triu_indices(arms, 1)
    some = st.lists(st.booleans(), min_size=len(place[0]), max_size=len(place[0]))
    upper[place] = draw(some)
    return upper | upper.T


def adjacency(edges: np.ndarray) -> Adjacency:
    return rows(edges.astype(np.int8))


def reflexive(edges: np.ndarray) -> np.ndarray:
    return edges + np.eye(len(edges))


def largest_with(edges: np.ndarray) -> Ints:
    """The size of the largest clique with each vertex, by all maximal cliques."""
    out = np.ones(len(edges), np.int64)
    for clique in networkx.find_cliques(networkx.from_numpy_array(edges)):
        out[clique] = np.maximum(out[clique], len(clique))
    return out


# --- cliques ------------------------------------------------------------------------------------


def whole(edges: np.ndarray, *, cover: bool) -> Component:
    """The graph as one component, with bounds that say nothing."""
    count = len(edges)
    if cover:
        return Component(np.arange(count), adjacency(edges), 1, count, np.arange(count))
    return Component(np.arange(count), adjacency(edges), 0, count, np.empty(0, np.int64))


def is_cover(edges: np.ndarray, label: Ints) -> bool:
    """The labels 0, 1, ... are cliques."""
    fits = (reflexive(edges) > 0)[label[:, None] == label].all()
    return bool(fits) and sorted(set(label.tolist())) == list(range(label.max() + 1))


@pytest.mark.parametrize("listed", [True, False])
@settings(max_examples=100, deadline=None)
@given(graphs())
def test_the_program_over_cliques_bounds_and_solves_both_numbers(
    listed: bool, edges: np.ndarray
) -> None:
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
    part = whole(edges, cover=True)
    for step in (program.bound_cover, program.solve_cover):
        step(part, Budget())
        assert part.lower <= cover <= part.upper == part.found.max() + 1
        assert is_cover(edges, part.found)
    if listed:
        assert part.lower == part.upper
        assert program.sizes is not None
        assert program.sizes.tolist() == largest_with(edges).tolist()
    part = whole(edges, cover=False)
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


@pytest.mark.parametrize("most", [0, 3])
def test_too_many_cliques_leave_bounds_that_hold(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphbandits.graphs.invariants.bounds.MOST_CLIQUES", most)
    edges = networkx.to_numpy_array(networkx.petersen_graph()) > 0
    program = CliqueProgram(adjacency(edges), Budget())
    assert not program.complete
    part = whole(edges, cover=True)
    program.bound_cover(part, Budget())
    program.solve_cover(part, Budget())
    assert (part.lower, part.upper) == (5, 10)  # by the sizes of its cliques
    stopped = CliqueProgram(adjacency(edges), Budget(steps=0))
    assert (stopped.complete, stopped.sizes) == (False, None)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_the_bound_by_the_relaxation_is_that_of_all_independent_weights(p: float) -> None:
    """Of a graph and of its parts: the bound adds up, but for rounding up."""
    edges = random_matrix(np.random.default_rng(5), 40, p) > 0
    np.fill_diagonal(edges, False)
    twice = np.kron(np.eye(2), edges) > 0
    lower = []
    for matrix in (edges, twice):
        part = whole(matrix, cover=True)
        CliqueProgram(part.graph, Budget()).bound_cover(part, Budget())
        lower.append(part.lower)
    assert 2 * lower[0] - 1 <= lower[1] <= 2 * lower[0]


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_sizes_of_cliques_bound_the_cover(edges: np.ndarray) -> None:
    want, cover = largest_with(edges), cover_by_subsets(reflexive(edges))
    assert clique_size_bound(want) <= cover
    high = np.empty(len(edges), np.int64)
    graph = adjacency(edges)
    for most in (0, 2, 64):
        clique_sizes(graph.start, graph.column, most, high)
        assert (want <= high).all()
        assert clique_size_bound(high) <= cover
    assert high[high <= 3].tolist() == want[high <= 3].tolist()


def test_the_sizes_of_disjoint_cliques_give_their_number() -> None:
    sizes = [1, 2, 3, 3, 7, 10]
    graph = networkx.disjoint_union_all(networkx.complete_graph(size) for size in sizes)
    edges = networkx.to_numpy_array(graph) > 0
    assert clique_size_bound(largest_with(edges)) == len(sizes)
    assert clique_size_bound(np.full(99, 99)) == 1  # 99 times 1/99 is no more than 1


def test_a_clique_known_from_elsewhere_is_not_looked_for() -> None:
    edges = networkx.to_numpy_array(networkx.complete_graph(4)) > 0
    for known, want in ((3, [0, 1, 2, 3]), (4, [])):
        search = CliqueSearch(edges)
        search.know(known)
        search.run(Budget(), lambda: None)
        assert (search.upper, search.clique.tolist()) == (4, want)
        search = CliqueSearch(edges, known)
        search.run(Budget(), lambda: None)
        assert (search.upper, search.clique.tolist()) == (4, want)


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_components_are_those_of_the_graph(edges: np.ndarray) -> None:
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


# --- matchings ----------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_fractional_matchings(edges: np.ndarray) -> None:
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


def test_covers_of_large_graphs_without_triangles_are_proved() -> None:
    """Konig: grids are bipartite; an odd ring of n needs (n + 1) / 2."""
    side = 71
    place = np.arange(side * side).reshape(side, side)
    ends = [(place[:-1], place[1:]), (place[:, :-1], place[:, 1:])]
    source = np.concatenate([a.ravel() for a, _ in ends])
    target = np.concatenate([b.ravel() for _, b in ends])
    ring = np.arange(5001)
    for arms, one, other in ((side * side, source, target), (5001, ring, (ring + 1) % 5001)):
        graph = Sparse.from_edges(arms, np.concatenate([one, other]), np.concatenate([other, one]))
        found = clique_cover(graph)
        assert (found.lower, found.upper) == ((arms + 1) // 2,) * 2


# --- swaps --------------------------------------------------------------------------------------


def swapped(edges: np.ndarray, found: np.ndarray, enough: int, steps: int) -> Component:
    """The component after some steps of the local search, which reports every larger set."""
    part = Component(np.arange(len(edges)), adjacency(edges), len(found), enough, found)
    sizes = [len(found)]
    enlarge(part, Budget(steps=steps), lambda: sizes.append(part.lower))
    assert sizes == sorted(set(sizes))
    assert len(part.found) == part.lower == sizes[-1]
    assert not edges[np.ix_(part.found, part.found)].any()
    return part


def test_swaps_find_the_largest_set_of_most_small_graphs() -> None:
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


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_swaps_keep_the_set_independent(p: float) -> None:
    edges = random_matrix(np.random.default_rng(9), 300, p) > 0
    np.fill_diagonal(edges, False)
    sizes = [swapped(edges, np.array([0]), 300, steps).lower for steps in range(4)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1 < sizes[-1]
    first, again = (swapped(edges, np.array([0]), 300, 3) for _ in range(2))
    assert first.found.tolist() == again.found.tolist()


# --- primal and dual steps ----------------------------------------------------------------------


class OneCheck(Budget):
    """A budget that ends between the check of a round and its first step."""

    left = 1

    @property
    def exhausted(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_a_budget_that_ends_between_two_checks_leaves_valid_weights() -> None:
    edges = random_matrix(np.random.default_rng(11), 400, 0.02) > 0
    graph = Revealing(csr_array(edges.astype(np.int8)))
    z, y = graph.approach(OneCheck(), lambda *_: None)
    assert graph.sums(z, graph.back).min() >= 1.0 - 1e-12
    assert graph.sums(y, graph.forth).max() <= 1.0 + 1e-12


# --- whole searches -----------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_brackets_of_500_arms_hold_what_was_hidden_in_them(p: float) -> None:
    """A hidden partition into cliques bounds the cover, a hidden set the independence number."""
    rng = np.random.default_rng(round(10 * p))
    matrix = random_matrix(rng, 500, p)
    label = rng.integers(0, 100, 500)
    parted = np.maximum(matrix, label[:, None] == label)
    found = clique_cover(parted, time_limit=1.0)
    check("clique_cover", found, 500, edges_of(parted))
    assert found.lower <= 100
    hidden = rng.choice(500, 60, replace=False)
    matrix[np.ix_(hidden, hidden)] = np.eye(60)
    found = independence(matrix, time_limit=1.0)
    check("independence", found, 500, edges_of(matrix))
    assert found.upper >= 60


def test_the_clock_stands_still_while_functions_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(jit, "time", SimpleNamespace(monotonic=lambda: now))
    before = jit.clock()
    budget = Budget(seconds=5.0)
    part = budget.part(0.5)
    with event.trigger_event("numba:compile"):
        now += 3.0
        with event.trigger_event("numba:compile"):  # a callee
            now += 4.0
    assert math.isclose(jit.clock(), before)
    assert math.isclose(part.seconds, 2.5)
    now += 2.0
    assert math.isclose(jit.clock(), before + 2.0)
    assert math.isclose(budget.seconds, 3.0)
