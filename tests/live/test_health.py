"""Tests of live/health.py: counts, answers, warnings, and the same report from any reading."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.agents import GRAPH, Clock, events
from helpers.agents import NAMES as FOUR
from helpers.bad_input import refuses
from scipy.stats import binomtest, fisher_exact

from graphbandits import Agent, Health, InputError
from graphbandits.live.evidence import SequentialTest, low_shares, natural_family
from graphbandits.live.health import ArmAnswers
from graphbandits.live.requests import answer
from graphbandits.policies import as_policy
from graphbandits.posteriors import BetaBernoulli

#: The warning of the prior at the first outcomes is another one.
pytestmark = pytest.mark.filterwarnings("ignore::graphbandits.errors.InputWarning")
NAMES = ["ann", "bob", "eve"]


def new(policy: str = "ts-n", **more: Any) -> Agent:
    settings: dict[str, Any] = {"arms": NAMES, "graph": "complete", "seed": 1}
    return Agent(policy, **(settings | more))


def rounds(agent: Agent, count: int, mean: Callable[[str], float], seed: int = 1) -> None:
    """Make decisions, and report all outcomes at once."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        decision = agent.decide()
        outcomes = {arm: int(rng.random() < mean(str(arm))) for arm in sorted(decision.reveals)}
        agent.observe(decision, outcomes)


def direct(prior: BetaBernoulli, outcomes: list[tuple[int, float, float]]) -> SequentialTest:
    """Return the test of outcomes (arm, reward, weight), in one call."""
    family = natural_family(prior)
    assert family is not None
    test = SequentialTest(family)
    arm, reward, weight = (np.array(one, float) for one in zip(*outcomes, strict=True))
    test.add(arm.astype(np.int64), reward, weight, np.zeros(len(arm)))
    return test


# --- the test -------------------------------------------------------------------------------------


def test_a_new_agent_is_ok() -> None:
    found = new().health()
    assert (found.verdict, found.warnings, found.answers) == ("ok", (), ())
    assert (found.decisions, found.outcomes, found.oldest, found.median) == (0, 0, None, None)
    assert found.test is not None
    assert (found.test.outcomes, found.test.highest_ratio, found.test.ratio) == (0, 1.0, 1.0)
    assert found.test.highest_time is None
    assert [note for note in found.notes if "cannot be detected" in note] == list(found.notes)


def test_a_change_is_reported_with_its_arm_and_advice() -> None:
    clock = Clock()
    agent = new(clock=clock)
    rounds(agent, 100, lambda arm: 0.6)
    assert agent.health().verdict == "ok"
    clock.now += 60.0
    rounds(agent, 60, lambda arm: 0.0 if arm == "bob" else 0.6)
    found = agent.health()
    (line,) = found.warnings
    assert line.startswith("the outcomes of bob contradict its posterior")
    assert "discount, or reset()" in line
    assert found.test is not None
    assert found.test.contradicts
    assert found.test.threshold == 100.0
    assert found.test.highest_time is not None
    assert found.test.highest_time.timestamp() == clock.now
    worst = found.test.arms[0]
    assert (worst.arm, worst.contradicts, worst.outcomes) == ("bob", True, 160)
    a, b = agent.state["a"]["bob"], agent.state["b"]["bob"]
    assert worst.posterior_mean == pytest.approx(a / (a + b), rel=1e-12)
    assert worst.recent_mean == 0.0
    assert [one.contradicts for one in found.test.arms[1:]] == [False, False]
    # the average has one half of all arms together, and one sixth of each of 3 arms
    assert [one.threshold for one in found.test.arms] == pytest.approx([600.0] * 3)


def test_a_wrong_prior_of_all_arms_is_reported_together() -> None:
    """At first, each arm alone has too few outcomes."""
    arms = [f"user {i}" for i in range(40)]
    agent = new("uniform", arms=arms, prior=(45, 5), graph="empty")
    agent.learn({arm: (i % 2, 2) for i, arm in enumerate(arms)})
    found = agent.health()
    (line,) = found.warnings
    assert "posteriors of all arms together" in line
    assert "another prior" in line
    arms = arms[:8]
    agent = new("uniform", arms=arms, prior=(90, 10), graph="empty")
    agent.learn(dict.fromkeys(arms, (0, 50)))
    lines = agent.health().warnings
    assert len(lines) == 5
    assert "posteriors of all arms together" in lines[0]
    assert "5 more arms" in lines[-1]


