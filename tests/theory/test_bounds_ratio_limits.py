"""Tests of theory/bounds.py.

Clique cover numbers and rates of graph processes, summed over rounds.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from helpers.bound_cases import FIVE, LOG5, ROUNDS, UNEQUAL, by_name
from scipy.integrate import quad

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
from graphbandits.rng import Keys
from graphbandits.theory import (
    bounds,
    earlier_bound,
    ratio_limit,
    regret_bounds,
    theorem_2,
    theorem_3,
)

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


@pytest.mark.parametrize(
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
    each = [2.5, 5 / 6, 0.5, 1.25]
    wanted = np.sqrt(LOG5 * np.cumsum(each))[[1, 3]]
    np.testing.assert_allclose(found["Theorem 3"].values, wanted, rtol=1e-9)
    np.testing.assert_allclose(theorem_3(5, rates, LOG5, [2, 4]).values, wanted, rtol=1e-14)


@pytest.mark.parametrize(
    ("arms", "low", "high"), [(5, 0.0, 1.0), (9, 0.2, 0.7), (3, 0.4, 0.4 + 1e-9), (2, 0.0, 0.5)]
)
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


def test_bound_sums_limit_of_every_round() -> None:
    """The same numbers as ``ratio_limit`` gives, which the audit of a round uses."""
    for text in ("paper", "random(r=0.3)", "cliques(size=2)"):
        process = as_process(text, 5)
        *_, last = regret_bounds(process, FIVE, [12])
        limit = float(ratio_limit(process.round(1, Keys(0)))[0])
        assert last.final == pytest.approx(math.sqrt(12 * limit * LOG5), rel=1e-9), text


@pytest.mark.parametrize("directed", [False, True])
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


@pytest.mark.oracle
@pytest.mark.parametrize("shared", [False, True])
def test_expected_clique_cover_matches_many_draws(shared: bool) -> None:
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


def test_bounds_use_the_simulated_trials() -> None:
    graphs = (np.stack([COMPLETE, COMPLETE, EMPTY, EMPTY]),)
    one, two = (
        by_name(regret_bounds(ListedGraphs(graphs), FIVE, [9], first_trial=first, trials=2))[
            "Theorem 2"
        ]
        for first in (0, 2)
    )
    assert two.final == pytest.approx(math.sqrt(5) * one.final)


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


def test_constant_graph_is_covered_at_any_size() -> None:
    ring = as_process("ring", 2100)
    found = by_name(regret_bounds(ring, BetaBernoulli.of(2100), [1000]))["Corollary 1"]
    assert found.final == pytest.approx(math.sqrt(525 * 1000 * math.log(2100)))


def test_long_sequence_evaluates_each_graph_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def once(graph: Feedback) -> np.ndarray:
        asked.append(graph)
        return np.array([3])

    monkeypatch.setattr(bounds, "clique_cover_numbers", once)
    process = GivenSequence((DenseFeedback(COMPLETE), DenseFeedback(EMPTY)) * 500)
    two = by_name(regret_bounds(process, FIVE, [1000]))["Theorem 2"]
    assert len(asked) == 2
    assert two.final == pytest.approx(math.sqrt(1500 * LOG5))
