"""Independence numbers, and what the steps of policies for adversarial losses are set by."""

from __future__ import annotations

import itertools
import math

import networkx
import numpy as np
import pytest
from helpers.graph_number_oracles import independence_by_subsets, random_matrix
from helpers.mutant_graphs import Slope
from scipy.integrate import quad

from graphbandits.errors import InputError
from graphbandits.graphs import Dense, Fixed, GivenSequence, Sparse, Uniform, as_process
from graphbandits.graphs.invariants import independence, independence_number
from graphbandits.graphs.prospect import DRAWS, Prospect
from graphbandits.rng import Keys
from graphbandits.types import Floats


def by_cliques(matrix: Floats) -> int:
    """The largest clique of the complement."""
    graph = networkx.Graph()
    graph.add_nodes_from(range(len(matrix)))
    graph.add_edges_from(np.argwhere(np.triu(matrix + matrix.T, 1) > 0))
    found = networkx.max_weight_clique(networkx.complement(graph), weight=None)
    return int(found[1])


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("arms", range(1, 9))
def test_the_independence_number_is_that_of_all_subsets(arms: int, directed: bool) -> None:
    rng = np.random.default_rng(arms + 100 * directed)
    for p in (0.0, 0.15, 0.3, 0.5, 0.8, 1.0):
        for _ in range(6):
            matrix = random_matrix(rng, arms, p, directed)
            assert independence_number(Dense(matrix)) == independence_by_subsets(matrix), matrix


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("arms", [9, 12, 15, 18, 20, 40, 70])
def test_the_independence_number_is_the_largest_clique_of_the_complement(
    arms: int, directed: bool
) -> None:
    rng = np.random.default_rng(arms + 1000 * directed)
    for p in (0.1, 0.2, 0.5, 0.9):
        matrix = random_matrix(rng, arms, p, directed)
        assert independence_number(Dense(matrix)) == by_cliques(matrix)


def test_independence_numbers_that_are_known() -> None:
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
    assert independence_number(Uniform(0.0, 7)) == 7
    assert independence_number(Uniform(1.0, 7)) == 1


def test_lists_of_neighbours_have_the_independence_number_of_their_matrix() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        matrix = random_matrix(rng, 7, 0.3, directed=True)
        sparse = Sparse.from_edges(7, *np.nonzero(matrix))
        assert independence_number(sparse) == independence_by_subsets(matrix)


