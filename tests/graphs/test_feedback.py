"""Tests of graphs/feedback.py: gain, reach, reveal and observed of all representations."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits._types import Floats, Ints
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.graphs import DenseFeedback, Feedback, SparseFeedback, UniformFeedback
from graphbandits.graphs.feedback import (
    DENSE_LIMIT,
    best_in_neighbours,
    from_edges,
    matrices,
    subgraph,
)
from graphbandits.rng import Keys

few = settings(max_examples=60, deadline=None, derandomize=True)
#: Nothing in it is symmetric: no edge has the same probability both ways.
DIRECTED = np.array(
    [
        [1.0, 0.9, 0.0, 0.25, 0.5],
        [0.1, 1.0, 1.0, 0.0, 0.03],
        [0.6, 0.0, 1.0, 0.75, 0.0],
        [1.0, 0.4, 0.3, 1.0, 0.0],
        [0.0, 0.98, 0.2, 0.55, 1.0],
    ]
)


def sparse_of(matrix: Floats) -> SparseFeedback:
    source, target = np.nonzero(matrix)
    return SparseFeedback.from_edges(len(matrix), source, target, matrix[source, target])


def uniform_matrix(r: float, arms: int) -> Floats:
    return np.where(np.eye(arms, dtype=bool), 1.0, r)


def pairs(seen: tuple[Ints, Ints]) -> list[tuple[int, int]]:
    return list(zip(seen[0].tolist(), seen[1].tolist(), strict=True))


def seen_matrix(feedback: Feedback, action: Ints, keys: Keys, t: int) -> Floats:
    """(B, K) zeros and ones: the observed arms."""
    out = np.zeros((len(action), feedback.arms))
    out[feedback.reveal(action, keys, t)] = 1.0
    return out


def assert_frequency(seen: Floats, p: Floats | float) -> None:
    """The mean of the 0/1 draws on axis 0 is p, up to 4.5 standard errors."""
    p = np.broadcast_to(p, seen.shape[1:])
    error = np.abs(seen.mean(axis=0) - p)
    assert (error <= 4.5 * np.sqrt(p * (1.0 - p) / len(seen))).all(), (error, p)


@st.composite
def exact_matrices(draw: st.DrawFn, arms: int, binary: bool = False) -> Floats:
    """Directed matrices of multiples of 1/64: sums of products are exact."""
    entries = st.sampled_from([0, 64]) if binary else st.integers(0, 64)
    values = draw(st.lists(entries, min_size=arms * arms, max_size=arms * arms))
    matrix = np.array(values, float).reshape(arms, arms) / 64.0
    np.fill_diagonal(matrix, 1.0)
    return matrix


@st.composite
def exact_gains(draw: st.DrawFn, trials: int, arms: int) -> Floats:
    values = draw(st.lists(st.integers(0, 1024), min_size=trials * arms, max_size=trials * arms))
    return np.array(values, float).reshape(trials, arms) / 1024.0


def rational_gain(matrix: Floats, h: Floats) -> list[Fraction]:
    """G h of one trial in exact arithmetic, rows by the definition."""
    arms = len(h)
    return [
        sum((Fraction(matrix[i, j]) * Fraction(h[j]) for j in range(arms)), Fraction(0))
        for i in range(arms)
    ]


def as_fractions(values: Floats) -> list[Fraction]:
    return [Fraction(value) for value in values.tolist()]


@few
@given(st.data(), st.integers(1, 7), st.integers(1, 4))
def test_gain_is_exact_product(data: st.DataObject, arms: int, trials: int) -> None:
    matrix = data.draw(exact_matrices(arms))
    h = data.draw(exact_gains(trials, arms))
    each = [data.draw(exact_matrices(arms)) for _ in range(trials)]
    for feedback, used in [
        (DenseFeedback(matrix), [matrix] * trials),
        (DenseFeedback(matrix[None]), [matrix] * trials),
        (sparse_of(matrix), [matrix] * trials),
        (DenseFeedback(np.stack(each)), each),
    ]:
        gain = feedback.gain(h)
        for b in range(trials):
            assert as_fractions(gain[b]) == rational_gain(used[b], h[b])


@few
@given(st.data(), st.integers(1, 7), st.integers(1, 4), st.booleans())
def test_uniform_gain_is_exact_product(
    data: st.DataObject, arms: int, trials: int, each: bool
) -> None:
    count = trials if each else 1
    rates = np.array(data.draw(st.lists(st.integers(0, 64), min_size=count, max_size=count))) / 64.0
    h = data.draw(exact_gains(trials, arms))
    gain = UniformFeedback(rates if each else float(rates[0]), arms).gain(h)
    for b in range(trials):
        matrix = uniform_matrix(rates[b if each else 0], arms)
        assert as_fractions(gain[b]) == rational_gain(matrix, h[b])


def test_gain_does_not_change_its_argument() -> None:
    h = np.array([[0.1, 0.2, 0.3, 0.4, 0.5]])
    for feedback in (DenseFeedback(DIRECTED), sparse_of(DIRECTED), UniformFeedback(0.5, 5)):
        before = h.copy()
        feedback.gain(h)
        assert (h == before).all()


@each("make", [DenseFeedback, sparse_of])
def test_reach_is_row_of_played_arm(make: Callable[[Floats], Feedback]) -> None:
    action = np.array([3, 0, 4, 4, 2, 1])
    assert (make(DIRECTED).reach(action) == DIRECTED[action]).all()


def test_reach_with_one_matrix_per_trial_is_row_of_trial() -> None:
    matrices = np.stack([DIRECTED, np.eye(5), uniform_matrix(0.5, 5)])
    action = np.array([1, 1, 4])
    want = np.stack([DIRECTED[1], np.eye(5)[1], [0.5, 0.5, 0.5, 0.5, 1.0]])
    assert (DenseFeedback(matrices).reach(action) == want).all()
    rates = np.array([0.1, 0.0, 1.0])
    want = np.stack([uniform_matrix(r, 5)[i] for r, i in zip(rates, action, strict=True)])
    assert (UniformFeedback(rates, 5).reach(action) == want).all()


@few
@given(st.data(), st.integers(1, 6), st.integers(0, 64), st.integers(0, 2**32 - 5))
def test_uniform_and_dense_agree(data: st.DataObject, arms: int, r: int, first_trial: int) -> None:
    action = np.array(data.draw(st.lists(st.integers(0, arms - 1), min_size=4, max_size=4)))
    h = data.draw(exact_gains(4, arms))
    keys = Keys(data.draw(st.integers(0, 2**40)), first_trial, 4)
    matrix = uniform_matrix(r / 64.0, arms)
    mine = UniformFeedback(r / 64.0, arms)
    for other in (DenseFeedback(matrix), sparse_of(matrix)):
        assert (mine.gain(h) == other.gain(h)).all()
        assert (mine.reach(action) == other.reach(action)).all()
        assert mine.deterministic is other.deterministic or arms == 1
        for t in (1, 2, 1000):
            assert pairs(mine.reveal(action, keys, t)) == pairs(other.reveal(action, keys, t))


@few
@given(st.data(), st.integers(1, 7))
def test_dense_and_sparse_agree(data: st.DataObject, arms: int) -> None:
    matrix = data.draw(exact_matrices(arms))
    dense, sparse = DenseFeedback(matrix), sparse_of(matrix)
    action = np.array(data.draw(st.lists(st.integers(0, arms - 1), min_size=3, max_size=3)))
    keys = Keys(data.draw(st.integers(0, 1000)), data.draw(st.integers(0, 1000)), 3)
    assert dense.arms == sparse.arms == arms
    assert dense.deterministic is sparse.deterministic
    assert (dense.reach(action) == sparse.reach(action)).all()
    assert (sparse.to_dense().matrix == dense.matrix).all()
    for t in (1, 7):
        assert pairs(dense.reveal(action, keys, t)) == pairs(sparse.reveal(action, keys, t))


def test_uniform_with_one_rate_per_trial_reveals_like_dense() -> None:
    rng = np.random.default_rng(0)
    rates = np.concatenate([[0.0, 1.0], rng.random(40)])
    action = rng.integers(0, 6, len(rates))
    keys = Keys(seed=8, first_trial=5, trials=len(rates))
    mine = UniformFeedback(rates, 6)
    other = DenseFeedback(np.stack([uniform_matrix(r, 6) for r in rates]))
    for t in range(1, 20):
        assert pairs(mine.reveal(action, keys, t)) == pairs(other.reveal(action, keys, t))


@few
@given(st.data(), st.integers(1, 7), st.integers(1, 5), st.integers(1, 2**31))
def test_deterministic_reveal_is_row(data: st.DataObject, arms: int, trials: int, t: int) -> None:
    matrix = data.draw(exact_matrices(arms, binary=True))
    played = st.lists(st.integers(0, arms - 1), min_size=trials, max_size=trials)
    action = np.array(data.draw(played))
    keys = Keys(data.draw(st.integers(0, 1000)), data.draw(st.integers(0, 1000)), trials)
    want = [(b, j) for b in range(trials) for j in range(arms) if matrix[action[b], j] == 1.0]
    for feedback in (DenseFeedback(matrix), sparse_of(matrix)):
        assert feedback.deterministic is True
        assert pairs(feedback.reveal(action, keys, t)) == want


@each("kind", ["dense", "sparse", "dense each", "uniform", "uniform each"])
@each(("trials", "rounds"), [(20_000, 1), (1, 3_000)])
def test_observation_frequencies_match_reach(kind: str, trials: int, rounds: int) -> None:
    feedback: Feedback = {
        "dense": lambda: DenseFeedback(DIRECTED),
        "sparse": lambda: sparse_of(DIRECTED),
        "dense each": lambda: DenseFeedback(np.broadcast_to(DIRECTED, (trials, 5, 5))),
        "uniform": lambda: UniformFeedback(0.3, 5),
        "uniform each": lambda: UniformFeedback(np.full(trials, 0.07), 5),
    }[kind]()
    keys = Keys(seed=11, first_trial=3, trials=trials)
    for i in range(5):
        action = np.full(trials, i)
        draws = [seen_matrix(feedback, action, keys, t) for t in range(1, rounds + 1)]
        assert_frequency(np.concatenate(draws), feedback.reach(action)[0])


def test_observations_are_independent_between_arms_rounds_trials_and_seeds() -> None:
    feedback, p = UniformFeedback(0.4, 4), 0.4
    action, keys = np.zeros(20_000, int), Keys(seed=2, trials=20_000)
    here = seen_matrix(feedback, action, keys, 9)[:, 1:]
    other_round = seen_matrix(feedback, action, keys, 10)[:, 1:]
    other_seed = seen_matrix(feedback, action, Keys(seed=3, trials=20_000), 9)[:, 1:]
    assert_frequency(here * np.roll(here, 1, axis=1), p * p)
    assert_frequency(here * other_round, p * p)
    assert_frequency(here * other_seed, p * p)
    assert_frequency(here[::2] * here[1::2], p * p)


@each("size", [1, 3, 7])
@each("kind", ["dense", "dense each", "sparse", "uniform", "uniform each"])
def test_trial_does_not_depend_on_its_block(kind: str, size: int) -> None:
    trials, first, t = 21, 100, 5
    rng = np.random.default_rng(4)
    action = rng.integers(0, 5, trials)
    h = rng.random((trials, 5))
    rates = rng.random(trials)
    matrices = np.stack([uniform_matrix(r, 5) * DIRECTED for r in rates])

    def make(block: slice) -> Feedback:
        return {
            "dense": lambda: DenseFeedback(DIRECTED),
            "dense each": lambda: DenseFeedback(matrices[block]),
            "sparse": lambda: sparse_of(DIRECTED),
            "uniform": lambda: UniformFeedback(0.3, 5),
            "uniform each": lambda: UniformFeedback(rates[block], 5),
        }[kind]()

    everything = slice(0, trials)
    whole = seen_matrix(make(everything), action, Keys(6, first, trials), t)
    gain = make(everything).gain(h)
    for start in range(0, trials, size):
        block = slice(start, start + size)
        keys = Keys(6, first + start, size)
        assert (seen_matrix(make(block), action[block], keys, t) == whole[block]).all()
        assert (make(block).gain(h[block]) == gain[block]).all()  # to the last bit


@each(("arms", "edges"), [(1, 3), (4, 40), (30, 2000), (3000, 20_000)])
def test_rows_match_sort_of_all_edges(arms: int, edges: int) -> None:
    """Hubs, repeated edges, loops and zeros among them; probabilities are the edge's own."""
    rng = np.random.default_rng(edges)
    source = np.minimum(rng.integers(0, arms, edges), rng.integers(0, arms, edges))
    target = rng.integers(0, arms, edges)
    weight = np.where(source == target, 1.0, (7 * source + 3 * target) % 5 / 4)
    sparse = SparseFeedback.from_edges(arms, source, target, weight)
    matrix = {(i, i): 1.0 for i in range(arms)}
    matrix |= dict(zip(zip(source.tolist(), target.tolist(), strict=True), weight, strict=True))
    want = sorted((i, j, w) for (i, j), w in matrix.items() if w > 0.0)
    row = np.repeat(np.arange(arms), np.diff(sparse.start))
    parts = (row, sparse.column, sparse.weight)
    assert list(zip(*(part.tolist() for part in parts), strict=True)) == want
    assert [part.dtype for part in (sparse.start, *parts)] == [int, int, int, float]
    SparseFeedback(sparse.start, sparse.column, sparse.weight)  # stands its own check


