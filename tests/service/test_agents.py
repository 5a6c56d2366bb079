"""Tests of service/agents.py: agents of a store, opened on first use and created on request."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses

from graphbandits import Agent
from graphbandits.errors import ConflictError, InputError, StoreError
from graphbandits.graphs.named import Star
from graphbandits.live.requests import graph_of
from graphbandits.live.store import open_store
from graphbandits.posteriors import BetaBernoulli
from graphbandits.service import agents as module
from graphbandits.service.agents import Agents, describe

NAMES = ["ann", "bob", "eve"]


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A store with one agent."""
    place = str(tmp_path / "agents.db")
    Agent("ids-n", NAMES, "star", seed=1, store=place, name="banner").disconnect()
    return place


@pytest.fixture
def agents(place: str) -> Agents:
    return Agents(place)


# --- opening ------------------------------------------------------------------------------------


def test_each_agent_has_one_copy_to_decide_and_one_to_read(agents: Agents) -> None:
    assert not agents.opened
    decider, reader = agents.get("banner"), agents.get("banner", "read")
    assert agents.opened
    assert agents.get("banner") is decider is not reader is agents.get("banner", "read")
    decider.observe(decider.decide(), {"ann": 1})
    assert reader.status() == decider.status()
    assert reader.verify() == decider.verify()
    assert decider._store is reader._store is agents.store


def test_threads_use_the_same_object(agents: Agents) -> None:
    start = threading.Barrier(8)

    def get(number: int) -> Agent:
        start.wait()
        return agents.get("banner") if number % 2 else agents.get("banner", "read")

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(get, range(8)))
    assert len({id(one) for one in found}) == 2


