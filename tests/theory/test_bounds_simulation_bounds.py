"""Tests of theory/bounds.py.

Entropy, bounds of plans, and verdicts against simulated regret.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.bound_cases import FIVE, LOG5, ROUNDS, UNEQUAL, by_name
from helpers.other_rewards import (
    GaussianWorld,
    OtherSupport,
    TwoNormals,
    TwoValued,
    TwoValuedWorld,
)

from graphbandits import simulate
from graphbandits.errors import InputError
from graphbandits.graphs import as_process
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.base import COUNT, REAL
from graphbandits.posteriors.normal import Normal
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate_plan
from graphbandits.simulation.shard import recorded_rounds
from graphbandits.theory import (
    audit,
    bounds_of,
    corollary_1,
    entropy_of,
    judge_bounds,
    regret_bounds,
)
from graphbandits.theory.bounds import why_no_bounds
from graphbandits.worlds import Bernoulli


def test_bounds_increase_with_rounds() -> None:
    every = np.arange(1, 301)
    for text in ("paper", "revealed-er(p=0.4)", "random(r=0.5)", "random(r=uniform)"):
        for bound in regret_bounds(as_process(text), FIVE, every):
            assert (np.diff(bound.values) > 0.0).all(), (text, bound.name)


def test_entropy_of_equal_arms_is_log_of_their_number() -> None:
    for arms in (1, 2, 7, 1000):
        found = entropy_of(BetaBernoulli.of(arms, 2.0, 5.0))
        assert found == pytest.approx(math.log(arms), abs=1e-8)


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


@pytest.mark.parametrize(
    "graph", ["paper", "revealed-er(p=0.3)", "revealed-er(p=0.3, shared=true)"]
)
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
        assert "Rewards are from 1 to 5" in other.note
        assert "multiplied by 4" in other.note
        assert one.note in other.note
        assert "Rewards" not in one.note


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
        assert "sigma = 5: the bound for rewards in [0, 1] is multiplied by 2 sigma = 10" in (
            one.bound.note
        )
    unit = [replace(bound, values=bound.values / 10.0) for bound in bounds]
    assert {one.verdict for one in judge_bounds(unit, results)} == {"above"}


def test_bounds_of_normal_posterior_have_its_constant() -> None:
    prior = Normal.of(3, sd=[3, 2, 1], noise=4)
    assert prior.sub_gaussian == 5.0
    plan = Plan.of(["ts-n", "ids-lp"], GaussianWorld(prior), "path", horizon=20, trials=20)
    bounds, results = bounds_of(plan), simulate_plan(plan, progress=False)
    information = entropy_of(prior)
    assert by_name(bounds)["Theorem 1"].final == pytest.approx(10.0 * math.sqrt(30 * information))
    assert by_name(bounds)["Corollary 1"].final == pytest.approx(10.0 * math.sqrt(20 * information))
    assert {one.verdict for one in judge_bounds(bounds, results)} == {"below"}


def test_general_bound_of_gaussian_rewards_has_no_factor() -> None:
    """Lemma 1 with recorded ratios, which contain the scale of the rewards."""
    prior = TwoNormals(noise=2.0)
    plan = Plan.of("ts-n", GaussianWorld(prior), "empty", horizon=40, trials=300, ratios="bound")
    results = simulate_plan(plan, progress=False)
    judged = judge_bounds(bounds_of(plan, results), results)
    (general,) = (one for one in judged if one.bound.name == "Lemma 1 (ts-n)")
    assert (general.policy, general.verdict) == ("ts-n", "below")
    assert "Rewards" not in general.bound.note


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


@pytest.mark.parametrize("graph", ["paper", "revealed-er(p=0.3, directed=true)", "random(r=0.4)"])
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
