"""The regret bounds: by hand, by closed form, by quadrature, and above what is simulated."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.integrate import quad

from graphbandits import simulate
from graphbandits.engine import Plan
from graphbandits.engine.shard import recorded_rounds
from graphbandits.errors import InputError
from graphbandits.graphs import (
    Dense,
    Feedback,
    Fixed,
    GivenSequence,
    RandomFeedback,
    RevealedErdosRenyi,
    Uniform,
    as_process,
)
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys
from graphbandits.store import simulate_plan
from graphbandits.theory import (
    Bound,
    bounds_of,
    corollary_1,
    corollary_2,
    earlier_bound,
    entropy_of,
    general_bound,
    judge_bounds,
    limits,
    ratio_limit,
    regret_bounds,
    theorem_1,
    theorem_2,
    theorem_3,
    why_no_bounds,
)
from graphbandits.worlds import Bernoulli

LOG5 = math.log(5)
FIVE = BetaBernoulli.of(5)
ROUNDS = [1, 2, 10, 1000]
#: Chances of being best: 1/2, 1/3 and 1/6 for the larger of uniforms with cubes and squares.
UNEQUAL = BetaBernoulli(np.array([3.0, 2.0, 1.0]), np.array([1.0, 1.0, 1.0]))
COMPLETE, EMPTY = np.ones((5, 5)), np.eye(5)
#: Every other arm is seen by the first only: nobody is seen both ways.
OUT_STAR = np.vstack([np.ones(5), np.eye(5)[1:]])


def by_name(bounds: tuple[Bound, ...]) -> dict[str, Bound]:
    return {bound.name: bound for bound in bounds}


@dataclass(frozen=True)
class Walk:
    """A process of one's own: a graph for each trial and round, from lists."""

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
            return Dense(graph)
        return Dense(graph[keys.trial_numbers % len(graph)])


# the theorems by hand ---------------------------------------------------------------------------


def test_theorem_1_is_the_root_of_half_the_arms_times_rounds_and_entropy() -> None:
    assert theorem_1(5, LOG5, [1000]).values == pytest.approx([math.sqrt(2500 * LOG5)], rel=1e-14)
    assert theorem_1(5, LOG5, [1000]).policies == ("ids-lp",)


def test_theorem_2_adds_the_cover_numbers_up() -> None:
    found = theorem_2([2, 1, 5, 3], entropy=0.7)
    assert found.rounds.tolist() == [1, 2, 3, 4]
    wanted = np.sqrt(0.7 * np.array([1.0, 1.5, 4.0, 5.5]))
    np.testing.assert_allclose(found.values, wanted, rtol=1e-14)
    np.testing.assert_array_equal(theorem_2([2, 1, 5, 3], 0.7, [2, 4]).values, wanted[[1, 3]])


def test_trials_of_their_own_are_averaged_under_the_root() -> None:
    found = theorem_2([[1, 1], [3, 5]], entropy=2.0)
    np.testing.assert_allclose(found.values, np.sqrt([2.0, 5.0]), rtol=1e-14)
    before = earlier_bound([[4, 1], [3, 5]], entropy=2.0)  # largest until then: 4, 3 and 4, 5
    np.testing.assert_allclose(before.values, np.sqrt([3.5, 9.0]), rtol=1e-14)


def test_the_corollaries_are_their_theorems_where_nothing_changes() -> None:
    rounds = [1, 7, 20]
    fixed, by_round = corollary_1(3, 0.9, rounds), theorem_2([3] * 20, 0.9, rounds)
    np.testing.assert_allclose(fixed.values, by_round.values, rtol=1e-14)
    np.testing.assert_allclose(earlier_bound([3] * 20, 0.9, rounds).values, fixed.values)
    constant, rates = corollary_2(6, 0.3, 0.9, rounds), theorem_3(6, [0.3] * 20, 0.9, rounds)
    np.testing.assert_allclose(constant.values, rates.values, rtol=1e-14)


