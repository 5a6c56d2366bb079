"""The bounds and searches inside the numbers of a graph, each against an oracle of its own."""

from __future__ import annotations

import math
from types import SimpleNamespace

import networkx
import numpy as np
import pytest
from graph_numbers import (
    check,
    cover_by_subsets,
    edges_of,
    independence_by_subsets,
    random_matrix,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import event

from graphbandits import jit
from graphbandits.graphs import Sparse, clique_cover, independence
from graphbandits.graphs.invariants.adjacency import Adjacency, rows
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.clique_search import CliqueSearch
from graphbandits.graphs.invariants.pairs import cover_by_pairs, largest_matching, pairs_bound
from graphbandits.graphs.invariants.shares import cliques_with, shares_bound
from graphbandits.graphs.invariants.spectral import spectral_cover, spectral_independence
from graphbandits.graphs.invariants.swapping import Swapping
from graphbandits.graphs.invariants.vertex_kernels import cliques_with_each, small_cliques
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


def apart(edges: np.ndarray) -> np.ndarray:
    return ~edges & ~np.eye(len(edges), dtype=bool)


def largest_with(edges: np.ndarray) -> Ints:
    """The size of the largest clique with each vertex, by all maximal cliques."""
    out = np.ones(len(edges), np.int64)
    for clique in networkx.find_cliques(networkx.from_numpy_array(edges)):
        out[clique] = np.maximum(out[clique], len(clique))
    return out


# --- sizes of cliques ---------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(graphs(), st.integers(0, 3))
def test_cliques_with_each_vertex(edges: np.ndarray, nodes: int) -> None:
    """Exact by a search to the end, from both sides before it, and sum 1/size bounds the cover."""
    want, cover = largest_with(edges), cover_by_subsets(reflexive(edges))
    low, high = np.ones(len(edges), np.int64), edges.sum(axis=1) + 1
    cliques_with_each(edges, low, high, 0, len(edges), nodes)
    assert (low <= want).all()
    assert (want <= high).all()
    assert shares_bound(high) <= cover
    cliques_with_each(edges, low, high, 0, len(edges), 10**6)
    assert low.tolist() == high.tolist() == want.tolist()
    assert shares_bound(high) <= cover
    small_cliques(*_arrays(edges), 64, high)
    assert (want <= high).all()
    assert high[high <= 3].tolist() == want[high <= 3].tolist()


def _arrays(edges: np.ndarray) -> tuple[Ints, Ints]:
    graph = adjacency(edges)
    return graph.start, graph.column


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_sizes_that_are_told_are_those_of_the_vertices(p: float) -> None:
    edges = random_matrix(np.random.default_rng(5), 120, p) > 0
    np.fill_diagonal(edges, False)
    told: list[Ints] = []
    assert cliques_with(edges, Allowance(), told.append)
    assert told[-1].tolist() == largest_with(edges).tolist()


def test_the_shares_of_disjoint_cliques_are_their_number() -> None:
    sizes = [1, 2, 3, 3, 7, 10]
    graph = networkx.disjoint_union_all(networkx.complete_graph(size) for size in sizes)
    edges = networkx.to_numpy_array(graph) > 0
    assert shares_bound(largest_with(edges)) == len(sizes)
    assert shares_bound(np.full(99, 99)) == 1  # 99 times 1/99 is no more than 1


def test_a_clique_known_from_elsewhere_is_not_looked_for() -> None:
    edges = networkx.to_numpy_array(networkx.complete_graph(4)) > 0
    for known, want in ((3, [0, 1, 2, 3]), (4, [])):
        search = CliqueSearch(edges)
        search.know(known)
        search.run(Allowance())
        assert (search.upper, search.clique.tolist()) == (4, want)


# --- eigenvalues --------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_bounds_by_eigenvalues(edges: np.ndarray) -> None:
    assert spectral_cover(apart(edges)) <= cover_by_subsets(reflexive(edges))
    assert spectral_independence(edges) >= independence_by_subsets(reflexive(edges))


def test_hoffmans_bounds_of_the_petersen_graph() -> None:
    """Eigenvalues 3, 1, -2, and 6, 1, -2 of its complement: 10 * 2 / (3 + 2), and 1 + 6 / 2."""
    edges = networkx.to_numpy_array(networkx.petersen_graph()) > 0
    assert spectral_independence(edges) == 4
    assert spectral_cover(apart(edges)) == 4


# --- pairs --------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(graphs(14))
def test_the_largest_matching(edges: np.ndarray) -> None:
    match = np.full(len(edges), -1)
    assert largest_matching(adjacency(edges), match, Allowance())
    paired = np.flatnonzero(match >= 0)
    assert edges[paired, match[paired]].all()
    assert match[match[paired]].tolist() == paired.tolist()
    graph = networkx.from_numpy_array(edges)
    assert len(paired) == 2 * len(networkx.max_weight_matching(graph, maxcardinality=True))


@pytest.mark.parametrize("n", [20, 60, 200])
def test_the_largest_matching_of_sparse_graphs_through_nested_blossoms(n: int) -> None:
    rng = np.random.default_rng(n)
    for degree in (1.0, 2.0, 2.7, 4.0):
        edges = random_matrix(rng, n, degree / n) > 0
        np.fill_diagonal(edges, False)
        match = np.full(n, -1)
        assert largest_matching(adjacency(edges), match, Allowance())
        graph = networkx.from_numpy_array(edges)
        assert (match >= 0).sum() == 2 * len(networkx.max_weight_matching(graph, True))


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_covers_by_pairs(edges: np.ndarray) -> None:
    graph = adjacency(edges)
    label, pairs = cover_by_pairs(graph, np.arange(len(edges)), Allowance())
    assert (reflexive(edges) > 0)[label[:, None] == label].all()
    assert sorted(set(label.tolist())) == list(range(label.max() + 1))
    cover = cover_by_subsets(reflexive(edges))
    assert pairs_bound(graph, pairs) <= cover <= label.max() + 1
    if largest_with(edges).max() <= 2:
        assert pairs_bound(graph, pairs) == cover == label.max() + 1
    _, pairs = cover_by_pairs(graph, np.arange(len(edges)), Allowance(work=0))
    assert pairs_bound(graph, pairs) <= cover


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


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_swaps_find_the_largest_set_of_small_graphs(edges: np.ndarray) -> None:
    want = independence_by_subsets(reflexive(edges))
    search = Swapping(adjacency(edges), np.empty(0, np.int64))
    search.run(Allowance(work=3), lambda: None, want)
    assert len(search.found) == search.best == want
    assert not edges[np.ix_(search.found, search.found)].any()


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_swaps_keep_the_set_independent(p: float) -> None:
    edges = random_matrix(np.random.default_rng(9), 300, p) > 0
    np.fill_diagonal(edges, False)
    sizes: list[int] = []
    search = Swapping(adjacency(edges), np.array([0]))
    for _ in range(4):
        search.run(Allowance(work=1), lambda: sizes.append(search.best), 300)
        assert len(search.found) == search.best
        assert not edges[np.ix_(search.found, search.found)].any()
    assert sizes == sorted(set(sizes))
    again = Swapping(adjacency(edges), np.array([0]))
    again.run(Allowance(work=4), lambda: None, 300)
    assert again.found.tolist() == search.found.tolist()


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
    allowance = Allowance(seconds=5.0)
    part = allowance.part(0.5)
    with event.trigger_event("numba:compile"):
        now += 3.0
        with event.trigger_event("numba:compile"):  # a callee
            now += 4.0
    assert math.isclose(jit.clock(), before)
    assert math.isclose(part.seconds, 2.5)
    now += 2.0
    assert math.isclose(jit.clock(), before + 2.0)
    assert math.isclose(allowance.seconds, 3.0)
