"""Tests of client.py: a client does what an agent does, also when connections fail."""

from __future__ import annotations

import inspect
import json
import logging
import math
import re
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import networkx
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
import uvicorn
from helpers.agents import facts
from helpers.bad_input import refuses
from starlette.testclient import TestClient

from graphbandits import Agent, DecisionLog
from graphbandits import client as module
from graphbandits.client import NOT_HERE, Client
from graphbandits.errors import (
    ConflictError,
    GraphBanditsError,
    InputError,
    InputWarning,
    NotFoundError,
    StoreError,
)
from graphbandits.graphs.named import Star
from graphbandits.graphs.processes import RandomFeedback
from graphbandits.live.store import open_store
from graphbandits.policies import as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.service.access import add_token
from graphbandits.service.app import create_app
from graphbandits.service.server import Settings

NAMES = ["ann", "bob", "eve"]
URL = "http://localhost:8000"


def serve(place: Path, **settings: Any) -> TestClient:
    """Return a service in this process, as a client of httpx."""
    open_store(place).close()
    app = create_app(Settings(store=str(place), rate=0.0, **settings))
    return TestClient(app, URL, raise_server_exceptions=False)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.delenv("GRAPHBANDITS_TOKEN", raising=False)
    with serve(tmp_path / "service.db") as server:
        yield server


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the time between attempts; return the list of pauses."""
    now, pauses = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(module, "sleep", sleep)
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return pauses


def new(service: httpx.Client | str, **change: Any) -> Client:
    settings: dict[str, Any] = {"policy": "ids-n", "arms": NAMES, "graph": "star", "seed": 1}
    return Client(**(settings | change), service=service)


# --- members ------------------------------------------------------------------------------------


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")} | {"name"}


def test_members_are_those_of_an_agent() -> None:
    mine, others = public(Client) - {"name"}, public(Agent) - {"name"}
    assert others == mine | set(NOT_HERE)
    for name in mine - set(NOT_HERE):
        one, other = getattr(Client, name), getattr(Agent, name)
        assert isinstance(one, property) == isinstance(other, property), name
        if not isinstance(one, property):
            assert inspect.signature(one) == inspect.signature(other), name


def test_a_client_has_the_arguments_of_an_agent() -> None:
    wanted = list(inspect.signature(Agent).parameters)
    mine = list(inspect.signature(Client).parameters)
    assert set(wanted) - set(mine) == {"store", "clock"}
    assert set(mine) - set(wanted) == {"service", "token", "timeout", "pi"}
    assert mine[:3] == wanted[:3]


def test_members_that_need_the_store_name_an_alternative(service: TestClient) -> None:
    client = new(service)
    for name, remedy in NOT_HERE.items():
        with pytest.raises(AttributeError) as caught:
            getattr(client, name)
        assert remedy in str(caught.value)
    with pytest.raises(AttributeError, match=r"has no 'nothing'$"):
        client.nothing  # type: ignore[attr-defined]  # noqa: B018


# --- the same as an agent -----------------------------------------------------------------------

#: Settings of agents.
AGENTS: dict[str, dict[str, Any]] = {
    "integers": {
        "policy": "ts-n",
        "arms": [10, -3, 7],
        "seed": 3,
        "prior": {10: (2, 1), 7: (1, 5)},
        "graph": "edges(1>2:0.5 1-3)",
    },
    "hostile": {
        "policy": "ids-lp",
        "arms": ["0", "a/b", "ä %2F", '"\\', "é e\u0301", "?#&=", "null", "..x"],
        "seed": 4,
        "graph": "ring",
        "prior": {"0": [3, 2], "null": {"a": 2}},
    },
    "gaussian": {
        "policy": "ts-n",
        "arms": NAMES,
        "graph": np.array([[1, 0.5, 0], [0, 1, 1], [0.25, 0, 1]]),
        "seed": 5,
        "posterior": "normal(noise=0.5)",
        "prior": {"mean": 0.1, "sd": 2},
    },
    "exp3": {"policy": "exp3-ix", "arms": 3, "graph": "complete", "seed": 7, "horizon": 100},
    "floor": {
        "policy": "ids-n",
        "arms": NAMES,
        "seed": 8,
        "floor": 0.1,
        "floor_over": "dominating-set",
        "graph": "random(r=0.5)",
        "expires": timedelta(days=1),
        "trial": 2,
        "accuracy": "strict",
    },
    "objects": {
        "policy": as_policy("ids-n"),
        "arms": NAMES,
        "graph": Star("out"),
        "seed": 9,
        "posterior": BetaBernoulli(np.array([1.0, 2.0, 3.5]), np.array([2.0, 2.0, 2.0])),
    },
}
_ID = re.compile(r"\b(\d+)-[0-9a-f]{12}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+(\+00:00| UTC)")


def plain(value: object) -> Any:
    """Return JSON values without the random parts of ids, and without times."""
    text = json.dumps(value, default=str)
    return json.loads(_TIME.sub("TIME", _ID.sub(r"\1", text)))


def rewards_of(agent: Agent | Client, decision: Any) -> dict[Any, float]:
    """Return rewards by a fixed rule; each second decision leaves one out."""
    wanted = sorted(decision.reveals, key=str)[decision.number % 2 :] or [decision.arm]
    return {arm: float((len(str(arm)) + decision.number) % 3 % 2) for arm in wanted}


def play(agent: Agent | Client, pairs: bool) -> list[Any]:
    """Use all that changes an agent; return what it decides."""
    made: list[Any] = []
    for number in range(6):
        decision = agent.decide(context={"round": number} if number % 2 else None)
        made.append(facts(decision))
        agent.observe(decision, rewards_of(agent, decision), partial=number == 3)
    first, *more = agent.decide(3, expires=3600)
    made += map(facts, (first, *more))
    agent.observe_many({one: rewards_of(agent, one) for one in more})
    if pairs:
        agent.observe(first.id, {first.arm: (1, 2)})
        arms = agent.arms
        made.append(agent.learn({arms[0]: (3, 10), arms[1]: 1}, key="earlier"))
        made.append(agent.learn({arms[0]: (3, 10)}, key="earlier"))
        made += map(facts, agent.decide(2, distinct=True, exclude=[arms[0]], pending="expected"))
        agent.pause(arms[1])
        made.append(facts(agent.decide(among=[arms[0], arms[2]], graph="complete")))
        agent.resume(arms[1])
    agent.close(first)
    return made


def assert_same(client: Client, agent: Agent) -> None:
    """Compare all that can be read of a client and an agent."""
    assert client.arms == agent.arms
    assert (client.name, client.seed, client.horizon) == (agent.name, agent.seed, agent.horizon)
    assert client.policy == agent.status()["policy"]
    assert client.state == agent.state
    assert plain(client.pending) == plain(agent.pending)
    assert client.status() == agent.status()
    assert list(client.status()) == list(module.STATUS)
    for call in (
        lambda one: one.history(),
        lambda one: one.history(3, after=2),
        lambda one: one.history(decision=one.decisions()[-1]["id"]),
        lambda one: one.decisions(),
        lambda one: one.decisions(3, before=5),
        lambda one: one.decisions(only_open=True),
        lambda one: one.find_arms(),
        lambda one: one.find_arms(str(one.arms[1])[:1], 2),
        lambda one: one.neighbourhood([one.arms[2]], 2),
        lambda one: one.trend(),
        lambda one: one.trend(3),
        lambda one: one.overview(2, 3),
        lambda one: one.overview(last=0),
    ):
        assert plain(call(client)) == plain(call(agent))
    assert ages_aside(client.health(0.05).to_dict()) == ages_aside(agent.health(0.05).to_dict())
    assert type(client.health()) is type(agent.health())
    rows = zip(client.decisions(200), agent.decisions(200), strict=True)
    for mine, other in rows:
        one, two = client.decision(mine["id"]), agent.decision(other["id"])
        assert plain(one.to_dict()) == plain(two.to_dict())
        assert facts(one) == facts(two)
        assert type(one) is type(two)
        assert client.decision(mine["id"]).time == one.time
        explained, wanted = client.explain(one, 2), agent.explain(two, 2)
        assert plain(explained.to_dict()) == plain(wanted.to_dict())
        assert plain(str(explained)) == plain(str(wanted))
        points, others = explained.points, wanted.points
        assert (points and points.to_dict()) == (others and others.to_dict())
        assert (points and points.labelled()) == (others and others.labelled())
    assert_same_logs(client.log(), agent.log())
    assert_same_beliefs(client, agent)


def ages_aside(health: dict[str, Any]) -> Any:
    return plain(health | {"oldest": health["oldest"] is None, "median": health["median"] is None})


def assert_same_logs(one: DecisionLog, other: DecisionLog) -> None:
    tables = [plain(log.to_arrow().to_pylist()) for log in (one, other)]
    assert tables[0] == tables[1]
    assert one.arms == other.arms
    assert one.origin.prior == other.origin.prior
    for row in range(len(one)):
        graphs = [log.feedback(row) for log in (one, other)]
        np.testing.assert_array_equal(*(g and g.reach(np.arange(g.arms)) for g in graphs))


def assert_same_beliefs(client: Client, agent: Agent) -> None:
    for given in ((), ("strict", True)):
        try:
            wanted = agent.beliefs(*given)  # type: ignore[arg-type]
        except InputError as error:
            with pytest.raises(InputError, match=re.escape(str(error))):
                client.beliefs(*given)  # type: ignore[arg-type]
            continue
        found = client.beliefs(*given)  # type: ignore[arg-type]
        assert type(found) is type(wanted)
        assert (found.arms, found.rho, found.error) == (wanted.arms, wanted.rho, wanted.error)
        assert [found[arm] for arm in found] == [wanted[arm] for arm in wanted]
        for name in ("alpha", "delta", "h"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


@pytest.mark.parametrize("name", AGENTS)
def test_a_client_does_what_an_agent_does(name: str, service: TestClient, tmp_path: Path) -> None:
    settings = AGENTS[name] | {"name": f"{name} é"}
    agent = Agent(**settings, store=tmp_path / "agent.db")
    client = Client(**settings, service=service)
    pairs = agent.status()["policy"] != "exp3-ix"
    assert play(client, pairs) == play(agent, pairs)
    assert_same(client, agent)
    again = Client(service=service, name=f"{name} é")
    assert (again.arms, again.status()) == (agent.arms, agent.status())
    assert Client(**settings, service=service).seed == agent.seed  # opens


@pytest.mark.parametrize(
    ("policy", "arms"), [("ts-n", 3), ("floor(policy=ids-n, mass=0.2)", NAMES)]
)
def test_a_changing_world_is_the_same(
    policy: str, arms: Any, service: TestClient, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"policy": policy, "arms": arms, "graph": "path", "seed": 11}
    agent = Agent(**settings, store=tmp_path / "agent.db")
    client = Client(**settings, service=service)
    new_arm = 9 if arms == 3 else "joe/é"
    matrix = np.eye(4)
    matrix[0, 1] = 0.25
    for one in (agent, client):
        play(one, True)
        first, second, third = one.arms
        one.add_arm(new_arm, prior=(2, 5), edges={first: 0.5}, revealed_by=[second])
        one.retire(third)
        one.pause(first)
        one.set_policy("ts-n")
        one.decide(context=[1, {"a": None}])
        one.set_graph(matrix)
        decision = one.decide(graph=np.ones((4, 4)))
        one.observe(decision, {new_arm: 1, second: np.float32(0.0)}, extra=True)
    assert_same(client, agent)
    for one in (agent, client):
        one.resume(one.arms[0])
        one.set_policy("ucb-n", reset=True)
        one.decide()
        one.reset()
        one.set_graph("complete")
        one.decide()
    assert_same(client, agent)


def test_an_explanation_without_a_record_is_refused(service: TestClient, tmp_path: Path) -> None:
    client = new(service)
    decision = client.decide()
    agent = Agent(store=tmp_path / "service.db")
    agent.forget("2126-01-01")
    with pytest.raises(InputError, match="cannot be explained: its entry was removed"):
        client.explain(decision)
    assert client.decision(decision.id).arm == decision.arm
    assert client.history() == []


def test_many_entries_and_decisions_are_read_in_parts(service: TestClient) -> None:
    client = new(service, policy="ts-n")
    client.decide(700)
    client.decide(700)
    assert [row["number"] for row in client.decisions(1300)] == list(range(1400, 100, -1))
    assert len(client.decisions(5000)) == len(client.pending) == 1400
    assert len(client.history(1000)) == 1000
    with pytest.raises(InputError, match="at most 1000 entries"):
        client.history()
    with pytest.raises(InputError, match="1000"):
        client.history(1001)
    assert len(client.history(after=1000)) == 401
    assert len(client.history(after=401)) == 1000


def test_names_of_many_arms(service: TestClient) -> None:
    names = [f"arm {i}" for i in range(1500, 0, -1)]
    client = new(service, arms=names, graph="empty", policy="ts-n")
    assert client.arms == tuple(names)
    client.add_arm("last")
    assert client.arms == (*names, "last")
    with pytest.raises(InputError, match="the state of at most 1000 arms"):
        client.state  # noqa: B018


def test_decisions_without_probabilities(service: TestClient) -> None:
    client = new(service, policy="ts-n", pi=False)
    decision = client.decide()
    assert decision.pi is None
    assert client.decision(decision.id).pi is not None


# --- opening ------------------------------------------------------------------------------------


def test_an_agent_is_opened_by_its_name(service: TestClient) -> None:
    first = new(service, name="banner", seed=None)
    other = Client(service=service, name="banner")
    assert other.seed == first.seed
    other.decide()
    assert first.status()["decisions"] == 1
    with pytest.raises(NotFoundError, match=r"no agent 'baner'.*did you mean 'banner'"):
        Client(service=service, name="baner")


def test_other_settings_are_a_conflict(service: TestClient) -> None:
    new(service)
    for policy in ("ids-n", None):
        assert Client(policy, service=service, seed=1, arms=NAMES).seed == 1
        for wrong in ({"seed": 2}, {"arms": ["ann", "bob"]}, {"graph": "path"}, {"prior": [2, 5]}):
            with pytest.raises(ConflictError, match="contradict"):
                Client(policy, service=service, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ConflictError, match="set_policy"):
        Client("ts-n", service=service)


def test_settings_that_are_not_allowed(service: TestClient) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"arms": "ann"}, "'arms' must be"),
        ({"expires": math.inf}, "not JSON"),
        ({"floor_over": "dominating-set"}, "needs a floor"),
        ({"policy": None, "floor": 0.1}, "the floor is part of the policy"),
        ({"prior": {"a": math.nan}}, "not JSON"),
        ({"prior": BetaBernoulli.of(3), "posterior": "normal"}, "remove one of them"),
        ({"name": ""}, "name"),
        ({"name": 3}, "name"),
        ({"name": "\ud800"}, "surrogate|printable"),
        ({"graph": "star", "weight": "p"}, "names an edge attribute"),
        ({"graph": {"edges": [["ann", "joe"]]}}, "joe"),
        ({"graph": np.ones((2, 2))}, "2 arms"),
        ({"graph": RandomFeedback(3, None)}, "changes from round to round"),
    ]
    for given, message in wrong:
        with refuses(InputError, match=message):
            new(service, **given)
    assert service.get("/agents").json() == {"agents": [], "failed": []}


def test_every_form_of_a_graph(service: TestClient, tmp_path: Path) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("eve bob 0.5\nann\nbob ann 1\n")
    matrix = np.array([[1, 0.25, 0], [0, 1, 1], [0.5, 0, 1]])
    named = networkx.DiGraph([("eve", "ann", {"probability": 0.5}), ("ann", "bob", {"p": 0.25})])
    numbered = networkx.path_graph([4, 2, 8])
    for number, (arms, graph, weight) in enumerate(
        [
            (NAMES, matrix, "auto"),
            (3, matrix, "auto"),
            (None, matrix, "auto"),
            ([5, 3, 1], matrix.tolist(), "auto"),
            (None, named, "auto"),
            (None, named, "p"),
            (["eve", "ann", "bob"], named, None),
            (None, numbered, "auto"),
            ([4, 2, 8], numbered, "auto"),
            (None, f"file:{file}", "auto"),
            (["eve", "bob", "ann"], file, "auto"),
            (None, f"file(path='{file}', directed=true)", "auto"),
            (None, pandas.DataFrame({"source": [*"ba"], "target": [*"ca"], "p": [0.5, 1]}), "auto"),
            (None, "paper", "auto"),
            (4, Star("in"), "auto"),
        ]
    ):
        settings = {"arms": arms, "graph": graph, "weight": weight, "seed": 1, "prior": (2, 3)}
        name = f"agent {number}"
        agent = Agent("ids-n", **settings, store=tmp_path / "agent.db", name=name)  # type: ignore[arg-type]
        client = Client("ids-n", **settings, service=service, name=name)  # type: ignore[arg-type]
        assert client.neighbourhood() == agent.neighbourhood(), number
        assert play(client, False) == play(agent, False), number
        assert client.arms == agent.arms
        assert client.state == agent.state, number
        if isinstance(graph, networkx.Graph) and arms is None:
            turned = networkx.DiGraph(graph).reverse()
            for one in (agent, client):
                one.set_graph(turned, weight)
            assert play(client, False) == play(agent, False)


def test_a_graph_as_edges(service: TestClient) -> None:
    graph = {"edges": [["eve", "ann", 0.5], ["bob", "eve"]], "directed": True}
    client = new(service, graph=graph)
    assert client.decide(among=["eve"]).reveals == {"ann": 0.5, "eve": 1.0}
    client.set_graph(RandomFeedback(3, 0.5))
    assert client.decide(among=["eve"]).reveals == {"ann": 0.5, "bob": 0.5, "eve": 1.0}
    client.set_graph({"edges": [["bob", "ann"], ["eve"]]})
    assert client.decide(among=["ann"]).reveals == {"ann": 1.0, "bob": 1.0}
    assert client.decide(among=["bob"], graph=graph).reveals == {"bob": 1.0, "eve": 1.0}


# --- values -------------------------------------------------------------------------------------


def test_numbers_of_other_types(service: TestClient) -> None:
    client = new(service)
    rewards = [1, 1.0, True, np.True_, np.int8(1), Decimal(1), Fraction(1)]
    for reward in rewards:
        client.observe(client.decide(), {"ann": reward, "bob": (reward, np.int64(2))})
    assert client.state["a"] == {"ann": 8.0, "bob": 8.0, "eve": 1.0}


#: Calls with arguments that the client, or the service, refuses; and what the message names.
WRONG: list[tuple[Callable[[Any], object], str]] = [
    (lambda c: c.observe(c.pending[0], {"ann": math.nan}), "outcome of 'ann'.*not nan"),
    (lambda c: c.observe(c.pending[0], {"ann": "1"}), "not '1'"),
    (lambda c: c.observe(c.pending[0], {"ann": Decimal("sNaN")}), "sNaN"),
    (lambda c: c.observe(c.pending[0], {"ann": np.timedelta64(1, "ns")}), "timedelta"),
    (lambda c: c.observe(c.pending[0], {"ann": 0.5}), "0.5"),
    (lambda c: c.observe(c.pending[0], {0: 1}), "unknown arm 0.*are texts"),
    (lambda c: c.observe(c.pending[0], [1]), "must be a mapping"),
    (lambda c: c.observe(None, {"ann": 1}), "a Decision or its id, not None"),
    (lambda c: c.observe_many({c.pending[0]: 1}), "must be a mapping"),
    (lambda c: c.observe_many({c.decision(c.pending[0]): {}, c.pending[0]: {}}), "given twice"),
    (lambda c: c.observe_many({c.pending[0]: {}}, request="a\nb"), "printable ASCII"),
    (lambda c: c.decide(among="ann"), "among must be a list"),
    (lambda c: c.decide(context={"a": object()}), "is not JSON"),
    (lambda c: c.decide(expires=math.nan), "is not JSON"),
    (lambda c: c.decide(graph=np.ones((2, 2))), "the graph has 2 arms, but the agent has 3"),
    (lambda c: c.decide(graph="file:/etc/passwd"), "passwd"),
    *((lambda c, key=key: c.decide(request=key), "key of a request") for key in ("", "é", " a", 3)),
    (lambda c: c.learn({}), "no outcomes"),
    (lambda c: c.learn([]), "table of outcomes"),
    (lambda c: c.learn({"\ud800": 1}), "surrogate"),
    (lambda c: c.add_arm("joe", edges="ann"), "edges must be a list"),
    (lambda c: c.add_arm("joe", edges={"ann": math.nan}), "not JSON"),
    (lambda c: c.add_arm("joe", edges={3: 0.5}), "are texts"),
    (lambda c: c.decision("../agents"), "unknown decision|there is no"),
    (lambda c: c.decision(".."), "unknown decision"),
    (lambda c: c.decision("x" * 70_000), "does not fit into an address"),
    (lambda c: c.decision("\udcff"), "surrogate"),
    (lambda c: c.explain(c.pending[0], 0), "arms must be"),
    (lambda c: c.health(math.nan), "level must be"),
    (lambda c: c.beliefs(estimate=1), "estimate must be"),
    (lambda c: c.history(0), "last must be"),
    (lambda c: c.history(after=-1), "after must be"),
    (lambda c: c.decisions(0), "limit must be"),
    (lambda c: c.trend(0), "points must be"),
    (lambda c: c.find_arms(3), "search must be a text"),
    (lambda c: c.find_arms("\ud800"), "surrogate"),
]


def test_arguments_that_are_not_allowed(service: TestClient) -> None:
    client = new(service)
    client.decide(among=["ann"])
    before = client.history()
    for call, message in WRONG:
        with refuses(InputError, match=message):
            call(client)
    assert client.history() == before


def test_integers_as_names_and_as_texts(service: TestClient) -> None:
    client = new(service, arms=[5, 7], graph="complete")
    client.observe(client.decide(), {5: 1, "7": 0})
    client.observe(client.decide(among=["7"], exclude=[np.int64(5)]), {np.int64(7): 1})
    assert client.state["a"] == {5: 2.0, 7: 2.0}
    with pytest.raises(InputError, match="the arm '5' is given twice"):
        client.observe(client.decide(), {5: 1, "5": 0})
    for wrong in (True, 5.0, None, (5,)):
        with pytest.raises(InputError, match="are integers"):
            client.learn({wrong: 1})
    assert client.learn({5: 1, None: 1, "x": 0}, unknown="skip") == 1


def test_names_that_addresses_cannot_have(service: TestClient) -> None:
    for name in ("a/b", "..", "."):
        with pytest.raises(InputError, match="part of addresses"):
            new(service, name=name)
        with pytest.raises(NotFoundError):
            Client(service=service, name=name)


# --- tables -------------------------------------------------------------------------------------

ROWS = {"arm": ["ann", "eve", "ann", "bob"], "reward": [1.0, 0.0, 1.0, 1.0], "count": [3, 2, 1, 7]}
TOTALS = {"arm": ["ann", "bob"], "total": [3, 0], "count": [10, 4]}


def tables(columns: Mapping[str, list[Any]], folder: Path) -> list[Any]:
    frame = pandas.DataFrame(columns)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_parquet(folder / "rows.parquet")
    table = pa.table(dict(columns))
    files = [folder / "rows.csv", str(folder / "rows.parquet")]
    return [frame, polars.DataFrame(columns), table, *files]


def test_tables_are_learned_as_an_agent_does(service: TestClient, tmp_path: Path) -> None:
    agent, client = Agent("ids-n", NAMES, "star", seed=1), new(service)
    given = [*tables(ROWS, tmp_path), *tables(TOTALS, tmp_path)[:2]]
    for number, table in enumerate(given):
        assert client.learn(table, key=f"{number}") == agent.learn(table, key=f"{number}")
        assert client.learn(table, key=f"{number}") == 0
        assert client.state == agent.state


def test_tables_that_are_not_allowed(service: TestClient) -> None:
    client = new(service)
    wrong: list[tuple[dict[str, list[Any]], str]] = [
        ({"arm": ["ann", "bob"], "reward": [1.0, math.nan]}, "row 2 of the outcomes: reward"),
        ({"arm": ["ann"], "reward": [None]}, "row 1 of the outcomes: reward"),
        ({"arm": ["joe"], "reward": [1.0]}, "row 1 of the outcomes: unknown arm 'joe'"),
        ({"name": ["ann"], "reward": [1.0]}, "has the columns arm and reward"),
        ({"arm": [], "reward": []}, "no outcomes"),
    ]
    for columns, message in wrong:
        with refuses(InputError, match=message):
            client.learn(pa.table(columns))
    assert client.status()["learned"] == 0


def test_a_table_that_is_too_large_is_refused_as_a_whole(service: TestClient) -> None:
    client = new(service)
    rows = pandas.DataFrame({"arm": ["ann"] * 50_000, "reward": [1.0] * 50_000})
    with pytest.raises(InputError, match=r"1,?048,?576|bytes"):
        client.learn(rows)
    assert client.status()["learned"] == 0


# --- failures of the connection -----------------------------------------------------------------

BEFORE: list[Exception] = [
    httpx.ConnectError("[Errno 111] Connection refused"),
    httpx.ConnectTimeout("timed out"),
    httpx.PoolTimeout(""),
]
AFTER: list[Exception] = [
    httpx.ReadTimeout("timed out"),
    httpx.ReadError(""),
    httpx.RemoteProtocolError("Server disconnected without sending a response."),
    httpx.WriteError("broken pipe"),
]


class Unreliable(httpx.BaseTransport):
    """Transport that fails as planned: before or after a request was carried out."""

    def __init__(self, server: TestClient) -> None:
        self.server = server._transport
        self.plan: list[Exception | httpx.Response | None] = []
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        failure = self.plan.pop(0) if self.plan else None
        if isinstance(failure, httpx.Response):
            return failure
        if failure is not None and failure in BEFORE:
            raise failure
        response = self.server.handle_request(request)
        if failure is not None:
            raise failure
        return response

    def keys(self) -> list[str | None]:
        return [one.headers.get("Idempotency-Key") for one in self.requests]


@pytest.fixture
def unreliable(service: TestClient) -> Unreliable:
    return Unreliable(service)


@pytest.fixture
def client(unreliable: Unreliable, clock: list[float]) -> Client:
    made = new(httpx.Client(transport=unreliable, base_url=URL))
    unreliable.requests.clear()
    return made


def busy(status: int = 503, seconds: str | None = None) -> httpx.Response:
    headers = {} if seconds is None else {"Retry-After": seconds}
    body = {"error": {"type": "unavailable", "message": "the database is away"}}
    return httpx.Response(status, json=body, headers=headers)


def plans() -> Iterator[list[Exception | httpx.Response]]:
    for failure in (*BEFORE, *AFTER):
        yield [failure]
    yield [*BEFORE, *AFTER]
    yield [AFTER[0], busy(), AFTER[1], busy(429), BEFORE[0], AFTER[2]]


def test_a_decision_is_made_once(client: Client, unreliable: Unreliable) -> None:
    made = list[str]()
    for plan in plans():
        unreliable.requests.clear()
        unreliable.plan = list(plan)
        made.append(client.decide(context={"a": 1}).id)
        keys = unreliable.keys()
        assert len(keys) == len(plan) + 1, plan
        assert len(set(keys)) == 1
        assert keys[0] is not None
        assert client.pending == tuple(made), plan
    assert client.decide().id not in made


def test_an_outcome_counts_once(client: Client, unreliable: Unreliable) -> None:
    for number, plan in enumerate(plans(), 1):
        decision, *more = client.decide(3)
        unreliable.plan = list(plan)
        client.observe(decision, {"ann": 1, "bob": (2, 5)})
        unreliable.plan = list(plan)
        client.observe_many({one: {"eve": 0} for one in more})
        assert client.status()["outcomes"] == 4 * number, plan
        state = {"ann": 1.0 + number, "bob": 1.0 + 2.0 * number, "eve": 1.0}
        assert client.state["a"] == state, plan
        assert [entry["kind"] for entry in client.history(3)] == ["observe"] * 3


def test_a_request_with_a_key_can_be_repeated_later(client: Client, unreliable: Unreliable) -> None:
    unreliable.plan = [AFTER[0]] * 1000
    with pytest.raises(StoreError, match="no answer from the service") as caught:
        client.decide(2)
    found = re.search(r"repeat it with request='(\w+)'", str(caught.value))
    assert found is not None
    unreliable.plan = []
    first = client.decide(2, request=found[1])
    assert [one.id for one in client.decide(2, request=found[1])] == [one.id for one in first]
    assert client.status()["decisions"] == 2
    with pytest.raises(ConflictError, match="another request was made with the key"):
        client.decide(3, request=found[1])
    client.observe_many({first[0]: {"ann": 1}}, request="mine")
    client.observe_many({first[0]: {"ann": 1}}, request="mine")
    with pytest.raises(ConflictError, match="another request was made with the key 'mine'"):
        client.observe_many({first[1]: {"ann": 1}}, request="mine")


def test_outcomes_can_be_reported_again(client: Client, unreliable: Unreliable) -> None:
    decision, other = client.decide(2)
    unreliable.plan = [AFTER[1]] * 1000
    with pytest.raises(StoreError, match="report the outcomes again"):
        client.observe(decision, {"ann": 1})
    unreliable.plan = []
    client.observe(decision, {"ann": 1})
    assert client.status()["outcomes"] == 1
    client.observe(other, {})
    assert client.pending == ()


CHANGES: dict[str, Callable[[Client], object]] = {
    "learn": lambda c: c.learn({"ann": 1}),
    "pause": lambda c: c.pause("ann"),
    "add_arm": lambda c: c.add_arm("joe"),
    "reset": lambda c: c.reset(),
}


def test_changes_are_not_repeated_if_they_may_have_been_made(
    client: Client, unreliable: Unreliable
) -> None:
    for number, (name, change) in enumerate(CHANGES.items()):
        unreliable.requests.clear()
        unreliable.plan = [AFTER[number]]
        with pytest.raises(StoreError, match=r"1 attempt.*may have been carried out") as caught:
            change(client)
        assert "localhost:8000" in str(caught.value), name
        assert unreliable.keys() == [None], name
        assert client.status()["entries"] == 2 + number, name


def test_changes_are_repeated_if_they_were_not_made(client: Client, unreliable: Unreliable) -> None:
    for number, (name, change) in enumerate(CHANGES.items()):
        unreliable.requests.clear()
        unreliable.plan = [*BEFORE, busy(), busy(429)]
        change(client)
        assert len(unreliable.requests) == 6, name
        assert client.status()["entries"] == 2 + number, name


def test_reading_and_creation_are_repeated(
    client: Client, unreliable: Unreliable, service: TestClient
) -> None:
    unreliable.plan = [*BEFORE, *AFTER]
    assert client.status()["decisions"] == 0
    unreliable.plan = [*AFTER, busy()]
    http = httpx.Client(transport=unreliable, base_url=URL)
    assert new(http, name="other", seed=None).seed == Client(service=service, name="other").seed


def test_pauses_grow_and_end(client: Client, unreliable: Unreliable, clock: list[float]) -> None:
    unreliable.plan = [BEFORE[0]] * 1000
    with pytest.raises(StoreError, match=r"no connection to the service at") as caught:
        client.decide()
    assert "Connection refused" in str(caught.value)
    assert f"{len(clock) + 1} attempts" in str(caught.value)
    assert "request=" not in str(caught.value)
    assert 20.0 < sum(clock) <= 30.0
    for place, pause in enumerate(clock):
        most = min(module.LONGEST_PAUSE, module.FIRST_PAUSE * 2.0**place)
        assert most / 2.0 <= pause <= most
    assert clock[0] != module.FIRST_PAUSE  # clients do not wait for the same time
    unreliable.requests.clear()
    unreliable.plan = [httpx.LocalProtocolError("an invalid header")] * 1000
    with pytest.raises(StoreError, match="1 attempt"):  # a second one would fail, too
        client.decide()
    assert len(unreliable.requests) == 1


def test_the_service_says_when_to_try_again(
    client: Client, unreliable: Unreliable, clock: list[float]
) -> None:
    unreliable.plan = [busy(429, "3"), busy(503, "7"), busy(503, "soon")]
    client.decide()
    assert clock[:2] == [3.0, 7.0]
    assert clock[2] < 1.0
    unreliable.plan = [busy(503), busy(503, "99999999999999")]
    with pytest.raises(StoreError, match=r"^the database is away \(2 attempts in 0.\d s\)$"):
        client.pause("ann")


def test_a_dead_service_is_reported(service: TestClient) -> None:
    with pytest.raises(StoreError, match=r"127.0.0.1:9.*'graphbandits serve' runs there"):
        new("http://127.0.0.1:9", timeout=0.2)


# --- errors -------------------------------------------------------------------------------------


def answering(status: int, **content: Any) -> httpx.Client:
    """Return a client of a service that always gives the same answer."""
    answer = httpx.MockTransport(lambda request: httpx.Response(status, **content))
    return httpx.Client(transport=answer, base_url=URL)


def test_errors_have_the_sentence_of_the_service(clock: list[float]) -> None:
    sentence = "ann: this is not allowed, 100 %"
    body = {"error": {"type": "any", "message": sentence}}
    types = {
        **dict.fromkeys((400, 401, 403, 413, 415, 422), InputError),
        404: NotFoundError,
        409: ConflictError,
        408: StoreError,
        **dict.fromkeys((405, 418, 500), GraphBanditsError),
    }
    for status, kind in types.items():
        with pytest.raises(GraphBanditsError) as caught:
            new(answering(status, json=body))
        assert (str(caught.value), type(caught.value)) == (sentence, kind), status
    for status in (429, 503):
        with pytest.raises(StoreError, match=r"100 % \(\d+ attempts in \d\d.\d s\)$"):
            new(answering(status, json=body))


def test_other_answers_are_recognized() -> None:
    contents: list[dict[str, Any]] = [
        {"html": "<html>\n<body>Bad gateway " + "x" * 1000},
        {"json": {"detail": "Not Found"}},
        {"json": {"error": "no"}},
        {"json": {"error": {"message": 3}}},
        {"json": [1]},
        {"content": b"\xff\xfe\x00"},
        {"content": b""},
    ]
    for content in contents:
        for status in (200, 404, 502):
            words = f"not that of a decision service: status {status}, "
            with pytest.raises(StoreError, match=words) as caught:
                new(answering(status, **content))
            assert len(str(caught.value)) < 300
    with pytest.raises(StoreError, match="status 307"):  # redirects are not followed
        new(answering(307, headers={"Location": "http://other.example/"}))


def test_a_log_that_is_no_file_is_recognized(client: Client, unreliable: Unreliable) -> None:
    unreliable.plan = [httpx.Response(200, text="<html>")]
    with pytest.raises(StoreError, match="not that of a decision service: status 200, '<html>'"):
        client.log()


# --- tokens and addresses -----------------------------------------------------------------------


def test_tokens_give_roles(service: TestClient, tmp_path: Path) -> None:
    new(service)
    with open_store(tmp_path / "service.db") as store:
        tokens = {role: add_token(store, role)[0] for role in ("read", "decide")}
    with serve(tmp_path / "service.db") as http:
        with refuses(InputError, match="a token is required"):
            Client(service=http)
        reader, writer = (Client(service=http, token=tokens[role]) for role in ("read", "decide"))
        assert reader.status()["decisions"] == 0
        with refuses(InputError, match="this request needs 'decide'"):
            reader.decide()
        writer.observe(writer.decide(), {"ann": 1})
        with refuses(InputError, match="this request needs 'admin'"):
            writer.pause("ann")


def described(seen: list[httpx.Request]) -> httpx.MockTransport:
    """Return a service that gives the description of an agent."""

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        body = {"agent": {"arm_names": "text", "seed": 1, "horizon": None}}
        return httpx.Response(200, json=body)

    return httpx.MockTransport(answer)


def test_the_default_token_is_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[httpx.Request]()
    http = httpx.Client(transport=described(seen), base_url=URL)
    monkeypatch.delenv("GRAPHBANDITS_TOKEN", raising=False)
    Client(service=http)
    monkeypatch.setenv("GRAPHBANDITS_TOKEN", " gb_1\n")
    Client(service=http)
    Client(service=http, token="gb_2")
    Client(service=http, token="")
    tokens = [one.headers.get("Authorization") for one in seen]
    assert tokens == [None, "Bearer gb_1", "Bearer gb_2", None]
    monkeypatch.setenv("GRAPHBANDITS_TOKEN", "gb_1 gb_2")
    with refuses(InputError, match="the environment variable GRAPHBANDITS_TOKEN") as caught:
        Client(service=http)
    assert "gb_1" not in str(caught.value)


SECRET = "gb_verysecret"


def test_a_token_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def echo(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return described([]).handle_request(request)
        text = f"you sent {request.headers['Authorization']}"
        if request.url.path.endswith("events"):
            raise httpx.ReadError(text)
        if request.url.path.endswith("outcomes"):
            return httpx.Response(500, json={"error": {"type": "internal", "message": text}})
        return httpx.Response(502, text=text)

    http = httpx.Client(transport=httpx.MockTransport(echo), base_url=URL)
    client = Client(service=http, token=SECRET)
    shown = [repr(client), str(client)]
    calls = (client.decide, lambda: client.observe("1-0", {}), lambda: client.pause("ann"))
    for call in calls:
        with pytest.raises(GraphBanditsError, match="Bearer TOKEN") as caught:
            call()  # type: ignore[operator]
        shown += map(str, (caught.value, caught.value.args, caught.value.__cause__))
    for wrong in (SECRET + "\n", SECRET + "é", SECRET + " x", SECRET.encode()):
        with refuses(InputError, match="token must be a token") as refused:
            Client(service=http, token=wrong)  # type: ignore[arg-type]
        shown.append(str(refused.value))
    assert SECRET not in "".join(shown) + caplog.text


def test_a_token_without_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPHBANDITS_TOKEN", raising=False)
    for url, warns in (
        ("http://10.0.0.1:8000", True),
        ("http://localhost.example", True),
        ("http://localhost:8000/prefix/", False),
        ("http://[::1]:8000", False),
        ("https://service.example", False),
    ):
        seen = list[httpx.Request]()
        http = httpx.Client(transport=described(seen), base_url=url)
        Client(service=http)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Client(service=http, token=SECRET)
        assert [one.category for one in caught] == [InputWarning] * warns, url
        for one in caught:
            assert one.filename == __file__
            assert "use https" in str(one.message)
            assert SECRET not in str(one.message)
        assert [str(one.url) for one in seen] == [f"{url.rstrip('/')}/agents/default"] * 2


def test_addresses_that_are_not_valid() -> None:
    for service in (
        *("localhost:8000", "ftp://localhost", "http://", "", "http://[::1", "a b", None, 8000),
        *("http://localhost?a=b", "http://localhost#x", "http://user:word@localhost"),
    ):
        with refuses(InputError, match=r"service|address") as caught:
            Client(service=service)  # type: ignore[arg-type]
        assert "word" not in str(caught.value)


def test_clients_of_httpx_that_cannot_be_used() -> None:
    with pytest.raises(InputError, match="a client without base_url"):
        Client(service=httpx.Client())
    closed = answering(200)
    closed.close()
    with pytest.raises(InputError, match="is closed"):
        Client(service=closed)
    for wrong in (0, -1, math.nan, "30"):
        with pytest.raises(InputError, match="timeout"):
            Client(service=URL, timeout=wrong)  # type: ignore[arg-type]


# --- connections --------------------------------------------------------------------------------


def test_a_client_of_the_user_stays_open(service: TestClient) -> None:
    with new(service) as client:
        client.decide()
    assert not service.is_closed
    assert client.status()["decisions"] == 1


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """Run an application in a server with sockets; return its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def test_names_in_addresses_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPHBANDITS_TOKEN", raising=False)
    for variable in ("HTTP_PROXY", "ALL_PROXY"):  # not for this computer
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with listening(serve(tmp_path / "service.db").app) as address:
        for name in ("é ü", "%2F", "a?b#c&d=e", "..x", "%", "'\"", "x" * 200, "graph", "\\"):
            arms = [name, "+", "?", ".."]
            with new(address + "/", name=name, arms=arms) as client:
                decision = client.decide(among=[name])
                client.observe(decision, {name: 1, "+": 0})
            with Client(service=address, name=name) as other:
                assert other.decision(decision.id).reveals == decision.reveals
                assert other.find_arms("+")[0][0]["arm"] == "+"
                assert other.neighbourhood(["+"], 1)["arms"][0]["arm"] == "+"
                with client:  # its connections are opened again
                    assert client.status() == other.status()
                assert other.arms == tuple(arms)
                assert len(other.log()) == 1