def test_broken_tracking_of_all_arms_comes_before_single_arms() -> None:
    agent = new("uniform")
    rounds(agent, 100, lambda arm: 0.6)
    rounds(agent, 30, lambda arm: 0.0)
    history = [one for e in agent.history() for one in e.get("outcomes", {}).values()]
    zeros = list(reversed(history)).index(1)
    first, together, *single = agent.health().warnings
    assert zeros >= 90
    assert first.startswith(f"the last {zeros} outcomes are all 0")
    assert "posteriors of all arms together" in together
    assert len(single) == 3
    assert not any("discount" in line for line in (together, *single))
    rounds(agent, 1, lambda arm: 1.0)
    assert "consider a discount, or reset()" in agent.health().warnings[0]


def test_equal_outcomes_are_reported_if_they_are_unusual() -> None:
    for zeros, usual in ((19, 2), (20, 2), (40, 40), (41, 40)):
        agent = new("uniform", graph="empty", prior=(900, 100))
        for k, outcome in enumerate([1, *[0] * usual, 1, *[0] * zeros]):
            agent.learn({NAMES[k % 3]: outcome})
        first = agent.health().warnings[0]
        reported = first.startswith(f"the last {zeros} outcomes are all 0")
        assert reported == (zeros in (20, 41)), zeros


def test_level_is_the_reciprocal_of_the_threshold() -> None:
    agent = new(prior=(20, 5))
    agent.learn({"ann": (2, 10)})
    ratio = agent.health().test.highest_ratio  # type: ignore[union-attr]
    assert ratio > 2.0
    assert agent.health(level=0.999 / ratio).verdict == "ok"
    assert agent.health(level=1.001 / ratio).verdict == "warning"


def test_outcomes_are_tested_once_in_the_order_of_the_journal() -> None:
    """In pieces, repeated, weighted, extra, and without a decision; late ones are not learned."""
    clock = Clock()
    matrix = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    agent = new(graph=matrix, expires=100.0, prior=(5, 2), clock=clock)
    first = agent.decide(among=["ann"])
    second = agent.decide(among=["ann"])
    agent.observe(second, {"ann": 0}, partial=True)
    agent.observe(first, {"bob": (3, 10)}, partial=True)
    agent.observe(second, {"ann": 0, "bob": 1}, partial=True)  # ann is known
    agent.observe(second, {"eve": 0}, extra=True)
    agent.learn({"eve": (1, 4), "bob": 0})
    clock.now += 101.0
    agent.observe(first, {"ann": 1})  # late
    third = agent.decide(among=["eve"])
    agent.observe(third, {"eve": 1})
    expected = direct(
        BetaBernoulli.of(3, 5.0, 2.0),
        [
            (0, 0.0, 1.0),
            (1, 0.3, 10.0),
            (1, 1.0, 1.0),
            (2, 0.0, 1.0),
            (2, 0.25, 4.0),
            (1, 0.0, 1.0),
            (2, 1.0, 1.0),
        ],
    )
    found = agent.health()
    assert found.test is not None
    assert found.test.outcomes == 7
    assert found.test.ratio == pytest.approx(math.exp(expected.now()), rel=1e-12)
    assert found.test.highest_ratio == pytest.approx(math.exp(expected.highest()), rel=1e-12)
    assert (found.outcomes, found.learned, found.late, found.expired) == (5, 5, 1, 1)
    by_arm = {one.arm: (one.revealed, one.received) for one in found.answers}
    # the first decision has no outcome of ann in time; eve of the second one was extra
    assert by_arm == {"ann": (2.0, 1), "bob": (2.0, 2), "eve": (1.0, 1)}


def test_a_posterior_without_exact_predictions_is_not_tested() -> None:
    for posterior, reason in (
        ("beta-bernoulli(discount=0.9)", "forgets old outcomes"),
        ("normal(half_life=60)", "forgets old outcomes"),
        ("beta-interval", "no exact probability"),
    ):
        agent = new(posterior=posterior)
        agent.observe(agent.decide(), {"ann": 1})
        found = agent.health()
        assert found.test is None, posterior
        assert reason in found.notes[0]
        assert (found.verdict, found.outcomes) == ("ok", 1)
        assert found.to_dict()["test"] is None


