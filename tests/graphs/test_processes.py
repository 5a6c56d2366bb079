"""Tests of graphs/processes.py: graphs round by round, and their shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.graph_known_texts import GRAPH_KNOWN_TEXTS
from helpers.process_matrices import DIRECTED, ONE_WAY, assert_frequency, trial_matrices
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs import (
    DenseFeedback,
    Feedback,
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
    SparseFeedback,
    UniformFeedback,
    as_process,
    processes,
)
from graphbandits.graphs.processes import Shape, edge_arrays, restricted_process
from graphbandits.registry import build
from graphbandits.rng import Keys

forty_examples = settings(max_examples=40, deadline=None, derandomize=True)


@each(("matrix", "deterministic"), [(DIRECTED, False), (ONE_WAY, True), (np.eye(1), True)])
def test_fixed_process_is_equal_in_every_round_and_trial(
    matrix: Floats, deterministic: bool
) -> None:
    process = Fixed(DenseFeedback(matrix))
    assert process.arms == len(matrix)
    assert process.deterministic is deterministic
    assert process.rounds is None
    assert process.names is None
    for t in (1, 2, 10**6):
        for first, trials in ((0, 1), (5, 3)):
            got = trial_matrices(process, t, Keys(t, first, trials))
            assert (got == matrix[None]).all()


def test_sequence_returns_graphs_in_order() -> None:
    given = (
        DenseFeedback(DIRECTED),
        SparseFeedback.from_edges(3, [0, 1], [1, 2]),
        UniformFeedback(1.0, 3),
    )
    process = GivenSequence(given, names=("x", "y", "z"))
    assert (process.arms, process.rounds, process.names) == (3, 3, ("x", "y", "z"))
    wants = (DIRECTED, ONE_WAY, np.ones((3, 3)))
    for t, want in enumerate(wants, 1):
        for first, trials in ((0, 1), (5, 3)):
            assert (trial_matrices(process, t, Keys(0, first, trials)) == want[None]).all()


@each("t", [0, -1, 4, 10**9])
@each(
    "process", [GivenSequence((DenseFeedback(DIRECTED),) * 3), RandomFeedback(3, (0.1, 0.2, 0.3))]
)
def test_sequence_rejects_other_rounds(process: Process, t: int) -> None:
    with pytest.raises(InputError, match=f"has 3 .* round {t}$"):
        process.round(t, Keys(0))


@each(
    "feedbacks",
    [
        (),
        (DenseFeedback(np.eye(2)), DenseFeedback(np.eye(3))),
        (DenseFeedback(np.eye(2)), UniformFeedback(0.5, 3)),
    ],
)
def test_graphs_of_sequence_must_have_equal_number_of_arms(feedbacks: tuple[Feedback, ...]) -> None:
    with refuses(InputError):
        GivenSequence(feedbacks)


@forty_examples
@given(
    arms=st.integers(1, 8),
    p=st.floats(0.0, 1.0),
    directed=st.booleans(),
    shared=st.booleans(),
    t=st.integers(1, 2**31),
    first=st.integers(0, 2**31),
)
def test_revealed_graphs_are_valid(
    arms: int, p: float, directed: bool, shared: bool, t: int, first: int
) -> None:
    process = RevealedErdosRenyi(arms, p, directed, shared)
    assert (process.arms, process.rounds, process.names) == (arms, None, None)
    assert process.deterministic is True
    got = trial_matrices(process, t, Keys(1, first, 4))
    assert np.isin(got, (0.0, 1.0)).all()
    assert (np.diagonal(got, axis1=1, axis2=2) == 1.0).all()
    assert process.round(t, Keys(1, first, 4)).deterministic is True
    if not directed:
        assert (got == got.transpose(0, 2, 1)).all()


@each("directed", [False, True])
@each("p", [0.05, 0.3, 0.8])
def test_edges_are_independent_with_density_p(directed: bool, p: float) -> None:
    got = trial_matrices(RevealedErdosRenyi(5, p, directed), 2, Keys(3, trials=20_000))
    rows, columns = np.nonzero(~np.eye(5, dtype=bool))
    assert_frequency(got[:, rows, columns], p)
    upper = np.triu_indices(5, 1)
    forth, back = got[:, *upper], got.transpose(0, 2, 1)[:, *upper]
    assert_frequency(forth * back, p * p if directed else p)
    assert_frequency(forth * np.roll(forth, 1, axis=1), p * p)  # of different pairs of arms


@each("directed", [False, True])
def test_edges_are_redrawn_between_rounds_trials_and_seeds(directed: bool) -> None:
    process, p = RevealedErdosRenyi(5, 0.3, directed), 0.3
    upper = np.triu_indices(5, 1)

    def edges(t: int, seed: int = 3) -> Floats:
        return trial_matrices(process, t, Keys(seed, trials=20_000))[:, *upper]

    here = edges(2)
    assert_frequency(here * edges(3), p * p)
    assert_frequency(here * edges(2, seed=4), p * p)
    assert_frequency(here[::2] * here[1::2], p * p)
    assert (here == edges(2)).all()  # and not between calls


@each("size", [1, 3, 7])
@each(
    "process",
    [
        RevealedErdosRenyi(6, 0.5),
        RevealedErdosRenyi(6, 0.5, directed=True),
        RandomFeedback(6, None),
        RandomFeedback(6, None, 0.2, 0.9),
    ],
)
def test_draw_of_trial_does_not_depend_on_its_block(process: Process, size: int) -> None:
    whole = trial_matrices(process, 4, Keys(9, 50, 21))
    assert len({trial.tobytes() for trial in whole}) == 21  # each trial has its own
    for start in range(0, 21, size):
        got = trial_matrices(process, 4, Keys(9, 50 + start, size))
        assert (got == whole[start : start + size]).all()


@each(
    "process",
    [
        RevealedErdosRenyi(6, 0.5, shared=True),
        RevealedErdosRenyi(6, 0.5, directed=True, shared=True),
        RandomFeedback(6, None, shared=True),
    ],
)
def test_shared_draws_are_equal_for_trials_and_differ_between_rounds(process: Process) -> None:
    rounds = {}
    for t in range(1, 20):
        one = trial_matrices(process, t, Keys(9))[0]
        for first, trials in ((0, 3), (50, 7), (2**31, 1)):
            assert (trial_matrices(process, t, Keys(9, first, trials)) == one).all()
        rounds[one.tobytes()] = t
    assert len(rounds) == 19
    assert (trial_matrices(process, 1, Keys(9)) != trial_matrices(process, 1, Keys(10))).any()


def test_shared_draws_are_stored_once() -> None:
    graph = RevealedErdosRenyi(6, 0.5, shared=True).round(1, Keys(0, 5, 40))
    assert isinstance(graph, DenseFeedback)
    assert graph.matrix.shape == (1, 6, 6)
    rates = RandomFeedback(6, None, shared=True).round(1, Keys(0, 5, 40))
    assert isinstance(rates, UniformFeedback)
    assert rates.r.shape == (1,)


@each(("shared", "most"), [(False, 100), (True, 2000)])
def test_too_large_revealed_graph_is_rejected(shared: bool, most: int) -> None:
    assert RevealedErdosRenyi(most, 0.5, shared=shared).round(1, Keys(0)).arms == most
    with pytest.raises(InputError, match=f"at most.* {most} "):
        RevealedErdosRenyi(most + 1, 0.5, shared=shared)


@each(("r", "deterministic"), [(0.0, True), (1.0, True), (0, True), (1, True), (0.25, False)])
def test_constant_random_feedback(r: float, deterministic: bool) -> None:
    process = RandomFeedback(4, r)
    assert (process.arms, process.rounds, process.names) == (4, None, None)
    assert process.deterministic is deterministic
    want = np.full((4, 4), float(r))
    np.fill_diagonal(want, 1.0)
    for t in (1, 2, 10**6):
        assert (trial_matrices(process, t, Keys(0, 3, 5)) == want).all()


def test_rates_are_returned_in_order() -> None:
    process = RandomFeedback(2, [0.1, 1.0, 0.3])  # type: ignore[arg-type]
    assert process.rounds == 3
    assert process.deterministic is False
    for t, r in enumerate((0.1, 1.0, 0.3), 1):
        assert (trial_matrices(process, t, Keys(0, 3, 5)) == [[1.0, r], [r, 1.0]]).all()


@each(
    ("parameters", "deterministic"),
    [
        ({"r": (0.0, 1.0, 1.0)}, True),
        ({"r": (0.0, 0.5)}, False),
        ({"r": None}, False),
        ({"r": None, "low": 1.0}, True),
        ({"r": None, "high": 0.0}, True),
        ({"r": None, "low": 0.5, "high": 0.5}, False),
    ],
)
def test_random_feedback_with_rates_0_and_1_is_deterministic(
    parameters: dict[str, object], deterministic: bool
) -> None:
    process = RandomFeedback(3, **parameters)  # type: ignore[arg-type]
    assert process.deterministic is deterministic
    if deterministic:
        last = process.rounds or 20
        for t in range(1, last + 1):
            assert process.round(t, Keys(0, trials=50)).deterministic


@each(("low", "high"), [(0.0, 1.0), (0.2, 0.3), (0.5, 1.0), (0.75, 0.75)])
@each("shared", [False, True])
def test_uniform_rates_are_uniform_on_their_interval(low: float, high: float, shared: bool) -> None:
    process = RandomFeedback(3, None, low, high, shared)
    assert process.rounds is None
    count, rounds = (1, 3000) if shared else (1000, 10)
    draws = [trial_matrices(process, t, Keys(5, 7, count))[:, 0, 1] for t in range(1, rounds + 1)]
    r = np.concatenate(draws)
    assert r.min() >= low
    assert r.max() <= high
    error = (high - low) / np.sqrt(12.0 * len(r))
    assert abs(r.mean() - (low + high) / 2.0) <= 4.5 * error + 1e-15
    if low < high:
        assert stats.kstest(r, "uniform", (low, high - low)).pvalue > 1e-4


def test_arms_are_observed_with_the_drawn_rate() -> None:
    """The random numbers of r and of the observations are independent."""
    process, keys = RandomFeedback(3, None), Keys(1, trials=40_000)
    feedback = process.round(1, keys)
    r = trial_matrices(process, 1, keys)[:, 0, 1]
    seen = np.zeros((keys.trials, 3))
    seen[feedback.reveal(np.zeros(keys.trials, int), keys, 1)] = 1.0
    for decile in range(10):
        inside = (r >= decile / 10) & (r < (decile + 1) / 10)
        assert_frequency(seen[inside][:, 1:], r[inside].mean())


@each("graph", GRAPH_KNOWN_TEXTS)
def test_graph_known_is_before_after_or_never(graph: str) -> None:
    with refuses(InputError, match="graph_known must be before, after or never, not 'later'"):
        build("graph", graph.format("later"))


class OneByOne:
    """A process of a plug-in: the matrices of a list in turn."""

    arms, names, deterministic, rounds = 3, None, False, 6

    def round(self, t: int, keys: Keys) -> Feedback:
        return DenseFeedback(DIRECTED if t % 2 else DIRECTED.T)


def test_restricted_processes_have_the_graphs_among_their_arms() -> None:
    some = np.array([0, 2])
    square = np.ix_(some, some)
    sequence = GivenSequence((DenseFeedback(DIRECTED), DenseFeedback(DIRECTED.T)))
    for process in (Fixed(DenseFeedback(DIRECTED)), sequence, OneByOne()):
        part = restricted_process(process, some)
        assert part.arms == 2
        assert (part.deterministic, part.rounds) == (process.deterministic, process.rounds)
        for t in (1, 2):
            full = process.round(t, Keys(1)).reach(np.arange(3))
            assert part.round(t, Keys(1)).reach(np.arange(2)).tolist() == full[square].tolist()
    drawn = RevealedErdosRenyi(3, 0.3, directed=True, names=("a", "b", "c"))
    again = restricted_process(drawn, some)
    assert isinstance(again, RevealedErdosRenyi)
    assert (again.arms, again.p, again.directed, again.names) == (2, 0.3, True, None)


def matrix_of(feedback: Feedback) -> Any:
    return feedback.reach(np.arange(feedback.arms))


@each("arms", [30, 250])
def test_shapes_do_not_depend_on_the_representation(arms: int) -> None:
    sparse = as_process("edges(1-2 2>3:0.5 4-5 7>1)", arms).feedback
    assert isinstance(sparse, SparseFeedback) == (arms > 100)
    one, other = Shape.of(sparse), Shape.of(DenseFeedback(matrix_of(sparse)))
    assert (one.edges, one.directed, one.components) == (6, True, arms - 4)
    assert (one.edges, one.directed, one.components, one.density) == (
        other.edges,
        other.directed,
        other.components,
        other.density,
    )
    assert (one.out_degree == other.out_degree).all()
    assert (one.in_degree == other.in_degree).all()


@each("r", [0.0, 0.3, 1.0])
@each("arms", [1, 4])
def test_random_feedback_has_the_shape_of_its_matrix(r: float, arms: int) -> None:
    one, other = (
        Shape.of(UniformFeedback(r, arms)),
        Shape.of(DenseFeedback(matrix_of(UniformFeedback(r, arms)))),
    )
    assert (one.edges, one.directed, one.components) == (
        other.edges,
        other.directed,
        other.components,
    )
    assert one.density == pytest.approx(other.density)
    assert one.out_degree == pytest.approx(other.out_degree)
    assert one.in_degree == pytest.approx(other.in_degree)


def test_equal_weights_both_ways_make_a_graph_undirected() -> None:
    assert not Shape.of(as_process("edges(1-2:0.5)").feedback).directed
    shape = Shape.of(as_process("edges(1>2:0.5 2>1:0.25)").feedback)
    assert shape.directed
    assert (shape.edges, shape.density) == (2, 0.375)


def test_limit_of_listed_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MOST_EDGES", 16)
    assert len(edge_arrays(UniformFeedback(0.5, 4))[0]) == 12
    with refuses(InputError, match="at most 16 entries"):
        edge_arrays(UniformFeedback(0.5, 5))
    assert len(edge_arrays(UniformFeedback(0.0, 5))[0]) == 0
