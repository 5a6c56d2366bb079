"""Tests of rules/gains.py: the joint gain compared with exact rationals and theorems."""

from __future__ import annotations

import math
import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.joint_gain_cases import (
    JOINT_POSTERIORS,
    WEIGHTS,
    directed_matrix,
    joint_gain_of,
    state_of,
)
from helpers.joint_gain_oracle import exact_gain, exact_information
from helpers.wide_range_oracle import wide_beliefs
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits import Agent, simulate
from graphbandits._types import State
from graphbandits.errors import InputError
from graphbandits.graphs import (
    DenseFeedback,
    Fixed,
    Process,
    SparseFeedback,
    UniformFeedback,
    as_process,
)
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rules.gains import check_joint, joint_gain, sampled_gain
from graphbandits.study.experiment import load_experiment


@pytest.mark.oracle
@pytest.mark.parametrize("accuracy", ["simulation", "strict"])
@pytest.mark.parametrize("params", JOINT_POSTERIORS, ids=str)
def test_joint_gain_of_directed_graphs_matches_exact_rationals(params: Any, accuracy: str) -> None:
    matrix = directed_matrix(len(params), seed=len(params))
    truth = exact_gain(params, matrix)
    assert matrix.sum() < matrix.size
    tolerance = {"rtol": 1e-11, "atol": 0.0} if accuracy == "strict" else {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(
        joint_gain_of(params, DenseFeedback(matrix), accuracy), truth, **tolerance
    )


def test_joint_gain_of_probabilities_matches_exact_rationals() -> None:
    params = [(1, 2), (4, 4), (5, 3), (2, 6)]
    np.testing.assert_allclose(
        joint_gain_of(params, DenseFeedback(WEIGHTS)), exact_gain(params, WEIGHTS), rtol=1e-11
    )


@pytest.mark.parametrize("r", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("params", JOINT_POSTERIORS[:3], ids=str)
def test_joint_gain_of_random_feedback_is_mean_over_all_sets(params: Any, r: float) -> None:
    arms = len(params)
    matrix = np.where(np.eye(arms) == 1.0, 1.0, r)
    truth = exact_gain(params, matrix)
    np.testing.assert_allclose(joint_gain_of(params, UniformFeedback(r, arms)), truth, rtol=1e-11)
    np.testing.assert_allclose(joint_gain_of(params, DenseFeedback(matrix)), truth, rtol=1e-11)


def test_two_uniform_arms_match_hand_calculation() -> None:
    """After (1, 0) the first is best with probability 5/6; (1, 1) and (0, 0) change nothing."""
    entropy = -(math.log(1 / 6) / 6 + 5 * math.log(5 / 6) / 6)
    by_hand = (math.log(2) - entropy) / 2
    found = joint_gain_of([(1, 1), (1, 1)], as_process("complete", 2).feedback)
    assert found == pytest.approx([by_hand] * 2, rel=1e-14)


def test_tiny_gains_of_late_posterior_match_exact_rationals() -> None:
    """Down to 1e-12, relatively; the largest is 1e4 times as large."""
    params = [(60, 20), (20, 60), (45, 30), (15, 60)]
    matrix = np.array([[1, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 0], [0, 0, 0, 1]], np.float64)
    truth = exact_gain(params, matrix)
    assert truth.min() < 1e-12
    np.testing.assert_allclose(joint_gain_of(params, DenseFeedback(matrix)), truth, rtol=1e-10)


@pytest.mark.oracle
def test_real_parameters_match_256_bit_arithmetic() -> None:
    """alpha before and after each of the four outcomes of two arms, by quadrature."""
    params = [(0.5, 0.5), (2.5, 1.5), (1.25, 3.0)]
    before = wide_beliefs(params).alpha
    truth = 0.0
    for y in (0, 1):
        for z in (0, 1):
            after = [(0.5 + y, 1.5 - y), (2.5 + z, 2.5 - z), params[2]]
            chance = 0.5 * (2.5 if z else 1.5) / 4.0
            now = wide_beliefs(after).alpha
            truth += chance * float(now @ np.log(now / before))
    matrix = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], np.float64)
    assert joint_gain_of(params, DenseFeedback(matrix))[0] == pytest.approx(truth, rel=1e-12)


parameter = st.one_of(st.integers(1, 30).map(float), st.floats(0.05, 400.0))
problems = st.integers(1, 6).flatmap(
    lambda arms: st.tuples(
        st.lists(st.tuples(parameter, parameter), min_size=arms, max_size=arms),
        st.lists(
            st.sampled_from([0.0, 0.0, 1.0, 1.0, 0.125, 0.7]),
            min_size=arms * arms,
            max_size=arms * arms,
        ),
    )
)


