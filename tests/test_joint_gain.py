"""The exact joint gain g against exact rationals, its theorems, its estimate and its policies."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from helpers.joint_gain_oracle import exact_gain, exact_information
from helpers.oracles import beliefs_by_quadrature
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits import Agent, simulate
from graphbandits.errors import InputError
from graphbandits.experiments import load_experiment
from graphbandits.gains import check_joint, joint_gain, sampled_gain
from graphbandits.graphs import (
    Dense,
    Feedback,
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    Sparse,
    Uniform,
    as_process,
)
from graphbandits.graphs.outcome_space import count_outcomes, most_outcomes
from graphbandits.policies import as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rules import ids_lp, ids_n, idsn_lp
from graphbandits.types import Floats, State

#: Asymmetric, a tie, arms far behind, and a leader.
POSTERIORS = [
    [(1, 2), (4, 4), (12, 9)],
    [(1, 1), (1, 1), (2, 1), (1, 3)],
    [(9, 2), (1, 6), (3, 3), (3, 3), (2, 7)],
    [(2, 1), (5, 3), (1, 4), (3, 3), (6, 2), (1, 1)],
]
WEIGHTS = np.array(
    [[1.0, 0.9, 0.0, 0.3], [0.0, 1.0, 0.5, 0.0], [0.2, 0.0, 1.0, 0.0], [1.0, 0.6, 0.8, 1.0]]
)


def state_of(params: Any, trials: int = 1) -> State:
    a, b = np.array(params, np.float64).T
    return {"a": np.tile(a, (trials, 1)), "b": np.tile(b, (trials, 1))}


def gain(params: Any, graph: Feedback, accuracy: str = "strict") -> Floats:
    return joint_gain(BetaBernoulli.of(len(params)), state_of(params), graph, accuracy)[0]


def directed(arms: int, seed: int) -> Floats:
    """A 0/1 graph that is no other way round the same."""
    rng = np.random.default_rng(seed)
    return np.maximum(np.eye(arms), rng.random((arms, arms)) < 0.5)


# Against exact rationals -----------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", ["simulation", "strict"])
@pytest.mark.parametrize("params", POSTERIORS, ids=str)
def test_directed_graphs_against_exact_rationals(params: Any, accuracy: str) -> None:
    matrix = directed(len(params), seed=len(params))
    truth = exact_gain(params, matrix)
    assert matrix.sum() < matrix.size
    tolerance = {"rtol": 1e-11, "atol": 0.0} if accuracy == "strict" else {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(gain(params, Dense(matrix), accuracy), truth, **tolerance)


def test_probabilities_against_exact_rationals() -> None:
    params = [(1, 2), (4, 4), (5, 3), (2, 6)]
    np.testing.assert_allclose(
        gain(params, Dense(WEIGHTS)), exact_gain(params, WEIGHTS), rtol=1e-11
    )


@pytest.mark.parametrize("r", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("params", POSTERIORS[:3], ids=str)
def test_random_feedback_is_the_mean_over_all_sets(params: Any, r: float) -> None:
    arms = len(params)
    matrix = np.where(np.eye(arms) == 1.0, 1.0, r)
    truth = exact_gain(params, matrix)
    np.testing.assert_allclose(gain(params, Uniform(r, arms)), truth, rtol=1e-11)
    np.testing.assert_allclose(gain(params, Dense(matrix)), truth, rtol=1e-11)


def test_two_uniform_arms_seen_together_by_hand() -> None:
    """After (1, 0) the first is best with probability 5/6; (1, 1) and (0, 0) say nothing."""
    entropy = -(math.log(1 / 6) / 6 + 5 * math.log(5 / 6) / 6)
    by_hand = (math.log(2) - entropy) / 2
    found = gain([(1, 1), (1, 1)], as_process("complete", 2).feedback)
    assert found == pytest.approx([by_hand] * 2, rel=1e-14)


def test_tiny_gains_of_a_late_posterior_against_exact_rationals() -> None:
    """Down to 1e-12, relatively; the largest is 1e4 times as large."""
    params = [(60, 20), (20, 60), (45, 30), (15, 60)]
    matrix = np.array([[1, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 0], [0, 0, 0, 1]], np.float64)
    truth = exact_gain(params, matrix)
    assert truth.min() < 1e-12
    np.testing.assert_allclose(gain(params, Dense(matrix)), truth, rtol=1e-10)


def test_real_parameters_against_256_bits() -> None:
    """alpha before and after each of the four outcomes of two arms, by quadrature."""
    params = [(0.5, 0.5), (2.5, 1.5), (1.25, 3.0)]
    before = beliefs_by_quadrature(params).alpha
    truth = 0.0
    for y in (0, 1):
        for z in (0, 1):
            after = [(0.5 + y, 1.5 - y), (2.5 + z, 2.5 - z), params[2]]
            chance = 0.5 * (2.5 if z else 1.5) / 4.0
            now = beliefs_by_quadrature(after).alpha
            truth += chance * float(now @ np.log(now / before))
    matrix = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], np.float64)
    assert gain(params, Dense(matrix))[0] == pytest.approx(truth, rel=1e-12)


# Theorems ----------------------------------------------------------------------------------------

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
def test_the_gain_lies_between_its_bound_and_what_there_is_to_know(problem: Any) -> None:
    """Proposition 1: g >= G h; and no more is learned than the entropy of A*."""
    params, entries = problem
    arms = len(params)
    matrix = np.reshape(entries, (arms, arms))
    np.fill_diagonal(matrix, 1.0)
    beliefs = BetaBernoulli.of(arms).beliefs(state_of(params), "strict")
    found, bound = gain(params, Dense(matrix)), matrix @ beliefs.h[0]
    assert (found >= bound * (1.0 - 1e-10) - 1e-30).all()
    alpha = beliefs.alpha[0]
    rest = -alpha * np.log(np.maximum(alpha, 1e-300))
    alone = alpha.argmax()  # -alpha log alpha of what is nearly 1, without cancellation
    others = np.delete(alpha, alone).sum()
    rest[alone] = -alpha[alone] * np.log1p(-others) if others < 0.5 else rest[alone]
    assert (found <= rest.sum() * (1.0 + 1e-9) + 1e-30).all()


@settings(max_examples=60, deadline=None)
@given(problems)
def test_more_arms_tell_more_and_together_at_least_their_sum(problem: Any) -> None:
    """Lemma 4: I(A; X_1, ..., X_n) >= sum of I(A; X_i), and so for any parts of a set."""
    params, _ = problem
    arms = len(params)
    sets = [c for size in range(1, arms + 1) for c in combinations(range(arms), size)]
    start = np.cumsum([0, *map(len, sets)])[None]
    arm = np.array([k for one in sets for k in one])
    told = BetaBernoulli.of(arms).information(
        state_of(params), start, arm, np.ones(len(arm)), "strict"
    )[0]
    known = dict(zip(sets, told, strict=True))
    for one in sets:
        for cut in range(1, len(one)):
            parts = known[one[:cut]] + known[one[cut:]]
            assert known[one] >= parts * (1.0 - 1e-10) - 1e-30


@pytest.mark.parametrize("size", [10, 1000, 1e6])
def test_a_lone_arm_tells_h_however_little_that_is(size: float) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(1.0, size, (2, 200, 4))
    state: State = {"a": a, "b": b}
    posterior = BetaBernoulli.of(4)
    h = posterior.beliefs(state, "strict").h
    assert size < 1000 or h[h > 0].min() < 1e-12
    found = joint_gain(posterior, state, as_process("empty", 4).feedback, "strict")
    np.testing.assert_allclose(found, h, rtol=1e-11, atol=1e-30)


def test_on_a_complete_graph_all_arms_tell_the_same() -> None:
    found = gain(POSTERIORS[2], as_process("complete", 5).feedback)
    assert found == pytest.approx([exact_information(POSTERIORS[2], range(5))] * 5, rel=1e-12)
    assert len(set(found.tolist())) == 1


def test_an_arm_that_cannot_be_best_says_nothing_of_who_is() -> None:
    params = [(5, 5), (6, 4), (1, 5000)]
    seen = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1]], np.float64)
    one, more, hopeless = gain(params, Dense(seen), "simulation")
    assert one == more > 1e-3
    assert hopeless == 0.0


# However it is asked ---------------------------------------------------------------------------


def test_relabelling_moves_the_gains_along() -> None:
    place = np.array([2, 0, 3, 1])
    params = np.array([(1, 2), (4, 4), (5, 3), (2, 6)], np.float64)
    moved, matrix = np.empty_like(params), np.empty_like(WEIGHTS)
    moved[place], matrix[np.ix_(place, place)] = params, WEIGHTS
    np.testing.assert_allclose(
        gain(moved, Dense(matrix))[place], gain(params, Dense(WEIGHTS)), rtol=1e-12
    )


@pytest.mark.parametrize("accuracy", ["simulation", "strict"])
def test_a_trial_has_the_same_bits_alone_and_among_others(accuracy: str) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(1, 40, (2, 30, 4)).astype(np.float64)
    matrix = np.maximum(np.eye(4), rng.choice([0.0, 0.3, 1.0], (30, 4, 4)))
    rates = rng.choice([0.0, 0.4, 1.0], 30)
    posterior = BetaBernoulli.of(4)
    together = [
        joint_gain(posterior, {"a": a, "b": b}, graph, accuracy)
        for graph in (Dense(matrix), Uniform(rates, 4), Dense(matrix[:1]))
    ]
    for t in range(30):
        one: State = {"a": a[t : t + 1], "b": b[t : t + 1]}
        graphs = (Dense(matrix[t]), Uniform(rates[t], 4), Dense(matrix[:1]))
        for many, graph in zip(together, graphs, strict=True):
            alone = joint_gain(posterior, one, graph, accuracy)
            assert alone.tobytes() == many[t : t + 1].tobytes()


def test_a_sparse_graph_is_the_matrix_it_stands_for() -> None:
    sparse = Sparse.from_edges(
        4, [0, 0, 1, 2, 3, 3, 3], [1, 3, 2, 0, 0, 1, 2], [0.9, 0.3, 0.5, 0.2, 1, 0.6, 0.8]
    )
    params = [(1, 2), (4, 4), (5, 3), (2, 6)]
    assert gain(params, sparse).tolist() == gain(params, Dense(WEIGHTS)).tolist()


def test_rows_of_one_support_with_other_sure_arms() -> None:
    """Two plays that may show the same three arms, each sure of others: one table, or one each."""
    params = [(1, 2), (4, 4), (5, 3)]
    for low in (0.5, 1.0):
        matrix = np.array([[1.0, 0.5, 0.25], [low, 1.0, 0.125], [1.0, 1.0, 1.0]])
        np.testing.assert_allclose(
            gain(params, Dense(matrix)), exact_gain(params, matrix), rtol=1e-11
        )


# Sampled ---------------------------------------------------------------------------------------


def test_fourteen_arms_seen_together_against_the_estimate() -> None:
    params = [(1.0 + 0.37 * i, 2.0 - 0.05 * i) for i in range(14)]
    exact = gain(params, as_process("complete", 14).feedback)
    found = sampled_gain(
        BetaBernoulli.of(14), state_of(params), as_process("complete", 14).feedback, 1000, seed=1
    )
    assert 0.0 < found.standard_error.max() < 0.05 * exact[0]
    assert (np.abs(found.value[0] - exact) < 4.0 * found.standard_error[0]).all()


def test_the_standard_error_is_honest() -> None:
    """Of 200 estimates as many lie within one and two standard errors as of a normal."""
    params = [(1, 2), (4, 4), (5, 3), (2, 6)]
    exact = gain(params, Dense(WEIGHTS))
    found = sampled_gain(
        BetaBernoulli.of(4), state_of(params, 200), Dense(WEIGHTS), samples=400, seed=2
    )
    z = (found.value - exact) / found.standard_error
    assert np.abs(z.mean(axis=0)).max() < 4.0 / math.sqrt(200)
    assert (
        np.abs((np.abs(z) < 1.0).mean(axis=0) - 0.683) < 4.0 * math.sqrt(0.683 * 0.317 / 200)
    ).all()
    assert ((np.abs(z) < 2.0).mean(axis=0) > 0.954 - 4.0 * math.sqrt(0.954 * 0.046 / 200)).all()


def test_an_estimate_is_made_again_by_its_seed() -> None:
    posterior, graph = BetaBernoulli.of(3), Uniform(0.4, 3)
    state = state_of([(1, 2), (4, 4), (12, 9)], 3)
    one, again = (sampled_gain(posterior, state, graph, 50, seed=7) for _ in range(2))
    other = sampled_gain(posterior, state, graph, 50, seed=8)
    assert one.value.tobytes() == again.value.tobytes()
    assert one.standard_error.tobytes() == again.standard_error.tobytes()
    assert (one.value != other.value).all()
    assert len(set(one.value[:, 0].tolist())) == 3  # trials have draws of their own
    alone = sampled_gain(posterior, state_of([(1, 2), (4, 4), (12, 9)]), graph, 50, seed=7)
    assert alone.value[0].tobytes() == one.value[0].tobytes()


@pytest.mark.parametrize("samples", [1, 0, 2.5, "many"])
def test_too_few_samples_are_refused(samples: Any) -> None:
    posterior = BetaBernoulli.of(2)
    with pytest.raises(InputError, match="samples"):
        sampled_gain(posterior, posterior.init(1), Uniform(0.5, 2), samples, seed=0)


# What it takes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
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


def test_no_graph_of_a_process_has_more_outcomes_than_it_says() -> None:
    rng = np.random.default_rng(9)
    for arms in (2, 3, 4):
        matrices = np.maximum(np.eye(arms), rng.random((500, arms, arms)) < 0.7)
        most = count_outcomes(Dense(matrices), 500)
        assert most <= most_outcomes(as_process("revealed-er(p=0.5)", arms))
    first, second = Dense(np.eye(4)), Dense(np.ones((4, 4)))
    assert most_outcomes(GivenSequence((first, second))) == 16
    assert most_outcomes(RandomFeedback(4, (0.0, 1.0, 0.0))) == 81  # not looked at one by one


def test_probabilities_are_counted_by_what_is_sure() -> None:
    """Row 0: one arm sure, two not; row 3: two sure, two not; the others 2 3 each."""
    assert count_outcomes(Dense(WEIGHTS)) == 2 * 9 + 2 * 3 + 2 * 3 + 4 * 9


@pytest.mark.parametrize(
    ("graph", "arms"), [("random(r=0.25)", 15), ("complete", 23), ("revealed-er(p=0.5)", 19)]
)
@pytest.mark.parametrize("name", ["ids-n", "idsn-lp", "ids-lp"])
def test_what_is_not_affordable_is_refused_before_it_starts(
    name: str, graph: str, arms: int
) -> None:
    policy = f"{name}(gain=joint)"
    words = r"^the joint gain would tell .* at most 5,000,000 .*gain=bound.*sampled_gain$"
    check_joint(BetaBernoulli.of(arms - 1), as_process(graph, arms - 1))
    with pytest.raises(InputError, match=words):
        check_joint(BetaBernoulli.of(arms), as_process(graph, arms))
    with pytest.raises(InputError, match=words):
        Agent(policy, arms=arms, graph=graph, seed=1)
    with pytest.raises(InputError, match=words):
        simulate(
            ["ts-n", policy],
            graph=graph,
            arms=arms,
            horizon=10**6,
            trials=10**6,
            progress=lambda _: pytest.fail("it ran"),
        )
    Agent(name, arms=arms, graph=graph, seed=1)


def test_a_graph_too_large_is_refused_at_once() -> None:
    arms = 3000
    with pytest.raises(InputError, match="at most 5,000,000"):
        gain([(1, 1)] * arms, Uniform(0.5, arms))


def test_a_posterior_without_the_method_is_refused() -> None:
    class Plain:
        arms = 3

    with pytest.raises(InputError, match=r"no method information.*sampled_gain"):
        check_joint(Plain(), as_process("empty", 3))  # type: ignore[arg-type]


def test_more_arms_together_than_there_is_room_for_are_refused() -> None:
    posterior = BetaBernoulli.of(30)
    rows = np.array([[0, 30]]), np.arange(30), np.ones(30)
    with pytest.raises(InputError, match=r"30 arms seen together.*at most 22"):
        posterior.information(posterior.init(1), *rows)


# Policies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", POSTERIORS[:2], ids=str)
@pytest.mark.parametrize(
    ("name", "rule"), [("ids-n", ids_n), ("idsn-lp", idsn_lp), ("ids-lp", ids_lp)]
)
def test_policies_play_by_the_exact_gain(name: str, rule: Any, params: Any) -> None:
    """By the rule on the oracle's g, where a play shows two arms together."""
    arms = len(params)
    graph = as_process("path(directed=true)", arms)
    beliefs = BetaBernoulli.of(arms).beliefs(state_of(params), "strict")
    truth = exact_gain(params, graph.feedback.reach(np.arange(arms)))
    expected = rule(beliefs.alpha, beliefs.delta, beliefs.h, truth[None])[0]
    agent = Agent(f"{name}(gain=joint)", arms=arms, graph=graph, prior=params, seed=1)
    assert list(agent.decide().pi.values()) == pytest.approx(expected.tolist(), abs=1e-9)


