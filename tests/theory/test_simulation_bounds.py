"""Tests of theory/simulation_bounds.py.

Entropy, bounds of plans, and verdicts against simulated regret.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.bound_cases import FIVE, LOG5, ROUNDS, UNEQUAL, by_name
from helpers.messages import raises_pinned

from graphbandits import simulate
from graphbandits.engine import Plan
from graphbandits.engine.shard import recorded_rounds
from graphbandits.errors import InputError
from graphbandits.graphs import (
    as_process,
)
from graphbandits.posteriors import BetaBernoulli
from graphbandits.store import simulate_plan
from graphbandits.theory import bounds_of, corollary_1, entropy_of, judge_bounds, regret_bounds
from graphbandits.theory.simulation_bounds import why_no_bounds
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


def test_rewards_above_one_have_no_bound() -> None:
    class Far(BetaBernoulli):
        outcomes = (0.0, 2.0)

    class Unlisted(BetaBernoulli):
        outcomes = None

    for kind in (Far, Unlisted):
        with raises_pinned(InputError):
            regret_bounds(as_process("paper"), kind.of(5), [1])
        assert "[0, 1]" in why_no_bounds(Bernoulli(kind.of(5)))


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
    with raises_pinned(InputError):
        judge_bounds([corollary_1(2, LOG5, [7])], results)
