"""Tests of graphs/_independence.py: improvement by swaps."""

from __future__ import annotations

import numpy as np
from helpers.cases import each
from helpers.graph_number_oracles import (
    adjacency,
    independence_by_subsets,
    random_matrix,
    reflexive,
)

from graphbandits.graphs._independence import Budget, Component, enlarge


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
