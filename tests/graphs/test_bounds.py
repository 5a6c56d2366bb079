"""Tests of graphs/_independence.py: bounds, compared with linear programs and searches."""

from __future__ import annotations

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

from graphbandits._types import Ints
from graphbandits.graphs._independence import (
    Budget,
    CliqueProgram,
    clique_size_bound,
    fractional_matching,
    matching_bound,
)
from graphbandits.graphs._sparse_kernels import clique_sizes


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


@each("p", [0.1, 0.3, 0.5])
def test_relaxation_bound_matches_linear_program(p: float) -> None:
    """Of a graph and of its parts: the bound adds up, but for rounding up."""
    edges = random_matrix(np.random.default_rng(5), 40, p) > 0
    np.fill_diagonal(edges, False)
    twice = np.kron(np.eye(2), edges) > 0
    lower = []
    for matrix in (edges, twice):
        part = single_component(matrix, cover=True)
        CliqueProgram(part.graph, Budget()).bound_cover(part, Budget())
        lower.append(part.lower)
    assert 2 * lower[0] - 1 <= lower[1] <= 2 * lower[0]


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


def test_clique_sizes_of_disjoint_cliques_give_their_number() -> None:
    sizes = [1, 2, 3, 3, 7, 10]
    graph = networkx.disjoint_union_all(networkx.complete_graph(size) for size in sizes)
    edges = networkx.to_numpy_array(graph) > 0
    assert clique_size_bound(largest_with(edges)) == len(sizes)
    assert clique_size_bound(np.full(99, 99)) == 1  # 99 times 1/99 is no more than 1


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