def test_first_wrong_edge_is_reported() -> None:
    source, target = [2, 0, 0, 2, 0, 2], [1, 1, 2, 1, 1, 1]
    with refuses(InputError, match="the edge 2 -> 1 is given twice with different probabilities"):
        SparseFeedback.from_edges(3, source, target, [0.5, 0.5, 0.5, 0.25, 0.25, 0.5])
    with refuses(InputError, match="the edge 0 -> 1 is given twice with different probabilities"):
        SparseFeedback.from_edges(3, source, target, [0.5, 0.5, 0.5, 0.5, 0.25, 0.25])
    with refuses(InputError):
        SparseFeedback.from_edges(2, [1, 1], [1, 0], 0.5)


def test_edge_of_probability_zero_is_no_edge() -> None:
    sparse = SparseFeedback.from_edges(2, [0], [1], [0.0])
    assert sparse.deterministic
    assert sparse.reach(np.array([0, 1])).tolist() == [[1.0, 0.0], [0.0, 1.0]]


@each("weights", [[0.5, 0.25], [0.0, 0.5], [0.5, 0.0]])
def test_repeated_different_edge_is_rejected(weights: list[float]) -> None:
    with refuses(InputError, match="the edge 0 -> 1 is given twice with different probabilities"):
        SparseFeedback.from_edges(2, [0, 0], [1, 1], weights)


