"""Tests of simulation/recommend.py: the comparison of policies, its numbers and its choice."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import networkx as nx
import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from scipy import stats

from graphbandits import recommend, simulate
from graphbandits._types import Floats, State
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.policies import Event, Needs, Problem, View
from graphbandits.registry import registered
from graphbandits.rng import Keys
from graphbandits.simulation.recommend import (
    FINALISTS,
    Candidate,
    Interval,
    Recommendation,
    choose,
)

KARATE = nx.Graph(nx.karate_club_graph().edges)
NEVER = Interval(0.0, 0.0, 0.0)


def candidate(policy: str, regret: float, gap: tuple[float, float], **more: Any) -> Candidate:
    """Return a candidate; ``gap`` is the interval of its difference from the best."""
    low, high = gap
    made = Candidate(
        policy, 50, Interval(regret, regret - 1, regret + 1), NEVER, None, cpu=1e-4, exact=True
    )
    return replace(made, difference=Interval((low + high) / 2, low, high), **more)


# The choice -------------------------------------------------------------------------------------


def test_the_lowest_regret_is_chosen_if_it_is_clear() -> None:
    found = choose([candidate("a", 10, (0, 0)), candidate("b", 10.5, (0.1, 0.9), cpu=1e-6)])
    assert found == (
        "a",
        "a has the lowest regret, 10.0; the next, b, has 0.5 more (95 % interval 0.1 to 0.9).",
    )


def test_of_policies_without_a_clear_difference_a_much_faster_one_is_chosen() -> None:
    policy, reason = choose(
        [
            candidate("a", 10, (0, 0), cpu=3e-4),
            candidate("b", 10.5, (-0.1, 1.1), cpu=1.9e-4),
            candidate("c", 10.6, (0.1, 1.1), cpu=1e-5),  # clearly worse
            candidate("d", 12, (-1, 5), cpu=1e-5),  # not clearly, but much
        ]
    )
    assert policy == "b"
    assert reason == (
        "b and a do not differ clearly in 50 trials. Of these, b takes the least CPU, 190 µs per "
        "decision; it is not clear that d has more regret: more trials would decide."
    )


def test_a_policy_with_exact_probabilities_is_preferred() -> None:
    a = candidate("a", 10, (0, 0), cpu=1e-5, exact=False)
    policy, reason = choose([a, candidate("b", 10.5, (-0.1, 1.1), cpu=2e-3)])
    assert policy == "b"
    assert reason.endswith("Of these, b returns the probabilities of its plays.")


def test_a_little_less_cpu_does_not_decide() -> None:
    """Otherwise the noise of the measurement would."""
    first = candidate("a", 10, (0, 0), cpu=1.2e-4)
    policy, reason = choose([first, candidate("b", 10.5, (-0.1, 1.1), cpu=1e-4)])
    assert policy == "a"
    assert reason.endswith("Of these, a had the lowest regret, 10.0.")


def test_the_next_policy_is_a_finalist() -> None:
    """One that was dropped early may have a lower average, and a wide interval."""
    early = replace(candidate("b", 9, (0, 0), trials=2), difference=Interval(-1.0, -8.0, 6.0))
    rival = candidate("c", 15, (4, 6))
    policy, reason = choose([candidate("a", 10, (0, 0)), rival, early])
    assert policy == "a"
    assert reason == (
        "a has the lowest regret, 10.0; the next, c, has 5.0 more (95 % interval 4.0 to 6.0)."
    )
    assert choose([candidate("a", 10, (0, 0)), early])[1] == "a has the lowest regret, 10.0."


def test_a_policy_that_was_dropped_early_is_not_unclear() -> None:
    early = candidate("b", 10.5, (-5, 6), trials=2, cpu=1e-6)
    policy, reason = choose([candidate("a", 10, (0, 0)), early])
    assert policy == "a"
    assert "not clear" not in reason


def test_one_policy_is_recommended_without_a_comparison() -> None:
    assert choose([candidate("a", 10, (0, 0))]) == ("a", "a is the only policy that was compared.")


# The numbers ------------------------------------------------------------------------------------


def test_interval_is_that_of_scipy() -> None:
    values = np.random.default_rng(1).normal(size=9)
    wanted = stats.t.interval(0.95, 8, values.mean(), stats.sem(values))
    found = Interval.of(values)
    np.testing.assert_allclose((found.low, found.high), wanted, rtol=1e-12)
    assert found.mean == values.mean()


def test_numbers_are_those_of_simulations_in_the_same_worlds() -> None:
    policies = ["ts-n", "ts-n-sampled", "ids-n"]
    how: dict[str, Any] = {"graph": KARATE, "horizon": 40, "world": "gaussian(noise=2)", "seed": 5}
    given: dict[str, Any] = {"delay": [1, 9], "answer_rate": 0.7}
    found = recommend(policies=policies, trials=12, **how, **given)
    late = simulate(policies, trials=12, progress=False, **how, **given)
    prompt = simulate(policies, trials=12, progress=False, **how)
    order = sorted(policies, key=lambda name: late[name].final.mean())
    assert [one.policy for one in found.candidates] == order
    for one in found.candidates:
        final = late[one.policy].final
        assert one.trials == 12
        assert one.regret == Interval.of(final)
        assert one.delay_cost == Interval.of(final - prompt[one.policy].final)
        gap = Interval.of(final - late[order[0]].final)
        np.testing.assert_allclose(
            [one.difference.mean, one.difference.low, one.difference.high],
            [gap.mean, gap.low, gap.high],
            rtol=1e-12,
        )
        assert one.exact == (one.policy != "ts-n-sampled")
        assert 0.0 < one.cpu < 1.0
    assert found.settings == {
        "arms": 34,
        "horizon": 40,
        "seed": 5,
        "delay": [1, 9],
        "answer_rate": 0.7,
        "trials": 12,
        "edges": 78,
        "directed": False,
    }
    assert found.left_out == {}
    assert json.loads(json.dumps(found.to_dict()))["candidates"][0]["policy"] == order[0]


def test_the_prior_of_the_world_is_used() -> None:
    how: dict[str, Any] = {"horizon": 30, "arms": 4, "policies": "ts-n", "trials": 20}
    likely = recommend("ring", prior="90,10", **how).candidates[0].regret
    wide = recommend("ring", **how).candidates[0].regret
    assert likely.mean < 0.5 * wide.mean  # the means differ little


# Suitable policies ------------------------------------------------------------------------------


def test_all_suitable_policies_are_compared() -> None:
    found = recommend("random(r=0.3)", arms=3, horizon=10, trials=2)
    compared = {one.policy for one in found.candidates}
    assert compared | found.left_out.keys() == set(registered("policy")) - {"floor"}
    assert {"eps-greedy-lp", "ts-maxn", "ucb-maxn", "ucb-lp"} == found.left_out.keys()
    assert found.left_out["ts-maxn"] == (
        "needs a graph with entries 0 and 1 only, but this graph has other probabilities"
    )


# The time limit ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slow:
    """A policy that needs much time for a decision."""

    seconds: float = 0.05
    name: ClassVar[str] = "slow"
    needs: ClassVar[Needs] = Needs()
    exact: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        return {}

    def propose(self, state: State, view: View) -> Floats:
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        return np.full((view.keys.trials, view.problem.arms), 1.0 / view.problem.arms)

    def update(self, state: State, event: Event) -> State:
        return state


def test_the_time_limit_is_kept_and_slow_policies_are_left_out() -> None:
    recommend("ring", arms=4, horizon=5, policies=["ts-n", "uniform"], trials=2)  # compiles
    start = time.perf_counter()
    found = recommend("ring", arms=4, horizon=200, policies=["ts-n", "uniform", Slow()], seconds=2)
    assert time.perf_counter() - start < 10.0
    (why,) = found.left_out.values()
    assert why.startswith("is too slow for the time limit: ")
    assert {one.policy for one in found.candidates} == {"ts-n", "uniform"}
    assert found.policy == "ts-n"
    assert min(one.trials for one in found.candidates) > 2


def test_after_each_stage_the_better_half_is_simulated_further() -> None:
    found = recommend("ring", arms=4, horizon=200, delay=5, seconds=3, workers=1)
    trials = [one.trials for one in found.candidates]
    assert found.candidates[0].trials == max(trials)
    assert FINALISTS <= trials.count(max(trials)) < len(trials)
    # the better ones of a stage go on
    for number in set(trials) - {max(trials)}:
        dropped = [one for one in found.candidates if one.trials == number]
        assert all(one.difference.mean >= 0.0 for one in dropped)
    assert found.candidates[0].delay_cost is not None
    assert isinstance(found, Recommendation)


def test_nothing_fits_in_the_time() -> None:
    with pytest.raises(InputError, match="2 trials of any policy do not fit in the time limit"):
        recommend("ring", arms=4, horizon=10**9, policies="ts-n", seconds=1)


# Agreement --------------------------------------------------------------------------------------


# Refused ----------------------------------------------------------------------------------------


@each(
    "given",
    [
        {"delay": -1},
        {"answer_rate": 0},
        {"trials": 1},
        {"seconds": 0},
        {"workers": 0},
        {"graph": "file:missing.csv"},
        {"prior": "-1,2"},
        {"policies": []},
        {"policies": "ts-maxn", "graph": "random(r=0.5)"},
        {"policies": "ucb-n", "world": "gaussian"},
    ],
)
def test_bad_input(given: dict[str, Any]) -> None:
    with refuses(GraphBanditsError):
        recommend(**{"graph": "ring", "arms": 4, "horizon": 20} | given)