@pytest.mark.oracle
@settings(max_examples=150, deadline=None)
@given(problems)
def test_joint_gain_is_between_its_lower_bound_and_entropy(problem: Any) -> None:
    """Proposition 1: g >= G h; and no more is learned than the entropy of A*."""
    params, entries = problem
    arms = len(params)
    matrix = np.reshape(entries, (arms, arms))
    np.fill_diagonal(matrix, 1.0)
    beliefs = BetaBernoulli.of(arms).beliefs(state_of(params), "strict")
    found, bound = joint_gain_of(params, DenseFeedback(matrix)), matrix @ beliefs.h[0]
    assert (found >= bound * (1.0 - 1e-10) - 1e-30).all()
    alpha = beliefs.alpha[0]
    rest = -alpha * np.log(np.maximum(alpha, 1e-300))
    alone = alpha.argmax()  # -alpha log alpha of what is nearly 1, without cancellation
    others = np.delete(alpha, alone).sum()
    rest[alone] = -alpha[alone] * np.log1p(-others) if others < 0.5 else rest[alone]
    assert (found <= rest.sum() * (1.0 + 1e-9) + 1e-30).all()


@settings(max_examples=60, deadline=None)
@given(problems)
def test_information_is_monotone_and_superadditive(problem: Any) -> None:
    """Lemma 4: I(A; X_1, ..., X_n) >= sum of I(A; X_i), and so for any parts of a set."""
    params, _ = problem
    arms = len(params)
    sets = [c for size in range(1, arms + 1) for c in combinations(range(arms), size)]
    start = np.cumsum([0, *map(len, sets)])[None]
    arm = np.array([k for one in sets for k in one])
    found = BetaBernoulli.of(arms).information(
        state_of(params), start, arm, np.ones(len(arm)), "strict"
    )[0]
    known = dict(zip(sets, found, strict=True))
    for one in sets:
        for cut in range(1, len(one)):
            parts = known[one[:cut]] + known[one[cut:]]
            assert known[one] >= parts * (1.0 - 1e-10) - 1e-30


@pytest.mark.parametrize("size", [10, 1000, 1e6])
def test_joint_gain_on_empty_graph_equals_h(size: float) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(1.0, size, (2, 200, 4))
    state: State = {"a": a, "b": b}
    posterior = BetaBernoulli.of(4)
    h = posterior.beliefs(state, "strict").h
    assert size < 1000 or h[h > 0].min() < 1e-12
    found = joint_gain(posterior, state, as_process("empty", 4).feedback, "strict")
    np.testing.assert_allclose(found, h, rtol=1e-11, atol=1e-30)


def test_joint_gain_on_complete_graph_is_equal_for_all_arms() -> None:
    found = joint_gain_of(JOINT_POSTERIORS[2], as_process("complete", 5).feedback)
    assert found == pytest.approx([exact_information(JOINT_POSTERIORS[2], range(5))] * 5, rel=1e-12)
    assert len(set(found.tolist())) == 1


def test_arm_that_cannot_be_best_has_no_information() -> None:
    params = [(5, 5), (6, 4), (1, 5000)]
    seen = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1]], np.float64)
    one, more, hopeless = joint_gain_of(params, DenseFeedback(seen), "simulation")
    assert one == more > 1e-3
    assert hopeless == 0.0


def test_relabelling_arms_permutes_gains() -> None:
    place = np.array([2, 0, 3, 1])
    params = np.array([(1, 2), (4, 4), (5, 3), (2, 6)], np.float64)
    moved, matrix = np.empty_like(params), np.empty_like(WEIGHTS)
    moved[place], matrix[np.ix_(place, place)] = params, WEIGHTS
    np.testing.assert_allclose(
        joint_gain_of(moved, DenseFeedback(matrix))[place],
        joint_gain_of(params, DenseFeedback(WEIGHTS)),
        rtol=1e-12,
    )


@pytest.mark.parametrize("accuracy", ["simulation", "strict"])
def test_trial_does_not_depend_on_other_trials(accuracy: str) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(1, 40, (2, 30, 4)).astype(np.float64)
    matrix = np.maximum(np.eye(4), rng.choice([0.0, 0.3, 1.0], (30, 4, 4)))
    rates = rng.choice([0.0, 0.4, 1.0], 30)
    posterior = BetaBernoulli.of(4)
    together = [
        joint_gain(posterior, {"a": a, "b": b}, graph, accuracy)
        for graph in (DenseFeedback(matrix), UniformFeedback(rates, 4), DenseFeedback(matrix[:1]))
    ]
    for t in range(30):
        one: State = {"a": a[t : t + 1], "b": b[t : t + 1]}
        graphs = (DenseFeedback(matrix[t]), UniformFeedback(rates[t], 4), DenseFeedback(matrix[:1]))
        for many, graph in zip(together, graphs, strict=True):
            alone = joint_gain(posterior, one, graph, accuracy)
            assert alone.tobytes() == many[t : t + 1].tobytes()


def test_sparse_and_dense_graphs_have_equal_gain() -> None:
    sparse = SparseFeedback.from_edges(
        4, [0, 0, 1, 2, 3, 3, 3], [1, 3, 2, 0, 0, 1, 2], [0.9, 0.3, 0.5, 0.2, 1, 0.6, 0.8]
    )
    params = [(1, 2), (4, 4), (5, 3), (2, 6)]
    assert (
        joint_gain_of(params, sparse).tolist()
        == joint_gain_of(params, DenseFeedback(WEIGHTS)).tolist()
    )


