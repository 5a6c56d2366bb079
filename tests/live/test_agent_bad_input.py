"""Tests of live/agent.py: invalid arguments, rewards and decisions are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx
import numpy as np
from helpers.agents import reopened
from helpers.bad_input import Proposes, refused, tree
from helpers.cases import each

from graphbandits import Agent
from graphbandits.errors import GraphBanditsError

NAN, INF = math.nan, math.inf


@each(
    ("change", "words"),
    [
        ({"arms": ["ann", "bob"], "graph": "paper"}, ["5 arms", "2"]),
        ({"arms": ["ann", "eve"], "graph": networkx.path_graph(["ann", "bob"])}, ["'eve'", "bob"]),
        ({"arms": True}, ["arms", "whole number", "True"]),
        ({"arms": 2.5}, ["arms", "2.5"]),
        ({"arms": []}, ["arms", "at least 1", "0"]),
        ({"arms": [["ann"], ["bob"]]}, ["name", "['ann']"]),
        ({"policy": "ids-n(x=1)"}, ["'ids-n'", "no parameter 'x'"]),
        ({"policy": None}, ["a new agent needs a policy", "Agent('ids-n', "]),
        ({"policy": 5}, ["policy", "5"]),
        ({"graph": "sta"}, ["unknown graph 'sta'", "did you mean 'star'"]),
        ({"graph": 5}, ["graph", "int"]),
        ({"seed": -1}, ["seed", "at least 0", "-1"]),
        ({"expires": 0}, ["expires", "seconds", "0"]),
        ({"expires": timedelta(-1)}, ["expires", "seconds", "-86400"]),
        ({"horizon": 0}, ["horizon", "at least 1", "0"]),
        ({"trial": -1}, ["trial", "at least 0", "-1"]),
    ],
)
def test_invalid_agent_arguments_are_refused(change: dict[str, Any], words: list[str]) -> None:
    given: dict[str, Any] = {"policy": "ids-n", "arms": 3, "graph": "star", "seed": 1}
    refused(lambda: Agent(**(given | change)), *words)


@each("names", [[1, 2, 3], ["ann", 2, "eve"], [2, "ann", "eve"], [2.5, 3.5]])
def test_names_that_are_not_text_are_refused_or_survive_saving(
    names: list[Any], tmp_path: Path
) -> None:
    with suppress(GraphBanditsError):
        agent = Agent("ids-n", names, "star", seed=1)
        assert reopened(agent, tmp_path).arms == tuple(names)


@each(
    "reward",
    [
        *[0.5, 2, -1, NAN, INF, "x", "1", None, [1], 1j, np.array([1, 0]), np.array([]), {}],
        *[1 + 0j, np.complex128(1), np.timedelta64(1, "s"), np.timedelta64(1), b"1", np.str_("1")],
        *[Decimal("sNaN"), Decimal("0.5"), Fraction(1, 2), 10**400, np.array(1)],
    ],
)
def test_refused_rewards_change_nothing(agent: Agent, tmp_path: Path, reward: Any) -> None:
    before = agent._state.digest()
    refused(lambda: agent.observe(agent.pending[0], {"bob": reward}), "0 or 1")
    refused(lambda: agent.observe(agent.pending[0], {"bob": 1, "eve": reward}), "0 or 1")
    assert len(agent.pending) == 1
    assert agent._state.digest() == before


@each("one", [1, 1.0, True, np.bool_(True), np.int8(1), np.float16(1), Decimal(1), Fraction(1)])
def test_a_number_of_any_type_is_a_reward(one: Any) -> None:
    agent = Agent("ts-n", 2, "complete", seed=1)
    agent.observe(agent.decide(), {0: one, 1: type(one)(0)})
    assert agent.state == {"a": {0: 2.0, 1: 1.0}, "b": {0: 1.0, 1: 2.0}}


@each(
    ("rewards", "words"),
    [
        ({"bib": 1}, ["unknown arm 'bib'", "did you mean 'bob'", "ann", "eve"]),
        ({1: 1}, ["unknown arm 1", "bob"]),
        ({None: 1}, ["unknown arm None", "bob"]),
        ({"ann": 1}, ["'bob'", "does not reveal 'ann'"]),
        ({"bob": 1, "ann": (1, 1)}, ["'bob'", "does not reveal 'ann'"]),
        ({"bob": (3, 2)}, ["(successes, trials)", "(3, 2)"]),
        ({"bob": (0.5, 2)}, ["(successes, trials)", "(0.5, 2)"]),
        (None, ["outcomes", "None"]),
        ([1, 0], ["outcomes", "[1, 0]"]),
    ],
)
def test_refused_arms_change_nothing(
    agent: Agent, tmp_path: Path, rewards: Any, words: list[str]
) -> None:
    before = agent._state.digest()
    for partial in (False, True):
        how = {"partial": partial}
        refused(lambda how=how: agent.observe(agent.pending[0], rewards, **how), *words)
    assert len(agent.pending) == 1
    assert agent._state.digest() == before


NUMBERS = [0, 1, 2, -1, 99, "1", "", "-1", "x", "1-", "\uff11-x", None, 1.5, [1], True, 1 + 0j]


@each("number", NUMBERS)
def test_unknown_decisions_are_refused(agent: Agent, tmp_path: Path, number: Any) -> None:
    """The agent has an open decision with the number 1, but its id has a random part."""
    before = agent._state.digest()
    for call in (lambda: agent.observe(number, {"bob": 1}), lambda: agent.close(number)):
        refused(call, "decision", repr(number))
    refused(lambda: agent.decision(number), "decision")
    assert agent._state.digest() == before


def test_very_large_integers_are_refused_with_a_short_message(agent: Agent) -> None:
    large = 10**5000
    refused(lambda: agent.observe(agent.pending[0], {"bob": large}), "0 or 1", "int")
    refused(lambda: agent.observe(agent.pending[0], {large: 1}), "unknown arm", "int", "bob")
    refused(lambda: agent.observe(large, {"bob": 1}), "decision", "int")
    assert len(refused(lambda: agent.observe("9" * 5000, {"bob": 1}), "decision")) < 300


def test_a_decision_is_observed_once(agent: Agent, tmp_path: Path) -> None:
    second = agent.decide()
    agent.observe(second, {second.arm: 1})
    before = agent._state.digest()
    for again in (second, second.id):
        words = ["has the outcome 1 of 'bob', not 0", "cannot be changed", second.id]
        refused(lambda again=again: agent.observe(again, {second.arm: 0}), *words)
        words = ["is closed", "no outcome of 'eve'", "partial=True", second.id]
        refused(lambda again=again: agent.observe(again, {"bob": 1, "eve": 0}), *words)
        agent.observe(again, {second.arm: 1})  # the same outcome
        agent.observe(again, {})
        agent.close(again)
    (first,) = agent.pending
    assert agent._state.digest() == before
    agent.observe(first, {"bob": 1})
    refused(lambda: agent.observe(first, {"bob": 0}), "has the outcome 1 of 'bob'", first)
    assert agent.pending == ()
    assert agent.status()["outcomes"] == 2


@each("now", [NAN, INF, -INF])
def test_clock_without_a_finite_time_changes_nothing(now: float) -> None:
    times = iter([1.0, now, 2.0, 3.0])
    agent = Agent("ids-n", 2, seed=1, clock=lambda: next(times))
    refused(agent.decide, "clock", repr(now), "finite")
    assert agent.pending == ()
    assert agent.decide().number == 1


def test_policy_that_proposes_no_distribution_leaves_the_agent_unchanged() -> None:
    agent = Agent(Proposes((0.5, 0.6, 0.0)), 3, "star", seed=1)
    for _ in range(2):
        refused(agent.decide, "Proposes", "round 1", "1.1")
        assert agent.pending == ()


def test_an_agent_with_an_unregistered_policy_cannot_be_saved(tmp_path: Path) -> None:
    agent = Agent(Proposes((0.0, 1.0, 0.0)), 3, "star", seed=1)
    refused(lambda: agent.save(tmp_path / "agent.db"), "Proposes", "not registered", "@register")
    assert tree(tmp_path) == {}


@each("name", [2**63, -(2**63) - 1, 10**30])
def test_integers_that_a_log_cannot_hold_are_no_names(name: int) -> None:
    agent = Agent("ts-n", [2**63 - 1, -(2**63)], seed=1)
    agent.decide()
    assert agent.log().to_arrow().num_rows == 1
    for call in (lambda: Agent("ts-n", [name, 5]), lambda: agent.add_arm(name)):
        refused(call, "too large")
    assert len(agent.arms) == 2


@each(
    ("call", "words"),
    [
        (lambda agent: agent.learn({"bob": 1}, key=""), ["key must be a text"]),
        (lambda agent: agent.learn({"bob": 1}, unknown="no"), ["'error' or 'skip'", "'no'"]),
        (lambda agent: agent.decide(expires=2e11), ["expires", "1e+11"]),
        (lambda agent: agent.backup("copy.db"), ["in memory", "save(path)"]),
        (lambda agent: Agent("ids-n", 3, floor_over="dominating-set"), ["floor_over", "floor="]),
        (lambda agent: Agent(floor=0.1, store="agents.db"), ["floor", "give the policy"]),
    ],
)
def test_invalid_arguments_of_methods_are_refused(
    agent: Agent, call: Callable[[Agent], object], words: list[str]
) -> None:
    before = agent._state.digest()
    refused(lambda: call(agent), *words)
    assert agent._state.digest() == before


def test_an_arm_is_given_once_by_number_or_text() -> None:
    agent = Agent("ts-n", 2, "complete", seed=1)
    refused(lambda: agent.observe(agent.decide(), {1: 1, "1": 1}), "1 is given twice")


def test_a_policy_without_a_posterior_cannot_learn_what_was_not_revealed() -> None:
    agent = Agent("exp3-ix", 3, "empty", seed=1, horizon=9)
    decision = agent.decide()
    other = (int(decision.arm) + 1) % 3
    refused(lambda: agent.observe(decision, {other: 1}, extra=True), "'exp3-ix'", f"omit {other}")


def test_verify_finds_a_state_that_is_not_that_of_the_journal(agent: Agent) -> None:
    agent._state.policy_state["a"][0, 0] += 1.0
    refused(agent.verify, "another state")
