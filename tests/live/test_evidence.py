"""Tests of live/evidence.py: a martingale, the definition, false alarms and power."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.cases import each
from helpers.reward_families import FAMILIES
from scipy import stats
from scipy.integrate import quad

from graphbandits.live import evidence
from graphbandits.live.evidence import KEPT, START, TOGETHER, SequentialTest, natural_family
from graphbandits.posteriors import (
    BetaBernoulli,
    BetaInterval,
    Dirichlet,
    GammaPoisson,
    Normal,
    NormalInverseGamma,
    Observations,
)
from graphbandits.rng import Keys
from graphbandits.worlds import as_world


def new_test(posterior: Any, start: Any = None) -> SequentialTest:
    family = natural_family(posterior)
    assert family is not None
    return SequentialTest(family, start)


def add(test: SequentialTest, arm: Any, reward: Any, weight: Any = None) -> None:
    arm = np.atleast_1d(np.asarray(arm, np.int64))
    reward = np.broadcast_to(np.asarray(reward, np.float64), arm.shape)
    ones = np.ones(arm.shape)
    test.add(arm, reward, ones if weight is None else np.asarray(weight, float), ones)


# --- the definition -------------------------------------------------------------------------------


def unswitched(count: int) -> float:
    return (1.0 - START) / (1.0 + math.log1p(count / 20.0))


def mixture(ratios: Sequence[Sequence[float]]) -> float:
    """Return the likelihood ratio of the mixture over all times of a switch, term by term."""
    n, forgetting = len(ratios), len(KEPT) - 1
    total = unswitched(n) + START * math.prod(one[0] for one in ratios)
    for first in range(n):
        chance = (unswitched(first) - unswitched(first + 1)) / forgetting
        for m in range(1, 1 + forgetting):
            total += chance * math.prod(one[m] for one in ratios[first:])
    return total


def bernoulli_ratios(prior: tuple[int, int], outcomes: Sequence[int]) -> list[list[float]]:
    """Return the ratios of the predictions of an arm, in rational numbers until the end."""
    strength = min(Fraction(1), Fraction(2, sum(prior)))
    weak = [strength * one for one in prior]
    null = [Fraction(one) for one in prior]
    states = [list(weak) for _ in KEPT]
    found = []
    for y in outcomes:
        side = 1 - y
        for state, kept in zip(states, KEPT, strict=True):
            for j in (0, 1):
                state[j] = weak[j] + Fraction(str(kept)) * (state[j] - weak[j])
        expected = null[side] / sum(null)
        found.append([float(s[side] / sum(s) / expected) for s in states])
        for state in (null, *states):
            state[side] += 1
    return found


def test_evidence_is_the_mixture_over_times_of_a_switch() -> None:
    arms, outcomes = [0, 1, 0, 0, 1, 0, 1], [1, 0, 0, 0, 0, 0, 1]
    test = new_test(BetaBernoulli.of(3, [4.0, 1.0, 1.0], [2.0, 1.0, 1.0]))
    add(test, arms, outcomes)
    by_arm = []
    for arm, prior in ((0, (4, 2)), (1, (1, 1))):
        mine = [y for y, one in zip(outcomes, arms, strict=True) if one == arm]
        by_arm.append(bernoulli_ratios(prior, mine))
    queues = [iter(by_arm[0]), iter(by_arm[1])]
    together = mixture([next(queues[arm]) for arm in arms])
    single = [mixture(by_arm[0]), mixture(by_arm[1]), 1.0]
    expected = TOGETHER * together + (1.0 - TOGETHER) * sum(single) / 3
    assert math.exp(test.now()) == pytest.approx(expected, rel=1e-12)
    assert math.exp(test.together(0.01).now) == pytest.approx(together, rel=1e-12)
    for one in test.arms(0.01):
        assert one.arm is not None
        assert math.exp(one.now) == pytest.approx(single[one.arm], rel=1e-12)


def test_highest_ratio_is_the_largest_after_any_outcome() -> None:
    arms, outcomes = [0, 1] * 50, [1] * 20 + [0] * 20 + [1, 1, 1, 1, 0, 0] * 10
    prior = BetaBernoulli.of(2, 5.0, 2.0)
    test, ratios = new_test(prior), [0.0]
    for arm, outcome in zip(arms, outcomes, strict=True):
        add(test, arm, outcome)
        ratios.append(test.now())
    assert test.highest() == pytest.approx(max(ratios), rel=1e-10)
    assert max(ratios) > test.now() + 0.01
    whole = new_test(prior)
    add(whole, arms, outcomes)
    assert (whole.highest(), whole.now()) == (test.highest(), test.now())
    assert whole.arms(0.01) == test.arms(0.01)


def test_time_is_that_of_the_highest_ratio() -> None:
    test = new_test(BetaBernoulli.of(1, 90.0, 10.0))
    ones = np.ones(30)
    test.add(np.zeros(30, np.int64), np.array([0.0] * 10 + [1.0] * 20), ones, 7.0 + np.arange(30))
    assert test.time == 16.0
    add(test, [0] * 3, [1] * 3)
    assert test.time == 16.0


# --- a martingale ---------------------------------------------------------------------------------


def expectation(prior: Any, outcomes: Sequence[float], rounds: int) -> float:
    """Return the expected ratio under the prior, over all sequences of outcomes.

    The arm that is observed depends on all outcomes before, as with a policy.
    """
    total = 0.0
    for sequence in itertools.product(range(len(outcomes)), repeat=rounds):
        weights = _weights(prior)
        probability, arm, test = 1.0, 0, new_test(prior)
        for k in sequence:
            probability *= weights[arm][k] / sum(weights[arm])
            weights[arm][k] += 1.0
            add(test, arm, outcomes[k])
            arm = (arm + k + 1) % len(weights)
        total += probability * math.exp(test.now())
    return total


def _weights(prior: Any) -> list[list[float]]:
    if isinstance(prior, BetaBernoulli):
        return [[a, b] for a, b in zip(prior.a.tolist(), prior.b.tolist(), strict=True)]
    return [row.tolist() for row in prior.weights]


FINITE = {
    "beta": (BetaBernoulli.of(2, [7.0, 1.0], [2.0, 1.0]), (1.0, 0.0), 7),
    "dirichlet": (
        Dirichlet.of(2, values=(0, 2, 3), weights=[[1, 1, 1], [6, 1, 3]]),
        (0.0, 2.0, 3.0),
        5,
    ),
}


@each("name", FINITE)
def test_expected_ratio_is_one_if_the_prior_is_right(name: str) -> None:
    assert expectation(*FINITE[name]) == pytest.approx(1.0, rel=1e-12)


@each("name", FINITE)
def test_an_alternative_that_knows_the_outcome_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = evidence.states_before

    def knows(row: Any, added: Any, steps: Any, *more: Any) -> None:
        honest(row, added, steps, *more)
        before = more[-1]
        before[:, 1:] += 0.01 * added[:, None, :]

    monkeypatch.setattr(evidence, "states_before", knows)
    assert expectation(*FINITE[name]) > 1.0001


def after(posterior: Any, rewards: Sequence[float]) -> SequentialTest:
    """Return the test of one arm after some rewards."""
    test = new_test(posterior)
    add(test, [0] * len(rewards), rewards)
    return test


def ratio_after(posterior: Any, rewards: Sequence[float]) -> float:
    return math.exp(after(posterior, rewards).now())


def test_expected_ratio_after_a_count_is_the_ratio_before() -> None:
    prior, rewards = GammaPoisson.of(1, shape=6.0, rate=2.0), [3.0, 0.0, 8.0]
    shape, rate = 6.0 + 11.0, 2.0 + 3.0
    chance = stats.nbinom(shape, rate / (rate + 1.0))
    found = sum(chance.pmf(y) * ratio_after(prior, [*rewards, float(y)]) for y in range(120))
    assert found == pytest.approx(ratio_after(prior, rewards), rel=1e-12)


def test_expected_ratio_after_a_normal_reward_is_the_ratio_before() -> None:
    prior, rewards = Normal.of(1, mean=1.0, sd=0.5, noise=0.8), [1.5, -0.2, 3.0]
    precision = 0.5**-2 + 3 * 0.8**-2
    mean = (1.0 * 0.5**-2 + sum(rewards) * 0.8**-2) / precision
    chance = stats.norm(mean, math.sqrt(1.0 / precision + 0.8**2))
    assert integral(prior, rewards, chance) == pytest.approx(ratio_after(prior, rewards), rel=1e-8)


def test_expected_ratio_after_a_reward_of_unknown_variance_is_the_ratio_before() -> None:
    prior, rewards = NormalInverseGamma.of(1, 0.5, 3.0, 4.0, 2.0), [1.5, -0.2, 3.0]
    n, y = 3.0 + 3, np.array(rewards)
    mean = (3.0 * 0.5 + y.sum()) / n
    scale = 2.0 + 0.5 * ((y - y.mean()) ** 2).sum() + 0.5 * 3 * 3 / n * (y.mean() - 0.5) ** 2
    shape = 4.0 + 1.5
    chance = stats.t(2.0 * shape, mean, math.sqrt(scale / shape * (n + 1.0) / n))
    assert integral(prior, rewards, chance) == pytest.approx(ratio_after(prior, rewards), rel=1e-8)


def integral(prior: Any, rewards: list[float], chance: Any) -> float:
    def value(u: float) -> float:
        return ratio_after(prior, [*rewards, float(chance.ppf(u))])

    return float(quad(value, 0.0, 1.0, epsrel=1e-10, epsabs=0.0, limit=500)[0])


def test_expected_ratio_is_kept_from_a_later_state_and_with_a_new_arm() -> None:
    """The test starts at a posterior; between two outcomes an arm is added."""
    prior = BetaBernoulli.of(2, [7.0, 1.0], [2.0, 1.0])
    more = BetaBernoulli.of(3, [7.0, 1.0, 3.0], [2.0, 1.0, 9.0])
    start = np.array([[9.0, 12.0], [3.0, 1.0]])
    total = 0.0
    for sequence in itertools.product((0, 1), repeat=6):
        weights = [[9.0, 12.0], [3.0, 1.0], [3.0, 9.0]]
        probability, test = 1.0, new_test(prior, start)
        for i, (arm, y) in enumerate(zip([0, 1, 0, 2, 2, 0], sequence, strict=True)):
            if i == 3:
                family = natural_family(more)
                assert family is not None
                before = test.now()
                test.add_arm(family)
                assert test.now() == pytest.approx(before, abs=1e-12)
            probability *= weights[arm][1 - y] / sum(weights[arm])
            weights[arm][1 - y] += 1.0
            add(test, arm, y)
        total += probability * math.exp(test.now())
    assert total == pytest.approx(1.0, rel=1e-12)


# --- outcomes of several at once, and extreme ones ------------------------------------------------


def test_weighted_outcomes_have_the_probability_of_their_sequence() -> None:
    """Of one report: a total of 3 in 10 is as likely as any sequence with 3 successes."""
    prior = BetaBernoulli.of(1, 90.0, 10.0)
    test = new_test(prior)
    add(test, [0], [0.3], [10.0])
    weak = stats.betabinom.pmf(3, 10, 1.8, 0.2)
    ratio = weak / stats.betabinom.pmf(3, 10, 90.0, 10.0)
    left = unswitched(1)  # without earlier outcomes there is nothing to forget
    assert math.exp(test.now()) == pytest.approx(left + (1.0 - left) * ratio, rel=1e-10)


def test_a_report_of_several_outcomes_forgets_by_their_number() -> None:
    """Otherwise a change between two reports of many outcomes would not be seen."""
    test = new_test(BetaBernoulli.of(1))
    add(test, [0, 0], [1.0, 0.0], [60.0, 50.0])
    ratios = []
    null = stats.betabinom.pmf(0, 50, 61.0, 1.0)
    for kept in KEPT:
        ratios.append([1.0, stats.betabinom.pmf(0, 50, 1.0 + 60.0 * kept**50, 1.0) / null])
    expected = mixture(list(zip(*ratios, strict=True)))
    assert math.exp(test.now()) == pytest.approx(expected, rel=1e-9)
    assert test.highest() > math.log(1e6)
    counts = new_test(GammaPoisson.of(1))  # an exposure in seconds is not a number of outcomes
    add(counts, [0, 0], [0.001, 0.001], [3000.0, 4000.0])
    assert abs(counts.now()) < 0.5


def test_recent_mean_is_that_of_the_last_20_outcomes() -> None:
    test = new_test(BetaBernoulli.of(2))
    add(test, [0] * 40, [1] * 20 + [0] * 20)
    (found,) = test.arms(0.01)
    assert found.posterior_mean == pytest.approx(0.5)
    assert (found.recent_mean, found.outcomes) == (0.0, 40)
    add(test, [1, 0, 1], [1, 1, 0])
    recent = {one.arm: one.recent_mean for one in test.arms(0.01)}
    assert recent == {0: 1 / 20, 1: 1 / 2}


@each("sizes", [[1] * 90, [7, 30, 1, 1, 45, 6], [90]])
def test_recent_mean_does_not_depend_on_batches(sizes: list[int]) -> None:
    rng = np.random.default_rng(3)
    arm, reward = rng.integers(0, 3, 90), rng.normal(size=90)
    test, start = new_test(Normal.of(3)), 0
    for size in sizes:
        part = slice(start, start + size)
        add(test, arm[part].tolist(), reward[part].tolist())
        start += size
    for one in test.arms(0.01):
        assert one.recent_mean == pytest.approx(reward[arm == one.arm][-20:].mean(), rel=1e-12)


def test_recent_mean_counts_reports_of_several_outcomes_whole() -> None:
    test = new_test(BetaBernoulli.of(1))
    add(test, [0] * 3, [1.0, 0.5, 0.2], [60.0, 15.0, 10.0])
    assert test.arms(0.01)[0].recent_mean == pytest.approx((7.5 + 2.0) / 25.0)
    counts = new_test(GammaPoisson.of(1))  # an exposure is not a number of outcomes
    add(counts, [0, 0], [2.0, 1.0], [100.0, 300.0])
    assert counts.arms(0.01)[0].recent_mean == pytest.approx(500.0 / 400.0)


@each("size", [1, 2, 3, 7, 200])
def test_equal_outcomes_in_a_row_are_counted(size: int) -> None:
    reward = np.random.default_rng(4).integers(0, 2, 200).astype(float)
    test = new_test(BetaBernoulli.of(2))
    for start in range(0, 200, size):
        seen = reward[: start + size].tolist()
        add(test, [start % 2] * len(seen[start:]), seen[start:])
        lengths = [len(list(group)) for _, group in itertools.groupby(seen)]
        assert (test.last, test.in_row) == (seen[-1], lengths[-1])
        assert test.in_row_before == max(lengths[:-1], default=0)


def test_a_test_ends_at_values_beyond_floating_point() -> None:
    test = new_test(Normal.of(1))
    add(test, [0], [1e300])
    assert test.failed
    add(test, [0], [1.0])
    assert test.failed


def test_huge_evidence_stays_finite() -> None:
    test = new_test(Normal.of(1, mean=0.0, sd=0.001, noise=1.0))
    add(test, [0] * 1000, 100.0)
    assert not test.failed
    assert 500.0 < test.highest() < math.inf
    assert test.now() > 1e4


# --- false alarms and power -----------------------------------------------------------------------


def drawn(world: Any, agents: int, rounds: int) -> Any:
    """Return rewards (agents, rounds, arms) with means from the prior."""
    keys = Keys(5, 0, agents)
    theta = world.means(keys)
    trial = np.repeat(np.arange(agents), world.arms)
    arm = np.tile(np.arange(world.arms), agents)
    rewards = [world.outcomes(theta, keys, t, trial, arm) for t in range(1, rounds + 1)]
    return np.array(rewards).reshape(rounds, agents, world.arms).swapaxes(0, 1)


def highest(prior: Any, rewards: Any) -> float:
    test = new_test(prior)
    rounds, arms = rewards.shape
    add(test, np.tile(np.arange(arms), rounds), rewards.ravel())
    return test.highest()


def test_false_alarms_are_at_most_the_level() -> None:
    """Over 1000 agents of three arms, with means from the prior, observed 200 times each."""
    agents = 1000
    for family, known in FAMILIES.items():
        world = as_world(known.world, 3)
        if "switch" in family or natural_family(world.prior) is None:
            continue
        worst = np.exp([highest(world.prior, one) for one in drawn(world, agents, 200)])
        for level in (0.2, 0.05, 0.01):
            share = (worst >= 1.0 / level).mean()
            error = math.sqrt(level * (1.0 - level) / agents)
            assert share <= level + 4.0 * error, (family, level)
        assert (worst >= 2.0).mean() > 0.01, family  # not by an evidence that never moves


# Natural families --------------------------------------------------------------------------------


ZERO = np.array([0])
#: Priors of two arms, and outcomes (reward, weight) of the second one.
EXAMPLES: dict[str, tuple[Any, list[tuple[float, float]]]] = {
    "beta": (BetaBernoulli.of(2, [1.0, 90.0], [1.0, 10.0]), [(1, 1), (0, 1), (0.3, 10), (1, 1)]),
    "dirichlet": (
        Dirichlet.of(2, values=(1, 5, 7), weights=[[1, 1, 1], [0.5, 20, 3]]),
        [(7, 1), (1, 1), (1, 1), (5, 1)],
    ),
    "gamma": (
        GammaPoisson.of(2, shape=[1.0, 40.0], rate=[1.0, 8.0]),
        [(3, 1), (0, 1), (6.4, 2.5), (5, 1)],
    ),
    "normal": (
        Normal.of(2, mean=[0.0, 3.0], sd=[1.0, 0.2], noise=0.7),
        [(2.5, 1), (9.0, 1), (3.1, 12), (-1.0, 1)],
    ),
    "student": (
        NormalInverseGamma.of(2, [0.0, 3.0], [1.0, 8.0], [2.0, 9.0], [1.0, 4.0]),
        [(2.5, 1), (9.0, 1), (3.1, 1), (-1.0, 1)],
    ),
}


def state_after(posterior: Any, outcomes: list[tuple[float, float]]) -> Any:
    state = posterior.init(1)
    for reward, weight in outcomes:
        one = Observations(ZERO, ZERO + 1, np.array([float(reward)]), np.array([float(weight)]))
        state = posterior.update(state, one)
    return state


def log_probability(posterior: Any, state: Any, reward: float, weight: float) -> float:
    """Return the predictive log probability of an outcome of the second arm, by SciPy."""
    values = {name: float(array[0, 1]) for name, array in state.items() if array.ndim == 2}
    if isinstance(posterior, BetaBernoulli):
        total = round(reward * weight)
        return float(stats.betabinom.logpmf(total, round(weight), values["a"], values["b"]))
    if isinstance(posterior, Dirichlet):
        weights = state["weights"][0, 1]
        return float(np.log(weights[posterior.values.index(reward)] / weights.sum()))
    if isinstance(posterior, GammaPoisson):
        p = values["rate"] / (values["rate"] + weight)
        return float(stats.nbinom.logpmf(round(reward * weight), values["shape"], p))
    if isinstance(posterior, Normal):
        spread = np.sqrt(1.0 / values["precision"] + posterior.noise**2 / weight)
        return float(stats.norm.logpdf(reward, values["mean"], spread))
    n, a, b = values["count"], values["shape"], values["scale"]
    spread = np.sqrt(b / a * (n + 1.0) / n)
    return float(stats.t.logpdf(reward, 2.0 * a, values["mean"], spread))


@each("name", EXAMPLES)
def test_ratio_of_predictions_is_that_of_scipy(name: str) -> None:
    posterior, outcomes = EXAMPLES[name]
    family = natural_family(posterior)
    assert family is not None
    states = [state_after(posterior, outcomes[:k]) for k in range(4)]
    for reward, weight in [*outcomes, outcomes[0]]:
        added = family.statistic(ZERO + 1, np.array([float(reward)]), np.array([float(weight)]))
        found, expected = (
            np.array(values)
            for values in (
                [family.log_predictive(family.of_state(s)[1:], added)[0] for s in states],
                [log_probability(posterior, s, reward, weight) for s in states],
            )
        )
        np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9, atol=1e-11)
        assert np.ptp(expected) > 1e-3


@each("name", EXAMPLES)
def test_statistics_add_up_to_the_updated_state(name: str) -> None:
    posterior, outcomes = EXAMPLES[name]
    family = natural_family(posterior)
    assert family is not None
    reward, weight = np.array(outcomes, float).T
    added = family.statistic(np.ones(len(outcomes), np.int64), reward, weight)
    state = state_after(posterior, outcomes)
    expected = family.of_state(state)
    found = np.array([family.prior[0], family.prior[1] + added.sum(axis=0)])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(family.of_state(posterior.init(1)), family.prior, rtol=1e-14)
    np.testing.assert_allclose(
        family.mean(np.arange(2), expected), posterior.mean(state)[0], rtol=1e-12
    )


@each("name", EXAMPLES)
def test_weak_prior_has_the_same_means_and_is_no_stronger(name: str) -> None:
    """The first arms have the default prior, which is its own weak prior."""
    posterior, _ = EXAMPLES[name]
    family = natural_family(posterior)
    assert family is not None
    np.testing.assert_array_equal(family.weak[0], family.prior[0])
    assert (family.weak[1] <= family.prior[1]).all()
    assert (family.weak[1] < family.prior[1]).any()
    arms = np.arange(2)
    np.testing.assert_allclose(family.mean(arms, family.weak), family.mean(arms, family.prior))


def test_small_steps_of_large_counts_keep_their_digits() -> None:
    """After 1e9 outcomes a difference of two values of log Gamma would have no digits left."""
    family = natural_family(GammaPoisson.of(1))
    assert family is not None
    before = np.array([[3e9, 1e9]])
    added = np.array([[4.0, 1.0]])
    other = np.array([[5.0, 1.0]])
    found = family.log_predictive(before, other) - family.log_predictive(before, added)
    # p(5) / p(4) = (shape + 4) / (5 (rate + 1)), without the factorials of the omitted term
    expected = np.log((3e9 + 4.0) / (1e9 + 1.0)) - np.log(4.0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


class Shifted(BetaBernoulli):
    """A subclass may have other updates."""


def test_posteriors_without_exact_predictions_have_no_family() -> None:
    assert natural_family(BetaInterval.of(2)) is None
    assert natural_family(BetaBernoulli.of(2, discount=0.9)) is None
    assert natural_family(Normal.of(2, half_life=5.0)) is None
    assert natural_family(Shifted.of(2)) is None