def test_rows_with_equal_support_and_different_certain_arms() -> None:
    """Two plays that may show the same three arms, each sure of others: one table, or one each."""
    params = [(1, 2), (4, 4), (5, 3)]
    for low in (0.5, 1.0):
        matrix = np.array([[1.0, 0.5, 0.25], [low, 1.0, 0.125], [1.0, 1.0, 1.0]])
        np.testing.assert_allclose(
            joint_gain_of(params, DenseFeedback(matrix)), exact_gain(params, matrix), rtol=1e-11
        )


@pytest.mark.parametrize(
    ("graph", "arms"), [("random(r=0.25)", 15), ("complete", 23), ("revealed-er(p=0.5)", 19)]
)
@pytest.mark.parametrize("name", ["ids-n", "idsn-lp", "ids-lp"])
def test_too_expensive_joint_gain_is_rejected_in_advance(name: str, graph: str, arms: int) -> None:
    policy = f"{name}(gain=joint)"
    check_joint(BetaBernoulli.of(arms - 1), as_process(graph, arms - 1))
    with refuses(InputError) as expected:
        check_joint(BetaBernoulli.of(arms), as_process(graph, arms))
    with pytest.raises(InputError, match=f"^{re.escape(str(expected.value))}$"):
        Agent(policy, arms=arms, graph=graph, seed=1)
    with pytest.raises(InputError, match=f"^{re.escape(str(expected.value))}$"):
        simulate(
            ["ts-n", policy],
            graph=graph,
            arms=arms,
            horizon=10**6,
            trials=10**6,
            progress=lambda _: pytest.fail("the simulation started"),
        )
    Agent(name, arms=arms, graph=graph, seed=1)


def test_too_large_graph_is_rejected_immediately() -> None:
    arms = 3000
    with refuses(InputError):
        joint_gain_of([(1, 1)] * arms, UniformFeedback(0.5, arms))


def test_posterior_without_information_method_is_rejected() -> None:
    class Plain:
        arms = 3

    with refuses(InputError):
        check_joint(Plain(), as_process("empty", 3))  # type: ignore[arg-type]


def test_too_many_joint_arms_are_rejected() -> None:
    posterior = BetaBernoulli.of(30)
    rows = np.array([[0, 30]]), np.arange(30), np.ones(30)
    with refuses(InputError):
        posterior.information(posterior.init(1), *rows)


def test_joint_gain_experiment_has_both_gains_on_three_graphs() -> None:
    cells = load_experiment("joint-gain").plans(trials=2)
    assert len(cells) == 3
    both = {"ids-n", "ids-n(gain=joint)", "ids-lp", "ids-lp(gain=joint)"}
    for cell in cells:
        assert both <= set(cell.policies)


def test_graph_with_other_arms_or_trials_is_rejected() -> None:
    posterior = BetaBernoulli.of(3)
    state = posterior.init(trials=4)
    two = DenseFeedback(np.tile(np.eye(3), (2, 1, 1)))
    for call in (joint_gain, lambda *given: sampled_gain(*given, samples=9, seed=1)):
        with refuses(InputError):
            call(posterior, state, as_process("complete", 5).feedback)
        with refuses(InputError):
            call(posterior, state, two)
        with refuses(InputError):
            call(posterior, state, UniformFeedback(np.array([0.1, 0.2]), 3))
        with refuses(InputError):
            call(posterior, state, "star")


@pytest.mark.parametrize(
    "rows",
    [
        (np.array([[0, 1]]), np.array([3]), np.ones(1)),
        (np.array([[0, 1]]), np.array([-1]), np.ones(1)),
        (np.array([[0, 2]]), np.array([0]), np.ones(1)),
        (np.array([[0, 0]]), np.array([0]), np.ones(1)),
        (np.array([[0, 1], [0, 1]]), np.array([0]), np.ones(1)),
        (np.array([[0, 1]]), np.array([0, 1]), np.ones(1)),
    ],
)
def test_rows_outside_the_arms_are_rejected(rows: tuple[Any, ...]) -> None:
    posterior = BetaBernoulli.of(3)
    with refuses(InputError):
        posterior.information(posterior.init(trials=4), *rows)


def test_many_arms_with_many_outcomes_are_rejected() -> None:
    check_joint(BetaBernoulli.of(300), as_process("ring", 300))
    with refuses(InputError):
        check_joint(BetaBernoulli.of(600), process_with_many_outcomes(600))


def process_with_many_outcomes(arms: int) -> Process:
    """Each arm shows the next nine: 2^10 outcomes each."""
    here = np.repeat(np.arange(arms), 9)
    there = (here + np.tile(np.arange(1, 10), arms)) % arms
    return Fixed(SparseFeedback.from_edges(arms, here, there))
