"""Tests of graphs/properties.py: what policies know about a graph process in advance."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from helpers.cases import each
from helpers.graph_number_oracles import by_cliques, independence_by_subsets, random_matrix
from helpers.joint_gain_cases import WEIGHTS
from helpers.mutant_graphs import Slope
from scipy.integrate import quad

from graphbandits.graphs import DenseFeedback, Fixed, GivenSequence, RandomFeedback, as_process
from graphbandits.graphs.numbers import independence
from graphbandits.graphs.properties import DRAWS, GraphInfo, count_outcomes, most_outcomes
from graphbandits.rng import Keys


@each("width", [0.0, 5e-17, 1e-15, 1e-9, 1e-5])
def test_narrow_interval_of_r_has_bound_of_its_midpoint(width: float) -> None:
    low, arms = 0.3, 5
    narrow = GraphInfo(RandomFeedback(arms, None, low, low + width)).independence(100)
    middle = GraphInfo(RandomFeedback(arms, low + width / 2.0)).independence(100)
    assert narrow == pytest.approx(middle, rel=1e-9)


def graph_info_bound(r: float, arms: int) -> float:
    """(1 - (1-r)^K) / r as a sum of powers, which divides by nothing."""
    return math.fsum((1.0 - r) ** k for k in range(arms))


@each("seed", range(4))
def test_fixed_graph_has_its_independence_number_and_all_arms_if_directed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for arms in range(1, 8):
        undirected = random_matrix(rng, arms, 0.4, directed=False)
        process = Fixed(DenseFeedback(undirected))
        assert GraphInfo(process).independence(17) == 17 * independence_by_subsets(undirected)
        if arms > 1:
            directed = undirected.copy()
            directed[0, 1] = 1.0 - directed[0, 1]
            assert GraphInfo(Fixed(DenseFeedback(directed))).independence(17) == 17 * arms


def test_number_of_arms_is_not_limited() -> None:
    assert GraphInfo(as_process("cliques(size=3)", 41)).independence(10) == 10.0 * 14
    assert GraphInfo(as_process("cliques(size=2)", 5000)).independence(10) == 10.0 * 2500
    assert GraphInfo(as_process("ring", 3000)).independence_number == 1500


def test_hard_graph_has_reproducible_upper_bound() -> None:
    matrix = random_matrix(np.random.default_rng(4), 300, 0.1, directed=False)
    found = GraphInfo(Fixed(DenseFeedback(matrix))).independence(1)
    assert independence(matrix, time_limit=0.1).lower <= found < 300
    assert GraphInfo(Fixed(DenseFeedback(matrix))).independence(1) == found


@each("arms", [1, 2, 3, 5, 20])
@each("r", [0.0, 1e-12, 1e-3, 0.25, 0.9, 1.0])
def test_random_feedback_with_one_rate(arms: int, r: float) -> None:
    found = GraphInfo(as_process(f"random(r={r})", arms)).independence(30)
    assert found == pytest.approx(30 * graph_info_bound(r, arms), rel=1e-13)


@each("rounds", [1, 2, 3])
def test_given_rates_are_summed_up_to_horizon(rounds: int) -> None:
    process = as_process("random(r=[0, 0.3, 1])", 4)
    want = math.fsum(graph_info_bound(r, 4) for r in (0.0, 0.3, 1.0)[:rounds])
    assert GraphInfo(process).independence(rounds) == pytest.approx(want, rel=1e-13)


def test_given_graphs_are_summed_up_to_horizon() -> None:
    complete, empty = DenseFeedback(np.ones((3, 3))), DenseFeedback(np.eye(3))
    one_way = DenseFeedback(np.triu(np.ones((3, 3))))
    process = GivenSequence((complete, empty, one_way, complete))
    assert GraphInfo(process).independence(4) == 1 + 3 + 3 + 1
    assert GraphInfo(process).independence(2) == 1 + 3


@each("arms", [1, 2, 5, 17])
@each(("low", "high"), [(0.2, 0.6), (0.0, 0.1), (0.5, 1.0), (0.3, 0.3001)])
def test_rates_on_interval_give_mean_of_integral(arms: int, low: float, high: float) -> None:
    text = f"random(r=uniform, low={low}, high={high})"
    integral, _ = quad(graph_info_bound, low, high, args=(arms,), epsabs=0.0, epsrel=1e-13)
    want = 50 * integral / (high - low)
    # the difference of powers loses what the interval is short of 1
    assert GraphInfo(as_process(text, arms)).independence(50) == pytest.approx(
        want, rel=1e-14 / (high - low) + 1e-12
    )


@each("arms", [2, 3, 4])
@each("p", [0.1, 0.25, 0.6])
def test_revealed_graphs_have_mean_over_all_graphs(arms: int, p: float) -> None:
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
    found = GraphInfo(as_process(f"revealed-er(p={p})", arms)).independence(100) / 100
    assert DRAWS[40] == 2000
    assert abs(found - first) <= 4.0 * error


def test_revealed_graphs_deterministic_directed_or_too_large() -> None:
    def total(text: str, arms: int) -> float:
        return GraphInfo(as_process(text, arms)).independence(10)

    assert total("revealed-er(p=0)", 5) == 50.0
    assert total("revealed-er(p=1)", 5) == 10.0
    assert total("revealed-er(p=0.5, directed=true)", 5) == 50.0
    assert total("revealed-er(p=0.5, shared=true)", 501) == 5010.0


@each(("arms", "text"), [(41, ""), (70, ""), (120, ", shared=true")])
def test_revealed_graphs_of_many_arms_match_independent_draws(arms: int, text: str) -> None:
    """The mean over graphs of another seed, within four standard errors of both means."""
    rng = np.random.default_rng(arms)
    own = [by_cliques(random_matrix(rng, arms, 0.6, directed=False)) for _ in range(20)]
    found = GraphInfo(as_process(f"revealed-er(p=0.6{text})", arms)).independence(10) / 10
    draws = next(count for most, count in DRAWS.items() if arms <= most)
    error = float(np.std(own, ddof=1)) * math.sqrt(1 / len(own) + 1 / draws)
    assert abs(found - np.mean(own)) <= 4.0 * error


def test_custom_process_counts_all_arms() -> None:
    assert GraphInfo(Slope().process(5)).independence(10) == 50.0


@each(
    ("text", "fixed"),
    [
        ("paper", True),
        ("random(r=0.5)", True),
        ("random(r=uniform)", False),
        ("random(r=[0.5, 0.6])", False),
        ("revealed-er", False),
    ],
)
def test_fixed_graph_is_available_in_advance(text: str, fixed: bool) -> None:
    process = as_process(text, 5)
    known = GraphInfo(process).fixed
    assert (known is not None) == fixed
    if known is not None:
        every = np.arange(5)
        shown = process.round(3, Keys(3, 0, 5)).reach(every)
        assert (known.reach(every) == shown).all()


@each(
    ("graph", "arms", "outcomes"),
    [
        ("empty", 7, 14),
        ("complete", 7, 2**7),
        ("paper", 5, 2**5 + 2 * 2**3),
        ("star(direction=out)", 4, 2**4 + 3 * 2),
        ("random(r=0.5)", 6, 3**6),
        ("random(r=0)", 6, 12),
        ("random(r=1)", 6, 2**6),
        ("random(r=uniform)", 6, 3**6),
        ("revealed-er(p=0.5)", 6, 7 * 2**5),
        ("revealed-er(p=1)", 6, 2**6),
    ],
)
def test_outcomes_are_counted_once(graph: str, arms: int, outcomes: int) -> None:
    assert most_outcomes(as_process(graph, arms)) == outcomes


def test_process_outcomes_do_not_exceed_declared_number() -> None:
    rng = np.random.default_rng(9)
    for arms in (2, 3, 4):
        matrices = np.maximum(np.eye(arms), rng.random((500, arms, arms)) < 0.7)
        most = count_outcomes(DenseFeedback(matrices), 500)
        assert most <= most_outcomes(as_process("revealed-er(p=0.5)", arms))
    first, second = DenseFeedback(np.eye(4)), DenseFeedback(np.ones((4, 4)))
    assert most_outcomes(GivenSequence((first, second))) == 16
    assert most_outcomes(RandomFeedback(4, (0.0, 1.0, 0.0))) == 81  # not looked at one by one


def test_certain_arms_reduce_number_of_outcomes() -> None:
    """Row 0: one arm sure, two not; row 3: two sure, two not; the others 2 3 each."""
    assert count_outcomes(DenseFeedback(WEIGHTS)) == 2 * 9 + 2 * 3 + 2 * 3 + 4 * 9
