"""Tests of theory/bounds.py: theorems, limits of ratios, and bounds of simulations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.bound_cases import FIVE, LOG5, ROUNDS, UNEQUAL, by_name
from helpers.cases import each
from helpers.other_rewards import (
    GaussianWorld,
    OtherSupport,
    TwoNormals,
    TwoValued,
    TwoValuedWorld,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from graphbandits import simulate
from graphbandits.errors import InputError
from graphbandits.graphs import (
    DenseFeedback,
    Feedback,
    Fixed,
    GivenSequence,
    RandomFeedback,
    RevealedErdosRenyi,
    UniformFeedback,
    as_process,
)
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.base import BINARY, COUNT, REAL, Support, interval, values
from graphbandits.rng import Keys
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate_plan
from graphbandits.simulation.shard import recorded_rounds
from graphbandits.theory import (
    audit,
    bounds,
    bounds_of,
    corollary_1,
    corollary_2,
    earlier_bound,
    entropy_of,
    general_bound,
    judge_bounds,
    regret_bounds,
    theorem_1,
    theorem_2,
    theorem_3,
)
from graphbandits.theory.bounds import reward_scale, scale_note, why_no_bounds
from graphbandits.worlds import Bernoulli


def test_theorem_1_matches_formula() -> None:
    assert theorem_1(5, LOG5, [1000]).values == pytest.approx([math.sqrt(2500 * LOG5)], rel=1e-14)
    assert theorem_1(5, LOG5, [1000]).policies == ("ids-lp",)


def test_theorem_2_sums_clique_cover_numbers() -> None:
    found = theorem_2([2, 1, 5, 3], entropy=0.7)
    assert found.rounds.tolist() == [1, 2, 3, 4]
    wanted = np.sqrt(0.7 * np.array([1.0, 1.5, 4.0, 5.5]))
    np.testing.assert_allclose(found.values, wanted, rtol=1e-14)
    np.testing.assert_array_equal(theorem_2([2, 1, 5, 3], 0.7, [2, 4]).values, wanted[[1, 3]])


def test_trials_are_averaged_under_the_square_root() -> None:
    found = theorem_2([[1, 1], [3, 5]], entropy=2.0)
    np.testing.assert_allclose(found.values, np.sqrt([2.0, 5.0]), rtol=1e-14)
    before = earlier_bound([[4, 1], [3, 5]], entropy=2.0)  # largest until then: 4, 3 and 4, 5
    np.testing.assert_allclose(before.values, np.sqrt([3.5, 9.0]), rtol=1e-14)


def test_corollaries_equal_theorems_for_constant_graphs() -> None:
    rounds = [1, 7, 20]
    fixed, by_round = corollary_1(3, 0.9, rounds), theorem_2([3] * 20, 0.9, rounds)
    np.testing.assert_allclose(fixed.values, by_round.values, rtol=1e-14)
    np.testing.assert_allclose(earlier_bound([3] * 20, 0.9, rounds).values, fixed.values)
    constant, rates = corollary_2(6, 0.3, 0.9, rounds), theorem_3(6, [0.3] * 20, 0.9, rounds)
    np.testing.assert_allclose(constant.values, rates.values, rtol=1e-14)


def test_theorem_3_matches_limits_r_0_and_r_1() -> None:
    nothing, everything = theorem_3(7, [0.0] * 9, 1.3), theorem_3(7, [1.0] * 9, 1.3)
    np.testing.assert_allclose(nothing.values, theorem_1(7, 1.3, range(1, 10)).values, rtol=1e-14)
    np.testing.assert_allclose(everything.values, np.sqrt(np.arange(1, 10) * 1.3 / 2), rtol=1e-14)


def test_general_bound_of_constant_ratios_equals_corollary_1() -> None:
    rounds = np.array([1, 5, 50])
    found = general_bound(1.5 * rounds, LOG5, rounds, policies=("mine",))
    np.testing.assert_allclose(found.values, corollary_1(3, LOG5, rounds).values, rtol=1e-14)
    assert found.exact
    assert found.is_for("mine(a=1)")


def test_general_bound_of_trials_has_standard_error() -> None:
    """The delta method, compared with the spread of the bounds of resampled trials."""
    random = np.random.default_rng(3)
    ratios = random.gamma(4.0, 1.0, (400, 1))
    found = general_bound(ratios, 0.8, [30])
    assert found.values == pytest.approx([math.sqrt(0.8 * ratios.mean())])
    again = np.sqrt(0.8 * random.choice(ratios[:, 0], (4000, 400)).mean(axis=1))
    # the deviation of 4000 draws is itself known to 1 / sqrt(8000)
    assert found.final_error == pytest.approx(again.std(), rel=4 / math.sqrt(8000) + 0.01)
    assert not found.exact


def test_bound_applies_to_policy_with_any_parameters() -> None:
    two = theorem_2([1], LOG5)
    for name in ("ts-n", "ts-n-sampled", "ids-n", "idsn-lp", "ids-n(gain=joint)"):
        assert two.is_for(name), name
    for name in ("ids-lp", "ts", "ids", "v-ids-n", "ucb-n", "ts-maxn"):
        assert not two.is_for(name), name
    assert theorem_1(2, 0.1, [1]).is_for("ids-lp(gain=joint)")


@each(
    "call",
    [
        lambda: theorem_1(0, 1.0, [1]),
        lambda: theorem_1(2, -1.0, [1]),
        lambda: theorem_1(2, math.nan, [1]),
        lambda: theorem_1(2, 1.0, [2, 1]),
        lambda: theorem_1(2, 1.0, [0, 1]),
        lambda: theorem_1(2, 1.0, [1.5]),
        lambda: theorem_1(2, 1.0, []),
        lambda: theorem_2([1, 0], 1.0),
        lambda: theorem_2([], 1.0),
        lambda: theorem_2("many", 1.0),
        lambda: theorem_2([1, 2], 1.0, [3]),
        lambda: theorem_3(5, [0.5, 1.5], 1.0),
        lambda: theorem_3(5, [0.5, math.nan], 1.0),
        lambda: corollary_2(5, 2.0, 1.0, [1]),
        lambda: general_bound([1.0, math.inf], 1.0, [1, 2]),
        lambda: general_bound([1.0], 1.0, [1, 2]),
        lambda: regret_bounds(as_process("paper"), BetaBernoulli.of(4), [1]),
        lambda: regret_bounds(RandomFeedback(5, (0.1, 0.2)), FIVE, [3]),
    ],
)
def test_invalid_arguments_are_rejected(call: Callable[[], object]) -> None:
    with refuses(InputError):
        call()


COMPLETE, EMPTY = np.ones((5, 5)), np.eye(5)
#: The first arm reveals all others: no edge has both directions.
OUT_STAR = np.vstack([np.ones(5), np.eye(5)[1:]])


@dataclass(frozen=True)
class ListedGraphs:
    """A custom process: one graph per trial and round, from lists."""

    graphs: tuple[np.ndarray, ...]  # (trials, K, K) of each round
    deterministic: bool = True
    names: tuple[str, ...] | None = None
    rounds: int | None = None

    @property
    def arms(self) -> int:
        return self.graphs[0].shape[-1]

    def round(self, t: int, keys: Keys) -> Feedback:
        graph = self.graphs[(t - 1) % len(self.graphs)]
        if len(graph) == 1:
            return DenseFeedback(graph)
        return DenseFeedback(graph[keys.trial_numbers % len(graph)])


@each(
    ("graph", "cover"),
    [("complete", 1), ("empty", 6), ("cliques(size=3)", 2), ("ring", 3), ("path", 3), ("star", 5)],
)
def test_fixed_graphs_with_known_clique_covers(graph: str, cover: int) -> None:
    found = by_name(regret_bounds(as_process(graph, 6), BetaBernoulli.of(6), [40]))
    assert found["Corollary 1"].final == pytest.approx(math.sqrt(20 * cover * math.log(6)))


def test_one_way_edge_is_no_clique() -> None:
    found = by_name(regret_bounds(Fixed(DenseFeedback(OUT_STAR)), FIVE, [40]))
    assert found["Corollary 1"].final == pytest.approx(found["Theorem 1"].final, rel=1e-12)


def test_sequence_of_graphs_sums_clique_cover_numbers_and_keeps_largest() -> None:
    graphs = (COMPLETE, EMPTY, COMPLETE, as_process("paper").feedback.matrix[0])
    process = GivenSequence(tuple(map(DenseFeedback, graphs)))
    found = by_name(regret_bounds(process, FIVE, [1, 2, 3, 4]))
    assert list(found) == ["Theorem 1", "Theorem 2", "earlier bound"]
    two, before = found["Theorem 2"], found["earlier bound"]
    np.testing.assert_allclose(two.values**2 / LOG5, [0.5, 3.0, 3.5, 4.5], rtol=1e-9)
    np.testing.assert_allclose(before.values**2 / LOG5, [0.5, 5.0, 7.5, 10.0], rtol=1e-9)
    np.testing.assert_allclose(two.values, theorem_2([1, 5, 1, 2], LOG5).values, rtol=1e-9)
    assert (two.values <= before.values + 1e-12).all()


def test_random_feedback_with_constant_and_listed_rates() -> None:
    found = by_name(regret_bounds(RandomFeedback(5, 0.25), FIVE, ROUNDS))
    assert list(found) == ["Theorem 1", "Corollary 2"]
    np.testing.assert_allclose(
        found["Corollary 2"].values, np.sqrt(np.array(ROUNDS) * 1.25 * LOG5), rtol=1e-9
    )
    rates = (0.0, 0.5, 1.0, 0.25)
    found = by_name(regret_bounds(RandomFeedback(5, rates), FIVE, [2, 4]))
    limits = [2.5, 5 / 6, 0.5, 1.25]
    wanted = np.sqrt(LOG5 * np.cumsum(limits))[[1, 3]]
    np.testing.assert_allclose(found["Theorem 3"].values, wanted, rtol=1e-9)
    np.testing.assert_allclose(theorem_3(5, rates, LOG5, [2, 4]).values, wanted, rtol=1e-14)


@each(("arms", "low", "high"), [(5, 0.0, 1.0), (9, 0.2, 0.7), (3, 0.4, 0.4 + 1e-9), (2, 0.0, 0.5)])
def test_uniform_rates_use_expected_limit(arms: int, low: float, high: float) -> None:
    def limit(r: float) -> float:
        return arms / (2.0 * (arms * r + 1.0 - r))

    mean = quad(limit, low, high, epsabs=0.0, epsrel=1e-12)[0] / (high - low)
    process = RandomFeedback(arms, None, low, high)
    found = by_name(regret_bounds(process, BetaBernoulli.of(arms), [70]))["Theorem 3"]
    assert found.final == pytest.approx(math.sqrt(70 * mean * math.log(arms)), rel=1e-8)
    assert found.exact


def test_shared_rates_are_the_drawn_rates() -> None:
    process = RandomFeedback(5, None, shared=True)
    drawn = [process.round(t, Keys(seed=3)).r[0] for t in range(1, 41)]
    found = by_name(regret_bounds(process, FIVE, [40], seed=3, trials=100))["Theorem 3"]
    assert found.final == pytest.approx(theorem_3(5, drawn, LOG5).final, rel=1e-9)


def test_rates_0_and_1_are_treated_as_graphs() -> None:
    for rate, cover in ((0.0, 5), (1.0, 1)):
        found = by_name(regret_bounds(RandomFeedback(5, rate), FIVE, [30]))
        assert found["Corollary 1"].final == pytest.approx(math.sqrt(15 * cover * LOG5)), rate


def test_general_probabilities_use_half_the_number_of_arms() -> None:
    matrix = np.array([[1.0, 0.5, 0.1], [0.0, 1.0, 0.9], [0.3, 1.0, 1.0]])
    found = regret_bounds(Fixed(DenseFeedback(matrix)), UNEQUAL, ROUNDS)
    assert [bound.name for bound in found] == ["Theorem 1", "Lemmas 1 and 2"]
    np.testing.assert_allclose(found[1].values, found[0].values, rtol=1e-12)
    assert "G h >= h" in found[1].note
    assert found[1].is_for("ts-n")
    assert not found[1].is_for("ids-lp")


def test_mixed_sequence_uses_limit_of_each_round() -> None:
    half = np.where(np.eye(5) == 1.0, 1.0, 0.5)
    half[0, 1] = 0.4
    process = GivenSequence(
        (DenseFeedback(COMPLETE), UniformFeedback(0.25, 5), DenseFeedback(half))
    )
    found = by_name(regret_bounds(process, FIVE, [1, 2, 3]))
    assert list(found) == ["Theorem 1", "Lemma 1"]
    np.testing.assert_allclose(found["Lemma 1"].values ** 2 / LOG5, [0.5, 1.75, 4.25], rtol=1e-9)


@each("directed", [False, True])
def test_revealed_graphs_of_three_arms_match_hand_calculation(directed: bool) -> None:
    """chi is 3 without an edge, 2 with one or two, 1 with three."""
    q = 0.3**2 if directed else 0.3  # both ways
    none, all_ = (1 - q) ** 3, q**3
    chi = 3 * none + 1 * all_ + 2 * (1 - none - all_)
    process = RevealedErdosRenyi(3, 0.3, directed)
    found = by_name(regret_bounds(process, BetaBernoulli.of(3), [1, 20]))
    two, before = found["Theorem 2"], found["earlier bound"]
    assert two.final == pytest.approx(math.sqrt(10 * chi * math.log(3)), rel=1e-9)
    assert two.exact
    # the largest of 20 is 3 but for (1 - none)^20, and then 2 but for all^20
    largest = 3 - (1 - none) ** 20 - all_**20
    assert before.final == pytest.approx(math.sqrt(10 * largest * math.log(3)), rel=1e-9)
    assert before.values[0] == pytest.approx(two.values[0])


@each("shared", [False, True])
def test_expected_clique_cover_matches_many_draws(shared: bool) -> None:
    """The oracle tries all ways to part the arms."""
    process = RevealedErdosRenyi(4, 0.45, directed=True)
    draws = 1000
    matrix = process.round(5, Keys(11, 0, draws)).matrix
    mutual = matrix * matrix.swapaxes(1, 2)
    chi = np.array([_least_cover(one) for one in mutual])
    exact = by_name(regret_bounds(process, BetaBernoulli.of(4), [8]))["Theorem 2"]
    mean = exact.final**2 / (4 * math.log(4))
    assert mean == pytest.approx(chi.mean(), abs=4 * chi.std() / math.sqrt(draws))
    if shared:
        again = replace(process, shared=True)
        found = by_name(regret_bounds(again, BetaBernoulli.of(4), [50], seed=2, trials=9))
        graphs = [again.round(t, Keys(2)).matrix[0] for t in range(1, 51)]
        covers = [_least_cover(one * one.T) for one in graphs]
        wanted = theorem_2(covers, math.log(4)).final
        assert found["Theorem 2"].final == pytest.approx(wanted, rel=1e-9)
        assert found["Theorem 2"].exact


def _least_cover(mutual: np.ndarray) -> int:
    arms = len(mutual)
    for count in range(1, arms + 1):
        for colour in itertools.product(range(count), repeat=arms):
            same = np.equal.outer(colour, colour)
            if (mutual[same] == 1.0).all():
                return count
    raise AssertionError


def test_many_arms_are_estimated_with_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number will do for chi: here the edges of the graph, whose mean is known."""

    def edges(graph: Feedback) -> np.ndarray:
        return graph.matrix.sum(axis=(1, 2)).astype(int)  # type: ignore[attr-defined]

    monkeypatch.setattr(bounds, "clique_cover_numbers", edges)
    process = RevealedErdosRenyi(8, 0.5)
    found = by_name(regret_bounds(process, BetaBernoulli.of(8), [100]))
    two = found["Theorem 2"]
    assert "earlier bound" not in found
    assert "1000 random graphs" in two.note
    wanted = math.sqrt(50 * (8 + 28) * math.log(8))
    assert 0.0 < two.final_error < 0.01 * wanted
    assert two.final == pytest.approx(wanted, abs=4 * two.final_error)
    # each of 28 edges counts twice: the variance is 28 * 4 / 4
    slope = math.sqrt(50 * math.log(8) / (8 + 28)) / 2
    assert two.final_error == pytest.approx(slope * math.sqrt(28 / 1000), rel=0.1)


