"""Tests of rules/gains.py: the joint gain, and its estimate, compared with exact rationals."""

from __future__ import annotations

import math
import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
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
from graphbandits.graphs import DenseFeedback, UniformFeedback, as_process
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rules.gains import check_joint, check_outcomes, joint_gain, sampled_gain


@each("accuracy", ["simulation", "strict"])
@each("params", JOINT_POSTERIORS)
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


@each("r", [0.0, 0.25, 1.0])
@each("params", JOINT_POSTERIORS[:3])
def test_joint_gain_of_random_feedback_is_mean_over_all_sets(params: Any, r: float) -> None:
    arms = len(params)
    matrix = np.where(np.eye(arms) == 1.0, 1.0, r)
    truth = exact_gain(params, matrix)
    np.testing.assert_allclose(joint_gain_of(params, UniformFeedback(r, arms)), truth, rtol=1e-11)
    np.testing.assert_allclose(joint_gain_of(params, DenseFeedback(matrix)), truth, rtol=1e-11)


def test_tiny_gains_of_late_posterior_match_exact_rationals() -> None:
    """Down to 1e-12, relatively; the largest is 1e4 times as large."""
    params = [(60, 20), (20, 60), (45, 30), (15, 60)]
    matrix = np.array([[1, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 0], [0, 0, 0, 1]], np.float64)
    truth = exact_gain(params, matrix)
    assert truth.min() < 1e-12
    np.testing.assert_allclose(joint_gain_of(params, DenseFeedback(matrix)), truth, rtol=1e-10)


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


@each("size", [10, 1000, 1e6])
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


@each("accuracy", ["simulation", "strict"])
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


def test_rows_with_equal_support_and_different_certain_arms() -> None:
    """Two plays that may show the same three arms, each sure of others: one table, or one each."""
    params = [(1, 2), (4, 4), (5, 3)]
    for low in (0.5, 1.0):
        matrix = np.array([[1.0, 0.5, 0.25], [low, 1.0, 0.125], [1.0, 1.0, 1.0]])
        np.testing.assert_allclose(
            joint_gain_of(params, DenseFeedback(matrix)), exact_gain(params, matrix), rtol=1e-11
        )


@each(("graph", "arms"), [("random(r=0.25)", 15), ("complete", 23), ("revealed-er(p=0.5)", 19)])
@each("name", ["ids-n", "idsn-lp", "ids-lp"])
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


def test_posterior_without_information_method_is_rejected() -> None:
    class Plain:
        arms = 3

    with refuses(InputError):
        check_joint(Plain(), as_process("empty", 3))  # type: ignore[arg-type]


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


@each(
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


@each("arms", [2, 20, 21, 600])
def test_limit_of_joint_outcomes(arms: int) -> None:
    """Five million outcomes, and a hundred million outcomes times arms."""
    most = min(5_000_000, 100_000_000 // arms)
    check_outcomes(BetaBernoulli.of(arms), float(most))
    with refuses(InputError, match=f"at most {most:,} of {arms} arms"):
        check_outcomes(BetaBernoulli.of(arms), most + 1.0)


def test_estimate_of_fourteen_arms_matches_exact_gain() -> None:
    params = [(1.0 + 0.37 * i, 2.0 - 0.05 * i) for i in range(14)]
    exact = joint_gain_of(params, as_process("complete", 14).feedback)
    found = sampled_gain(
        BetaBernoulli.of(14), state_of(params), as_process("complete", 14).feedback, 1000, seed=1
    )
    assert 0.0 < found.standard_error.max() < 0.05 * exact[0]
    assert (np.abs(found.value[0] - exact) < 4.0 * found.standard_error[0]).all()


def test_standard_error_matches_deviations() -> None:
    """Of 200 estimates as many lie within one and two standard errors as of a normal."""
    params = [(1, 2), (4, 4), (5, 3), (2, 6)]
    exact = joint_gain_of(params, DenseFeedback(WEIGHTS))
    found = sampled_gain(
        BetaBernoulli.of(4), state_of(params, 200), DenseFeedback(WEIGHTS), samples=400, seed=2
    )
    z = (found.value - exact) / found.standard_error
    assert np.abs(z.mean(axis=0)).max() < 4.0 / math.sqrt(200)
    assert (
        np.abs((np.abs(z) < 1.0).mean(axis=0) - 0.683) < 4.0 * math.sqrt(0.683 * 0.317 / 200)
    ).all()
    assert ((np.abs(z) < 2.0).mean(axis=0) > 0.954 - 4.0 * math.sqrt(0.954 * 0.046 / 200)).all()


def test_estimate_is_reproducible_by_seed() -> None:
    posterior, graph = BetaBernoulli.of(3), UniformFeedback(0.4, 3)
    state = state_of([(1, 2), (4, 4), (12, 9)], 3)
    one, again = (sampled_gain(posterior, state, graph, 50, seed=7) for _ in range(2))
    other = sampled_gain(posterior, state, graph, 50, seed=8)
    assert one.value.tobytes() == again.value.tobytes()
    assert one.standard_error.tobytes() == again.standard_error.tobytes()
    assert (one.value != other.value).all()
    assert len(set(one.value[:, 0].tolist())) == 3  # each trial has its own draws
    alone = sampled_gain(posterior, state_of([(1, 2), (4, 4), (12, 9)]), graph, 50, seed=7)
    assert alone.value[0].tobytes() == one.value[0].tobytes()


@each("samples", [1, 0, 2.5, "many"])
def test_too_few_samples_are_rejected(samples: Any) -> None:
    posterior = BetaBernoulli.of(2)
    with refuses(InputError):
        sampled_gain(posterior, posterior.init(1), UniformFeedback(0.5, 2), samples, seed=0)