def test_the_gain_makes_a_difference_to_what_is_played() -> None:
    plays = [
        list(
            Agent(f"idsn-lp{gain_}", 3, "star", prior=[(1, 2), (4, 4), (12, 9)], seed=1)
            .decide()
            .pi.values()
        )
        for gain_ in ("", "(gain=bound)", "(gain=joint)")
    ]
    assert plays[0] == plays[1]
    assert abs(np.subtract(plays[0], plays[2])).max() > 1e-3


@pytest.mark.parametrize("wrong", ["exact", "1", "true", "none"])
def test_a_wrong_gain_is_refused_in_a_sentence(wrong: str) -> None:
    with pytest.raises(InputError, match=r"^idsn-lp: gain is 'bound' \(G h\) or 'joint' .*, not "):
        as_policy(f"idsn-lp(gain={wrong})")


def test_the_experiment_has_both_gains_on_three_graphs() -> None:
    cells = load_experiment("joint-gain").plans(trials=2)
    assert len(cells) == 3
    both = {"ids-n", "ids-n(gain=joint)", "ids-lp", "ids-lp(gain=joint)"}
    for cell in cells:
        assert both <= set(cell.policies)


def test_a_graph_of_other_arms_or_trials_is_refused() -> None:
    posterior = BetaBernoulli.of(3)
    state = posterior.init(trials=4)
    two = Dense(np.tile(np.eye(3), (2, 1, 1)))
    for call in (joint_gain, lambda *given: sampled_gain(*given, samples=9, seed=1)):
        with pytest.raises(InputError, match="5 arms, the posterior 3"):
            call(posterior, state, as_process("complete", 5).feedback)
        with pytest.raises(InputError, match="one row for each"):
            call(posterior, state, two)
        with pytest.raises(InputError, match="one row for each"):
            call(posterior, state, Uniform(np.array([0.1, 0.2]), 3))
        with pytest.raises(InputError, match="not 'star'"):
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
def test_rows_that_reach_outside_are_refused(rows: tuple[Any, ...]) -> None:
    posterior = BetaBernoulli.of(3)
    with pytest.raises(InputError, match="from 0 to 2"):
        posterior.information(posterior.init(trials=4), *rows)


def test_many_arms_through_many_outcomes_are_refused() -> None:
    check_joint(BetaBernoulli.of(300), as_process("ring", 300))
    with pytest.raises(InputError, match="600 arms"):
        check_joint(BetaBernoulli.of(600), _wide(600))


def _wide(arms: int) -> Process:
    """Each arm shows the next nine: 2^10 outcomes each."""
    here = np.repeat(np.arange(arms), 9)
    there = (here + np.tile(np.arange(1, 10), arms)) % arms
    return Fixed(Sparse.from_edges(arms, here, there))