def test_self_loop_below_one_is_rejected() -> None:
    with pytest.raises(InputError):
        SparseFeedback.from_edges(2, [0], [0], [0.5])


@each(("source", "target"), [([0], [3]), ([-1], [0]), ([0, 3], [1, 1])])
def test_edges_outside_the_arms_are_rejected(source: list[int], target: list[int]) -> None:
    with refuses(InputError):
        SparseFeedback.from_edges(3, source, target)


@each("arms", [DENSE_LIMIT, DENSE_LIMIT + 1])
def test_small_graphs_are_dense_and_large_ones_sparse(arms: int) -> None:
    feedback = from_edges(arms, [0], [arms - 1], [0.5])
    assert isinstance(feedback, DenseFeedback) is (arms <= DENSE_LIMIT)
    h = np.zeros((1, arms))
    h[0, -1] = 1.0
    assert np.flatnonzero(feedback.gain(h)[0]).tolist() == [0, arms - 1]
    assert feedback.gain(h)[0, 0] == 0.5


@each(
    ("matrix", "deterministic"),
    [(np.eye(3), True), (np.ones((2, 2)), True), (DIRECTED, False), ([[1, 0], [1, 1]], True)],
)
def test_deterministic_means_zeros_and_ones(matrix: Floats, deterministic: bool) -> None:
    assert DenseFeedback(matrix).deterministic is deterministic
    assert sparse_of(np.array(matrix, float)).deterministic is deterministic