def test_theorem_3_goes_from_no_feedback_to_all_of_it() -> None:
    nothing, everything = theorem_3(7, [0.0] * 9, 1.3), theorem_3(7, [1.0] * 9, 1.3)
    np.testing.assert_allclose(nothing.values, theorem_1(7, 1.3, range(1, 10)).values, rtol=1e-14)
    np.testing.assert_allclose(everything.values, np.sqrt(np.arange(1, 10) * 1.3 / 2), rtol=1e-14)


def test_the_general_bound_of_constant_ratios_is_the_corollary() -> None:
    rounds = np.array([1, 5, 50])
    found = general_bound(1.5 * rounds, LOG5, rounds, policies=("mine",))
    np.testing.assert_allclose(found.values, corollary_1(3, LOG5, rounds).values, rtol=1e-14)
    assert found.exact
    assert found.is_for("mine(a=1)")


def test_the_general_bound_of_trials_has_the_error_of_their_mean() -> None:
    """By the delta method, held against the spread of the bounds of resampled trials."""
    random = np.random.default_rng(3)
    ratios = random.gamma(4.0, 1.0, (400, 1))
    found = general_bound(ratios, 0.8, [30])
    assert found.values == pytest.approx([math.sqrt(0.8 * ratios.mean())])
    again = np.sqrt(0.8 * random.choice(ratios[:, 0], (4000, 400)).mean(axis=1))
    # the deviation of 4000 draws is itself known to 1 / sqrt(8000)
    assert found.final_error == pytest.approx(again.std(), rel=4 / math.sqrt(8000) + 0.01)
    assert not found.exact


def test_bounds_grow_with_the_rounds() -> None:
    every = np.arange(1, 301)
    for text in ("paper", "revealed-er(p=0.4)", "random(r=0.5)", "random(r=uniform)"):
        for bound in regret_bounds(as_process(text), FIVE, every):
            assert (np.diff(bound.values) > 0.0).all(), (text, bound.name)


# the entropy ------------------------------------------------------------------------------------


def test_the_entropy_of_arms_alike_is_the_logarithm_of_their_number() -> None:
    for arms in (1, 2, 7, 1000):
        found = entropy_of(BetaBernoulli.of(arms, 2.0, 5.0))
        assert found == pytest.approx(math.log(arms), abs=1e-8)


def test_the_entropy_of_unequal_arms_is_that_of_their_chances() -> None:
    """P(theta_i = max) = a_i / (a_1 + a_2 + a_3) for Beta(a_i, 1)."""
    chances = np.array([3.0, 2.0, 1.0]) / 6.0
    assert entropy_of(UNEQUAL) == pytest.approx(-(chances * np.log(chances)).sum(), abs=1e-9)
    found = by_name(regret_bounds(as_process("empty", 3), UNEQUAL, [100]))
    assert found["Theorem 1"].final == pytest.approx(math.sqrt(150 * entropy_of(UNEQUAL)))


# processes --------------------------------------------------------------------------------------


def test_the_paper_graph_has_two_cliques() -> None:
    found = by_name(regret_bounds(as_process("paper"), FIVE, ROUNDS))
    assert list(found) == ["Theorem 1", "Corollary 1", "earlier bound"]
    wanted = np.sqrt(np.array(ROUNDS) * LOG5)
    np.testing.assert_allclose(found["Corollary 1"].values, wanted, rtol=1e-9)
    np.testing.assert_allclose(found["earlier bound"].values, wanted, rtol=1e-9)
    assert found["Corollary 1"].exact
    assert found["Theorem 1"].final == pytest.approx(math.sqrt(2.5 * 1000 * LOG5))


@pytest.mark.parametrize(
    ("graph", "cover"),
    [("complete", 1), ("empty", 6), ("cliques(size=3)", 2), ("ring", 3), ("path", 3), ("star", 5)],
)
def test_fixed_graphs_of_known_covers(graph: str, cover: int) -> None:
    found = by_name(regret_bounds(as_process(graph, 6), BetaBernoulli.of(6), [40]))
    assert found["Corollary 1"].final == pytest.approx(math.sqrt(20 * cover * math.log(6)))