def test_policies_without_a_posterior_are_tested_by_their_prior() -> None:
    found = []
    for policy in ("exp3-ix", "ucb-n", "ts-n"):
        agent = new(policy, prior=(5, 2))
        for k in range(12):
            agent.observe(agent.decide(), {"ann": k % 2, "bob": 0})
        found.append(agent.health().test)
    assert found[0] == replace(found[1], highest_time=found[0].highest_time)  # type: ignore[type-var, union-attr]
    assert found[0] == replace(found[2], highest_time=found[0].highest_time)  # type: ignore[type-var, union-attr]


def test_an_extreme_outcome_ends_the_test() -> None:
    agent = new("uniform", posterior="normal", graph="empty")
    agent.learn({"ann": 1e200})
    found = agent.health()
    assert found.test is None
    assert "too extreme" in found.notes[0]
    assert agent.health() == found


# --- changes of the agent -------------------------------------------------------------------------


def test_reset_starts_the_test_again() -> None:
    agent = new(prior=(90, 10))
    agent.learn({"ann": (0, 30)})
    left = agent.decide()
    assert agent.health().verdict == "warning"
    agent.reset()
    found = agent.health()
    assert found.verdict == "ok"
    assert found.test is not None
    assert (found.test.outcomes, found.test.highest_ratio) == (0, 1.0)
    agent.observe(left, {"ann": 0})  # late
    assert agent.health().test == found.test
    # it was not expected any more, so it is not unanswered
    assert (agent.health().unanswered, agent.health().late) == (0, 1)
    agent.learn({"ann": (0, 30)})
    agent.set_policy("exp3-ix", reset=True)
    assert agent.health().verdict == "ok"
    agent.observe(agent.decide(), {"bob": 1})
    assert agent.health().test.outcomes == 1  # type: ignore[union-attr]


def test_arms_can_be_added_and_retired() -> None:
    agent = new(prior=(5, 2))
    rounds(agent, 5, lambda arm: 0.6)
    agent.health()
    agent.add_arm("kim", prior=(80, 20), edges=["ann"])
    rounds(agent, 5, lambda arm: 0.6)
    agent.retire("bob")
    agent.learn({"kim": (0, 40)})
    rounds(agent, 5, lambda arm: 0.6)
    found = agent.health()
    assert found.test is not None
    assert found.test.arms[0].arm == "kim"
    assert found.warnings[0].startswith("the outcomes of kim contradict")
    assert {one.arm for one in found.answers} == {"ann", "bob", "eve", "kim"}
    assert all(one.share == 1.0 for one in found.answers)


def test_report_is_the_same_step_by_step_and_from_a_store(tmp_path: Path) -> None:
    place = tmp_path / "agents.db"
    clock = Clock()
    given: dict[str, Any] = {"arms": FOUR, "graph": GRAPH, "clock": clock}
    steps, in_memory = new(**given, store=place), new(**given)
    called = []
    real = steps._run

    def observed(prepare: Any) -> Any:
        found = real(prepare)
        called.append(steps.health())
        return found

    steps._run = observed  # type: ignore[method-assign]
    events(steps, clock)
    clock.now = now = 2e9
    before = steps.status(), steps.state, steps.history()
    clock.now = 1e9
    events(in_memory, clock)
    clock.now = now
    once = Agent(store=place, clock=clock)
    assert once.health() == steps.health() == in_memory.health()
    assert (once.status(), once.state, once.history()) == before
    assert len(called) > 20
    # another process writes in between
    once.learn({"eve": (5, 6)})
    rounds(once, 3, lambda arm: 0.9)
    assert steps.health() == once.health() == Agent(store=place, clock=clock).health()
    steps.compact()
    assert Agent(store=place, clock=clock).health() == once.health()


def test_after_forget_the_test_starts_from_what_was_learned(tmp_path: Path) -> None:
    place = tmp_path / "agents.db"
    for more in ({}, {"store": place}):
        clock = Clock()
        agent = new(prior=(5, 2), clock=clock, **more)
        rounds(agent, 20, lambda arm: 0.5)
        before = agent.state
        assert agent.health().test.outcomes == 60  # type: ignore[union-attr]
        clock.now += 10.0
        agent.learn({"ann": (2, 3)})
        agent.forget(before=clock.now)
        family = natural_family(agent.posterior)
        assert family is not None
        start = np.array([[before["a"][arm], before["b"][arm]] for arm in NAMES])
        test = SequentialTest(family, start)
        test.add(np.array([0]), np.array([2 / 3]), np.array([3.0]), np.array([0.0]))
        for one in [agent, Agent(store=place, clock=clock)] if more else [agent]:
            found = one.health()
            assert found.test is not None
            assert found.test.outcomes == 1
            assert found.test.ratio == pytest.approx(math.exp(test.now()), rel=1e-12)
            assert (found.decisions, found.outcomes, found.learned) == (20, 60, 3)
            assert one.health() == found