def test_threads_share_a_client(service: TestClient) -> None:
    client = new(service, policy="ts-n", graph="complete")

    def work(_: int) -> None:
        decision = client.decide()
        client.observe(decision, dict.fromkeys(NAMES, decision.number % 2))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(60)))
    counts = client.status()
    assert (counts["decisions"], counts["open"], counts["outcomes"]) == (60, 0, 180)


# --- imports ------------------------------------------------------------------------------------

LIGHT = """
import json, sys
import httpx
from graphbandits import Client
agent, decision, explanation, health = map(json.loads, sys.argv[1:])
answers = {"agents": {"agent": agent}, "decisions": {"decisions": [decision]},
           "outcomes": {"accepted": 1}, "learn": {"learned": 1}, "events": {},
           "health": {"health": health}}
def answer(request):
    last = request.url.path.rpartition("/")[2]
    return httpx.Response(200, json=answers.get(last, explanation))
http = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://localhost")
client = Client("ids-n", arms=["ann", "bob"], graph="star", prior=(2, 5), service=http)
made = client.decide(among=["ann"], context={"a": 1})
assert (made.arm, made.pi, made.reveals) == ("ann", {"ann": 1.0}, {"ann": 1.0, "bob": 1.0})
client.observe(made, {"ann": 1})
client.observe_many({made.id: {"ann": 1}})
client.learn({"ann": (1, 2)})
client.pause("ann")
assert "ann was drawn with probability 1" in client.explain(made).text
assert client.health().verdict == "ok"
print(sorted({"numba", "numpy", "scipy", "pyarrow", "pandas", "pydantic"} & set(sys.modules)))
"""


def test_a_client_does_not_import_numpy(service: TestClient) -> None:
    client = new(service, arms=["ann", "bob"], prior=(2, 5))
    body = {"among": ["ann"], "pi": True}
    decision = service.post("/agents/default/decisions", json=body).json()["decisions"][0]
    client.observe(decision["id"], {"ann": 1})
    agent = service.get("/agents/default").json()["agent"]
    explanation = service.get(f"/agents/default/decisions/{decision['id']}?pi=true").json()
    health = service.get("/agents/default/health").json()["health"]
    assert explanation["explanation"]["points"] is not None
    assert health["test"]["arms"]
    given = map(json.dumps, (agent, decision, explanation, health))
    run = subprocess.run(
        [sys.executable, "-c", LIGHT, *given],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[]"


def test_a_missing_httpx_is_reported() -> None:
    program = "import sys; sys.modules['httpx'] = None; import graphbandits.client"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert "ImportError: the client needs httpx: python -m pip install" in run.stderr