def test_an_edge_one_way_covers_nothing() -> None:
    found = by_name(regret_bounds(Fixed(Dense(OUT_STAR)), FIVE, [40]))
    assert found["Corollary 1"].final == pytest.approx(found["Theorem 1"].final, rel=1e-12)


def test_a_sequence_of_graphs_adds_up_and_remembers_its_largest() -> None:
    graphs = (COMPLETE, EMPTY, COMPLETE, as_process("paper").feedback.matrix[0])
    process = GivenSequence(tuple(map(Dense, graphs)))
    found = by_name(regret_bounds(process, FIVE, [1, 2, 3, 4]))
    assert list(found) == ["Theorem 1", "Theorem 2", "earlier bound"]
    two, before = found["Theorem 2"], found["earlier bound"]
    np.testing.assert_allclose(two.values**2 / LOG5, [0.5, 3.0, 3.5, 4.5], rtol=1e-9)
    np.testing.assert_allclose(before.values**2 / LOG5, [0.5, 5.0, 7.5, 10.0], rtol=1e-9)
    np.testing.assert_allclose(two.values, theorem_2([1, 5, 1, 2], LOG5).values, rtol=1e-9)
    assert (two.values <= before.values + 1e-12).all()


def test_random_feedback_constant_and_from_a_list() -> None:
    found = by_name(regret_bounds(RandomFeedback(5, 0.25), FIVE, ROUNDS))
    assert list(found) == ["Theorem 1", "Corollary 2"]
    np.testing.assert_allclose(
        found["Corollary 2"].values, np.sqrt(np.array(ROUNDS) * 1.25 * LOG5), rtol=1e-9
    )
    rates = (0.0, 0.5, 1.0, 0.25)
    found = by_name(regret_bounds(RandomFeedback(5, rates), FIVE, [2, 4]))
    each = [2.5, 5 / 6, 0.5, 1.25]
    wanted = np.sqrt(LOG5 * np.cumsum(each))[[1, 3]]
    np.testing.assert_allclose(found["Theorem 3"].values, wanted, rtol=1e-9)
    np.testing.assert_allclose(theorem_3(5, rates, LOG5, [2, 4]).values, wanted, rtol=1e-14)


@pytest.mark.parametrize(
    ("arms", "low", "high"), [(5, 0.0, 1.0), (9, 0.2, 0.7), (3, 0.4, 0.4 + 1e-9), (2, 0.0, 0.5)]
)
def test_uniform_rates_have_the_mean_of_their_limit(arms: int, low: float, high: float) -> None:
    def limit(r: float) -> float:
        return arms / (2.0 * (arms * r + 1.0 - r))

    mean = quad(limit, low, high, epsabs=0.0, epsrel=1e-12)[0] / (high - low)
    process = RandomFeedback(arms, None, low, high)
    found = by_name(regret_bounds(process, BetaBernoulli.of(arms), [70]))["Theorem 3"]
    assert found.final == pytest.approx(math.sqrt(70 * mean * math.log(arms)), rel=1e-8)
    assert found.exact


def test_rates_that_trials_share_are_those_that_were_drawn() -> None:
    process = RandomFeedback(5, None, shared=True)
    drawn = [process.round(t, Keys(seed=3)).r[0] for t in range(1, 41)]
    found = by_name(regret_bounds(process, FIVE, [40], seed=3, trials=100))["Theorem 3"]
    assert found.final == pytest.approx(theorem_3(5, drawn, LOG5).final, rel=1e-9)


def test_rates_of_nothing_and_everything_are_graphs() -> None:
    for rate, cover in ((0.0, 5), (1.0, 1)):
        found = by_name(regret_bounds(RandomFeedback(5, rate), FIVE, [30]))
        assert found["Corollary 1"].final == pytest.approx(math.sqrt(15 * cover * LOG5)), rate