@each(("r", "sure"), [(0.0, True), (1.0, True), (0.5, False), (1e-9, False)])
def test_uniform_is_deterministic_at_zero_and_one(r: float, sure: bool) -> None:
    assert UniformFeedback(r, 3).deterministic is sure
    assert UniformFeedback(np.array([0.0, 1.0, r]), 3).deterministic is sure


WRONG: dict[str, Callable[[], Feedback]] = {
    "r above one": lambda: UniformFeedback(1.5, 3),
    "r not a number": lambda: UniformFeedback(np.nan, 3),
    "r of a trial negative": lambda: UniformFeedback(np.array([0.5, -0.1]), 3),
    "r a word": lambda: UniformFeedback("abc", 3),
    "r a matrix": lambda: UniformFeedback(np.full((2, 2), 0.5), 3),
    "uniform without arms": lambda: UniformFeedback(0.5, 0),
    "edge above one": lambda: SparseFeedback.from_edges(3, [0], [1], [1.5]),
    "edge not a number": lambda: SparseFeedback.from_edges(3, [0], [1], [np.nan]),
    "edge a word": lambda: SparseFeedback.from_edges(3, [0], [1], ["abc"]),
    "more sources than targets": lambda: SparseFeedback.from_edges(3, [0, 1], [1]),
    "more weights than edges": lambda: SparseFeedback.from_edges(3, [0], [1], [0.5, 0.5]),
    "half an arm": lambda: SparseFeedback.from_edges(3, [0.5], [1]),
    "edges without arms": lambda: SparseFeedback.from_edges(0, [], []),
}


