"""Tests of live/agent.py: repeated requests, and outcomes of several decisions at once."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.agents import Clock
from helpers.cases import each

from graphbandits import Agent, InputError
from graphbandits.errors import ConflictError, NotFoundError, StoreError
from graphbandits.live.journal import REQUEST_LIFETIME

ARMS = ["ann", "bob", "eve"]


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture(params=["memory", "store"])
def agent(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Agent:
    store = None if request.param == "memory" else tmp_path / "agents.db"
    return Agent("ids-n", ARMS, "complete", seed=1, store=store, clock=clock)


# --- decide -------------------------------------------------------------------------------------


def test_the_same_request_returns_the_same_decisions(agent: Agent) -> None:
    made = agent.decide(2, distinct=True, context={"day": 1}, request="r1")
    agent.observe(made[0], {made[0].arm: 1})  # what happened since does not matter
    agent.pause(made[1].arm)
    again = agent.decide(2, distinct=True, context={"day": 1}, request="r1")
    assert [one.to_dict() for one in again] == [one.to_dict() for one in made]
    assert agent.status()["decisions"] == 2
    assert agent.decide(request="r2").number == 3
    agent.verify()


@each(
    "change",
    [
        {"n": 3},
        {"distinct": False},
        {"among": ["ann"]},
        {"exclude": ["ann"]},
        {"graph": "star"},
        {"context": {"day": 2}},
        {"pending": "expected"},
        {"expires": 5},
    ],
)
def test_another_request_with_the_same_key_is_refused(agent: Agent, change: dict[str, Any]) -> None:
    keys: dict[str, Any] = {"n": 2, "distinct": True, "context": {"day": 1}}
    agent.decide(**keys, request="r1")
    with pytest.raises(ConflictError, match="another request was made with the key 'r1'"):
        agent.decide(**keys | change, request="r1")
    assert agent.status()["decisions"] == 2


def test_a_graph_of_a_request_is_compared_by_its_edges(agent: Agent) -> None:
    made = agent.decide(graph=np.eye(3), request="r1")
    assert agent.decide(graph=np.eye(3), request="r1").id == made.id
    with pytest.raises(ConflictError):
        agent.decide(graph=np.ones((3, 3)), request="r1")


def test_arms_of_an_iterator_are_read_once(agent: Agent) -> None:
    made = agent.decide(among=iter(["bob"]), request="r1")
    assert made.arm == "bob"
    assert agent.decide(among=iter(["bob"]), request="r1").id == made.id


def test_a_refused_request_does_not_use_its_key(agent: Agent) -> None:
    with pytest.raises(InputError):
        agent.decide(9, distinct=True, request="r1")
    assert agent.decide(request="r1").number == 1


def test_keys_are_forgotten_after_a_week(agent: Agent, clock: Clock) -> None:
    first = agent.decide(request="r1")
    clock.now += REQUEST_LIFETIME
    assert agent.decide(request="r1").id == first.id
    agent.decide(request="r2")
    clock.now += 1.0
    agent.decide(request="r3")  # removes what is too old
    assert agent.decide(request="r1").number == 4


def test_keys_belong_to_one_agent(tmp_path: Path) -> None:
    place = tmp_path / "agents.db"
    agents = [Agent("ts-n", ARMS, seed=1, store=place, name=name) for name in ("a", "b")]
    one, other = (agent.decide(request="r1") for agent in agents)
    assert one.id != other.id


def test_keys_are_known_to_other_processes_and_copies(store_url: str, tmp_path: Path) -> None:
    first = Agent("ts-n", ARMS, seed=1, store=store_url)
    made = first.decide(request="r1")
    assert Agent(store=store_url).decide(request="r1").id == made.id
    first.backup(tmp_path / "copy.db")
    assert Agent(store=tmp_path / "copy.db").decide(request="r1").id == made.id


def test_threads_with_one_key_make_one_decision(store_url: str) -> None:
    Agent("ts-n", ARMS, seed=1, store=store_url)
    agents = [Agent(store=store_url) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: agents[i % 4].decide(request=f"r{i % 3}").id, range(24)))
    assert len(set(found)) == 3
    assert agents[0].status()["decisions"] == 3


def test_removed_decisions_are_not_made_again(agent: Agent, clock: Clock) -> None:
    agent.close(agent.decide(request="r1"))
    clock.now += 10.0
    agent.decide()
    agent.forget(1005.0)
    with pytest.raises(NotFoundError, match="the decisions of request 'r1' was removed"):
        agent.decide(request="r1")


def test_keys_are_short_ascii_texts() -> None:
    agent = Agent("ts-n", ARMS)
    keys: list[Any] = ["", "x" * 201, "a\nb", "\u2603", 7, b"x", ["a"]]
    for key in keys:
        with pytest.raises(InputError, match="the key of a request has 1 to 200 printable ASCII"):
            agent.decide(request=key)
        with pytest.raises(InputError, match="the key of a request has 1 to 200 printable ASCII"):
            agent.observe_many({}, request=key)
    assert agent.decide(request="x" * 200).number == 1


# --- observe_many -------------------------------------------------------------------------------


def test_observe_many_is_observe_for_each_decision(agent: Agent) -> None:
    twin = Agent("ids-n", ARMS, "complete", seed=1)
    outcomes: list[dict[str, Any]] = [{"ann": 1, "eve": (3, 10)}, {}, {"bob": 0}]
    one, other = agent.decide(3), twin.decide(3)
    agent.observe_many(dict(zip(one, outcomes, strict=True)))
    for made, given in zip(other, outcomes, strict=True):
        twin.observe(made, given)
    assert agent.state == twin.state
    kept = ("decisions", "open", "outcomes")
    assert [agent.status()[key] for key in kept] == [twin.status()[key] for key in kept]
    assert agent.status()["open"] == 0
    agent.verify()


def test_one_bad_outcome_refuses_all(agent: Agent) -> None:
    first, second = agent.decide(2)
    agent.observe(second, {"ann": 1}, partial=True)
    before = agent.state, agent.status()
    for bad, error in (({"kim": 1}, InputError), ({"ann": 0}, ConflictError)):
        with pytest.raises(error, match=second.id):
            agent.observe_many({first: {"ann": 1}, second: bad})
        assert (agent.state, agent.status()) == before
    with pytest.raises(NotFoundError, match="unknown decision '9-0'"):
        agent.observe_many({first: {"ann": 1}, "9-0": {"ann": 1}})
    assert (agent.state, agent.status()) == before


def test_the_same_outcomes_count_once(agent: Agent) -> None:
    first, second = agent.decide(2)
    given = {first: {"ann": 1, "bob": 0}, second: {"eve": 1}}
    agent.observe_many(given, request="r1")
    state = agent.state
    agent.observe_many(given, request="r1")
    agent.observe_many(given)  # by content, too
    assert agent.state == state
    assert agent.status()["outcomes"] == 3


def test_other_outcomes_with_the_same_key_are_refused(agent: Agent) -> None:
    made = agent.decide(request="r2")
    agent.observe_many({made: {"eve": 1}}, request="r1")
    others: list[tuple[dict[str, Any], dict[str, bool]]] = [
        ({"eve": 0}, {}),
        ({"eve": 1, "ann": 1}, {}),
        ({"eve": 1}, {"partial": True}),
        ({"eve": 1}, {"extra": True}),
    ]
    for given, keys in others:
        with pytest.raises(ConflictError, match="another request was made with the key 'r1'"):
            agent.observe_many({made: given}, request="r1", **keys)
    with pytest.raises(ConflictError):  # nor can a decision and outcomes share a key
        agent.observe_many({made: {"eve": 1}}, request="r2")
    assert agent.status()["outcomes"] == 1


def test_a_decision_and_its_id_are_the_same(agent: Agent) -> None:
    made = agent.decide()
    with pytest.raises(InputError, match=f"the decision {made.id} is given twice"):
        agent.observe_many({made: {"ann": 1}, made.id: {"bob": 1}})


@each("bad", [3, None, [("a", {})], "x"])
def test_outcomes_must_be_a_mapping_of_mappings(agent: Agent, bad: Any) -> None:
    made = agent.decide()
    with pytest.raises(InputError, match=re.escape("{decision: {arm: reward}}")):
        agent.observe_many(bad)
    with pytest.raises(InputError, match=re.escape("mapping {arm: reward}")):
        agent.observe_many({made: bad})


def test_a_failed_write_stores_neither_outcomes_nor_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent("ts-n", ARMS, "complete", seed=1, store=tmp_path / "agents.db")
    made = agent.decide(2)
    with monkeypatch.context() as patch:

        def fail(*_: object) -> None:
            raise StoreError("the disk is full")

        patch.setattr(agent._journal, "append", fail)
        with pytest.raises(StoreError):
            agent.observe_many({one: {"ann": 1} for one in made}, request="r1")
    agent.observe_many({one: {"bob": 1} for one in made}, request="r1")
    assert agent.status()["outcomes"] == 2
    assert np.isclose(agent.state["a"]["bob"], 3.0)