def test_custom_process_is_evaluated_round_by_round() -> None:
    graphs = (np.stack([COMPLETE, EMPTY, EMPTY]), COMPLETE[None])
    found = by_name(regret_bounds(ListedGraphs(graphs), FIVE, [1, 2, 3], trials=3))
    # over three trials: (1 + 5 + 5) / 3, then 1 for all
    chi = np.array([[1, 1, 1], [5, 1, 5], [5, 1, 5]])
    np.testing.assert_allclose(found["Theorem 2"].values, theorem_2(chi, LOG5).values, rtol=1e-9)
    wanted = earlier_bound(chi, LOG5).values
    np.testing.assert_allclose(found["earlier bound"].values, wanted, rtol=1e-9)
    spread = (chi.sum(axis=1) / 2).std(ddof=1) / math.sqrt(3)
    total = chi.sum() / 6
    assert found["Theorem 2"].final_error == pytest.approx(math.sqrt(LOG5 / total) / 2 * spread)
    assert "3 trials" in found["Theorem 2"].note
    shared = by_name(regret_bounds(ListedGraphs((COMPLETE[None], EMPTY[None])), FIVE, [2]))
    assert shared["Theorem 2"].exact


def test_too_many_trials_for_budget_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "ENTRIES", 25 * 40)  # forty graphs: of ten rounds four trials
    graphs = (np.stack([COMPLETE, EMPTY, EMPTY, COMPLETE]), EMPTY[None])
    found = by_name(regret_bounds(ListedGraphs(graphs), FIVE, [10], trials=1000))
    two = found["Theorem 2"]
    per_trial = np.array([15.0, 25.0, 25.0, 15.0])  # half the sums of chi over ten rounds
    total, error = per_trial.mean(), per_trial.std(ddof=1) / 2
    assert two.final == pytest.approx(math.sqrt(total * LOG5))
    assert two.final_error == pytest.approx(math.sqrt(LOG5 / total) / 2 * error)
    assert "4 trials" in two.note
    assert not found["earlier bound"].exact