def test_other_probabilities_have_half_the_arms_and_say_so() -> None:
    matrix = np.array([[1.0, 0.5, 0.1], [0.0, 1.0, 0.9], [0.3, 1.0, 1.0]])
    found = regret_bounds(Fixed(Dense(matrix)), UNEQUAL, ROUNDS)
    assert [bound.name for bound in found] == ["Theorem 1", "Lemmas 1 and 2"]
    np.testing.assert_allclose(found[1].values, found[0].values, rtol=1e-12)
    assert "G h >= h" in found[1].note
    assert found[1].is_for("ts-n")
    assert not found[1].is_for("ids-lp")


def test_a_mixed_sequence_takes_the_limit_of_each_round() -> None:
    half = np.where(np.eye(5) == 1.0, 1.0, 0.5)
    half[0, 1] = 0.4
    process = GivenSequence((Dense(COMPLETE), Uniform(0.25, 5), Dense(half)))
    found = by_name(regret_bounds(process, FIVE, [1, 2, 3]))
    assert list(found) == ["Theorem 1", "Lemma 1"]
    np.testing.assert_allclose(found["Lemma 1"].values ** 2 / LOG5, [0.5, 1.75, 4.25], rtol=1e-9)


def test_every_round_adds_its_own_limit() -> None:
    """The same numbers as ``ratio_limit`` gives, which the audit of a round uses."""
    for text in ("paper", "random(r=0.3)", "cliques(size=2)"):
        process = as_process(text, 5)
        *_, last = regret_bounds(process, FIVE, [12])
        limit = float(ratio_limit(process.round(1, Keys(0)))[0])
        assert last.final == pytest.approx(math.sqrt(12 * limit * LOG5), rel=1e-9), text


# graphs that are drawn --------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
def test_drawn_graphs_of_three_arms_by_hand(directed: bool) -> None:
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


@pytest.mark.parametrize("shared", [False, True])
def test_the_expected_cover_is_that_of_many_draws(shared: bool) -> None:
    """The oracle tries all ways to part the arms."""
    process = RevealedErdosRenyi(4, 0.45, directed=True)
    draws = 4000
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


