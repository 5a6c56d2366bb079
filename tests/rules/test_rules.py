"""Tests of the package rules.

P1, P2 and P3 compared with brute force, linear programs and propositions.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import each
from helpers.oracles import lp_value, p1_bruteforce
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits._types import Floats
from graphbandits.graphs import DenseFeedback, UniformFeedback, as_process, clique_cover
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rules import ids_lp, ids_n, idsn_lp, ts_n
from graphbandits.rules.gains import joint_gain
from graphbandits.theory import information_ratio


def instance(rng: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats]:
    """alpha, delta, h, gain of one decision: with ties, zeros, one-hot alpha, many scales."""
    arms = int(rng.integers(1, 9))
    delta = rng.random(arms) ** rng.choice([1, 4])
    h = rng.random(arms) ** rng.choice([1, 4])
    gain = h + rng.random(arms) * rng.choice([0.0, 1.0])
    if rng.random() < 0.3:  # ties, of one or both
        i, j = rng.integers(arms, size=2)
        delta[i] = delta[j]
        if rng.random() < 0.6:
            gain[i], h[i] = gain[j], h[j]
    if rng.random() < 0.2:  # equal but for rounding
        i, j = rng.integers(arms, size=2)
        delta[i], gain[i] = delta[j] * (1 + 2e-16), gain[j] * (1 - 2e-16)
        h[i] = min(h[j], gain[i])
    if rng.random() < 0.2:
        delta[rng.integers(arms)] = 0.0
    if rng.random() < 0.2:
        i = rng.integers(arms)
        h[i] = gain[i] = 0.0
    if rng.random() < 0.05:
        h[:] = gain[:] = 0.0
    if rng.random() < 0.15:
        gain[:] = gain[0]
        h = np.minimum(h, gain)
    if rng.random() < 0.2:
        alpha = np.zeros(arms)
        alpha[rng.integers(arms)] = 1.0
    else:
        alpha = rng.dirichlet(np.full(arms, rng.choice([0.1, 1.0, 5.0])))
    scale = 10.0 ** rng.choice([0, 0, -4, -9])
    return alpha, delta * 10.0 ** rng.choice([0, 0, -5]), h * scale, gain * scale


def rows(*vectors: Floats) -> list[Floats]:
    return [np.ascontiguousarray(v[None]) for v in vectors]


def check_p1(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(200):
        alpha, delta, h, gain = instance(rng)
        pi = ids_n(*rows(alpha, delta, h, gain))[0]
        best = p1_bruteforce(delta, gain)
        if np.isnan(best):  # nothing to learn: greedy
            assert pi @ delta == pytest.approx(delta.min(), rel=1e-9)
            continue
        single = [
            d * d / g if g > 0 else np.inf if d > 0 else 0.0
            for d, g in zip(delta, gain, strict=True)
        ]
        mine = (pi @ delta) ** 2 / (pi @ gain) if pi @ delta > 0 else 0.0
        largest = max([v for v in single if np.isfinite(v)], default=1.0)
        assert mine <= best + 1e-9 * largest, (delta, gain, pi, mine, best)
        assert mine <= best * (1 + 1e-6) + 1e-30, (delta, gain, pi, mine, best)


def check_p2_and_p3(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    for _ in range(300):
        alpha, delta, h, gain = instance(rng)
        for rule, threshold in ((idsn_lp, alpha @ gain), (ids_lp, alpha @ h)):
            pi = rule(*rows(alpha, delta, h, gain))[0]
            most = gain.max()
            assert pi @ gain >= min(threshold, most) - 1e-9 * most
            want = lp_value(delta, gain, threshold)
            assert pi @ delta == pytest.approx(want, abs=1e-9 * max(delta.max(), 1e-300))


@each("seed", range(2))
def test_p1_is_minimum_over_all_pairs(seed: int) -> None:
    check_p1(seed)


@each("seed", range(2))
def test_p2_and_p3_solve_their_linear_programs(seed: int) -> None:
    check_p2_and_p3(seed)


@pytest.mark.nightly
@each("seed", range(2, 10))
def test_problems_are_solved_for_more_seeds(seed: int) -> None:
    check_p1(seed)
    check_p2_and_p3(seed)


@each("rule", [ts_n, ids_n, idsn_lp, ids_lp])
def test_every_rule_returns_a_distribution(rule) -> None:
    rng = np.random.default_rng(7)
    for _ in range(1000):
        pi = rule(*rows(*instance(rng)))[0]
        assert (pi >= 0.0).all()
        assert pi.sum() == pytest.approx(1.0, abs=1e-12)


@each("rule", [ids_n, idsn_lp, ids_lp])
def test_two_arms_suffice(rule) -> None:
    """Proposition 3 and its likes: the support has at most two values of (Delta, gain)."""
    rng = np.random.default_rng(8)
    for _ in range(1000):
        alpha, delta, h, gain = instance(rng)
        pi = rule(*rows(alpha, delta, h, gain))[0]
        points = {
            (
                round(delta[i] / max(delta.max(), 1e-300), 10),
                round(gain[i] / max(gain.max(), 1e-300), 10),
            )
            for i in np.flatnonzero(pi)
        }
        assert len(points) <= 2


@each("rule", [ids_n, idsn_lp, ids_lp])
def test_equal_arms_have_equal_probability(rule) -> None:
    """Also if they differ by one ulp: otherwise rounding decides between equal arms."""
    alpha = np.array([0.25, 0.25, 0.3, 0.2])
    delta = np.array([0.1, 0.1 * (1 + 2e-16), 0.3, 0.3])
    gain = np.array([0.02 * (1 - 2e-16), 0.02, 0.09, 0.09 * (1 + 2e-16)])
    pi = rule(*rows(alpha, delta, gain, gain))[0]
    assert pi[0] == pi[1]
    assert pi[2] == pi[3]


def test_tie_in_regret_is_resolved_by_larger_gain() -> None:
    alpha = np.array([0.4, 0.3, 0.3])
    for rule in (ids_n, idsn_lp, ids_lp):
        pi = rule(*rows(alpha, np.full(3, 0.2), np.full(3, 0.1), np.array([0.1, 0.5, 0.3])))[0]
        assert pi.tolist() == [0.0, 1.0, 0.0]


def test_rules_are_greedy_without_gain() -> None:
    alpha, delta, zero = np.array([0.4, 0.3, 0.3]), np.array([0.2, 0.1, 0.3]), np.zeros(3)
    for rule in (ids_n, idsn_lp, ids_lp):
        assert rule(*rows(alpha, delta, zero, zero))[0].tolist() == [0.0, 1.0, 0.0]


@each("scale", [(1.0, 1.0), (1e-200, 1e-25), (1e-300, 1e-5), (1e150, 1e155)])
def test_rules_do_not_depend_on_scale(scale: tuple[float, float]) -> None:
    alpha = np.array([0.2, 0.3, 0.5])
    delta, gain = np.array([1.0, 1.1, 3.0]), np.array([1.0, 2.9, 3.0])
    for rule in (ids_n, idsn_lp, ids_lp):
        here = rule(*rows(alpha, delta, 0.9 * gain, gain))[0]
        there = rule(*rows(alpha, delta * scale[0], 0.9 * gain * scale[1], gain * scale[1]))[0]
        assert there == pytest.approx(here, abs=1e-12)


def test_trial_does_not_depend_on_its_block() -> None:
    rng = np.random.default_rng(9)
    alpha, delta, h = rng.random((3, 30, 7))
    gain = h + rng.random((30, 7))
    for rule in (ts_n, ids_n, idsn_lp, ids_lp):
        together = rule(alpha, delta, h, gain)
        for i in range(30):
            alone = rule(*(v[i : i + 1].copy() for v in (alpha, delta, h, gain)))
            assert (alone[0] == together[i]).all()


parameter = st.integers(1, 60).map(float)
posteriors = st.lists(st.tuples(parameter, parameter), min_size=2, max_size=8)


def statistics(case: list[tuple[float, float]]) -> tuple[Floats, Floats, Floats]:
    posterior = BetaBernoulli(*np.array(case).T.copy())
    beliefs = posterior.beliefs(posterior.init(trials=1))
    return beliefs.alpha, beliefs.delta, beliefs.h


def ratio(pi: Floats, delta: Floats, gain: Floats) -> float:
    value = float(information_ratio(pi, delta, gain)[0])
    return 0.0 if np.isnan(value) else value  # psi is undefined, and skipped, if pi.G h = 0


def cliques(draw: st.DrawFn, arms: int) -> tuple[int, Floats]:
    """A graph whose mutual edges contain the given cliques, and how many these are."""
    part = draw(st.lists(st.integers(0, arms - 1), min_size=arms, max_size=arms))
    extra = draw(st.lists(st.booleans(), min_size=arms * arms, max_size=arms * arms))
    same = np.equal.outer(part, part)
    graph = np.where(same | np.array(extra).reshape(arms, arms), 1.0, 0.0)
    return len(set(part)), graph


@settings(max_examples=200, deadline=None)
@given(st.data(), posteriors)
def test_information_ratios_are_bounded_by_a_clique_cover(data, case) -> None:
    """Proposition 2 and Theorem 2: Psi <= psi <= chi/2 for TS-N, IDS-N, IDSN-LP; directed too.

    Any cover by cliques of the mutual graph is an upper bound of chi.
    """
    cover, graph = cliques(data.draw, len(case))
    alpha, delta, h = statistics(case)
    gain = DenseFeedback(graph).gain(h)
    psi = ratio(alpha, delta, gain)
    assert psi <= cover / 2 + 1e-9
    for rule in (ts_n, ids_n, idsn_lp):
        assert ratio(rule(alpha, delta, h, gain), delta, gain) <= psi * (1 + 1e-9) + 1e-12
    assert ratio(ids_lp(alpha, delta, h, gain), delta, gain) <= len(case) / 2 + 1e-9


@settings(max_examples=200, deadline=None)
@given(posteriors, st.floats(0.0, 1.0))
def test_information_ratios_are_bounded_under_random_feedback(case, r) -> None:
    """Theorem 3: Psi <= psi <= K / (2 (K r + 1 - r))."""
    arms = len(case)
    alpha, delta, h = statistics(case)
    gain = UniformFeedback(r, arms).gain(h)
    bound = arms / (2 * (arms * r + 1 - r))
    for rule in (ts_n, ids_n, idsn_lp):
        assert ratio(rule(alpha, delta, h, gain), delta, gain) <= bound + 1e-9


@settings(max_examples=200, deadline=None)
@given(posteriors)
def test_lemmas_two_and_three(case) -> None:
    """(alpha.Delta)^2 <= K/2 alpha.h, and (alpha.Delta)^2 <= 1/2 sum h."""
    alpha, delta, h = statistics(case)
    squared = float((alpha * delta).sum()) ** 2
    assert squared <= len(case) / 2 * float((alpha * h).sum()) + 1e-15
    assert squared <= 0.5 * float(h.sum()) + 1e-15


@settings(max_examples=100, deadline=None)
@given(posteriors)
def test_p2_equals_p3_on_empty_graph(case) -> None:
    alpha, delta, h = statistics(case)
    assert (idsn_lp(alpha, delta, h, h) == ids_lp(alpha, delta, h, h)).all()


def test_transitive_tournament_needs_mutual_cliques() -> None:
    """1->2, 1->3, 2->3: psi is above 1/2, so one 'clique' of one-way edges proves nothing."""
    alpha, delta, h = statistics([(1.0, 2.0), (4.0, 4.0), (12.0, 9.0)])
    gain = DenseFeedback(np.triu(np.ones((3, 3)))).gain(h)
    assert ratio(alpha, delta, gain) == pytest.approx(0.715401495806, abs=1e-12)
    # and so is Psi of TS-N, with the exact joint gain
    graph = as_process("edges(1>2 1>3 2>3)").feedback
    posterior = BetaBernoulli([1, 4, 12], [2, 4, 9], "strict")
    joint = joint_gain(posterior, posterior.init(1), graph)
    assert 0.5 < ratio(alpha, delta, joint) < ratio(alpha, delta, gain) - 0.003
    assert clique_cover(graph).upper == clique_cover(graph).lower == 3


@each("x", [1e-3, 3e-9, 2.5e-13, 7e-20])
@each("near", [1e-2, 1e-5])
def test_weight_is_accurate_if_one_arm_has_almost_all_probability(x: float, near: float) -> None:
    """With two arms P2 plays alpha, even if alpha of the second arm is tiny."""
    alpha = np.array([[1.0 - x, x]])
    gain = np.array([[0.1, 0.1 * (1.0 + near)]])
    pi = idsn_lp(alpha, np.array([[1e-9, 0.3]]), gain, gain)
    if x * near > 1e-11:  # else the first meets the threshold within its tolerance
        assert pi[0, 1] == pytest.approx(x, rel=1e-10)
    else:
        assert pi[0, 1] in (0.0, pytest.approx(x, rel=1e-10))
