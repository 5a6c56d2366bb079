"""Tests of graphs/numbers.py: numbers of feedback with one graph per trial."""

from __future__ import annotations

import numpy as np
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.graph_number_oracles import (
    by_cliques,
    cover_by_subsets,
    independence_by_subsets,
    random_matrix,
)

from graphbandits.errors import InputError
from graphbandits.graphs import (
    DenseFeedback,
    SparseFeedback,
    UniformFeedback,
    as_process,
    independence,
)
from graphbandits.graphs.numbers import clique_cover_numbers, independence_number


def test_each_trial_has_its_clique_cover_number() -> None:
    rng = np.random.default_rng(8)
    stack = np.stack([random_matrix(rng, 6, p, True) for p in rng.random(60)])
    want = [cover_by_subsets(matrix) for matrix in stack]
    assert clique_cover_numbers(DenseFeedback(stack)).tolist() == want
    assert clique_cover_numbers(DenseFeedback(stack[::-1])).tolist() == want[::-1]
    assert clique_cover_numbers(UniformFeedback([0.0, 1.0, 0.0], 7)).tolist() == [7, 1, 7]
    with refuses(InputError):
        clique_cover_numbers(UniformFeedback(0.5, 3))




def test_upper_bounds_of_hard_graphs_are_reproducible() -> None:
    matrix = random_matrix(np.random.default_rng(1), 150, 0.5)
    graph = DenseFeedback(matrix)
    first = int(clique_cover_numbers(graph)[0])
    assert clique_cover_numbers(DenseFeedback(matrix)).tolist() == [first]
    assert independence(matrix).lower <= first
    several = clique_cover_numbers(DenseFeedback(np.stack([matrix] * 2)))
    assert several[0] == several[1] >= first
    assert independence_number(graph) == independence_number(DenseFeedback(matrix))
    assert independence_number(graph) >= independence(matrix).lower


@each("directed", [False, True])
@each("arms", range(1, 9))
def test_independence_number_matches_search_over_subsets(arms: int, directed: bool) -> None:
    rng = np.random.default_rng(arms + 100 * directed)
    for p in (0.0, 0.15, 0.3, 0.5, 0.8, 1.0):
        for _ in range(6):
            matrix = random_matrix(rng, arms, p, directed)
            assert independence_number(DenseFeedback(matrix)) == independence_by_subsets(matrix), (
                matrix
            )


@each("directed", [False, True])
@each("arms", [9, 12, 15, 18, 20, 40, 70])
def test_independence_number_is_largest_clique_of_complement(arms: int, directed: bool) -> None:
    rng = np.random.default_rng(arms + 1000 * directed)
    for p in (0.1, 0.2, 0.5, 0.9):
        matrix = random_matrix(rng, arms, p, directed)
        assert independence_number(DenseFeedback(matrix)) == by_cliques(matrix)


def test_known_independence_numbers() -> None:
    for arms in range(1, 21):
        assert independence_number(as_process("empty", arms).feedback) == arms
        assert independence_number(as_process("complete", arms).feedback) == 1
        assert independence_number(as_process("ring", arms).feedback) == max(arms // 2, 1)
        assert independence_number(as_process("path(directed=true)", arms).feedback) == -(
            -arms // 2
        )
        assert independence_number(as_process("star", arms).feedback) == max(arms - 1, 1)
        assert independence_number(as_process("cliques(size=3)", arms).feedback) == -(-arms // 3)
    assert independence_number(as_process("paper").feedback) == 2
    assert independence_number(UniformFeedback(0.0, 7)) == 7
    assert independence_number(UniformFeedback(1.0, 7)) == 1


def test_sparse_and_dense_graphs_have_equal_independence_number() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        matrix = random_matrix(rng, 7, 0.3, directed=True)
        sparse = SparseFeedback.from_edges(7, *np.nonzero(matrix))
        assert independence_number(sparse) == independence_by_subsets(matrix)