def test_forget_of_an_agent_that_cannot_be_stored_starts_the_test_at_the_call() -> None:
    @dataclass(frozen=True)
    class Local(as_policy("ts-n").__class__):  # type: ignore[misc]
        """A policy that is not registered."""

    clock = Clock()
    agent = Agent(Local(), NAMES, "complete", seed=1, clock=clock)
    for _ in range(2):  # the second time there is no earlier state
        rounds(agent, 5, lambda arm: 0.5)
        clock.now += 10.0
        assert agent.forget(before=clock.now) > 0
        agent.learn({"ann": 1})
        assert agent.health().test.outcomes == 1  # type: ignore[union-attr]


def test_the_health_of_an_earlier_time_is_that_of_then() -> None:
    clock = Clock()
    agent = new(clock=clock)
    rounds(agent, 20, lambda arm: 0.6)
    before = agent.health()
    time, clock.now = clock.now, clock.now + 10.0
    rounds(agent, 60, lambda arm: 0.0)
    assert agent.health().verdict == "warning"
    assert agent.at(time).health() == before
    assert agent.at(clock.now).health() == agent.health()


# --- counts and answers ---------------------------------------------------------------------------


def test_counts_are_those_of_the_journal() -> None:
    clock = Clock()
    agent = new(expires=100.0, clock=clock)
    made = agent.decide(6)
    agent.observe(made[0], {"ann": 1})
    agent.observe(made[1], {})
    agent.close(made[2])
    agent.observe(made[3], {"bob": 1}, partial=True)
    clock.now += 60.0
    (later,) = agent.decide(1)
    clock.now += 10.0
    agent.decide(2)
    found = agent.health()
    assert (found.decisions, found.open, found.expired, found.unanswered) == (9, 6, 0, 2)
    assert (found.oldest, found.median) == (70.0, pytest.approx(40.0))
    clock.now += 35.0  # three decisions expire; the journal has no entry of it yet
    found = agent.health()
    assert (found.open, found.expired, found.unanswered) == (3, 3, 4)
    assert (found.oldest, found.median) == (45.0, 35.0)
    status = agent.status()
    assert (status["open"], status["expired"]) == (3, 3)
    agent.observe(later, {"ann": 1})
    found = agent.health()
    assert (found.open, found.expired, found.unanswered) == (2, 3, 4)
    by_arm = {one.arm: (one.revealed, one.received) for one in found.answers}
    assert by_arm == {"ann": (7.0, 2), "bob": (7.0, 1), "eve": (7.0, 0)}


def test_revealed_outcomes_are_counted_by_their_probabilities() -> None:
    matrix = np.array([[1.0, 0.25, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 1.0]])
    agent = new(graph=matrix)
    for arm, graph in (("ann", None), ("ann", None), ("eve", None), ("eve", np.eye(3))):
        agent.observe(agent.decide(among=[arm], graph=graph), {arm: 1})
    by_arm = {one.arm: (one.revealed, one.received, one.share) for one in agent.health().answers}
    assert by_arm == {"ann": (2.0, 2, 1.0), "bob": (1.0, 0, 0.0), "eve": (2.0, 2, 1.0)}
    agent.retire("bob")
    agent.observe(agent.decide(among=["ann"]), {"ann": 1})
    assert {one.arm: one.revealed for one in agent.health().answers}["bob"] == 1.0


def test_graphs_that_change_every_round_are_counted_round_by_round() -> None:
    agent = new(graph="revealed-er(p=0.5)")
    expected = dict.fromkeys(NAMES, 0.0)
    for _ in range(12):
        decision = agent.decide()
        for arm, chance in decision.reveals.items():
            expected[str(arm)] += chance
        agent.observe(decision, dict.fromkeys(decision.reveals, 1))
    found = agent.health()
    assert {one.arm: one.revealed for one in found.answers} == pytest.approx(expected)
    assert {one.share for one in found.answers} == {1.0}