def test_many_arms_are_estimated_with_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number will do for chi: here the edges of the graph, whose mean is known."""

    def edges(graph: Feedback) -> np.ndarray:
        return graph.matrix.sum(axis=(1, 2)).astype(int)  # type: ignore[attr-defined]

    monkeypatch.setattr(limits, "clique_cover_numbers", edges)
    process = RevealedErdosRenyi(8, 0.5)
    found = by_name(regret_bounds(process, BetaBernoulli.of(8), [100]))
    two = found["Theorem 2"]
    assert "earlier bound" not in found
    assert "1000 draws" in two.note
    wanted = math.sqrt(50 * (8 + 28) * math.log(8))
    assert 0.0 < two.final_error < 0.01 * wanted
    assert two.final == pytest.approx(wanted, abs=4 * two.final_error)
    # each of 28 edges counts twice: the variance is 28 * 4 / 4
    slope = math.sqrt(50 * math.log(8) / (8 + 28)) / 2
    assert two.final_error == pytest.approx(slope * math.sqrt(28 / 1000), rel=0.1)


def test_a_process_of_ones_own_is_gone_through() -> None:
    graphs = (np.stack([COMPLETE, EMPTY, EMPTY]), COMPLETE[None])
    found = by_name(regret_bounds(Walk(graphs), FIVE, [1, 2, 3], trials=3))
    # over three trials: (1 + 5 + 5) / 3, then 1 for all
    chi = np.array([[1, 1, 1], [5, 1, 5], [5, 1, 5]])
    np.testing.assert_allclose(found["Theorem 2"].values, theorem_2(chi, LOG5).values, rtol=1e-9)
    wanted = earlier_bound(chi, LOG5).values
    np.testing.assert_allclose(found["earlier bound"].values, wanted, rtol=1e-9)
    spread = (chi.sum(axis=1) / 2).std(ddof=1) / math.sqrt(3)
    total = chi.sum() / 6
    assert found["Theorem 2"].final_error == pytest.approx(math.sqrt(LOG5 / total) / 2 * spread)
    assert "3 trials" in found["Theorem 2"].note
    shared = by_name(regret_bounds(Walk((COMPLETE[None], EMPTY[None])), FIVE, [2]))
    assert shared["Theorem 2"].exact


def test_the_trials_that_were_run_are_those_that_count() -> None:
    graphs = (np.stack([COMPLETE, COMPLETE, EMPTY, EMPTY]),)
    one, two = (
        by_name(regret_bounds(Walk(graphs), FIVE, [9], first_trial=first, trials=2))["Theorem 2"]
        for first in (0, 2)
    )
    assert two.final == pytest.approx(math.sqrt(5) * one.final)


def test_more_trials_than_the_budget_has_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ENTRIES", 25 * 40)  # forty graphs: of ten rounds four trials
    graphs = (np.stack([COMPLETE, EMPTY, EMPTY, COMPLETE]), EMPTY[None])
    found = by_name(regret_bounds(Walk(graphs), FIVE, [10], trials=1000))
    two = found["Theorem 2"]
    per_trial = np.array([15.0, 25.0, 25.0, 15.0])  # half the sums of chi over ten rounds
    total, error = per_trial.mean(), per_trial.std(ddof=1) / 2
    assert two.final == pytest.approx(math.sqrt(total * LOG5))
    assert two.final_error == pytest.approx(math.sqrt(LOG5 / total) / 2 * error)
    assert "4 trials" in two.note
    assert not found["earlier bound"].exact


def test_graphs_beyond_the_budget_count_as_all_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is larger then, and still one."""
    monkeypatch.setattr(limits, "ENTRIES", 25 * 2)
    paper = as_process("paper").feedback.matrix
    process = Walk((COMPLETE[None], EMPTY[None], paper, COMPLETE[None]))
    two = by_name(regret_bounds(process, FIVE, [1, 2, 3, 4]))["Theorem 2"]
    np.testing.assert_allclose(two.values**2 / LOG5, [0.5, 3.0, 5.5, 6.0], rtol=1e-9)
    assert "1 graph " in two.note
    monkeypatch.setattr(limits, "MOST_ARMS", 4)
    large = by_name(regret_bounds(process, FIVE, [4]))["Theorem 2"]
    assert large.final == pytest.approx(math.sqrt(10 * LOG5))
    assert "counts as 5" in large.note


def test_a_graph_that_stays_is_covered_whatever_its_size() -> None:
    ring = as_process("ring", 2100)
    found = by_name(regret_bounds(ring, BetaBernoulli.of(2100), [1000]))["Corollary 1"]
    assert found.final == pytest.approx(math.sqrt(525 * 1000 * math.log(2100)))


def test_a_sequence_without_end_in_sight_looks_at_each_graph_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def once(graph: Feedback) -> np.ndarray:
        asked.append(graph)
        return np.array([3])

    monkeypatch.setattr(limits, "clique_cover_numbers", once)
    process = GivenSequence((Dense(COMPLETE), Dense(EMPTY)) * 500)
    two = by_name(regret_bounds(process, FIVE, [1000]))["Theorem 2"]
    assert len(asked) == 2
    assert two.final == pytest.approx(math.sqrt(1500 * LOG5))


# who it is for, and where there is none ---------------------------------------------------------


def test_a_bound_is_for_a_policy_whatever_its_parameters() -> None:
    two = theorem_2([1], LOG5)
    for name in ("ts-n", "ts-n-sampled", "ids-n", "idsn-lp", "ids-n(gain=joint)"):
        assert two.is_for(name), name
    for name in ("ids-lp", "ts", "ids", "v-ids-n", "ucb-n", "ts-maxn"):
        assert not two.is_for(name), name
    assert theorem_1(2, 0.1, [1]).is_for("ids-lp(gain=joint)")


