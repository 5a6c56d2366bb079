"""Tests of live/agent.py: invalid arguments, rewards and decisions are refused."""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from helpers.bad_input import Proposes, label, refused, tree

from graphbandits import Agent
from graphbandits.errors import GraphBanditsError

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"arms": ["ann", "bob"], "graph": "paper"}, ["5 arms", "2"]),
        ({"arms": 4, "graph": "paper"}, ["5 arms", "4"]),
        ({"arms": ["ann", "bob", "ann"]}, ["'ann'", "distinct"]),
        ({"arms": ["ann", "bob"], "graph": np.eye(3)}, ["3", "2"]),
        ({"arms": ["ann", "eve"], "graph": networkx.path_graph(["ann", "bob"])}, ["'eve'", "bob"]),
        ({"arms": 0}, ["arms", "at least 1", "0"]),
        ({"arms": -1}, ["arms", "at least 1", "-1"]),
        ({"arms": True}, ["arms", "whole number", "True"]),
        ({"arms": 2.5}, ["arms", "2.5"]),
        ({"arms": []}, ["arms", "at least 1", "0"]),
        ({"arms": [["ann"], ["bob"]]}, ["name", "['ann']"]),
        ({"policy": "ids-m"}, ["unknown policy 'ids-m'", "did you mean 'ids-n'"]),
        ({"policy": "ids-n(x=1)"}, ["'ids-n'", "no parameter 'x'"]),
        ({"policy": None}, ["policy", "None"]),
        ({"policy": ["ids-n"]}, ["policy", "ids-n"]),
        ({"graph": "sta"}, ["unknown graph 'sta'", "did you mean 'star'"]),
        ({"graph": None}, ["graph", "NoneType"]),
        ({"seed": -1}, ["seed", "at least 0", "-1"]),
        ({"seed": 1.5}, ["seed", "whole number", "1.5"]),
        ({"seed": None}, ["seed", "whole number", "None"]),
        ({"horizon": 0}, ["horizon", "at least 1", "0"]),
        ({"horizon": 2.5}, ["horizon", "whole number", "2.5"]),
        ({"trial": -1}, ["trial", "at least 0", "-1"]),
        ({"accuracy": "high"}, ["'simulation' or 'strict'", "'high'"]),
        ({"accuracy": 1e-8}, ["'simulation' or 'strict'", "1e-08"]),
        ({"accuracy": ["strict"]}, ["'simulation' or 'strict'", "['strict']"]),
    ],
    ids=label,
)
def test_invalid_agent_arguments_are_refused(change: dict[str, Any], words: list[str]) -> None:
    given: dict[str, Any] = {"policy": "ids-n", "arms": 3, "graph": "star", "seed": 1}
    refused(lambda: Agent(**(given | change)), *words)


@pytest.mark.parametrize("names", [[1, 2, 3], ["ann", 2, "eve"], [2, "ann", "eve"], [2.5, 3.5]])
def test_names_that_are_not_text_are_refused_or_survive_saving(
    names: list[Any], tmp_path: Path
) -> None:
    with suppress(GraphBanditsError):
        agent = Agent("ids-n", names, "star", seed=1)
        assert Agent.load(agent.save(tmp_path / "agent.npz")).arms == tuple(names)


def everything(agent: Agent, place: Path) -> bytes:
    """The complete state of an agent, as saved."""
    return agent.save(place / "everything.npz").read_bytes()


@pytest.mark.parametrize(
    "reward",
    [
        *[0.5, 2, -1, NAN, INF, "x", "1", None, [1], 1j, np.array([1, 0]), np.array([]), {}],
        *[1 + 0j, np.complex128(1), np.timedelta64(1, "s"), np.timedelta64(1), b"1", np.str_("1")],
        *[Decimal("sNaN"), Decimal("0.5"), Fraction(1, 2), 10**400, np.array(1)],
    ],
    ids=label,
)
def test_refused_rewards_change_nothing(agent: Agent, tmp_path: Path, reward: Any) -> None:
    before = everything(agent, tmp_path)
    refused(lambda: agent.observe(1, {"bob": reward}), "0 or 1")
    refused(lambda: agent.observe(1, {"bob": 1, "eve": reward}), "0 or 1")
    assert agent.pending == (1,)
    assert everything(agent, tmp_path) == before


