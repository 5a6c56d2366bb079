"""Tests of live/agent.py in a changing world: arms, graph and policy change, and the prior returns.

Graphs are directed and priors asymmetric, so that no two arms and no two directions are confused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from helpers.agents import GRAPH, NAMES, facts, play, whole_pi
from helpers.bad_input import refused
from helpers.cases import each
from helpers.recorded_runs import able

from graphbandits import Agent, BetaBernoulli
from graphbandits.policies import as_policy

PRIOR = [(1.0, 3.0), (4.0, 2.0), (2.0, 2.0), (5.0, 4.0)]
#: As GRAPH, with entries 0 and 1 only.
EDGES = (GRAPH > 0.0).astype(float)


def agent_of(policy: str = "ts-n", **more: Any) -> Agent:
    given: dict[str, Any] = {"graph": GRAPH, "seed": 1, "prior": PRIOR, "horizon": 100}
    return Agent(policy, NAMES, **given | more)


def alpha(pairs: Sequence[tuple[float, float]]) -> list[float]:
    """Probability of each arm to be the best one."""
    a, b = np.array(pairs).T
    posterior = BetaBernoulli(a, b)
    found: list[float] = posterior.beliefs(posterior.init(1)).alpha[0].tolist()
    return found


def by_arm(agent: Agent) -> dict[Any, tuple[float, float]]:
    state = agent.state
    return {arm: (state["a"][arm], state["b"][arm]) for arm in agent.arms}


def rows(agent: Agent) -> dict[Any, dict[Any, float]]:
    """The graph: what each arm reveals."""
    return {arm: agent.decide(among=[arm]).reveals for arm in agent.arms}


# New arms -----------------------------------------------------------------------------------------


def test_new_arm_has_the_given_edges_and_prior() -> None:
    agent = agent_of()
    agent.learn({"bob": (3, 4)})
    before = by_arm(agent)
    agent.add_arm("kim", (7, 2), reveals={"bob": 0.5, "joe": 0.125}, revealed_by={"eve": 0.25})
    assert agent.arms == (*NAMES, "kim")
    assert by_arm(agent) == before | {"kim": (7.0, 2.0)}
    assert rows(agent) == {
        "ann": {"ann": 1.0, "bob": 0.5},
        "bob": {"bob": 1.0, "eve": 0.25},
        "eve": {"ann": 0.75, "eve": 1.0, "joe": 1.0, "kim": 0.25},
        "joe": {"joe": 1.0},
        "kim": {"bob": 0.5, "joe": 0.125, "kim": 1.0},
    }
    pairs = [*before.values(), (7.0, 2.0)]
    assert whole_pi(agent, agent.decide()) == alpha(pairs)


def test_edges_of_a_new_arm_have_both_directions() -> None:
    agent = agent_of()
    agent.add_arm("kim", (1, 1), ["ann"], revealed_by=["joe"])
    agent.add_arm("lee", (1, 1), {"kim": 0.5})
    found = rows(agent)
    assert found["ann"] == {"ann": 1.0, "bob": 0.5, "kim": 1.0}
    assert found["joe"] == {"joe": 1.0, "kim": 1.0}
    assert found["kim"] == {"ann": 1.0, "kim": 1.0, "lee": 0.5}
    assert found["lee"] == {"kim": 0.5, "lee": 1.0}


def test_agent_with_a_new_arm_is_the_agent_with_all_arms() -> None:
    """Bit for bit, if no decision was made before."""
    policies = [
        name for name in able(EDGES, 4, 100) if getattr(as_policy(name), "incremental", False)
    ]
    for policy in policies:
        whole = agent_of(policy, graph=EDGES)
        grown = Agent(policy, NAMES[:3], EDGES[:3, :3], seed=1, prior=PRIOR[:3], horizon=100)
        grown.add_arm("joe", PRIOR[3], revealed_by=["eve"])
        assert play(grown, 10) == play(whole, 10), policy
        assert grown.state == whole.state, policy


@each("graph", ["complete", "star", "ring", "random(r=0.25)", "empty"])
def test_graph_for_any_number_of_arms_is_extended(graph: str) -> None:
    grown = Agent("ids-n", 3, graph, seed=1)
    grown.add_arm(3)
    whole = Agent("ids-n", 4, graph, seed=1)
    assert play(grown, 10) == play(whole, 10)


def test_default_prior_is_that_of_all_other_arms() -> None:
    agent = Agent("ts-n", NAMES, seed=1, posterior="normal(mean=2, sd=0.5, noise=3)")
    agent.learn({"ann": 7.5})
    agent.add_arm("kim")
    assert agent.state["mean"]["kim"] == 2.0
    assert agent.state["precision"]["kim"] == pytest.approx(4.0)
    agent.add_arm("lee", {"mean": -1})
    assert agent.state["mean"]["lee"] == -1.0
    assert agent.state["precision"]["lee"] == pytest.approx(4.0)
    refused(lambda: agent_of().add_arm("kim"), "different priors", "prior=", "'a'")
    refused(lambda: agent_of().add_arm("kim", {"a": 2}), "different priors", "prior=", "'b'")


def test_open_decisions_keep_the_graph_without_the_new_arm() -> None:
    agent = agent_of()
    old = agent.decide(among=["eve"])
    agent.add_arm("kim", (1, 1), revealed_by=["eve"])
    new = agent.decide(among=["eve"])
    assert "kim" in new.reveals
    assert agent.decision(old.id).reveals == old.reveals
    refused(lambda: agent.observe(old, {"kim": 1}), "'eve' does not reveal 'kim'")
    agent.observe(old, {"joe": 1}, partial=True)
    agent.observe(old, {"kim": 1}, extra=True)
    agent.observe(new, {"kim": 0})
    assert by_arm(agent)["joe"] == (6.0, 4.0)
    assert by_arm(agent)["kim"] == (2.0, 2.0)


def test_refused_arms_change_nothing(tmp_path: Path) -> None:
    agent = agent_of()
    before = agent._state.digest()
    refused(lambda: agent.add_arm("bob", (1, 1)), "'bob'", "already")
    refused(lambda: agent.add_arm(5, (1, 1)), "a string", "5")
    refused(lambda: agent.add_arm(" ", (1, 1)), "a string", "' '")
    refused(lambda: agent.add_arm("kim", (1, 1), ["bib"]), "unknown arm 'bib'", "'bob'")
    refused(lambda: agent.add_arm("kim", (1, 1), ["kim"]), "unknown arm 'kim'")
    refused(lambda: agent.add_arm("kim", (1, 1), "bob"), "edges must be a list of arms", "'bob'")
    refused(lambda: agent.add_arm("kim", (1, 1), {"bob": 1.5}), "probability of 'bob'", "1.5")
    refused(lambda: agent.add_arm("kim", (0, 1)), "Beta parameter")
    refused(lambda: agent.add_arm("kim", (1, 2, 3)), "parameters a, b")
    assert agent._state.digest() == before
    refused(lambda: Agent("ts-n", 3, seed=1).add_arm("kim"), "an integer", "'kim'")
    refused(lambda: Agent("ts-n", 3, seed=1).add_arm(True), "an integer", "True")
    refused(lambda: Agent("ts-n", 3, seed=1).add_arm(2), "2", "already")


@each("policy", ["exp3-ix", "exp3-set", "exp3-g", "ucb-lp"])
def test_policies_whose_state_depends_on_all_arms_refuse_new_ones(policy: str) -> None:
    agent = agent_of(policy, graph=EDGES)
    refused(lambda: agent.add_arm("kim", (1, 1)), f"'{policy}'", "another arm")
    assert agent.arms == tuple(NAMES)


# Paused and retired arms --------------------------------------------------------------------------


def test_paused_arms_are_observed_and_not_played() -> None:
    agent = agent_of()
    agent.pause("bob", "joe")
    assert agent.status()["paused"] == ["bob", "joe"]
    decision = agent.decide()
    (ann, eve) = alpha([PRIOR[0], PRIOR[2]])
    assert whole_pi(agent, decision) == [ann, 0.0, eve, 0.0]
    decision = agent.decide(among=["eve", "joe"])
    assert decision.pi == {"eve": 1.0}
    assert decision.reveals == {"ann": 0.75, "eve": 1.0, "joe": 1.0}
    agent.observe(decision, {"joe": 1, "eve": 0})
    assert by_arm(agent)["joe"] == (6.0, 4.0)
    assert list(agent.beliefs()) == ["ann", "eve"]
    assert agent.beliefs().alpha.tolist() == alpha([PRIOR[0], (2.0, 3.0)])
    agent.resume("joe")
    agent.resume("joe", "ann")  # nothing to do
    assert agent.status()["paused"] == ["bob"]
    pairs = [PRIOR[0], (2.0, 3.0), (6.0, 4.0)]
    ann, eve, joe = alpha(pairs)
    assert whole_pi(agent, agent.decide()) == [ann, 0.0, eve, joe]


def test_retired_arms_are_neither_played_nor_revealed() -> None:
    agent = agent_of()
    before = agent.decide(among=["eve"])
    agent.retire("joe")
    agent.retire("joe")
    assert agent.status()["retired"] == ["joe"]
    assert agent.status()["entries"] == 3  # created, decided, retired
    assert whole_pi(agent, agent.decide()) == [*alpha(PRIOR[:3]), 0.0]
    after = agent.decide(among=["eve"])
    assert after.reveals == {"ann": 0.75, "eve": 1.0}
    assert agent.arms == tuple(NAMES)
    agent.observe(before, {"joe": 1})  # it was revealed
    assert by_arm(agent)["joe"] == (6.0, 4.0)
    refused(lambda: agent.observe(after, {"joe": 1}), "'eve' does not reveal 'joe'")
    refused(lambda: agent.decide(among=["joe"]), "no arm may be played")
    refused(lambda: agent.resume("joe"), "retired", "final")
    assert agent.status()["retired"] == ["joe"]
    refused(lambda: agent.add_arm("joe", (1, 1)), "already")
    assert list(agent.beliefs()) == NAMES[:3]


def test_agent_needs_an_arm_to_play() -> None:
    agent = agent_of()
    agent.pause("ann", "bob")
    agent.retire("eve")
    assert agent.decide().pi == {"joe": 1.0}
    refused(lambda: agent.decide(exclude=["joe"]), "no arm may be played")
    agent.pause("joe")
    refused(agent.decide, "no arm may be played", "allow at least one")
    refused(agent.beliefs, "all arms are paused or retired")
    agent.add_arm("kim", (1, 1))
    assert agent.decide().arm == "kim"


@each("name", ["pause", "resume", "retire"])
def test_arms_to_pause_and_retire_are_known(name: str) -> None:
    agent = agent_of()
    refused(getattr(agent, name), f"{name} needs one or more arms")
    refused(lambda: getattr(agent, name)("ann", "bib"), "unknown arm 'bib'", "'bob'")
    assert agent.status()["entries"] == 1


# Graphs -------------------------------------------------------------------------------------------


def test_new_graph_is_that_of_new_decisions() -> None:
    agent = agent_of()
    old = agent.decide(among=["eve"])
    agent.set_graph(GRAPH.T)
    new = agent.decide(among=["eve"])
    assert old.reveals == {"ann": 0.75, "eve": 1.0, "joe": 1.0}
    assert new.reveals == {"bob": 0.25, "eve": 1.0}
    for decision in (old, new):
        assert agent.decision(decision.id).reveals == decision.reveals
    refused(lambda: agent.observe(new, {"joe": 1}), "does not reveal 'joe'")
    refused(lambda: agent.observe(old, {"bob": 1}), "does not reveal 'bob'")
    agent.observe(old, {"joe": 1})
    agent.observe(new, {"bob": 0})
    assert by_arm(agent)["joe"] == (6.0, 4.0)
    assert by_arm(agent)["bob"] == (4.0, 3.0)
    for decision in (old, new):  # closed
        assert agent.decision(decision.id).reveals == decision.reveals


def test_named_graph_may_have_another_order_and_omit_retired_arms() -> None:
    agent = agent_of()
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("eve", "ann", 0.5), ("bob", "eve", 0.25)])
    refused(lambda: agent.set_graph(graph), "no arm 'joe'", "retire it")
    agent.retire("joe")
    agent.set_graph(graph)
    found = {arm: agent.decide(among=[arm]).reveals for arm in NAMES[:3]}
    assert found == {
        "ann": {"ann": 1.0},
        "bob": {"bob": 1.0, "eve": 0.25},
        "eve": {"ann": 0.5, "eve": 1.0},
    }
    agent.set_graph(graph, weight=None)
    assert agent.decide(among=["eve"]).reveals == {"ann": 1.0, "eve": 1.0}


def test_graph_of_other_arms_is_refused() -> None:
    agent = agent_of()
    refused(lambda: agent.set_graph(np.eye(3)), "3 arms", "4")
    refused(lambda: agent.set_graph(nx.DiGraph([("ann", "kim")])), "unknown arm 'kim'")
    refused(lambda: agent.set_graph("sta"), "unknown graph 'sta'", "'star'")
    refused(lambda: agent.set_graph("paper"), "5")
    assert agent.status()["entries"] == 1
    needy = agent_of("ucb-lp", graph=EDGES)
    refused(lambda: needy.set_graph(GRAPH), "ucb-lp")


# Policies and the prior ---------------------------------------------------------------------------


def test_new_policy_keeps_what_was_learned() -> None:
    agent, other = agent_of("ids-n"), agent_of("ts-n")
    rewards = {"ann": 1, "bob": 0}
    for one in (agent, other):
        one.observe(one.decide(among=["ann"]), rewards)
    left_open = agent.decide(among=["eve"])
    agent.set_policy("ts-n")
    other.decide(among=["eve"])
    assert by_arm(agent) == by_arm(other)
    assert facts(agent.decide()) == facts(other.decide())
    agent.observe(left_open, {"eve": 1})
    assert by_arm(agent)["eve"] == (3.0, 2.0)
    assert agent.status()["policy"] == "ts-n"


def test_policy_with_other_statistics_starts_from_the_prior() -> None:
    agent = agent_of("ids-n", graph=EDGES)
    agent.learn({"ann": (3, 4)})
    words = ["'ucb1'", "'ids-n'", "cannot take over", "reset=True"]
    refused(lambda: agent.set_policy("ucb1"), *words)
    assert agent.status()["policy"] == "ids-n"
    agent.set_policy("ucb1", reset=True)
    assert agent.state["count"] == dict.fromkeys(NAMES, 0.0)
    left_open = agent.decide()
    agent.set_policy("exp3-ix", reset=True)
    assert left_open.id not in agent.pending
    fresh = agent_of("exp3-ix", graph=EDGES)
    assert agent.state == fresh.state
    agent.set_policy("ids-n", reset=True)
    assert by_arm(agent) == dict(zip(NAMES, PRIOR, strict=True))


def test_policy_that_does_not_fit_is_refused() -> None:
    agent = agent_of("ids-n")
    refused(lambda: agent.set_policy("ucb-lp", reset=True), "ucb-lp")  # GRAPH is random
    refused(lambda: agent.set_policy("ids-m"), "unknown policy 'ids-m'")
    refused(lambda: agent.set_policy("ts-n", reset="yes"), "reset")  # type: ignore[arg-type]
    assert agent.status()["entries"] == 1


def test_history_names_every_change() -> None:
    agent = agent_of(clock=lambda: 1e9)
    decision = agent.decide(among=["eve"], context={"day": 3})
    agent.observe(decision, {"eve": 1, "joe": 0})
    agent.add_arm("kim", (2, 6))
    agent.pause("ann", "kim")
    agent.resume("ann")
    agent.retire("joe")
    agent.set_graph("complete")
    agent.set_policy("ids-n")
    agent.learn({"kim": (1, 3)}, key="old data")
    agent.close(left_open := agent.decide())
    agent.reset()
    found = [(entry["kind"], entry.get("decision")) for entry in agent.history()]
    assert found == [
        ("create", None),
        ("decide", decision.id),
        ("observe", decision.id),
        ("add_arm", None),
        ("pause", None),
        ("resume", None),
        ("retire", None),
        ("set_graph", None),
        ("set_policy", None),
        ("learn", None),
        ("decide", left_open.id),
        ("close", left_open.id),
        ("reset", None),
    ]
    lines = agent.history()
    assert [line["number"] for line in lines] == list(range(1, 14))
    assert {line["time"] for line in lines} == {"2001-09-09T01:46:40+00:00"}
    assert (lines[1]["context"], lines[2]["outcomes"]) == ({"day": 3}, {"eve": 1.0, "joe": 0.0})
    assert (lines[4]["arms"], lines[8]["policy"]) == (["ann", "kim"], "ids-n")
    assert (lines[9]["outcomes"], lines[9]["key"]) == (3, "old data")
    assert agent.history(2) == lines[-2:]