@pytest.mark.parametrize(
    ("feedback", "reason"),
    [
        (Uniform(0.5, 3), "entries 0 and 1"),
        (Dense(np.stack([np.eye(2)] * 2)), "all trials share"),
    ],
    ids=["probabilities", "one for each trial"],
)
def test_what_has_no_independence_number_is_refused(feedback, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        independence_number(feedback)


# --- the sum of Q_t ---------------------------------------------------------------------------


def seen_before(r: float, arms: int) -> float:
    """(1 - (1-r)^K) / r as a sum of powers, which divides by nothing."""
    return math.fsum((1.0 - r) ** k for k in range(arms))


@pytest.mark.parametrize("seed", range(4))
def test_a_fixed_graph_counts_its_independence_number_and_all_arms_if_directed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for arms in range(1, 8):
        undirected = random_matrix(rng, arms, 0.4, directed=False)
        process = Fixed(Dense(undirected))
        assert Prospect(process).independence(17) == 17 * independence_by_subsets(undirected)
        if arms > 1:
            directed = undirected.copy()
            directed[0, 1] = 1.0 - directed[0, 1]
            assert Prospect(Fixed(Dense(directed))).independence(17) == 17 * arms


def test_a_matrix_of_probabilities_counts_all_arms() -> None:
    assert Prospect(Fixed(Dense(np.array([[1.0, 0.5], [0.5, 1.0]])))).independence(9) == 18.0


def test_the_number_of_arms_has_no_limit() -> None:
    assert Prospect(as_process("cliques(size=3)", 41)).independence(10) == 10.0 * 14
    assert Prospect(as_process("cliques(size=2)", 5000)).independence(10) == 10.0 * 2500
    assert Prospect(as_process("ring", 3000)).independence_number == 1500


def test_a_graph_too_hard_counts_an_upper_bound_that_is_the_same_in_every_run() -> None:
    matrix = random_matrix(np.random.default_rng(4), 300, 0.1, directed=False)
    found = Prospect(Fixed(Dense(matrix))).independence(1)
    assert independence(matrix, time_limit=0.1).lower <= found < 300
    assert Prospect(Fixed(Dense(matrix))).independence(1) == found


@pytest.mark.parametrize("arms", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("r", [0.0, 1e-12, 1e-3, 0.25, 0.9, 1.0])
def test_random_feedback_with_one_rate(arms: int, r: float) -> None:
    found = Prospect(as_process(f"random(r={r})", arms)).independence(30)
    assert found == pytest.approx(30 * seen_before(r, arms), rel=1e-13)


def test_random_feedback_at_its_ends() -> None:
    """At r = 0 only the arm played is seen; at r = 1 all are."""
    assert Prospect(as_process("random(r=0)", 6)).independence(10) == 60.0
    assert Prospect(as_process("random(r=1)", 6)).independence(10) == 10.0


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_given_rates_count_each_its_own_as_far_as_they_are_played(rounds: int) -> None:
    process = as_process("random(r=[0, 0.3, 1])", 4)
    want = math.fsum(seen_before(r, 4) for r in (0.0, 0.3, 1.0)[:rounds])
    assert Prospect(process).independence(rounds) == pytest.approx(want, rel=1e-13)


def test_given_graphs_count_each_its_own_as_far_as_they_are_played() -> None:
    complete, empty = Dense(np.ones((3, 3))), Dense(np.eye(3))
    one_way = Dense(np.triu(np.ones((3, 3))))
    process = GivenSequence((complete, empty, one_way, complete))
    assert Prospect(process).independence(4) == 1 + 3 + 3 + 1
    assert Prospect(process).independence(2) == 1 + 3


@pytest.mark.parametrize("arms", [1, 2, 3, 5, 17])
def test_uniform_rates_give_harmonic_numbers(arms: int) -> None:
    harmonic = math.fsum(1.0 / k for k in range(1, arms + 1))
    found = Prospect(as_process("random(r=uniform)", arms)).independence(1000)
    assert found == pytest.approx(1000 * harmonic, rel=1e-13)


@pytest.mark.parametrize("arms", [1, 2, 5, 17])
@pytest.mark.parametrize(("low", "high"), [(0.2, 0.6), (0.0, 0.1), (0.5, 1.0), (0.3, 0.3001)])
def test_rates_on_an_interval_give_the_mean_of_the_integral(
    arms: int, low: float, high: float
) -> None:
    text = f"random(r=uniform, low={low}, high={high})"
    integral, _ = quad(seen_before, low, high, args=(arms,), epsabs=0.0, epsrel=1e-13)
    want = 50 * integral / (high - low)
    # the difference of powers loses what the interval is short of 1
    assert Prospect(as_process(text, arms)).independence(50) == pytest.approx(
        want, rel=1e-14 / (high - low) + 1e-12
    )


@pytest.mark.parametrize("rate", [0.0, 0.4, 1.0])
def test_an_interval_of_one_rate_is_that_rate(rate: float) -> None:
    process = as_process(f"random(r=uniform, low={rate}, high={rate})", 4)
    assert Prospect(process).independence(7) == pytest.approx(7 * seen_before(rate, 4), rel=1e-13)


@pytest.mark.parametrize("arms", [2, 3, 4])
@pytest.mark.parametrize("p", [0.1, 0.25, 0.6])
def test_revealed_graphs_give_the_mean_over_all_graphs(arms: int, p: float) -> None:
    """Every undirected graph with its probability; the mean of 2000 draws is near it."""
    pairs = list(itertools.combinations(range(arms), 2))
    first = second = 0.0
    for present in itertools.product((False, True), repeat=len(pairs)):
        matrix = np.eye(arms)
        for (i, j), edge in zip(pairs, present, strict=True):
            matrix[i, j] = matrix[j, i] = float(edge)
        chance = math.prod(p if edge else 1.0 - p for edge in present)
        number = independence_by_subsets(matrix)
        first += chance * number
        second += chance * number**2
    error = math.sqrt((second - first**2) / DRAWS[40])
    found = Prospect(as_process(f"revealed-er(p={p})", arms)).independence(100) / 100
    assert DRAWS[40] == 2000
    assert abs(found - first) <= 4.0 * error


def test_revealed_graphs_without_chance_directed_or_too_large() -> None:
    def total(text: str, arms: int) -> float:
        return Prospect(as_process(text, arms)).independence(10)

    assert total("revealed-er(p=0)", 5) == 50.0
    assert total("revealed-er(p=1)", 5) == 10.0
    assert total("revealed-er(p=0.5, directed=true)", 5) == 50.0
    assert total("revealed-er(p=0.5, shared=true)", 501) == 5010.0


@pytest.mark.parametrize(("arms", "text"), [(41, ""), (70, ""), (120, ", shared=true")])
def test_revealed_graphs_of_many_arms_count_about_what_others_of_their_kind_have(
    arms: int, text: str
) -> None:
    """The mean over graphs of another seed, within four standard errors of both means."""
    rng = np.random.default_rng(arms)
    own = [by_cliques(random_matrix(rng, arms, 0.6, directed=False)) for _ in range(20)]
    found = Prospect(as_process(f"revealed-er(p=0.6{text})", arms)).independence(10) / 10
    draws = next(count for most, count in DRAWS.items() if arms <= most)
    error = float(np.std(own, ddof=1)) * math.sqrt(1 / len(own) + 1 / draws)
    assert abs(found - np.mean(own)) <= 4.0 * error


def test_a_process_of_ones_own_counts_all_arms() -> None:
    assert Prospect(Slope().process(5)).independence(10) == 50.0


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("paper", True),
        ("random(r=0.5)", True),
        ("random(r=uniform)", False),
        ("random(r=[0.5, 0.6])", False),
        ("revealed-er", False),
    ],
)
def test_the_fixed_graph_is_known_beforehand_and_others_are_not(text: str, fixed: bool) -> None:
    process = as_process(text, 5)
    known = Prospect(process).fixed
    assert (known is not None) == fixed
    if known is not None:
        every = np.arange(5)
        shown = process.round(3, Keys(3, 0, 5)).reach(every)
        assert (known.reach(every) == shown).all()