def test_a_plan_has_the_bounds_of_its_policies() -> None:
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


def test_rewards_beyond_one_have_no_bound() -> None:
    class Far(BetaBernoulli):
        outcomes = (0.0, 2.0)

    class Unlisted(BetaBernoulli):
        outcomes = None

    for kind in (Far, Unlisted):
        with pytest.raises(InputError, match=r"rewards in \[0, 1\]"):
            regret_bounds(as_process("paper"), kind.of(5), [1])
        assert "[0, 1]" in why_no_bounds(Bernoulli(kind.of(5)))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: theorem_1(0, 1.0, [1]), "arms must be a whole number"),
        (lambda: theorem_1(2, -1.0, [1]), "entropy"),
        (lambda: theorem_1(2, math.nan, [1]), "entropy"),
        (lambda: theorem_1(2, 1.0, [2, 1]), "increasing order"),
        (lambda: theorem_1(2, 1.0, [0, 1]), "at least 1"),
        (lambda: theorem_1(2, 1.0, [1.5]), "whole numbers"),
        (lambda: theorem_1(2, 1.0, []), "whole numbers"),
        (lambda: theorem_2([1, 0], 1.0), "of at least 1"),
        (lambda: theorem_2([], 1.0), "one for each round"),
        (lambda: theorem_2("many", 1.0), "one for each round"),
        (lambda: theorem_2([1, 2], 1.0, [3]), "there are 2 rounds"),
        (lambda: theorem_3(5, [0.5, 1.5], 1.0), r"in \[0, 1\]"),
        (lambda: theorem_3(5, [0.5, math.nan], 1.0), r"in \[0, 1\]"),
        (lambda: corollary_2(5, 2.0, 1.0, [1]), r"r must be a number in \[0, 1\]"),
        (lambda: general_bound([1.0, math.inf], 1.0, [1, 2]), "of at least 0"),
        (lambda: general_bound([1.0], 1.0, [1, 2]), "each of the 2 rounds"),
        (lambda: regret_bounds(as_process("paper"), BetaBernoulli.of(4), [1]), "the prior 4"),
        (lambda: regret_bounds(RandomFeedback(5, (0.1, 0.2)), FIVE, [3]), "serves 2 rounds"),
    ],
)
def test_what_cannot_be_is_refused(wrong, words: str) -> None:
    with pytest.raises(InputError, match=words):
        wrong()


# beside what comes out --------------------------------------------------------------------------


@pytest.mark.parametrize("graph", ["paper", "revealed-er(p=0.3, directed=true)", "random(r=0.4)"])
def test_mean_regret_lies_below_in_every_round(graph: str) -> None:
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


def test_verdicts_by_the_interval_of_the_mean() -> None:
    results = simulate("ts-n", graph="paper", horizon=30, trials=40, seed=2, progress=False)
    low, high = results.interval("ts-n")
    made = corollary_1(2, LOG5, results.rounds)

    def verdict(value: float) -> str:
        bound = replace(made, values=np.full(len(results.rounds), value))
        (judged,) = judge_bounds([bound], results)
        assert judged.mean == float(results["ts-n"].mean[-1])
        return judged.verdict

    assert verdict(high) == "below"
    assert verdict(math.nextafter(high, 0.0)) == "not told apart"
    assert verdict(low) == "not told apart"
    assert verdict(math.nextafter(low, 0.0)) == "above"
    alone = simulate("ts-n", graph="paper", horizon=30, trials=1, progress=False)
    assert [one.verdict for one in judge_bounds([made], alone)] == ["unknown"]
    with pytest.raises(InputError, match="for 7 rounds"):
        judge_bounds([corollary_1(2, LOG5, [7])], results)
