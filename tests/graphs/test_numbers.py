"""Tests of graphs/numbers.py: brute force, theorems and known values."""

from __future__ import annotations

import itertools
import math

import networkx
import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.graph_number_oracles import (
    NUMBERS,
    all_numbers,
    check,
    check_agreement,
    cover_by_subsets,
    domination_by_subsets,
    edges_of,
    independence_by_subsets,
    random_matrix,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs import DenseFeedback, SparseFeedback, UniformFeedback, as_process
from graphbandits.graphs import numbers as numbers_module
from graphbandits.graphs._independence import Budget
from graphbandits.graphs.numbers import (
    Bracket,
    DominationProblem,
    GraphNumbers,
    clique_cover,
    clique_cover_numbers,
    domination,
    fractional_domination,
    graph_numbers,
    independence,
    independence_number,
)


def graph_of_edges(graph: networkx.Graph) -> Floats:
    matrix = networkx.to_numpy_array(graph)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def complement(matrix: Floats) -> Floats:
    return 1.0 - matrix + np.eye(len(matrix))


def numbers(matrix: Floats) -> tuple[int, int, int]:
    """Cover, independence and domination, all proved."""
    found = all_numbers(matrix)[:3]
    assert all(bracket.proved for bracket in found), found
    return tuple(bracket.lower for bracket in found)


@st.composite
def directed_matrices(draw) -> Floats:
    arms = draw(st.integers(1, 7))
    rows = st.lists(st.booleans(), min_size=arms, max_size=arms)
    matrix = np.array(draw(st.lists(rows, min_size=arms, max_size=arms)), np.float64)
    if draw(st.booleans()):
        matrix = np.maximum(matrix, matrix.T)
    np.fill_diagonal(matrix, 1.0)
    return matrix


@settings(max_examples=150, deadline=None)
@given(directed_matrices())
def test_numbers_match_search_over_subsets(matrix: Floats) -> None:
    cover, independent, dominating = numbers(matrix)
    assert cover == cover_by_subsets(matrix)
    assert independent == independence_by_subsets(matrix)
    assert dominating == domination_by_subsets(matrix)
    assert clique_cover_numbers(DenseFeedback(matrix)).tolist() == [cover]
    assert clique_cover_numbers(DenseFeedback(np.stack([matrix] * 2))).tolist() == [cover] * 2
    assert independence_number(DenseFeedback(matrix)) == independent
    assert fractional_domination(matrix).proved


@each("directed", [False, True])
@each("p", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_numbers_of_ten_arms_match_search_over_subsets(p: float, directed: bool) -> None:
    rng = np.random.default_rng(round(100 * p) + directed)
    matrix = random_matrix(rng, 10, p, directed)
    want = cover_by_subsets(matrix), independence_by_subsets(matrix), domination_by_subsets(matrix)
    assert numbers(matrix) == want


@each("directed", [False, True])
@each("p", [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
def test_numbers_of_40_arms_are_proved_and_do_not_depend_on_labels(
    p: float, directed: bool
) -> None:
    rng = np.random.default_rng(round(1000 * p) + directed)
    matrix = random_matrix(rng, 40, p, directed)
    found = numbers(matrix)
    order = rng.permutation(40)
    assert numbers(matrix[np.ix_(order, order)]) == found
    graph = networkx.from_numpy_array(complement(np.maximum(matrix, matrix.T)))
    graph.remove_edges_from(networkx.selfloop_edges(graph))
    assert found[1] == networkx.max_weight_clique(graph, weight=None)[1]
    assert clique_cover_numbers(DenseFeedback(matrix)).tolist() == [found[0]]
    assert clique_cover_numbers(DenseFeedback(np.stack([matrix] * 2))).tolist() == [found[0]] * 2
    assert independence_number(DenseFeedback(matrix)) == found[1]


def test_numbers_of_petersen_graph() -> None:
    """Holton and Sheehan, The Petersen Graph (1993): no triangle, a perfect matching."""
    assert numbers(graph_of_edges(networkx.petersen_graph())) == (5, 4, 3)
    assert fractional_domination(graph_of_edges(networkx.petersen_graph())).upper == pytest.approx(
        2.5
    )


@each(("n", "k"), [(5, 2), (6, 2), (7, 2), (7, 3), (8, 3)])
def test_numbers_of_kneser_graphs(n: int, k: int) -> None:
    """Independence C(n-1, k-1) (Erdos, Ko and Rado 1961); chromatic n - 2k + 2 (Lovasz 1978)."""
    sets = list(itertools.combinations(range(n), k))
    matrix = np.array([[float(a == b or not set(a) & set(b)) for b in sets] for a in sets])
    assert independence(matrix).lower == independence(matrix).upper == math.comb(n - 1, k - 1)
    cover = clique_cover(complement(matrix), time_limit=20.0)
    assert (cover.lower, cover.upper) == (n - 2 * k + 2, n - 2 * k + 2)
    assert independence(complement(matrix)).lower == n // k


def queens(n: int) -> Floats:
    squares = list(itertools.product(range(n), repeat=2))
    return np.array(
        [
            [float(a == c or b == d or abs(a - c) == abs(b - d)) for c, d in squares]
            for a, b in squares
        ]
    )


@each(("n", "dominating", "chromatic"), [(5, 3, 5), (6, 3, 7), (7, 4, 7), (8, 5, 9)])
def test_numbers_of_queens_graphs(n: int, dominating: int, chromatic: int) -> None:
    """Domination: OEIS A075458; chromatic: OEIS A088202; n queens do not attack each other."""
    matrix = queens(n)
    found = domination(matrix, time_limit=20.0)
    check("domination", found, n * n, edges_of(matrix))
    assert (found.lower, found.upper) == (dominating, dominating)
    assert independence(matrix).lower == independence(matrix).upper == n
    assert independence(complement(matrix)).lower == n
    cover = clique_cover(complement(matrix), time_limit=20.0)
    check("clique_cover", cover, n * n, edges_of(complement(matrix)))
    assert (cover.lower, cover.upper) == (chromatic, chromatic)


@each("k", [2, 3, 4, 5])
def test_numbers_of_complements_of_mycielski_graphs(k: int) -> None:
    """Chromatic number k without a triangle (Mycielski 1955)."""
    matrix = complement(graph_of_edges(networkx.mycielski_graph(k)))
    cover, independent, _ = numbers(matrix)
    assert (cover, independent) == (k, 2)


@each(("q", "number"), [(5, 2), (13, 3), (17, 3), (29, 4), (37, 4)])
def test_numbers_of_paley_graphs(q: int, number: int) -> None:
    """OEIS A123123 without 2; they are their own complements."""
    squares = {x * x % q for x in range(1, q)}
    matrix = np.array(
        [[float(i == j or (i - j) % q in squares) for j in range(q)] for i in range(q)]
    )
    for graph in (matrix, complement(matrix)):
        found = independence(graph)
        assert (found.lower, found.upper) == (number, number)
    cover = numbers(matrix)[0]
    assert cover == numbers(complement(matrix))[0] >= -(-q // number)


@each(("n", "number"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 7), (6, 10), (7, 12), (8, 16), (9, 20)])
def test_numbers_of_grids(n: int, number: int) -> None:
    """Domination: OEIS A104519; bipartite with a perfect matching but for a corner."""
    matrix = graph_of_edges(networkx.grid_2d_graph(n, n))
    half = -(-n * n // 2)
    assert numbers(matrix) == (half, half, number)


@each(("n", "number"), [(1, 1), (2, 2), (3, 2), (4, 4), (5, 7), (6, 12)])
def test_numbers_of_hypercubes(n: int, number: int) -> None:
    """Domination: OEIS A000983; fractional 2^n / (n + 1), for it is regular."""
    matrix = graph_of_edges(networkx.hypercube_graph(n))
    assert numbers(matrix) == (2 ** (n - 1), 2 ** (n - 1), number)
    assert fractional_domination(matrix).upper == pytest.approx(2**n / (n + 1), rel=1e-9)


@each("n", range(4, 16))
def test_numbers_of_rings_and_paths(n: int) -> None:
    third, half = -(-n // 3), -(-n // 2)
    assert numbers(graph_of_edges(networkx.cycle_graph(n))) == (half, n // 2, third)
    assert numbers(graph_of_edges(networkx.path_graph(n))) == (half, half, third)
    one_way = np.eye(n) + np.roll(np.eye(n), 1, axis=1)
    assert numbers(one_way) == (n, n // 2, half)


@each("steps", [1, 2, 3, 4])
@each("n", [15, 22, 31])
def test_numbers_of_powers_of_rings(n: int, steps: int) -> None:
    """C_n^k: independence floor(n / (k+1)), cover ceil(n / (k+1)), domination ceil(n / (2k+1))."""
    matrix = graph_of_edges(networkx.circulant_graph(n, range(1, steps + 1)))
    want = -(-n // (steps + 1)), n // (steps + 1), -(-n // (2 * steps + 1))
    assert numbers(matrix) == want


@each("seed", range(5))
def test_cover_equals_independence_for_chordal_graphs(seed: int) -> None:
    """Subtrees of a tree that meet: these graphs are the chordal ones (Gavril 1974)."""
    rng = np.random.default_rng(seed)
    tree = networkx.random_labeled_tree(50, seed=seed)
    subtrees = []
    for _ in range(45):
        within = {int(rng.integers(50))}
        for _ in range(int(rng.integers(1, 9))):
            beyond = sorted(there for _, there in networkx.edge_boundary(tree, within))
            within.add(beyond[int(rng.integers(len(beyond)))])
        subtrees.append(within)
    matrix = np.array([[float(bool(a & b)) for b in subtrees] for a in subtrees])
    graph = networkx.from_numpy_array(matrix - np.eye(45))
    assert networkx.is_chordal(graph)
    cover, independent, _ = numbers(matrix)
    largest, _ = networkx.max_weight_clique(networkx.complement(graph), weight=None)
    assert cover == independent == len(largest)


@each("seed", range(4))
def test_cover_equals_independence_for_complements_of_bipartite_graphs(seed: int) -> None:
    """Cover of a bipartite graph: n less a maximum matching (Konig 1931)."""
    rng = np.random.default_rng(seed)
    graph = networkx.bipartite.random_graph(30, 30, 0.06, seed=int(rng.integers(1000)))
    matching = len(networkx.max_weight_matching(graph, maxcardinality=True))
    cover, independent, _ = numbers(graph_of_edges(graph))
    assert cover == independent == 60 - matching
    largest = max(len(clique) for clique in networkx.find_cliques(graph))
    assert numbers(complement(graph_of_edges(graph)))[:2] == (largest, largest)


def test_fractional_domination_of_regular_and_vertex_transitive_graphs() -> None:
    """K / (d + 1) if every arm reveals and is revealed by d others."""
    rng = np.random.default_rng(3)
    for n, d in ((12, 3), (50, 7), (150, 4)):
        shifts = rng.choice(np.arange(1, n), d, replace=False)
        matrix = sum((np.roll(np.eye(n), shift, axis=1) for shift in shifts), np.eye(n))
        found = fractional_domination(matrix)
        check("fractional_domination", found, n, edges_of(matrix))
        assert found.proved
        assert found.upper == pytest.approx(n / (d + 1), rel=1e-9)


@each("number", NUMBERS)
def test_all_graph_types_are_accepted(number) -> None:
    matrix = as_process("paper").feedback.reach(np.arange(5))
    want = number("paper")
    sparse = SparseFeedback.from_edges(5, *np.nonzero(matrix))
    graph = networkx.from_numpy_array(matrix, create_using=networkx.DiGraph)
    graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
    for given_as in (
        as_process("paper"),
        DenseFeedback(matrix),
        sparse,
        matrix,
        matrix.tolist(),
        graph,
    ):
        found = number(given_as)
        assert (found.lower, found.upper) == (want.lower, want.upper)


@each("number", NUMBERS)
def test_uniform_feedback_needs_no_matrix(number) -> None:
    arms = 10**5
    for r, want in ((0.0, arms), (1.0, 1)):
        found = number(UniformFeedback(r, arms))
        assert (found.lower, found.upper) == (want, want)
    edges = edges_of(np.ones((4, 4)))
    check(number.__name__, number(UniformFeedback(1.0, 4)), 4, edges)
    check(number.__name__, number(UniformFeedback(0.0, 4)), 4, edges_of(np.eye(4)))


@each(
    "graph",
    [
        UniformFeedback(0.5, 3),
        np.array([[1.0, 0.5], [0.5, 1.0]]),
        DenseFeedback(np.stack([np.eye(2)] * 2)),
        UniformFeedback([0.0, 1.0], 3),
        "nonsense",
        as_process("revealed-er", 5),
        as_process("random(r=uniform)", 5),
    ],
)
def test_invalid_graphs_are_rejected(graph) -> None:
    for number in [*NUMBERS, graph_numbers]:
        with refuses(InputError):
            number(graph)


@each("limit", [0, -1.0, math.nan, math.inf, "5", None, True])
def test_time_limit_must_be_positive(limit) -> None:
    for number in [*NUMBERS, graph_numbers]:
        with refuses(InputError):
            number("paper", time_limit=limit)


@each("number", NUMBERS)
@each(("arms", "p"), [(300, 0.5), (300, 0.05), (900, 0.1)])
def test_bounds_hold_and_improve_with_time_limit(number, arms, p) -> None:
    matrix = random_matrix(np.random.default_rng(arms), arms, p)
    seen: list[tuple[float, float]] = []
    found = number(matrix, 0.02, lambda low, high: seen.append((low, high)))
    check(number.__name__, found, arms, edges_of(matrix))
    if number is not fractional_domination:
        assert not found.proved
    assert seen[-1] == (found.lower, found.upper)
    assert len(set(seen)) == len(seen)
    for before, after in itertools.pairwise(seen):
        assert after[0] >= before[0]
        assert after[1] <= before[1]


def check_all(found: GraphNumbers, arms: int, edges: set[tuple[int, int]]) -> None:
    """Certificates hold and brackets agree."""
    for number in NUMBERS:
        check(number.__name__, getattr(found, number.__name__), arms, edges)
    check_agreement(found, all((j, i) in edges for i, j in edges))


@settings(max_examples=100, deadline=None)
@given(directed_matrices(), st.data())
def test_inconsistent_brackets_are_made_consistent(matrix: Floats, data) -> None:
    """Any valid brackets: the trivial cover, any independent set, any dominating set."""
    arms, edges = len(matrix), edges_of(matrix)
    true = graph_numbers(matrix)
    some = data.draw(st.permutations(range(arms)))
    apart: list[int] = []
    for arm in some[: data.draw(st.integers(1, arms))]:
        if not any((arm, other) in edges or (other, arm) in edges for other in apart):
            apart.append(arm)
    revealing = sorted({*true.domination.certificate, *some[: data.draw(st.integers(0, arms))]})
    given_brackets = (
        Bracket(1, arms, tuple((arm,) for arm in range(arms))),
        Bracket(len(apart), arms, tuple(sorted(apart))),
        Bracket(1, len(revealing), tuple(revealing)),
        Bracket(true.fractional_domination.lower, float(arms), (1.0,) * arms),
    )
    found = numbers_module._make_consistent(DenseFeedback(matrix), *given_brackets)
    check_all(found, arms, edges)
    for number, before in zip(NUMBERS, given_brackets, strict=True):
        after, want = getattr(found, number.__name__), getattr(true, number.__name__)
        assert before.lower <= after.lower <= want.lower + 1e-9
        assert want.upper - 1e-9 <= after.upper <= before.upper


def networks() -> list[networkx.Graph]:
    """Like networks of friends: many triangles, few arms with many neighbours."""
    return [
        networkx.powerlaw_cluster_graph(1200, 5, 0.7, seed=1),
        networkx.relaxed_caveman_graph(60, 12, 0.15, seed=2),
        networkx.barabasi_albert_graph(1500, 3, seed=3),
        networkx.watts_strogatz_graph(1000, 12, 0.1, seed=4),
    ]


@each("place", range(4))
@each("limit", [0.01, 0.3])
def test_numbers_of_networks_are_consistent_with_short_time_limit(place: int, limit: float) -> None:
    graph = networks()[place]
    found = graph_numbers(graph, time_limit=limit)
    edges = {(i, i) for i in graph} | {*graph.edges} | {(j, i) for i, j in graph.edges}
    check_all(found, len(graph), edges)


@pytest.mark.nightly
def test_social_network_is_solved() -> None:
    """Few maximal cliques: HiGHS solves both programs at once."""
    graph = networks()[0]
    cover, independent = clique_cover(graph, 30.0), independence(graph, 30.0)
    assert cover.proved
    assert independent.proved
    assert independent.upper <= cover.lower


def test_progress_is_reported_for_each_number() -> None:
    names: list[str] = []
    bounds: list[tuple[float, float]] = []

    def report(name: str):
        names.append(name)
        return (lambda low, high: bounds.append((low, high))) if name == "independence" else None

    found = graph_numbers("paper", progress=report)
    assert names == ["clique cover", "independence", "domination", "fractional domination"]
    assert bounds[-1] == (found.independence.lower, found.independence.upper)


def sparse_edges(arms: int, degree: float, seed: int, directed: bool) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, arms, (2, int(arms * degree)))
    if not directed:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    return source, target


@pytest.mark.nightly
@each("directed", [False, True])
@each("number", NUMBERS)
def test_certificates_of_100000_arms_are_valid(number, directed: bool) -> None:
    arms = 100_000
    source, target = sparse_edges(arms, 1.5, 4, directed)
    found = number(SparseFeedback.from_edges(arms, source, target), time_limit=0.5)
    edges = set(zip(source.tolist(), target.tolist(), strict=True)) | {(i, i) for i in range(arms)}
    check(number.__name__, found, arms, edges)
    assert found.upper <= 1.4 * found.lower


def test_trees_of_100000_arms_are_solved() -> None:
    """A tree is perfect; its independence number by hand: leaves first."""
    rng = np.random.default_rng(2)
    arms = 100_000
    parent = (rng.random(arms) * np.arange(arms)).astype(np.int64)
    child = np.arange(1, arms)
    graph = SparseFeedback.from_edges(
        arms, np.concatenate([child, parent[1:]]), np.concatenate([parent[1:], child])
    )
    inside = np.ones(arms, bool)
    for v in range(arms - 1, 0, -1):
        if inside[v]:
            inside[parent[v]] = False
    found, cover = independence(graph), clique_cover(graph)
    assert found.lower == found.upper == cover.lower == cover.upper == inside.sum()


@each("number", NUMBERS)
@each("p", [0.004, 0.5])
def test_certificates_of_1000_arms_are_valid(number, p: float) -> None:
    matrix = random_matrix(np.random.default_rng(6), 1000, p)
    check(number.__name__, number(matrix, time_limit=0.5), 1000, edges_of(matrix))


def test_covers_of_large_triangle_free_graphs_are_proved() -> None:
    """Konig: grids are bipartite; an odd ring of n needs (n + 1) / 2."""
    side = 71
    place = np.arange(side * side).reshape(side, side)
    ends = [(place[:-1], place[1:]), (place[:, :-1], place[:, 1:])]
    source = np.concatenate([a.ravel() for a, _ in ends])
    target = np.concatenate([b.ravel() for _, b in ends])
    ring = np.arange(5001)
    for arms, one, other in ((side * side, source, target), (5001, ring, (ring + 1) % 5001)):
        graph = SparseFeedback.from_edges(
            arms, np.concatenate([one, other]), np.concatenate([other, one])
        )
        found = clique_cover(graph)
        assert (found.lower, found.upper) == ((arms + 1) // 2,) * 2


@each("p", [0.1, 0.5, 0.9])
def test_brackets_of_500_arms_contain_planted_numbers(p: float) -> None:
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


class EndsAfterOneCheck(Budget):
    """A budget that ends between the check of a round and its first step."""

    left = 1

    @property
    def exhausted(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_budget_that_ends_between_checks_leaves_valid_weights() -> None:
    edges = random_matrix(np.random.default_rng(11), 400, 0.02) > 0
    graph = DominationProblem(csr_array(edges.astype(np.int8)))
    z, y = graph.primal_dual(EndsAfterOneCheck(), lambda *_: None)
    assert graph.sums(z, graph.incoming).min() >= 1.0 - 1e-12
    assert graph.sums(y, graph.outgoing).max() <= 1.0 + 1e-12


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
