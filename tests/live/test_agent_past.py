"""Tests of Agent.at in live/agent.py: the agent as it was at an earlier time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.agents import Clock, reopened
from helpers.bad_input import refused
from helpers.cases import each

from graphbandits import Agent

NAMES = ["ann", "bob", "eve"]
GRAPH = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [0.25, 0.0, 1.0]])
START = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()


def agent_of(clock: Clock, **more: Any) -> Agent:
    given: dict[str, Any] = {"graph": GRAPH, "seed": 1, "prior": [(1, 3), (4, 2), (2, 2)]}
    return Agent("ids-n", NAMES, clock=clock, **given | more)


def seen(agent: Agent) -> dict[str, Any]:
    """Return everything that can be read from an agent."""
    beliefs = agent.beliefs()
    return {
        "state": agent.state,
        "beliefs": {arm: beliefs[arm] for arm in beliefs},
        "status": agent.status(),
        "history": agent.history(),
        "pending": agent.pending,
        "arms": agent.arms,
        "policy": agent.policy,
        "overview": agent.overview(),
        "explanations": [agent.explain(id_).to_dict() for id_ in agent.pending],
        "decisions": [agent.decision(id_).to_dict() for id_ in agent.pending],
    }


def eventful(agent: Agent, clock: Clock) -> dict[float, dict[str, Any]]:
    """Change the agent again and again; return what it was after each change."""
    known = {clock.now: seen(agent)}

    def then(change: Callable[[], object]) -> None:
        clock.now += 60.0
        change()
        known[clock.now] = seen(agent)

    then(lambda: agent.decide(2))
    then(lambda: agent.observe(agent.pending[0], {agent.decision(agent.pending[0]).arm: 1}))
    then(lambda: agent.learn({"ann": (3, 10)}))
    then(lambda: agent.decide(graph=np.eye(3), expires=90.0))
    then(lambda: agent.add_arm("joe", prior=(2, 1), edges=["ann"]))
    then(lambda: agent.decide())  # closes the decision that has expired
    then(lambda: agent.set_graph("complete"))
    then(lambda: agent.set_policy("ts-n"))
    then(lambda: agent.pause("bob"))
    then(agent.reset)
    then(lambda: agent.decide())
    return known


def test_past_agent_is_what_the_agent_was(store_url: str) -> None:
    clock = Clock(START)
    agent = agent_of(clock, store=store_url, posterior="beta-bernoulli(half_life=100)")
    known = eventful(agent, clock)
    clock.now += 1000.0
    agent.compact()
    again = Agent(store=store_url, clock=clock)
    for when, wanted in known.items():
        assert seen(again.at(when)) == wanted
    assert agent.at(clock.now).status() == agent.status()


def test_past_agent_in_memory_is_what_the_agent_was() -> None:
    clock = Clock(START)
    agent = agent_of(clock)
    known = eventful(agent, clock)
    clock.now += 60.0
    for when, wanted in known.items():
        assert seen(agent.at(when + 59.9))["state"] == wanted["state"]
        assert agent.at(when).verify() == wanted["status"]["entries"]
    assert seen(agent.at(clock.now - 60.0).at(START)) == known[START]


def test_expiry_is_that_of_the_time() -> None:
    clock = Clock(START)
    agent = agent_of(clock)
    made = agent.decide(expires=100.0)
    clock.now += 1000.0
    agent.decide()
    assert agent.at(START + 99.0).pending == (made.id,)
    assert agent.at(START + 101.0).pending == ()
    assert agent.at(START + 101.0).status()["expired"] == 1


def test_past_agent_does_not_follow_the_agent() -> None:
    clock = Clock(START)
    agent = agent_of(clock)
    made = agent.decide()
    clock.now += 60.0
    past = agent.at(clock.now)
    before = seen(past)
    agent.observe(made, {made.arm: 1})
    agent.decide()
    assert seen(past) == before


@each(
    "change",
    [
        lambda agent, made: agent.decide(),
        lambda agent, made: agent.observe(made, {made.arm: 1}),
        lambda agent, made: agent.close(made),
        lambda agent, made: agent.learn({"ann": 1}),
        lambda agent, made: agent.add_arm("kim"),
        lambda agent, made: agent.retire("ann"),
        lambda agent, made: agent.pause("ann"),
        lambda agent, made: agent.resume("ann"),
        lambda agent, made: agent.set_graph("complete"),
        lambda agent, made: agent.set_policy("ts-n"),
        lambda agent, made: agent.reset(),
        lambda agent, made: agent.compact(),
        lambda agent, made: agent.forget(START + 1000.0),
    ],
)
def test_past_agent_cannot_be_changed(
    change: Callable[[Agent, Any], object], tmp_path: Path
) -> None:
    clock = Clock(START)
    for agent in (agent_of(clock), agent_of(clock, store=tmp_path / "a.db")):
        made = agent.decide()
        past, before = agent.at(clock.now), seen(agent)
        refused(lambda past=past, made=made: change(past, made), "a past state cannot be changed")
        assert seen(past) == before == seen(agent)


def test_past_agent_can_be_saved_and_continued(tmp_path: Path) -> None:
    clock = Clock(START)
    agent = agent_of(clock)
    clock.now += 60.0
    agent.learn({"ann": (3, 10)})
    loaded = reopened(agent.at(START), tmp_path)
    assert loaded.state["b"] == {"ann": 3.0, "bob": 2.0, "eve": 2.0}
    assert loaded.decide().arm in NAMES


def test_times_may_have_any_form() -> None:
    clock = Clock(START)
    agent = agent_of(clock)
    clock.now += 3 * 86400.0
    agent.decide()
    moment = datetime.fromtimestamp(START, UTC) + timedelta(days=1)
    for form in (moment, moment.isoformat(), moment.timestamp(), date(2026, 2, 2), "2026-02-02"):
        assert agent.at(form).status()["decisions"] == 0
    assert agent.at(clock.now).status()["decisions"] == 1


@each("fraction", [0.1234564, 0.1234566, 0.0, 0.9999999])
def test_time_of_a_decision_includes_it(fraction: float) -> None:
    """The time of a decision has microseconds, and the clock more digits."""
    clock = Clock(START + fraction)
    agent = agent_of(clock)
    clock.now += 1.0
    made = agent.decide()
    clock.now += 1.0
    assert agent.at(made.time).pending == (made.id,)
    assert agent.at(made.time - timedelta(microseconds=2)).pending == ()


def test_times_outside_of_the_journal_are_refused(tmp_path: Path) -> None:
    clock = Clock(START)
    agent = agent_of(clock, store=tmp_path / "a.db")
    memory = agent_of(clock)
    clock.now += 100.0
    for one in (agent, memory):
        refused(lambda one=one: one.at(START - 1.0), "2026-01-31 12:00:00", "has no state at")
        refused(lambda one=one: one.at(clock.now + 1.0), "must not be in the future")
        one.learn({"ann": 1})
        clock.now += 100.0
        one.decide()
        one.forget(START + 150.0)
        refused(lambda one=one: one.at(START + 50.0), "2026-01-31 12:01:40")
        assert one.at(START + 150.0).status()["learned"] == 1
        clock.now = START + 100.0
    refused(lambda: agent.at("yesterday"), "time must be a date")
    refused(lambda: agent.at(None), "time must be a date")  # type: ignore[arg-type]


@pytest.mark.parametrize("stored", [False, True])
def test_past_agent_has_the_health_of_its_time(stored: bool, tmp_path: Path) -> None:
    now = 0.0
    place = tmp_path / "a.db" if stored else None
    agent = Agent("ts-n", 2, seed=1, clock=lambda: now, store=place)
    found = []
    for _ in range(30):
        now += 10.0
        agent.observe(agent.decide(), {0: 1, 1: 0}, extra=True)
        found.append(agent.health())
    for i in (3, 17, 29):
        past = agent.at(10.0 * (i + 1))
        assert past.health() == found[i]
    kept = agent.at(200.0)
    agent.forget(100.0)
    assert agent.at(200.0).health().decisions == 20
    refused(kept.verify, "removed by forget")
    refused(kept.log, "removed by forget")
    refused(kept.history, "removed by forget")
    refused(lambda: kept.backup(tmp_path / "b.db"), "cannot be changed")