@each("name", WRONG)
def test_wrong_rates_and_edges_are_rejected(name: str) -> None:
    with pytest.raises(InputError):
        WRONG[name]()


@each("shape", [(2, 2), (1, 2, 2)])
def test_feedback_copies_its_arrays(shape: tuple[int, ...]) -> None:
    matrix = np.eye(2).reshape(shape)
    feedback = DenseFeedback(matrix)
    matrix[..., 0, 1] = 1.0
    assert feedback.reach(np.array([0])).tolist() == [[1.0, 0.0]]


def probabilities(rng: np.random.Generator, *shape: int) -> Floats:
    """Directed, with zeros and ones among the entries, and ones on the diagonal."""
    matrix = np.clip(rng.random(shape) * 1.6 - 0.3, 0.0, 1.0)
    matrix[..., np.arange(shape[-1]), np.arange(shape[-1])] = 1.0
    return matrix


def zeros_and_ones(rng: np.random.Generator, *shape: int) -> Floats:
    return np.round(probabilities(rng, *shape))


def uniform_matrices(r: Floats, arms: int) -> Floats:
    return np.where(np.eye(arms, dtype=bool), 1.0, np.asarray(r)[:, None, None])


def all_representations(
    rng: np.random.Generator, arms: int, trials: int
) -> list[tuple[Feedback, Floats]]:
    """Each representation with the matrices (trials or 1, K, K) that it stands for."""
    shared, own = probabilities(rng, arms, arms), probabilities(rng, trials, arms, arms)
    rate, rates = rng.random(1), np.append(rng.random(trials - 1), 0.0)
    return [
        (DenseFeedback(shared), shared[None]),
        (DenseFeedback(own), own),
        (sparse_of(shared), shared[None]),
        (UniformFeedback(rate, arms), uniform_matrices(rate, arms)),
        (UniformFeedback(rates, arms), uniform_matrices(rates, arms)),
        (UniformFeedback(1.0, arms), uniform_matrices(np.ones(1), arms)),
    ]


@each("arms", [1, 2, 3, 7, 20])
def test_observed_is_product_with_columns(arms: int) -> None:
    rng = np.random.default_rng(arms)
    trials = 4
    for _ in range(10):
        pi = rng.dirichlet(np.full(arms, 0.7), size=trials)
        for feedback, matrix in all_representations(rng, arms, trials):
            each = np.broadcast_to(matrix, (trials, arms, arms))
            kept = pi.copy()
            found = feedback.observed(pi)
            assert found == pytest.approx(np.einsum("bi,bij->bj", pi, each), abs=1e-14)
            assert (pi == kept).all()
            assert found.shape == (trials, arms)


@each("feedback", [DenseFeedback(np.eye(3)), UniformFeedback(0.5, 3), sparse_of(np.eye(3))])
@each("shape", [(3,), (2, 4), (2, 3, 1)])
def test_observed_rejects_other_shapes(feedback: Feedback, shape: tuple[int, ...]) -> None:
    with refuses(InputError):
        feedback.observed(np.full(shape, 0.25))


def best_revealers_by_search(matrix: Floats, first: Floats, score: Floats) -> list[float]:
    """One trial: each arm's probability goes to the best arms whose column entry is 1."""
    arms = len(first)
    pi = [0.0] * arms
    for i in range(arms):
        revealing = [j for j in range(arms) if matrix[j, i] == 1.0]
        top = max(score[j] for j in revealing)
        best = [j for j in revealing if score[j] == top]
        for j in best:
            pi[j] += first[i] / len(best)
    return pi