def test_low_shares_are_reported() -> None:
    agent = new("uniform")
    for k in range(60):
        outcomes = {"ann": 1, "eve": 0} if k % 3 else {"ann": 1, "bob": 0, "eve": 0}
        agent.observe(agent.decide(), outcomes)
    found = agent.health()
    [few] = [line for line in found.notes if line.startswith("few answers")]
    assert "bob (20 of 60): of all arms 140 of 180 outcomes" in few
    assert found.answers[0] == ArmAnswers("bob", 60.0, 20, 1 / 3, True)


def test_shares_of_arms_are_compared_by_exact_tests() -> None:
    """Fisher's test of each arm against the others; a binomial test of uncertain numbers."""
    revealed = np.array([40.0, 55.0, 10.0, 30.0])
    received = np.array([31.0, 40.0, 3.0, 29.0])
    missing, exact, uncertain = revealed - received, [], []
    for k in range(4):
        rest = np.arange(4) != k
        table = [[received[k], missing[k]], [received[rest].sum(), missing[rest].sum()]]
        exact.append(fisher_exact(table, alternative="less").pvalue)
        share = (revealed[k] + 0.5) / 137.0
        binomial = binomtest(int(received[k]), 103, share, alternative="less")
        uncertain.append(binomial.pvalue)
    for level in (0.001, 0.01, 0.05, 0.2, 0.9):
        found = low_shares(revealed, received, level, certain=True)
        assert found.tolist() == [chance <= level / 4 for chance in exact]
        found = low_shares(revealed + 0.5, received, level, certain=False)
        assert found.tolist() == [chance <= level / 4 for chance in uncertain]
    assert low_shares(revealed, received, 0.05, certain=True).any()
    assert not low_shares(np.array([3.0]), np.array([0.0]), 0.9, certain=True).any()
    assert low_shares(np.zeros(0), np.zeros(0), 0.9, certain=True).tolist() == []


def test_many_late_outcomes_are_reported() -> None:
    clock = Clock()
    agent = new(expires=7200.0, clock=clock)
    made = agent.decide(10)
    rounds(agent, 25, lambda arm: 0.5)
    clock.now += 7201.0
    for number, decision in enumerate(made, 1):
        agent.observe(decision, {"ann": 1})
        late = [line for line in agent.health().warnings if "were not learned" in line]
        assert bool(late) == (number == 10)
    assert "10 of 85 outcomes" in late[0]
    assert "(now 2 hours)" in late[0]


# --- output and bad input -------------------------------------------------------------------------


def test_to_dict_has_json_values_and_every_attribute() -> None:
    agent = new(prior=(90_000, 10_000))
    agent.learn({"ann": (0, 3000)})
    found = agent.health()
    given = found.to_dict()
    assert json.loads(json.dumps(given, allow_nan=False)) == given
    assert given["verdict"] == "warning"
    assert set(given) == {"verdict", *Health.__dataclass_fields__}
    assert given["test"]["arms"][0]["highest_ratio"] == 1e300  # the largest that is shown
    assert answer(agent, '{"op": "health"}') == {"ok": True, "health": given}


def test_a_level_must_be_between_0_and_1() -> None:
    agent = new()
    for level in (0, 1, -0.1, math.nan, math.inf, "0.1", None, True):
        with refuses(InputError, match="level"):
            agent.health(level)  # type: ignore[arg-type]


# --- real agents ----------------------------------------------------------------------------------


@pytest.mark.nightly
def test_false_alarms_of_real_agents() -> None:
    """500 agents with means from the prior; half of the answers are lost at random."""
    rng, agents = np.random.default_rng(8), 500
    for policy in ("ids-n", "ts-n"):
        highest = []
        for number in range(agents):
            theta = dict(zip(NAMES, rng.random(3), strict=True))
            agent = new(policy, graph="star", seed=number)
            for _ in range(100):
                decision = agent.decide()
                outcomes = {
                    arm: int(rng.random() < theta[str(arm)])
                    for arm in sorted(decision.reveals)
                    if rng.random() < 0.5
                }
                agent.observe(decision, outcomes)
            test = agent.health().test
            assert test is not None
            assert test.contradicts == (test.highest_ratio >= 100.0)
            highest.append(test.highest_ratio)
        for level in (0.5, 0.2, 0.05, 0.01):
            share = (np.array(highest) >= 1.0 / level).mean()
            error = math.sqrt(level * (1.0 - level) / agents)
            assert share <= level + 4.0 * error, (policy, level)
        assert max(highest) > 3.0