@pytest.mark.parametrize(
    "one", [1, 1.0, True, np.bool_(True), np.int8(1), np.float16(1), Decimal(1), Fraction(1)]
)
def test_a_number_of_any_type_is_a_reward(agent: Agent, one: Any) -> None:
    agent.observe(1, {"bob": one, "eve": type(one)(0)})
    assert agent.state["a"] == {"ann": 1.0, "bob": 10.0, "eve": 1.0}
    assert agent.state["b"] == {"ann": 9.0, "bob": 1.0, "eve": 10.0}


@pytest.mark.parametrize("reward", [0.5, 2, NAN, "x"])
def test_refused_reward_is_in_the_message(agent: Agent, reward: Any) -> None:
    refused(lambda: agent.observe(1, {"bob": reward}), repr(reward))


@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        ({"bib": 1}, ["unknown arm 'bib'", "did you mean 'bob'", "ann", "eve"]),
        ({"bob": 1, "zoe": 1}, ["unknown arm 'zoe'", "ann"]),
        ({1: 1}, ["unknown arm 1", "bob"]),
        ({None: 1}, ["unknown arm None", "bob"]),
        ({"ann": 1}, ["'bob'", "does not reveal 'ann'"]),
        ({"bob": 1, "eve": 0, "ann": 1}, ["'bob'", "does not reveal 'ann'"]),
        (None, ["rewards", "None"]),
        ([1, 0], ["rewards", "[1, 0]"]),
        (1, ["rewards", "1"]),
    ],
    ids=label,
)
def test_refused_arms_change_nothing(
    agent: Agent, tmp_path: Path, rewards: Any, words: list[str]
) -> None:
    before = everything(agent, tmp_path)
    refused(lambda: agent.observe(1, rewards), *words)
    assert agent.pending == (1,)
    assert everything(agent, tmp_path) == before


@pytest.mark.parametrize("number", [0, 2, -1, 99, "1", None, 1.5, [1], True, 1 + 0j], ids=label)
def test_unknown_decisions_are_refused(agent: Agent, tmp_path: Path, number: Any) -> None:
    before = everything(agent, tmp_path)
    refused(
        lambda: agent.observe(number, {"bob": 1}), "decision", repr(number), "open decisions: [1]"
    )
    assert everything(agent, tmp_path) == before


def test_very_large_integers_are_refused_with_a_short_message(agent: Agent) -> None:
    large = 10**5000
    refused(lambda: agent.observe(1, {"bob": large}), "0 or 1", "int")
    refused(lambda: agent.observe(1, {large: 1}), "unknown arm", "int", "bob")
    refused(lambda: agent.observe(large, {"bob": 1}), "decision", "int", "open decisions: [1]")


def test_a_decision_is_observed_once(agent: Agent, tmp_path: Path) -> None:
    second = agent.decide()
    agent.observe(second, {second.arm: 1})
    before = everything(agent, tmp_path)
    for again in (second, second.id):
        refused(
            lambda again=again: agent.observe(again, {second.arm: 0}), "2", "open decisions: [1]"
        )
    assert agent.pending == (1,)
    assert everything(agent, tmp_path) == before
    agent.observe(1, {"bob": 1})
    refused(lambda: agent.observe(1, {"bob": 1}), "1", "open decisions: none")


def test_refused_observations_do_not_affect_later_decisions(agent: Agent) -> None:
    matrix = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    names, prior = ["ann", "bob", "eve"], [(1, 9), (9, 1), (1, 9)]
    other = Agent("ids-n", names, matrix, seed=1, prior=prior)
    other.decide()
    for rewards in ({"bob": 1, "eve": 0.5}, {"bob": 0, "ann": 1}, {"bob": 1, "x": 1}):
        refused(lambda rewards=rewards: agent.observe(1, rewards))
    for one in (agent, other):
        one.observe(1, {"bob": 0, "eve": 1})
    assert agent.decide() == other.decide()


def test_policy_that_proposes_no_distribution_leaves_the_agent_unchanged() -> None:
    agent = Agent(Proposes((0.5, 0.6, 0.0)), 3, "star", seed=1)
    for _ in range(2):
        refused(agent.decide, "Proposes", "round 1", "1.1")
        assert agent.pending == ()


def test_an_agent_with_an_unregistered_policy_cannot_be_saved(tmp_path: Path) -> None:
    agent = Agent(Proposes((0.0, 1.0, 0.0)), 3, "star", seed=1)
    refused(lambda: agent.save(tmp_path / "agent.npz"), "Proposes", "not registered", "@register")
    assert tree(tmp_path) == {}
