"""Graph processes round by round, the graphs that have names, and how a process is stored."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from graphbandits.errors import InputError
from graphbandits.graphs import (
    Dense,
    Feedback,
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
    Sparse,
    Uniform,
    as_process,
    from_networkx,
)
from graphbandits.graphs.storage import pack, unpack
from graphbandits.rng import Keys
from graphbandits.types import Floats

few = settings(max_examples=40, deadline=None, derandomize=True)

DIRECTED = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [0.25, 0.0, 1.0]])
ONE_WAY = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])


def matrix_of(feedback: Feedback) -> Floats:
    """K x K of a feedback that all trials share."""
    return feedback.reach(np.arange(feedback.arms))


def matrices(process: Process, t: int, keys: Keys) -> Floats:
    """(B, K, K): the matrix of each trial of the block in round t."""
    feedback = process.round(t, keys)
    rows = [feedback.reach(np.full(keys.trials, i)) for i in range(process.arms)]
    return np.stack(rows, axis=1)


def assert_frequency(draws: Floats, p: Floats | float) -> None:
    """The mean of 0/1 draws on axis 0 is p, up to 4.5 standard errors."""
    p = np.broadcast_to(p, draws.shape[1:])
    error = np.abs(draws.mean(axis=0) - p)
    assert (error <= 4.5 * np.sqrt(p * (1.0 - p) / len(draws))).all(), (error, p)


# Fixed and given


@pytest.mark.parametrize(
    ("matrix", "deterministic"), [(DIRECTED, False), (ONE_WAY, True), (np.eye(1), True)]
)
def test_fixed_is_the_same_in_every_round_and_trial(matrix: Floats, deterministic: bool) -> None:
    process = Fixed(Dense(matrix))
    assert process.arms == len(matrix)
    assert process.deterministic is deterministic
    assert process.rounds is None
    assert process.names is None
    for t in (1, 2, 10**6):
        for first, trials in ((0, 1), (5, 3)):
            got = matrices(process, t, Keys(t, first, trials))
            assert (got == matrix[None]).all()


def test_fixed_keeps_its_names() -> None:
    assert Fixed(Dense(DIRECTED), ("b", "a", "c")).names == ("b", "a", "c")


def test_a_sequence_serves_its_graphs_in_order() -> None:
    given = (Dense(DIRECTED), Sparse.from_edges(3, [0, 1], [1, 2]), Uniform(1.0, 3))
    process = GivenSequence(given, names=("x", "y", "z"))
    assert (process.arms, process.rounds, process.names) == (3, 3, ("x", "y", "z"))
    wants = (DIRECTED, ONE_WAY, np.ones((3, 3)))
    for t, want in enumerate(wants, 1):
        for first, trials in ((0, 1), (5, 3)):
            assert (matrices(process, t, Keys(0, first, trials)) == want[None]).all()


def test_a_sequence_is_deterministic_if_all_its_graphs_are() -> None:
    sure, chance = Dense(ONE_WAY), Dense(DIRECTED)
    assert GivenSequence((sure, Uniform(0.0, 3))).deterministic is True
    assert GivenSequence((sure, chance, sure)).deterministic is False
    assert GivenSequence((sure, Uniform(0.5, 3))).deterministic is False


@pytest.mark.parametrize("t", [0, -1, 4, 10**9])
@pytest.mark.parametrize(
    "process",
    [GivenSequence((Dense(DIRECTED),) * 3), RandomFeedback(3, (0.1, 0.2, 0.3))],
    ids=["graphs", "rates"],
)
def test_a_sequence_has_no_round_outside_it(process: Process, t: int) -> None:
    with pytest.raises(InputError, match=f"has 3 .* round {t}$"):
        process.round(t, Keys(0))


@pytest.mark.parametrize(
    "feedbacks", [(), (Dense(np.eye(2)), Dense(np.eye(3))), (Dense(np.eye(2)), Uniform(0.5, 3))]
)
def test_a_sequence_needs_one_number_of_arms(feedbacks: tuple[Feedback, ...]) -> None:
    with pytest.raises(InputError, match="one number of arms"):
        GivenSequence(feedbacks)


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c", "d"), ("a", "b", "a"), ()])
@pytest.mark.parametrize(
    "make",
    [
        lambda names: Fixed(Dense(DIRECTED), names),
        lambda names: GivenSequence((Dense(DIRECTED),), names),
        lambda names: RevealedErdosRenyi(3, 0.5, names=names),
        lambda names: RandomFeedback(3, 0.5, names=names),
    ],
    ids=["fixed", "sequence", "erdos-renyi", "random"],
)
def test_each_arm_has_one_name_of_its_own(
    make: Callable[[tuple[str, ...]], Process], names: tuple[str, ...]
) -> None:
    with pytest.raises(InputError, match="name"):
        make(names)


# Revealed Erdos-Renyi graphs


@few
@given(
    arms=st.integers(1, 8),
    p=st.floats(0.0, 1.0),
    directed=st.booleans(),
    shared=st.booleans(),
    t=st.integers(1, 2**31),
    first=st.integers(0, 2**31),
)
def test_revealed_graphs_are_graphs(
    arms: int, p: float, directed: bool, shared: bool, t: int, first: int
) -> None:
    process = RevealedErdosRenyi(arms, p, directed, shared)
    assert (process.arms, process.rounds, process.names) == (arms, None, None)
    assert process.deterministic is True
    got = matrices(process, t, Keys(1, first, 4))
    assert np.isin(got, (0.0, 1.0)).all()
    assert (np.diagonal(got, axis1=1, axis2=2) == 1.0).all()
    assert process.round(t, Keys(1, first, 4)).deterministic is True
    if not directed:
        assert (got == got.transpose(0, 2, 1)).all()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("p", "want"), [(0.0, np.eye(4)), (1.0, np.ones((4, 4)))])
def test_revealed_graphs_of_density_zero_and_one(directed: bool, p: float, want: Floats) -> None:
    got = matrices(RevealedErdosRenyi(4, p, directed), 3, Keys(0, trials=500))
    assert (got == want).all()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("p", [0.05, 0.3, 0.8])
def test_every_edge_has_density_p_and_its_own_chance(directed: bool, p: float) -> None:
    got = matrices(RevealedErdosRenyi(5, p, directed), 2, Keys(3, trials=20_000))
    rows, columns = np.nonzero(~np.eye(5, dtype=bool))
    assert_frequency(got[:, rows, columns], p)
    upper = np.triu_indices(5, 1)
    forth, back = got[:, *upper], got.transpose(0, 2, 1)[:, *upper]
    assert_frequency(forth * back, p * p if directed else p)
    assert_frequency(forth * np.roll(forth, 1, axis=1), p * p)  # of different pairs of arms


@pytest.mark.parametrize("directed", [False, True])
def test_edges_are_redrawn_between_rounds_trials_and_seeds(directed: bool) -> None:
    process, p = RevealedErdosRenyi(5, 0.3, directed), 0.3
    upper = np.triu_indices(5, 1)

    def edges(t: int, seed: int = 3) -> Floats:
        return matrices(process, t, Keys(seed, trials=20_000))[:, *upper]

    here = edges(2)
    assert_frequency(here * edges(3), p * p)
    assert_frequency(here * edges(2, seed=4), p * p)
    assert_frequency(here[::2] * here[1::2], p * p)
    assert (here == edges(2)).all()  # and not between calls


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize(
    "process",
    [
        RevealedErdosRenyi(6, 0.5),
        RevealedErdosRenyi(6, 0.5, directed=True),
        RandomFeedback(6, None),
        RandomFeedback(6, None, 0.2, 0.9),
    ],
    ids=["undirected", "directed", "uniform", "uniform on an interval"],
)
def test_the_draw_of_a_trial_does_not_depend_on_its_block(process: Process, size: int) -> None:
    whole = matrices(process, 4, Keys(9, 50, 21))
    assert len({trial.tobytes() for trial in whole}) == 21  # each trial has its own
    for start in range(0, 21, size):
        got = matrices(process, 4, Keys(9, 50 + start, size))
        assert (got == whole[start : start + size]).all()


@pytest.mark.parametrize(
    "process",
    [
        RevealedErdosRenyi(6, 0.5, shared=True),
        RevealedErdosRenyi(6, 0.5, directed=True, shared=True),
        RandomFeedback(6, None, shared=True),
    ],
    ids=["undirected", "directed", "uniform"],
)
def test_shared_draws_are_those_of_every_trial_and_differ_between_rounds(process: Process) -> None:
    rounds = {}
    for t in range(1, 20):
        one = matrices(process, t, Keys(9))[0]
        for first, trials in ((0, 3), (50, 7), (2**31, 1)):
            assert (matrices(process, t, Keys(9, first, trials)) == one).all()
        rounds[one.tobytes()] = t
    assert len(rounds) == 19
    assert (matrices(process, 1, Keys(9)) != matrices(process, 1, Keys(10))).any()


def test_shared_draws_are_stored_once() -> None:
    graph = RevealedErdosRenyi(6, 0.5, shared=True).round(1, Keys(0, 5, 40))
    assert isinstance(graph, Dense)
    assert graph.matrix.shape == (1, 6, 6)
    rates = RandomFeedback(6, None, shared=True).round(1, Keys(0, 5, 40))
    assert isinstance(rates, Uniform)
    assert rates.r.shape == (1,)


@pytest.mark.parametrize("directed", [False, True])
def test_shared_graphs_have_density_p_over_the_rounds(directed: bool) -> None:
    process = RevealedErdosRenyi(5, 0.3, directed, shared=True)
    got = np.concatenate([matrices(process, t, Keys(0)) for t in range(1, 3001)])
    upper = np.triu_indices(5, 1)
    assert_frequency(got[:, *upper], 0.3)
    assert_frequency(got[:-1, *upper] * got[1:, *upper], 0.09)


@pytest.mark.parametrize(("shared", "most"), [(False, 100), (True, 2000)])
def test_revealed_graphs_have_a_largest_size(shared: bool, most: int) -> None:
    assert RevealedErdosRenyi(most, 0.5, shared=shared).round(1, Keys(0)).arms == most
    with pytest.raises(InputError, match=f"at most {most} arms"):
        RevealedErdosRenyi(most + 1, 0.5, shared=shared)


# Random feedback


@pytest.mark.parametrize(
    ("r", "deterministic"), [(0.0, True), (1.0, True), (0, True), (1, True), (0.25, False)]
)
def test_constant_random_feedback(r: float, deterministic: bool) -> None:
    process = RandomFeedback(4, r)
    assert (process.arms, process.rounds, process.names) == (4, None, None)
    assert process.deterministic is deterministic
    want = np.full((4, 4), float(r))
    np.fill_diagonal(want, 1.0)
    for t in (1, 2, 10**6):
        assert (matrices(process, t, Keys(0, 3, 5)) == want).all()


def test_a_sequence_of_rates_is_served_in_order() -> None:
    process = RandomFeedback(2, [0.1, 1.0, 0.3])  # type: ignore[arg-type]
    assert process.rounds == 3
    assert process.deterministic is False
    for t, r in enumerate((0.1, 1.0, 0.3), 1):
        assert (matrices(process, t, Keys(0, 3, 5)) == [[1.0, r], [r, 1.0]]).all()


@pytest.mark.parametrize(
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
def test_random_feedback_is_deterministic_if_it_can_only_be_zero_or_one(
    parameters: dict[str, object], deterministic: bool
) -> None:
    process = RandomFeedback(3, **parameters)  # type: ignore[arg-type]
    assert process.deterministic is deterministic
    if deterministic:
        last = process.rounds or 20
        for t in range(1, last + 1):
            assert process.round(t, Keys(0, trials=50)).deterministic


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.2, 0.3), (0.5, 1.0), (0.75, 0.75)])
@pytest.mark.parametrize("shared", [False, True])
def test_uniform_rates_are_uniform_on_their_interval(low: float, high: float, shared: bool) -> None:
    process = RandomFeedback(3, None, low, high, shared)
    assert process.rounds is None
    count, rounds = (1, 3000) if shared else (1000, 10)
    draws = [matrices(process, t, Keys(5, 7, count))[:, 0, 1] for t in range(1, rounds + 1)]
    r = np.concatenate(draws)
    assert r.min() >= low
    assert r.max() <= high
    error = (high - low) / np.sqrt(12.0 * len(r))
    assert abs(r.mean() - (low + high) / 2.0) <= 4.5 * error + 1e-15
    if low < high:
        assert stats.kstest(r, "uniform", (low, high - low)).pvalue > 1e-4


def test_uniform_rates_are_one_number_for_all_arms() -> None:
    for matrix in matrices(RandomFeedback(5, None), 1, Keys(0, trials=20)):
        off = matrix[~np.eye(5, dtype=bool)]
        assert (off == off[0]).all()


def test_uniform_rates_are_independent_between_rounds_trials_and_seeds() -> None:
    process, count = RandomFeedback(2, None), 20_000

    def rates(t: int, seed: int = 0) -> Floats:
        return matrices(process, t, Keys(seed, trials=count))[:, 0, 1]

    r = rates(1)
    for other in (rates(2), rates(1, seed=1), np.roll(r, 1)):
        assert abs(np.corrcoef(r, other)[0, 1]) <= 4.5 / np.sqrt(count)
    assert (r == rates(1)).all()


def test_given_its_rate_an_arm_is_observed_with_that_rate() -> None:
    """The number that makes r and those that decide who is observed have nothing in common."""
    process, keys = RandomFeedback(3, None), Keys(1, trials=40_000)
    feedback = process.round(1, keys)
    r = matrices(process, 1, keys)[:, 0, 1]
    seen = np.zeros((keys.trials, 3))
    seen[feedback.reveal(np.zeros(keys.trials, int), keys, 1)] = 1.0
    for decile in range(10):
        inside = (r >= decile / 10) & (r < (decile + 1) / 10)
        assert_frequency(seen[inside][:, 1:], r[inside].mean())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"r": 1.5}, "r must be a number"),
        ({"r": -0.1}, "r must be a number"),
        ({"r": float("nan")}, "r must be a number"),
        ({"r": (0.5, 2.0)}, "r of round 2"),
        ({"r": ()}, "empty"),
        ({"r": None, "low": -1}, "low"),
        ({"r": None, "high": 2}, "high"),
        ({"r": None, "low": 0.6, "high": 0.5}, "low must not exceed high"),
        ({"r": 0.5, "arms": 0}, "arms"),
        ({"r": 0.5, "arms": 2.5}, "arms"),
    ],
)
def test_wrong_random_feedback_is_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RandomFeedback(**({"arms": 3} | parameters))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arms", "p"), [(0, 0.5), (-1, 0.5), (2.5, 0.5), (3, 1.1), (3, -0.1), (3, float("nan"))]
)
def test_wrong_revealed_graphs_are_refused(arms: int, p: float) -> None:
    with pytest.raises(InputError):
        RevealedErdosRenyi(arms, p)


# Graphs by name


def cliques(arms: int, size: int) -> nx.Graph:
    blocks = [nx.complete_graph(min(size, arms - start)) for start in range(0, arms, size)]
    return nx.disjoint_union_all(blocks)


def grid(arms: int, columns: int) -> nx.Graph:
    rectangle = nx.grid_2d_graph(arms // columns, columns)
    return nx.relabel_nodes(rectangle, {(i, j): i * columns + j for i, j in rectangle})


def arrows(arms: int, edges: list[tuple[int, int]]) -> nx.DiGraph:
    graph = nx.empty_graph(arms, create_using=nx.DiGraph)
    graph.add_edges_from(edges)
    return graph


NAMED: dict[str, Callable[[int], nx.Graph]] = {
    "empty": nx.empty_graph,
    "complete": nx.complete_graph,
    "star": lambda arms: nx.star_graph(arms - 1),
    "star(direction=both)": lambda arms: nx.star_graph(arms - 1),
    "star(direction=out)": lambda arms: arrows(arms, [(0, i) for i in range(1, arms)]),
    "star(direction=in)": lambda arms: arrows(arms, [(i, 0) for i in range(1, arms)]),
    "ring": nx.cycle_graph,
    "ring(directed=true)": lambda arms: nx.cycle_graph(arms, create_using=nx.DiGraph),
    "path": nx.path_graph,
    "path(directed=true)": lambda arms: nx.path_graph(arms, create_using=nx.DiGraph),
    "cliques(size=1)": lambda arms: cliques(arms, 1),
    "cliques(size=3)": lambda arms: cliques(arms, 3),
    "cliques(size=4)": lambda arms: cliques(arms, 4),
    "cliques(size=200)": lambda arms: cliques(arms, 200),
    "grid(columns=1)": lambda arms: grid(arms, 1),
}


def adjacency(graph: nx.Graph) -> Floats:
    """0/1 with ones on the diagonal, by NetworkX."""
    matrix = nx.to_numpy_array(graph, nodelist=sorted(graph))
    np.fill_diagonal(matrix, 1.0)
    return matrix


@pytest.mark.parametrize("arms", [1, 2, 3, 4, 5, 7, 30, 100, 101, 151])
@pytest.mark.parametrize("text", NAMED)
def test_named_graphs_are_those_of_networkx(text: str, arms: int) -> None:
    process = as_process(text, arms=arms)
    assert process.arms == arms
    assert process.deterministic is True
    assert process.rounds is None
    feedback = process.round(1, Keys(0))
    assert isinstance(feedback, Dense) is (arms <= 100)
    assert (matrix_of(feedback) == adjacency(NAMED[text](arms))).all()


@pytest.mark.parametrize(
    ("columns", "arms"), [(1, 1), (2, 2), (3, 6), (2, 6), (6, 6), (10, 100), (4, 104), (104, 104)]
)
def test_grids_are_those_of_networkx(columns: int, arms: int) -> None:
    feedback = as_process(f"grid(columns={columns})", arms=arms).round(1, Keys(0))
    assert isinstance(feedback, Dense) is (arms <= 100)
    assert (matrix_of(feedback) == adjacency(grid(arms, columns))).all()


@pytest.mark.parametrize("arms", [None, 5])
def test_the_papers_graph(arms: int | None) -> None:
    edges = [(1, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 5)]
    feedback = as_process("paper", arms=arms).round(1, Keys(0))
    assert (matrix_of(feedback) == adjacency(nx.Graph(edges))).all()


def test_a_clique_larger_than_the_graph_is_complete() -> None:
    feedback = as_process("cliques(size=1000000000000000)", arms=5).round(1, Keys(0))
    assert (matrix_of(feedback) == 1.0).all()


@pytest.mark.parametrize("text", ["star", "random(r=0.5)", "revealed-er", "cliques(size=2)"])
def test_a_graph_by_name_has_five_arms_unless_told(text: str) -> None:
    assert as_process(text).arms == 5


@pytest.mark.parametrize("arms", [1, 2, 7, 150])
def test_random_feedback_by_name(arms: int) -> None:
    feedback = as_process("random(r=0.25)", arms=arms).round(1, Keys(0))
    assert not isinstance(feedback, Dense)
    want = np.full((arms, arms), 0.25)
    np.fill_diagonal(want, 1.0)
    assert (matrix_of(feedback) == want).all()


def test_parameters_of_random_feedback_by_name_arrive() -> None:
    listed = as_process("random(r=[0.1, 0.9])", arms=3)
    assert listed.rounds == 2
    assert matrices(listed, 2, Keys(0))[0, 0, 1] == 0.9
    drawn = as_process("random(r=uniform, low=0.4, high=0.5)", arms=3)
    r = matrices(drawn, 1, Keys(0, trials=100))[:, 0, 1]
    assert len(set(r.tolist())) == 100
    assert 0.4 <= r.min() < 0.42
    assert 0.48 < r.max() <= 0.5
    shared = as_process("random(r=uniform, shared=true)", arms=3)
    assert len(set(matrices(shared, 1, Keys(0, trials=100))[:, 0, 1].tolist())) == 1


def test_parameters_of_revealed_graphs_by_name_arrive() -> None:
    keys = Keys(0, trials=2000)
    upper = np.triu_indices(6, 1)

    def draw(text: str) -> Floats:
        return matrices(as_process(text, arms=6), 1, keys)

    assert_frequency(draw("revealed-er")[:, *upper], 0.25)
    assert_frequency(draw("revealed-er(p=0.7)")[:, *upper], 0.7)
    directed = draw("revealed-er(p=0.5, directed=true)")
    assert (directed != directed.transpose(0, 2, 1)).any()
    shared = draw("revealed-er(p=0.5, shared=true)")
    assert (shared == shared[0]).all()


MANY = 10**5


@pytest.mark.parametrize(
    ("text", "degrees"),
    [
        ("empty", np.ones(MANY)),
        ("star", np.concatenate([[MANY], np.full(MANY - 1, 2.0)])),
        ("star(direction=out)", np.concatenate([[MANY], np.ones(MANY - 1)])),
        ("ring", np.full(MANY, 3.0)),
        ("path(directed=true)", np.concatenate([np.full(MANY - 1, 2.0), [1.0]])),
        ("cliques(size=3)", np.concatenate([np.full(MANY - 1, 3.0), [1.0]])),
        ("complete", np.full(MANY, float(MANY))),
        ("random(r=0.25)", np.full(MANY, 0.75 + 0.25 * MANY)),
    ],
)
def test_graphs_of_very_many_arms_need_no_matrix(text: str, degrees: Floats) -> None:
    feedback = as_process(text, arms=MANY).round(1, Keys(seed=0))
    assert isinstance(feedback, Sparse | Uniform)
    assert (feedback.gain(np.ones((1, MANY)))[0] == degrees).all()


# Storage

STORED: dict[str, Process] = {
    "dense": Fixed(Dense(DIRECTED)),
    "dense with names": Fixed(Dense(DIRECTED), ("ann", "böb", "eve")),
    "sparse": as_process("star(direction=out)", arms=120),
    "sparse with probabilities": Fixed(Sparse.from_edges(4, [0, 1, 3], [1, 0, 2], [0.5, 0.2, 1.0])),
    "uniform": Fixed(Uniform(0.3, 4)),
    "networkx": from_networkx(nx.path_graph(["x", "y", "z"])),
    "sequence": GivenSequence((Dense(DIRECTED), Uniform(0.5, 3), Dense(ONE_WAY))),
    "sequence of lists": GivenSequence((Sparse.from_edges(3, [0], [2]), Dense(DIRECTED))),
    "sequence with names": GivenSequence((Dense(DIRECTED),), ("a", "b", "c")),
    "constant r": RandomFeedback(4, 0.1),
    "given r": RandomFeedback(4, (0.1, 1 / 3, 1.0)),
    "uniform r": RandomFeedback(4, None, 0.1, 0.7),
    "shared r": RandomFeedback(4, None, 0.1, 0.7, shared=True, names=("a", "b", "c", "d")),
    "erdos-renyi": RevealedErdosRenyi(4, 0.3),
    "directed erdos-renyi": RevealedErdosRenyi(4, 0.3, directed=True),
    "shared erdos-renyi": RevealedErdosRenyi(4, 1 / 3, shared=True, names=("a", "b", "c", "d")),
    "numpy numbers": RandomFeedback(np.int64(4), None, np.float64(0.1)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("process", STORED.values(), ids=STORED)
def test_a_process_comes_back_from_storage_as_it_was(process: Process) -> None:
    arrays: dict[str, np.ndarray] = {}
    config = json.loads(json.dumps(pack(process, arrays)))
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        back = unpack(config, dict(stored))
    assert type(back) is type(process)
    for name in ("arms", "names", "deterministic", "rounds"):
        assert getattr(back, name) == getattr(process, name)
    keys = Keys(seed=5, first_trial=2, trials=6)
    h = np.random.default_rng(0).random((6, process.arms))
    action = np.arange(6) % process.arms
    for t in range(1, (process.rounds or 4) + 1):
        before, after = process.round(t, keys), back.round(t, keys)
        assert type(after) is type(before)
        assert (after.gain(h) == before.gain(h)).all()
        mine, theirs = after.reveal(action, keys, t), before.reveal(action, keys, t)
        assert [x.tolist() for x in mine] == [x.tolist() for x in theirs]


def test_stored_arrays_do_not_overwrite_each_other() -> None:
    arrays: dict[str, np.ndarray] = {}
    first = pack(Fixed(Dense(DIRECTED)), arrays, "first")
    second = pack(Fixed(Dense(ONE_WAY)), arrays, "second")
    for config, want in ((first, DIRECTED), (second, ONE_WAY)):
        assert (matrix_of(unpack(config, arrays).round(1, Keys(0))) == want).all()


def test_a_process_of_ones_own_cannot_be_stored() -> None:
    class Mine:
        arms, names, deterministic, rounds = 3, None, True, None

    with pytest.raises(InputError, match="Mine cannot be saved"):
        pack(Mine(), {})