def test_only_so_many_agents_are_kept(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OPENED", 2)
    for name in "abc":
        Agent("ts-n", 2, store=place, name=name).disconnect()
    agents = Agents(place)
    first = agents.get("banner")
    for name in "abc":
        agents.get(name)
        assert agents.get("banner") is first  # it was used last but one
        assert len(agents._opened) <= 4
    for name in "abc":
        agents.get(name)
        agents.get(name, "read")
    assert agents.get("banner") is not first
    assert first.decide().number == 1  # a thread may still use it
    assert agents.get("banner").decide().number == 2
    assert agents.get("banner").verify() == 3


def test_the_store_is_opened_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    place = tmp_path / "later.db"
    agents = Agents(str(place))
    for _ in range(2):
        with refuses(StoreError):
            agents.names()
        assert not agents.opened
        assert not place.exists()
    open_store(place).close()
    assert agents.names() == []
    agents.close()
    agents.close()
    assert agents.names() == []


def test_attempts_to_open_the_store_are_rare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one may take seconds, and all requests would wait for their turn."""
    now, attempts = 100.0, 0

    def fail(*_: object, **__: object) -> Any:
        nonlocal attempts
        attempts += 1
        raise StoreError("it does not answer")

    monkeypatch.setattr(module, "open_store", fail)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    agents = Agents(str(tmp_path / "agents.db"))
    for seconds, wanted in ((0.0, 1), (0.5, 1), (0.99, 1), (1.0, 2), (1.5, 2), (9.0, 3)):
        now = 100.0 + seconds
        with pytest.raises(StoreError, match="it does not answer"):
            agents.names()
        assert attempts == wanted


# --- creation -----------------------------------------------------------------------------------


def test_create_makes_the_agent_that_python_makes(agents: Agents) -> None:
    requests: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"policy": "ts-n", "arms": 3}, {}),
        ({"policy": "ts-n", "arms": ["b", "a"], "graph": "star"}, {}),
        ({"policy": "ids-n", "arms": NAMES, "graph": "cliques(2)", "prior": [2, 5]}, {}),
        (
            {"policy": "ids-n", "arms": NAMES, "prior": {"bob": [2, 5]}, "accuracy": "strict"},
            {},
        ),
        (
            {"policy": "ts-n", "arms": 3, "posterior": "normal(noise=0.5)", "horizon": 10},
            {},
        ),
        ({"policy": "ts-n", "arms": 3, "trial": 4, "expires": 60, "floor": 0.1}, {}),
        (
            {"policy": "ids-n", "arms": 3, "floor": 0.1, "floor_over": "dominating-set"},
            {},
        ),
        (
            {"policy": "ids-n", "arms": NAMES, "graph": {"edges": [["eve", "ann", 0.5]]}},
            {"graph": graph_of({"edges": [["eve", "ann", 0.5], ["bob"]]}, tuple(NAMES))},
        ),
        (
            {
                "policy": "ids-n",
                "arms": 3,
                "graph": {"edges": [[2, 0, 0.5], ["1", 1]], "directed": True},
            },
            {"graph": np.array([[1, 0, 0], [0, 1, 0], [0.5, 0, 1]])},
        ),
        (
            {"policy": "ids-n", "graph": {"edges": [["x", "y"], ["z"], ["y", "x"]]}},
            {"arms": ["x", "y", "z"], "graph": np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])},
        ),
        (
            {"policy": "ids-n", "graph": {"edges": [[7, 5, 0.5], [9]]}},
            {"arms": [7, 5, 9], "graph": np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])},
        ),
    ]
    for number, (request, change) in enumerate(requests):
        made, is_new = agents.create(request | {"name": f"agent {number}", "seed": 7})
        assert is_new
        other = Agent(**request | change, seed=7)
        assert made.arms == other.arms
        assert made.name == f"agent {number}"
        everything = list(range(len(made.arms)))
        reaches = [
            one._current().setup.process.round(1, one._current().setup.keys).reach(everything)
            for one in (made, other)
        ]
        assert np.array_equal(*reaches)
        assert made.state == other.state
        ignored = {"name", "entries"}
        for key, value in other.status().items():
            assert key in ignored or made.status()[key] == value
        for _ in range(3):
            one, two = made.decide(), other.decide()
            assert (one.arm, one.pi) == (two.arm, two.pi)
            for agent, decision in ((made, one), (other, two)):
                agent.observe(decision, {decision.arm: 1})
        assert made._current().lifetime == other._current().lifetime


def test_the_same_settings_open_the_agent(agents: Agents) -> None:
    request = {"name": "banner", "policy": "ids-n", "arms": NAMES, "graph": "star", "seed": 1}
    found, is_new = agents.create(request)
    assert not is_new
    assert found is agents.get("banner")
    found.set_policy("ts-n")
    found.add_arm("joe")
    assert agents.create(request)[0] is found  # those of the creation
    assert agents.create(request | {"policy": "ts-n"})[0] is found  # and the present ones
    changes: list[dict[str, Any]] = [
        {"policy": "ucb-n"},
        {"seed": 2},
        {"arms": ["ann", "bob"]},
        {"arms": 3},
        {"graph": "complete"},
        {"prior": [2, 5]},
        {"horizon": 7},
        {"expires": 5},
    ]
    for change in changes:
        with refuses(ConflictError):
            agents.create(request | change)
    assert agents.names() == ["banner"]


def test_concurrent_creation_makes_one_agent(place: str) -> None:
    services = [Agents(place), Agents(place)]
    start = threading.Barrier(6)

    def create(number: int) -> Agent:
        start.wait()
        request = {"name": "new", "policy": "ids-n", "arms": NAMES, "graph": "star", "seed": 3}
        return services[number % 2].create(request)[0]

    with ThreadPoolExecutor(6) as threads:
        made = list(threads.map(create, range(6)))
    assert {one.status()["entries"] for one in made} == {1}
    assert services[0].names() == ["banner", "new"]


def test_bad_requests_create_nothing(agents: Agents) -> None:
    for request_ in [
        {},
        {"policy": "ids-n"},
        {"name": 3, "policy": "ids-n"},
        {"name": "new", "policy": "ids-n", "arm": 3},
        {"name": "new", "policy": "ids-n", "clock": 3},
        {"name": "new", "policy": "ids-n", "arms": True},
        {"name": "new", "policy": "ids-n", "arms": 2.0},
        {"name": "new", "policy": "ids-n", "arms": -3, "graph": {"edges": []}},
        {"name": "new", "policy": "ids-n", "arms": 10**20, "graph": {"edges": [["a"]]}},
        {"name": "new", "policy": "ids-n", "arms": [], "graph": {"edges": []}},
        {"name": "new", "policy": "ids-n", "arms": [1, "1"]},
        {"name": "new", "policy": "ids-n", "graph": {"edges": [[1, "1"]]}},
        {"name": "new", "policy": "ids-n", "arms": 3, "graph": {"edges": [[0, 1, 2]]}},
        {"name": "new", "policy": "ids-n", "arms": 3, "graph": {"edges": [[0, 1, 0.5], [1, 0]]}},
        {"name": "new", "policy": "ids-n", "arms": 3, "graph": "starr"},
        {"name": "new", "policy": "ids-n", "arms": 3, "seed": 1.0},
        {"name": "new", "policy": "ids-n", "arms": 3, "expires": -1},
        {"name": "new", "policy": "ids-n", "arms": 3, "floor_over": "x", "floor": 0.1},
        {"name": "new", "policy": "ids-n", "arms": 3, "accuracy": "low"},
        {"name": "new", "policy": "ids-n", "arms": 3, "prior": [[1, 2]]},
        {"name": "a/b", "policy": "ids-n", "arms": 3},
        {"name": "a\nb", "policy": "ids-n", "arms": 3},
    ]:
        with refuses(InputError):
            agents.create(request_)
        assert agents.names() == ["banner"]


def test_a_store_that_is_away_is_not_made_anew(agents: Agents, place: str) -> None:
    agents.names()
    Path(place).rename(place + ".away")
    with pytest.raises(StoreError):
        agents.create({"name": "new", "policy": "ids-n", "arms": 3})
    assert not Path(place).exists()


# --- description --------------------------------------------------------------------------------


def test_descriptions() -> None:
    agent = Agent("ts-n", ["ann", "bob"], Star(), seed=7, horizon=10, prior=(2, 5))
    assert describe(agent) == agent.status() | {
        "posterior": "beta-bernoulli(a=2.0, b=5.0)",
        "graph": "star",
        "horizon": 10,
        "seed": 7,
        "arm_names": "text",
    }
    agent.set_graph(np.eye(2))
    assert describe(agent)["graph"] is None
    many = Agent("ts-n", 100, prior=[(1 + i / 100, 1) for i in range(100)])
    assert describe(many)["posterior"] is None
    assert describe(many)["arm_names"] == "integer"

    class Own(BetaBernoulli):
        """A prior that is not registered."""

    own = Agent("ts-n", 2, posterior=Own(np.ones(2), np.ones(2)))
    assert isinstance(describe(own)["posterior"], str | None)
