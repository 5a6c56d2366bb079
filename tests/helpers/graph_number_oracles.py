"""Oracles of graph numbers, written plainly, and a checker that every certificate must pass."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
from hypothesis import strategies as st

from graphbandits._types import Floats, Ints
from graphbandits.graphs._independence import Adjacency, Component, adjacency_lists
from graphbandits.graphs.numbers import (
    Bracket,
    GraphNumbers,
    clique_cover,
    domination,
    fractional_domination,
    independence,
)

NUMBERS = (clique_cover, independence, domination, fractional_domination)


def edges_of(matrix: Floats) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in np.argwhere(np.asarray(matrix) > 0)}


def check(name: str, bracket: Bracket, arms: int, edges: set[tuple[int, int]]) -> None:
    """Check that the certificate is valid and matches its bound; ``edges`` with self-loops."""
    found = bracket.certificate
    assert bracket.lower <= bracket.upper
    assert bracket.proved == (bracket.lower == bracket.upper)
    if name == "clique_cover":
        assert sorted(arm for clique in found for arm in clique) == list(range(arms))
        assert len(found) == bracket.upper
        for clique in found:
            assert list(clique) == sorted(clique)
            assert all((i, j) in edges for i in clique for j in clique)
    elif name == "independence":
        assert list(found) == sorted(set(found))
        assert len(found) == bracket.lower
        inside = set(found)
        assert not any(i != j and i in inside and j in inside for i, j in edges)
    elif name == "domination":
        assert list(found) == sorted(set(found))
        assert len(found) == bracket.upper
        inside = set(found)
        assert {j for i, j in edges if i in inside} == set(range(arms))
    else:
        assert len(found) == arms
        assert min(found) >= 0.0
        seen = np.zeros(arms)
        for i, j in edges:
            seen[j] += found[i]
        assert seen.min() >= 1.0 - 1e-12
        assert abs(sum(found) - bracket.upper) <= 1e-9 * bracket.upper
    kinds = (float,) if name == "fractional_domination" else (int,)
    flat = itertools.chain(*found) if name == "clique_cover" else found
    assert all(type(value) in kinds for value in flat)


def check_agreement(numbers: GraphNumbers, undirected: bool) -> None:
    """Check that relations between the numbers hold for both bounds."""
    cover, independent = numbers.clique_cover, numbers.independence
    dominating, fractional = numbers.domination, numbers.fractional_domination
    pairs: list[tuple[Bracket, Bracket]] = [(independent, cover), (fractional, dominating)]
    if undirected:
        pairs.append((dominating, independent))
    for small, large in pairs:
        assert small.lower <= large.lower + 1e-6
        assert small.upper <= large.upper + 1e-6


def all_numbers(matrix: Floats, time_limit: float = 20.0) -> list[Bracket]:
    """The four brackets, checked."""
    out = []
    for number in NUMBERS:
        bracket = number(matrix, time_limit=time_limit)
        check(number.__name__, bracket, len(matrix), edges_of(matrix))
        out.append(bracket)
    cover, independent, dominating, fractional = out
    assert fractional.lower <= dominating.upper + 1e-9
    both = np.minimum(matrix, matrix.T)
    if (both == matrix).all():
        assert independent.lower <= cover.upper
    return out


def cover_by_subsets(matrix: Floats) -> int:
    """The least number of cliques, over all sets of arms already covered."""
    arms = len(matrix)
    both = (matrix > 0) & (matrix.T > 0)
    cliques = [
        sum(1 << i for i in chosen)
        for size in range(1, arms + 1)
        for chosen in itertools.combinations(range(arms), size)
        if all(both[i, j] for i, j in itertools.combinations(chosen, 2))
    ]
    least = [0] + [arms] * ((1 << arms) - 1)
    for done in range(1, 1 << arms):
        lowest = done & -done
        least[done] = 1 + min(
            least[done & ~clique] for clique in cliques if clique & lowest and not clique & ~done
        )
    return least[-1]


def independence_by_subsets(matrix: Floats) -> int:
    arms = len(matrix)
    for size in range(arms, 0, -1):
        for chosen in itertools.combinations(range(arms), size):
            if not any(matrix[i, j] or matrix[j, i] for i, j in itertools.combinations(chosen, 2)):
                return size
    raise AssertionError("one arm is a set without an edge")


def domination_by_subsets(matrix: Floats) -> int:
    arms = len(matrix)
    for size in range(1, arms + 1):
        for chosen in itertools.combinations(range(arms), size):
            if matrix[list(chosen)].max(axis=0).all():
                return size
    raise AssertionError("all arms reveal all")


def random_matrix(rng: np.random.Generator, arms: int, p: float, directed: bool = False) -> Floats:
    matrix = (rng.random((arms, arms)) < p).astype(np.float64)
    if not directed:
        matrix = np.triu(matrix, 1)
        matrix = matrix + matrix.T
    np.fill_diagonal(matrix, 1.0)
    return matrix


@st.composite
def undirected_graphs(draw, most: int = 9) -> np.ndarray:
    """Undirected, without loops."""
    arms = draw(st.integers(1, most))
    upper = np.zeros((arms, arms), bool)
    place = np.triu_indices(arms, 1)
    some = st.lists(st.booleans(), min_size=len(place[0]), max_size=len(place[0]))
    upper[place] = draw(some)
    return upper | upper.T


def adjacency(edges: np.ndarray) -> Adjacency:
    return adjacency_lists(edges.astype(np.int8))


def reflexive(edges: np.ndarray) -> np.ndarray:
    return edges + np.eye(len(edges))


def single_component(edges: np.ndarray, *, cover: bool) -> Component:
    """The graph as one component, with trivial bounds."""
    count = len(edges)
    if cover:
        return Component(np.arange(count), adjacency(edges), 1, count, np.arange(count))
    return Component(np.arange(count), adjacency(edges), 0, count, np.empty(0, np.int64))


def is_cover(edges: np.ndarray, label: Ints) -> bool:
    """The labels 0, 1, ... are cliques."""
    fits = (reflexive(edges) > 0)[label[:, None] == label].all()
    return bool(fits) and sorted(set(label.tolist())) == list(range(label.max() + 1))


def by_cliques(matrix: Floats) -> int:
    """The largest clique of the complement."""
    graph = networkx.Graph()
    graph.add_nodes_from(range(len(matrix)))
    graph.add_edges_from(np.argwhere(np.triu(matrix + matrix.T, 1) > 0))
    found = networkx.max_weight_clique(networkx.complement(graph), weight=None)
    return int(found[1])