@each("arms", [1, 2, 3, 5, 9])
def test_best_revealers_match_search(arms: int) -> None:
    """Scores of few values give many ties; directed graphs, shared and not."""
    rng = np.random.default_rng(arms)
    trials = 4
    for values in (2, 3, 1000):
        for _ in range(20):
            first = rng.dirichlet(np.full(arms, 0.5), size=trials)
            first[0] = np.eye(arms)[rng.integers(arms)]
            score = rng.integers(0, values, (trials, arms)) / values
            shared, own = zeros_and_ones(rng, arms, arms), zeros_and_ones(rng, trials, arms, arms)
            rates = rng.integers(0, 2, trials).astype(np.float64)
            for feedback, matrix in [
                (DenseFeedback(shared), shared[None]),
                (DenseFeedback(own), own),
                (sparse_of(shared), shared[None]),
                (UniformFeedback(rates, arms), uniform_matrices(rates, arms)),
                (UniformFeedback(0.0, arms), np.eye(arms)[None]),
                (UniformFeedback(1.0, arms), np.ones((1, arms, arms))),
            ]:
                each = np.broadcast_to(matrix, (trials, arms, arms))
                kept = first.copy(), score.copy()
                found = best_in_neighbours(feedback, first, score)
                want = [
                    best_revealers_by_search(each[b], first[b], score[b]) for b in range(trials)
                ]
                assert found == pytest.approx(np.array(want), abs=1e-14)
                assert found.sum(axis=1) == pytest.approx(np.ones(trials), abs=1e-12)
                assert (first == kept[0]).all()
                assert (score == kept[1]).all()


@few
@given(st.integers(1, 6), st.data())
def test_subgraph_has_the_entries_among_its_arms(arms: int, data: st.DataObject) -> None:
    chances = st.sampled_from([0.0, 0.0, 0.25, 0.7, 1.0])
    rows = st.lists(st.lists(chances, min_size=arms, max_size=arms), min_size=arms, max_size=arms)
    matrix = np.array(data.draw(rows))
    np.fill_diagonal(matrix, 1.0)
    chosen = np.array(sorted(data.draw(st.sets(st.integers(0, arms - 1), min_size=1))))
    r, wanted = data.draw(chances), matrix[np.ix_(chosen, chosen)]
    for graph in (DenseFeedback(matrix), sparse_of(matrix)):
        part = subgraph(graph, chosen)
        assert type(part) is type(graph)
        assert part.reach(np.arange(len(chosen))).tolist() == wanted.tolist()
    uniform = subgraph(UniformFeedback(r, arms), chosen).reach(np.arange(len(chosen)))
    assert (uniform == np.where(np.eye(len(chosen)) == 1.0, 1.0, r)).all()


def test_subgraph_of_some_trials() -> None:
    stack = np.stack([np.where(np.eye(5) == 1.0, 1.0, DIRECTED * c) for c in (1.0, 0.5, 0.1)])
    chosen, rows = np.array([1, 4]), slice(1, 3)
    part = subgraph(DenseFeedback(stack), chosen, 3, rows)
    assert matrices(part, 2).tolist() == stack[1:][:, [[1], [4]], [1, 4]].tolist()
    rates = UniformFeedback([0.1, 0.2, 0.3], 5)
    assert matrices(subgraph(rates, chosen, 3, rows), 2)[:, 0, 1].tolist() == [0.2, 0.3]


def test_matrices_of_all_representations() -> None:
    rng = np.random.default_rng(8)
    for feedback, matrix in all_representations(rng, 4, 3):
        assert matrices(feedback, 3) == pytest.approx(matrix, abs=0.0)


@each("graph", [DenseFeedback(np.stack([np.eye(2)] * 3)), UniformFeedback([0.1, 0.2, 0.3], 2)])
def test_wrong_number_of_trials_is_refused(graph) -> None:
    with refuses(GraphBanditsError, match="expected one row per trial of the graph and 2 columns"):
        graph.gain(np.ones((5, 2)))
    with refuses(
        GraphBanditsError,
        match=r"action must have one arm from 0 to 1 per trial, not \[0 0 0 0 0\]",
    ):
        graph.reveal(np.zeros(5, int), Keys(1, 0, 5), 1)


def test_an_action_out_of_range_is_refused() -> None:
    for graph in (
        DenseFeedback(np.eye(2)),
        UniformFeedback(0.5, 2),
        SparseFeedback.from_edges(2, [0], [1]),
    ):
        for action in (99, -1):
            with refuses(GraphBanditsError):
                graph.reveal(np.array([action]), Keys(1), 1)