def test_graphs_beyond_budget_count_all_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is then larger, but still valid."""
    monkeypatch.setattr(bounds, "ENTRIES", 25 * 2)
    paper = as_process("paper").feedback.matrix
    process = ListedGraphs((COMPLETE[None], EMPTY[None], paper, COMPLETE[None]))
    two = by_name(regret_bounds(process, FIVE, [1, 2, 3, 4]))["Theorem 2"]
    np.testing.assert_allclose(two.values**2 / LOG5, [0.5, 3.0, 5.5, 6.0], rtol=1e-9)
    assert "1 graph " in two.note
    monkeypatch.setattr(bounds, "MOST_ARMS", 4)
    large = by_name(regret_bounds(process, FIVE, [4]))["Theorem 2"]
    assert large.final == pytest.approx(math.sqrt(10 * LOG5))
    assert "upper bound 5 is used" in large.note


def declared(rewards: Support) -> OtherSupport:
    return OtherSupport(np.ones(2), np.ones(2), rewards=rewards)


@each(
    ("rewards", "scale"),
    [(BINARY, 1.0), (interval(0, 1), 1.0), (interval(-2, 3), 5.0), (values(0.25, 0.5), 0.25)],
)
def test_factor_of_bounded_rewards_is_their_width(rewards: Support, scale: float) -> None:
    assert reward_scale(declared(rewards)) == scale
    assert (scale_note(declared(rewards)) == "") == (scale == 1.0)


@each("constant", [0.0, -1.0, np.nan, np.inf, "1", True])
def test_invalid_constant_is_refused(constant: Any) -> None:
    @dataclass(frozen=True, eq=False)
    class WrongConstant(OtherSupport):
        sub_gaussian: Any = constant

    with refuses(InputError):
        reward_scale(WrongConstant(np.ones(2), np.ones(2), rewards=REAL))


@settings(max_examples=50, deadline=None)
@given(
    st.floats(-5.0, 5.0),
    st.tuples(st.floats(0.05, 5.0), st.floats(0.05, 5.0)),
    st.floats(0.1, 5.0),
)
def test_information_of_gaussian_rewards_is_at_least_its_variance_form(
    gap: float, sd: tuple[float, float], noise: float
) -> None:
    """h_i >= v_i / (2 sigma_i^2), with the constant of each arm."""
    posterior = TwoNormals(center=(gap, 0.0), sd=sd, noise=noise)
    found = posterior.beliefs(posterior.init(1), variance=True)
    assert found.v is not None
    sigma = np.sqrt(np.square(sd) + noise**2)
    least = found.v[0] / (2.0 * sigma**2)
    assert (found.h[0] >= least * (1.0 - 1e-6) - 1e-14).all()


def test_entropy_of_unequal_arms_matches_alpha() -> None:
    """P(theta_i = max) = a_i / (a_1 + a_2 + a_3) for Beta(a_i, 1)."""
    chances = np.array([3.0, 2.0, 1.0]) / 6.0
    assert entropy_of(UNEQUAL) == pytest.approx(-(chances * np.log(chances)).sum(), abs=1e-9)
    found = by_name(regret_bounds(as_process("empty", 3), UNEQUAL, [100]))
    assert found["Theorem 1"].final == pytest.approx(math.sqrt(150 * entropy_of(UNEQUAL)))


def test_bounds_of_paper_graph_use_two_cliques() -> None:
    found = by_name(regret_bounds(as_process("paper"), FIVE, ROUNDS))
    assert list(found) == ["Theorem 1", "Corollary 1", "earlier bound"]
    wanted = np.sqrt(np.array(ROUNDS) * LOG5)
    np.testing.assert_allclose(found["Corollary 1"].values, wanted, rtol=1e-9)
    np.testing.assert_allclose(found["earlier bound"].values, wanted, rtol=1e-9)
    assert found["Corollary 1"].exact
    assert found["Theorem 1"].final == pytest.approx(math.sqrt(2.5 * 1000 * LOG5))


def test_plan_has_bounds_of_its_policies() -> None:
    plan = Plan.of(["ids-lp", "ucb-n"], graph="paper", horizon=700, trials=3)
    (found,) = bounds_of(plan)
    assert found.name == "Theorem 1"
    np.testing.assert_array_equal(found.rounds, recorded_rounds(700))
    names = [one.name for one in bounds_of(Plan.of("ts-n", horizon=5, trials=1))]
    assert names == ["Corollary 1", "earlier bound"]
    assert bounds_of(Plan.of("ucb-n", graph="paper", horizon=5, trials=1)) == ()


def test_fixed_means_have_no_bound() -> None:
    world = Bernoulli(FIVE, fixed=[0.1, 0.2, 0.3, 0.4, 0.5])
    assert "fixed" in why_no_bounds(world)
    assert bounds_of(Plan.of("ts-n", world, "paper", horizon=5, trials=2)) == ()
    assert why_no_bounds(Bernoulli(FIVE)) == ""


def test_rewards_without_a_constant_have_no_bound() -> None:
    class Unlisted(BetaBernoulli):
        rewards = REAL

    with refuses(
        InputError, match="no regret bounds: the bounds are proved for bounded rewards and"
    ):
        regret_bounds(as_process("paper"), Unlisted.of(5), [1])
    assert "sub-Gaussian" in why_no_bounds(Bernoulli(Unlisted.of(5)))
    counts = OtherSupport(np.ones(5), np.ones(5), rewards=COUNT)
    with refuses(
        InputError, match="no regret bounds: the bounds are proved for bounded rewards and"
    ):
        regret_bounds(as_process("paper"), counts, [1])
    assert bounds_of(Plan.of("ts-n", Bernoulli(counts), "paper", horizon=5, trials=1)) == ()


@each("graph", ["paper", "revealed-er(p=0.3)", "revealed-er(p=0.3, shared=true)"])
def test_bounds_are_multiplied_by_width_of_rewards(graph: str) -> None:
    at = [1, 2, 10, 40]
    unit = regret_bounds(as_process(graph), FIVE, at)
    wide = regret_bounds(as_process(graph), TwoValued(FIVE.a, FIVE.b, low=1.0, high=5.0), at)
    assert [one.name for one in wide] == [one.name for one in unit]
    for one, other in zip(unit, wide, strict=True):
        np.testing.assert_allclose(other.values, 4.0 * one.values, rtol=1e-14)
        assert (one.error is None) == (other.error is None)
        if one.error is not None and other.error is not None:
            np.testing.assert_allclose(other.error, 4.0 * one.error, rtol=1e-14)
        assert other.formula == f"4 {one.formula}"
        assert "rewards are from 1 to 5" in other.note
        assert "multiplied by 4" in other.note
        assert one.note in other.note
        assert "multiplied" not in one.note


def test_bounds_of_affine_image_hold_as_those_of_the_problem() -> None:
    """Regret and bound are both multiplied by the width, so that every verdict is the same."""
    a, b = np.array([1.0, 2.0, 1.0]), np.array([1.0, 1.0, 2.0])
    names = ["ts-n", "ids-n", "ids-lp"]
    judged = []
    for world in (
        Bernoulli(BetaBernoulli(a, b)),
        TwoValuedWorld(TwoValued(a, b, low=-3.0, high=5.0)),
    ):
        plan = Plan.of(names, world, "path", horizon=60, trials=20, seed=3, ratios="bound")
        results = simulate_plan(plan, progress=False)
        judged.append(judge_bounds(bounds_of(plan, results), results))
    unit, wide = judged
    assert {one.bound.name for one in unit} >= {"Theorem 1", "Corollary 1", "Lemma 1 (ts-n)"}
    for one, other in zip(unit, wide, strict=True):
        assert (one.bound.name, one.policy) == (other.bound.name, other.policy)
        assert one.verdict == other.verdict
        assert other.mean == pytest.approx(8.0 * one.mean)
        assert other.bound.final == pytest.approx(8.0 * one.bound.final)


def test_gaussian_regret_is_below_bounds_with_the_sub_gaussian_constant() -> None:
    """sigma^2 = sd^2 + noise^2; the bound for [0, 1], without the constant, does not hold."""
    prior = TwoNormals(center=(0.0, 0.1), sd=(3.0, 2.0), noise=4.0)
    assert prior.sub_gaussian == 5.0
    names = ["ts-n", "ids-n", "idsn-lp", "ids-lp", "ts-n-sampled"]
    plan = Plan.of(names, GaussianWorld(prior), "empty", horizon=60, trials=60, seed=2)
    bounds, results = bounds_of(plan), simulate_plan(plan, progress=False)
    judged = judge_bounds(bounds, results)
    assert {one.policy for one in judged} == set(names)
    assert {one.verdict for one in judged} == {"below"}
    for one in judged:
        assert (results.band(one.policy)[1] <= one.bound.values).all()
        assert "multiplied by 10: rewards are sub-Gaussian" in one.bound.note
    unit = [replace(bound, values=bound.values / 10.0) for bound in bounds]
    assert {one.verdict for one in judge_bounds(unit, results)} == {"above"}


def test_other_posterior_than_the_prior_has_no_bounds() -> None:
    world = Bernoulli(FIVE)
    assert why_no_bounds(world, FIVE) == ""
    assert why_no_bounds(world, BetaBernoulli(FIVE.a, FIVE.b, "strict")) == ""
    for other in (BetaBernoulli.of(5, 2.0), TwoValued(FIVE.a, FIVE.b)):
        assert "another posterior" in why_no_bounds(world, other)


def test_plan_with_another_posterior_has_neither_bounds_nor_audit() -> None:
    plan = Plan.of("ts-n", Bernoulli(FIVE), "paper", horizon=5, trials=1)
    object.__setattr__(plan, "posterior", BetaBernoulli.of(5, 2.0))
    assert bounds_of(plan) == ()
    with refuses(
        InputError, match="no audit: the policies use another posterior than the prior of"
    ):
        audit(plan)


@each("graph", ["paper", "revealed-er(p=0.3, directed=true)", "random(r=0.4)"])
def test_mean_regret_is_below_bounds_in_every_round(graph: str) -> None:
    prior = BetaBernoulli(np.array([1.0, 2.0, 1.0, 3.0, 1.0]), np.array([1.0, 1.0, 2.0, 3.0, 4.0]))
    names = ["ts-n", "ids-n", "idsn-lp", "ids-lp", "ts-n-sampled"]
    plan = Plan.of(names, Bernoulli(prior), graph, horizon=150, trials=40, seed=5)
    bounds, results = bounds_of(plan), simulate_plan(plan, progress=False)
    judged = judge_bounds(bounds, results)
    assert {one.policy for one in judged} == set(names)
    assert {one.verdict for one in judged} == {"below"}
    for one in judged:
        high = results.band(one.policy)[1]
        assert (high <= one.bound.values).all(), (one.bound.name, one.policy)


def test_verdicts_use_confidence_interval_of_mean() -> None:
    results = simulate("ts-n", graph="paper", horizon=30, trials=40, seed=2, progress=False)
    low, high = results.interval("ts-n")
    made = corollary_1(2, LOG5, results.rounds)

    def verdict(value: float) -> str:
        bound = replace(made, values=np.full(len(results.rounds), value))
        (judged,) = judge_bounds([bound], results)
        assert judged.mean == float(results["ts-n"].mean[-1])
        return judged.verdict

    assert verdict(high) == "below"
    assert verdict(math.nextafter(high, 0.0)) == "no clear difference"
    assert verdict(low) == "no clear difference"
    assert verdict(math.nextafter(low, 0.0)) == "above"
    alone = simulate("ts-n", graph="paper", horizon=30, trials=1, progress=False)
    assert [one.verdict for one in judge_bounds([made], alone)] == ["unknown"]
    with refuses(InputError, match="the bound 'Corollary 1' is for 7 rounds"):
        judge_bounds([corollary_1(2, LOG5, [7])], results)
