"""Tests of live/requests.py: requests in JSON do what the methods of an agent do."""

from __future__ import annotations

import json
import re
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ROOT
from helpers.bad_input import check_refusal, refuses
from helpers.cases import each
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphbandits import Agent
from graphbandits._files import json_text
from graphbandits.errors import InputError, StoreError
from graphbandits.live.operations import OPERATIONS
from graphbandits.live.requests import MOST_BYTES, answer, handle
from graphbandits.live.values import MAX_DEPTH

NAMES = ["ann", "bob", "eve"]


def new(**change: Any) -> Agent:
    settings: dict[str, Any] = {"policy": "ids-n", "arms": NAMES, "graph": "path", "seed": 1}
    return Agent(**(settings | change), clock=lambda: 1e9)


def without_ids(agent: Agent) -> list[Any]:
    """Return what an agent shows of its state, without the random parts of ids."""
    text = json.dumps([agent.status(), agent.state, agent.history(), agent.pending])
    found: list[Any] = json.loads(re.sub(r"(\d+)-[0-9a-f]{12}", r"\1", text))
    return [*found, agent.arms]


def refusal(agent: Agent, line: str | bytes) -> str:
    """Return the error of a refused request, which has not changed the agent."""
    before = without_ids(agent)
    found = answer(agent, line)
    assert found.keys() == {"ok", "error"}
    assert found["ok"] is False
    assert without_ids(agent) == before
    assert "internal" not in found["error"]
    return str(found["error"])


# --- operations ---------------------------------------------------------------------------------

#: Requests that change an agent. "$1" is the id of the first open decision.
REQUESTS: list[dict[str, Any]] = [
    {"op": "decide"},
    {"op": "decide", "n": 2, "distinct": True},
    {"op": "decide", "among": ["bob"]},
    {"op": "decide", "exclude": ["bob"]},
    {"op": "decide", "graph": "complete"},
    {"op": "decide", "context": {"day": [3]}},
    {"op": "decide", "pending": "expected"},
    {"op": "decide", "expires": 5},
    {"op": "decide", "request": "r"},
    {"op": "observe", "id": "$1", "outcomes": {"bob": 1}},
    {"op": "observe", "id": "$1", "outcomes": {"bob": [3, 10]}, "partial": True},
    {"op": "observe", "id": "$1", "outcomes": dict.fromkeys(NAMES, 0), "extra": True},
    {"op": "observe_many", "outcomes": {"$1": {"bob": 1}}, "partial": True, "request": "r"},
    {"op": "close", "id": "$1"},
    {"op": "learn", "outcomes": {"ann": [3, 10], "eve": 1}, "key": "k"},
    {"op": "learn", "outcomes": [{"arm": "eve", "reward": 1}, {"arm": "ann", "reward": 0}]},
    {"op": "learn", "outcomes": [{"arm": "eve", "total": 2, "count": 5}]},
    {"op": "add_arm", "name": "joe", "prior": [2, 5], "edges": {"ann": 0.5}},
    {"op": "add_arm", "name": "joe", "reveals": ["ann"], "revealed_by": ["bob"]},
    {"op": "retire", "arms": ["ann"]},
    {"op": "pause", "arms": ["ann"]},
    {"op": "resume", "arms": ["eve"]},
    {"op": "set_graph", "graph": "complete"},
    {"op": "set_policy", "policy": "ts-n"},
    {"op": "set_policy", "policy": "ucb-n", "reset": True},
    {"op": "reset"},
]


def call_method(agent: Agent, request: dict[str, Any]) -> None:
    """Call the method of the agent that a request stands for."""
    keys = dict(request)
    method = getattr(agent, keys.pop("op"))
    if "id" in keys:
        keys["decision"] = keys.pop("id")
    if request["op"] == "learn":
        keys["table"] = keys.pop("outcomes")
    method(*keys.pop("arms", ()), **keys)


@each("request_", REQUESTS)
def test_request_does_what_the_method_does(request_: dict[str, Any]) -> None:
    one, other = new(), new()
    for agent in (one, other):
        agent.decide(among=["bob"])
        agent.pause("eve")
    before = without_ids(one)
    found = answer(one, json.dumps(request_).replace("$1", one.pending[0]))
    assert found["ok"], found
    call_method(other, json.loads(json.dumps(request_).replace("$1", other.pending[0])))
    assert without_ids(one) == without_ids(other) != before
    assert one.decide(graph="complete").arm == other.decide(graph="complete").arm


def test_every_operation_has_a_test() -> None:
    reads = {"beliefs", "explain", "status", "health", "history", "pending", "decision"}
    assert {request["op"] for request in REQUESTS} | reads == set(OPERATIONS)
    used = {key for request in REQUESTS for key in request} | {"op"}
    wanted = {key for op in OPERATIONS if op not in reads for key in OPERATIONS[op].keys}
    assert wanted - used == {"pi", "unknown"}


def test_answer_to_decide_has_the_decisions() -> None:
    agent = new(policy="ts-n", graph=np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    found = answer(agent, '{"op": "decide", "n": 2, "among": ["ann"], "context": [1], "pi": true}')
    assert [one.pop("id") for one in found["decisions"]] == list(agent.pending)
    expected = {
        "arm": "ann",
        "probability": 1.0,
        "reveals": {"ann": 1.0, "bob": 0.5},
        "time": "2001-09-09T01:46:40+00:00",
        "context": [1],
        "pi": {"ann": 1.0},
    }
    assert found == {"ok": True, "decisions": [expected, expected]}


def test_a_decision_has_no_empty_entries() -> None:
    [made] = handle(new(), {"op": "decide"})["decisions"]
    assert set(made) == {"id", "arm", "probability", "reveals", "time"}
    [made] = handle(new(), {"op": "decide", "expires": 60})["decisions"]
    assert datetime.fromisoformat(made["expires"]).timestamp() == 1e9 + 60


def test_pi_of_a_policy_that_draws_itself_is_null() -> None:
    [made] = handle(new(policy="ts-n-sampled"), {"op": "decide", "pi": True})["decisions"]
    assert made["pi"] is made["probability"] is None


def test_names_of_numbered_arms_are_texts_in_keys() -> None:
    agent = new(arms=3, graph="complete")
    [made] = handle(agent, {"op": "decide", "among": [0, "1"]})["decisions"]
    assert made["arm"] in (0, 1)
    assert made["reveals"] == {"0": 1.0, "1": 1.0, "2": 1.0}
    assert answer(agent, json.dumps({"op": "observe", "id": made["id"], "outcomes": {"2": 1}}))[
        "ok"
    ]
    assert agent.state["a"] == {0: 1.0, 1: 1.0, 2: 2.0}


def test_reading_operations_return_what_the_methods_return() -> None:
    agent = new()
    made = agent.decide()
    agent.observe(made, {"bob": 1})
    explained = answer(agent, json.dumps({"op": "explain", "id": made.id}))
    assert explained == {"ok": True, "explanation": agent.explain(made).to_dict()}
    health = answer(agent, '{"op": "health", "level": 0.05}')
    assert health == {"ok": True, "health": agent.health(0.05).to_dict()}
    learn = '{"op": "learn", "outcomes": [{"arm": "ann", "reward": 1, "count": 3}], "key": "a"}'
    assert [answer(agent, learn)["learned"] for _ in range(2)] == [3, 0]
    assert answer(agent, '{"op": "status"}') == {"ok": True, "status": agent.status()}
    assert answer(agent, '{"op": "history"}') == {"ok": True, "entries": agent.history()}
    last = answer(agent, '{"op": "history", "last": 1}')["entries"]
    assert last == agent.history()[-1:]
    wanted = agent.beliefs("strict", estimate=True)
    found = answer(agent, '{"op": "beliefs", "accuracy": "strict", "estimate": true}')
    assert found == {
        "ok": True,
        "beliefs": {arm: vars(wanted[arm]) for arm in NAMES},
        "rho": wanted.rho,
        "error_estimate": wanted.error,
    }
    assert "error_estimate" not in answer(agent, '{"op": "beliefs"}')


def test_null_is_the_default() -> None:
    one, other = new(), new()
    assert answer(one, '{"op": "decide", "n": null, "among": null, "expires": null}')["ok"]
    assert answer(other, '{"op": "decide"}')["ok"]
    assert without_ids(one) == without_ids(other)


@each(
    ("graph", "ann", "bob"),
    [
        ({"edges": [["ann", "bob"], ["eve"]]}, {"ann": 1, "bob": 1}, {"ann": 1, "bob": 1}),
        (
            {"edges": [["eve"], ["ann", "bob"]], "directed": True},
            {"ann": 1, "bob": 1},
            {"bob": 1},
        ),
        (
            {"edges": [["eve", "bob", 0.25], ["bob", "ann", 1]]},
            {"ann": 1, "bob": 1},
            {"ann": 1, "bob": 1, "eve": 0.25},
        ),
        ({"edges": [["eve"], ["bob"], ["ann"]]}, {"ann": 1}, {"bob": 1}),
        ("edges(1>2:0.5)", {"ann": 1, "bob": 0.5}, {"bob": 1}),
    ],
)
def test_graphs_of_requests(graph: Any, ann: dict[str, float], bob: dict[str, float]) -> None:
    agent = new(graph="complete")
    assert handle(agent, {"op": "set_graph", "graph": graph}) == {}
    assert agent.decide(among=["ann"]).reveals == ann
    assert agent.decide(among=["bob"]).reveals == bob
    other = new(graph="complete", policy="ts-n")
    [made] = handle(other, {"op": "decide", "among": ["ann"], "graph": graph})["decisions"]
    assert made["reveals"] == ann
    assert other.decide(among=["ann"]).reveals == dict.fromkeys(NAMES, 1.0)


def test_edges_of_numbered_arms() -> None:
    agent = new(arms=3)
    handle(agent, {"op": "set_graph", "graph": {"edges": [[0, "2"], [1]]}})
    assert agent.decide(among=[0]).reveals == {0: 1.0, 2: 1.0}


@each("edges", [[], [["ann", "bob"]], [["ann", "bob"], ["ann", "bob"]]])
def test_edges_must_name_all_arms(edges: list[list[str]]) -> None:
    """A single new edge must not replace the whole graph by mistake."""
    agent = new(graph="complete")
    with pytest.raises(InputError, match=r"no arm 'eve'|needs all arms"):
        handle(agent, {"op": "set_graph", "graph": {"edges": edges}})
    assert len(agent.decide(among=["ann"]).reveals) == 3


def test_open_decisions_are_found_after_a_crash() -> None:
    agent = new()
    [made] = handle(agent, {"op": "decide", "context": {"mail": 7}})["decisions"]
    assert handle(agent, {"op": "pending"}) == {"pending": [made["id"]]}
    assert handle(agent, {"op": "decision", "id": made["id"]}) == {"decision": made}
    assert "pi" in handle(agent, {"op": "decision", "id": made["id"], "pi": True})["decision"]
    agent.close(made["id"])
    assert handle(agent, {"op": "pending"}) == {"pending": []}


def test_files_of_graphs_can_be_forbidden(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("ann bob\nbob eve\n")
    for text in (f"file:{path}", f"file(path={path})"):
        agent = new()
        assert handle(agent, {"op": "set_graph", "graph": text}) == {}
        for op in ("set_graph", "decide"):
            with pytest.raises(InputError) as caught:
                handle(agent, {"op": op, "graph": text}, files=False)
            check_refusal(str(caught.value).replace(str(path), "PATH"))
    # nor does an error show whether a file exists
    messages = set()
    for name in (path, tmp_path / "missing.txt"):
        found = answer(new(), json.dumps({"op": "set_graph", "graph": str(name)}), files=False)
        messages.add(found["error"].replace(str(name), "PATH"))
    assert len(messages) == 1
    agent = new(graph="complete")
    assert answer(agent, '{"op": "set_graph", "graph": "star"}', files=False)["ok"]
    assert agent.decide(among=["bob"]).reveals == {"ann": 1.0, "bob": 1.0}


# --- refused requests ---------------------------------------------------------------------------


@each(
    "line",
    [
        "",
        "nonsense",
        "[]",
        "null",
        '{"op": "decide"',
        '{"op": "decide"} {}',
        "{'op': 'decide'}",
        '{"op": "decide", "n": 1, "n": 2}',
        '{"op": "learn", "outcomes": {"ann": 1, "ann": 1}}',
        '{"op": "learn", "outcomes": {"ann": NaN}}',
        '{"op": "learn", "outcomes": {"ann": 1e999}}',
        f'{{"op": "decide", "n": {"9" * 301}}}',
        '{"op": "decide", "context": "\\ud800"}',
        '{"op": "decide", "context": "a\nb"}',
        '{"op": "decide", "context": "\ud800"}',
        b'{"op": "d\xe9cide"}',
        b"\xff\xfe{\x00}\x00",
        b'{"op": "decide", "context": "\xed\xa0\x80"}',
        b'{"op": "decide"\x00}',
    ],
)
def test_invalid_json_is_refused(line: str | bytes) -> None:
    check_refusal(refusal(new(), line))


def test_utf_8_is_read_with_and_without_a_mark() -> None:
    agent = new(arms=["é", "日本"])
    for start in (b"", b"\xef\xbb\xbf"):
        line = (
            start + '{"op": "decide", "among": ["日本"], "context": "\\ud83d\\ude00"}\r\n'.encode()
        )
        [made] = answer(agent, line)["decisions"]
        assert (made["arm"], made["context"]) == ("日本", "😀")


def test_long_request_is_refused() -> None:
    line = '{"op": "decide", "context": ""}'
    fill = " " * (MOST_BYTES - len(line))
    assert answer(new(), line + fill)["ok"]
    check_refusal(refusal(new(), line + fill + " "))


def test_nesting_has_a_limit() -> None:
    def line(depth: int) -> str:
        return f'{{"op": "decide", "context": {"[" * depth + "]" * depth}}}'

    agent = new()
    assert answer(agent, line(MAX_DEPTH))["ok"]
    for depth in (MAX_DEPTH + 1, 900, 10**6):
        check_refusal(refusal(agent, line(depth)))
    check_refusal(refusal(agent, '{"a":' * 10**5))


@each(
    "request_",
    [
        {},
        {"op": 3},
        {"op": "decid"},
        {"op": "x" * 10**6},
        {"op": "decide", "amongst": ["ann"]},
        {"op": "reset", "arms": ["ann"]},
        {"op": "observe", "outcomes": {"ann": 1}},
        {"op": "observe", "id": "1-0123456789ab"},
        {"op": "close", "id": 1},
        {"op": "close", "id": "1-0123456789ab"},
        {"op": "decide", "n": 0},
        {"op": "decide", "n": 4, "distinct": True},
        {"op": "decide", "among": ["anne"]},
        {"op": "decide", "among": []},
        {"op": "decide", "expires": 2e11},
        {"op": "decide", "graph": "sta"},
        {"op": "decide", "graph": {"edges": [["ann"]]}},
        {"op": "decide", "graph": {"edges": [["ann", "joe"]]}},
        {"op": "decide", "graph": {"edges": [["ann", "bob", 2]]}},
        {"op": "decide", "graph": {"edges": [["ann", "ann", 0.5]]}},
        {"op": "decide", "graph": {"edges": [["ann", "bob", 1], ["bob", "ann", 0.5]]}},
        {"op": "set_graph", "graph": "file:missing.csv"},
        {"op": "learn", "outcomes": {}},
        {"op": "learn", "outcomes": "data.csv"},
        {"op": "learn", "outcomes": {"ann": 0.5}},
        {"op": "learn", "outcomes": {"joe": 1}},
        {"op": "learn", "outcomes": [{"arm": "ann"}]},
        {"op": "learn", "outcomes": [{"arm": "ann", "reward": "1"}]},
        {"op": "learn", "outcomes": [{"arm": "ann", "reward": 1}, {"arm": "ann", "total": 1}]},
        {"op": "learn", "outcomes": [{"arm": "ann", "reward": 1, "count": 0.5}]},
        {"op": "add_arm", "name": "ann"},
        {"op": "add_arm", "name": "joe", "prior": 2},
        {"op": "set_policy", "policy": "ucb-n"},
        {"op": "beliefs", "accuracy": "high"},
        {"op": "history", "last": 0},
    ],
)
def test_invalid_requests_are_refused(request_: dict[str, Any]) -> None:
    check_refusal(refusal(new(), json.dumps(request_)))


@each("reward", [1e308, 3e50])
def test_agent_is_usable_after_extreme_rewards(tmp_path: Path, reward: float) -> None:
    agent = new(posterior="normal(noise=2)", policy="ts-n", store=tmp_path / f"{reward}.db")
    requests = [
        {"op": "observe", "id": agent.decide(among=["ann"]).id, "outcomes": {"ann": reward}},
        {"op": "learn", "outcomes": {"bob": reward}},
    ]
    for request in requests:
        if reward > 1e50 / 0.2:  # the posterior mean is 0.2 times the reward
            check_refusal(refusal(agent, json.dumps(request)))
        else:  # outside the range of the weaker priors, which are compared with the prior
            assert answer(agent, json.dumps(request))["ok"]
    assert answer(agent, '{"op": "decide"}')["ok"]
    agent.verify()
    assert Agent(store=tmp_path / f"{reward}.db").state == agent.state


def test_error_of_the_store_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **options: object) -> None:
        raise StoreError("the disk\nis full")

    monkeypatch.setattr(Agent, "_perform", fail)
    assert answer(new(), '{"op": "decide"}') == {"ok": False, "error": "the disk is full"}


def test_unexpected_error_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("x" * 10**6)

    monkeypatch.setattr(Agent, "status", fail)
    found = answer(new(), '{"op": "status"}')
    assert found["error"].startswith("internal error, please report it: KeyError: 'xxx")
    assert len(found["error"]) == 2000


def test_requests_as_values_are_checked_too() -> None:
    with refuses(InputError, match=r'a request must be an object such as \{"op": "decide"\}'):
        handle(new(), ["decide"])
    with refuses(InputError, match="'decide' has no key 3"):
        handle(new(), {"op": "decide", 3: 4})


# --- documentation ------------------------------------------------------------------------------


def test_page_of_the_protocol_has_the_tables_of_the_operations() -> None:
    page = (ROOT / "docs" / "agent-protocol.md").read_text("utf-8")
    operations, keys = list[str](), set[str]()
    for op, operation in OPERATIONS.items():
        required = operation.required
        names = [f"**`{key}`**" if key in required else f"`{key}`" for key in operation.keys]
        operations.append(f"| `{op}` | {', '.join(names)} | {operation.__doc__} |")
        keys |= {
            f"| `{key}` | {value.text} | {value.meaning} |" for key, value in operation.keys.items()
        }
    assert "\n".join(operations) in page
    assert "\n".join(sorted(keys)) in page


# Random lines ------------------------------------------------------------------------------------


AGENTS: list[dict[str, Any]] = [
    {"policy": "ids-n", "arms": ["ann", "bob", "eve"], "graph": "path"},
    {"policy": "ts-n", "arms": 3, "graph": "complete", "posterior": "normal(noise=2)"},
    {"policy": "exp3-ix", "arms": ["ann", "bob", "eve"], "graph": "star", "horizon": 50},
    {"policy": "ts-n-sampled", "arms": ["ann", "bob", "eve"], "posterior": "gamma-poisson"},
]
ARMS = st.sampled_from(["ann", "bob", "eve"] * 4 + [0, "0", "joe", ""])
NUMBERS = st.sampled_from([0, 1] * 6 + [2, 0.5, -1, 10, 1e308, 10**299, 1e-320, True, "1"])
TEXTS = st.sampled_from(["", "ann", "x" * 200, "\x00", "\u2028", "\ud800", "é", "file:", "../x"])
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | ARMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
FLAGS = st.booleans()
ARM_LISTS = st.lists(ARMS, max_size=3)
EDGES = ARM_LISTS | st.dictionaries(ARMS.map(str), NUMBERS, max_size=3)
REWARDS = NUMBERS | st.lists(NUMBERS, min_size=2, max_size=2)
ROWS = st.fixed_dictionaries(
    {"arm": ARMS}, optional={"reward": NUMBERS, "total": NUMBERS, "count": NUMBERS}
)
GRAPHS = ["star", "complete", "ring", "random(r=0.5)", "paper", "edges(1-2 2>3:0.5)", "file:no.csv"]
#: Values that each key may have; most of them are valid.
GOOD: dict[str, st.SearchStrategy[Any]] = {
    "accuracy": st.sampled_from(["strict", "simulation", "high"]),
    "among": ARM_LISTS,
    "arms": ARM_LISTS,
    "context": ANYTHING,
    "distinct": FLAGS,
    "edges": EDGES,
    "estimate": FLAGS,
    "exclude": ARM_LISTS,
    "expires": st.sampled_from([60, 0.5, 1e9, 0, 1e300]),
    "extra": FLAGS,
    "graph": st.sampled_from(GRAPHS)
    | st.fixed_dictionaries(
        {"edges": st.lists(st.tuples(ARMS, ARMS) | st.tuples(ARMS, ARMS, NUMBERS), max_size=3)},
        optional={"directed": FLAGS},
    ),
    "id": st.sampled_from(["$0", "$0", "$1", "$1", "$2", "1-000000000000", "x"]),
    "key": TEXTS,
    "last": st.sampled_from([1, 2, 100, 0]),
    "level": st.sampled_from([0.01, 0.5, 0, 1, 1e-300]),
    "n": st.sampled_from([1, 2, 3, 0, 10**6]),
    "name": ARMS | st.sampled_from(["kim", 3]),
    "outcomes": st.dictionaries(ARMS.map(str), REWARDS, max_size=3) | st.lists(ROWS, max_size=3),
    "partial": FLAGS,
    "pending": st.sampled_from(["ignore", "expected", "no"]),
    "unknown": st.sampled_from(["error", "skip", "no"]),
    "pi": FLAGS,
    "policy": st.sampled_from(["ids-n", "ts-n", "ucb-n", "exp3-ix", "idsn", "ids-n(x=1)"]),
    "prior": st.sampled_from([[2, 5], "2,5", {"a": 2}, {"mean": 0, "sd": 2}, {"a": "x"}, [[1]]])
    | ANYTHING,
    "request": st.sampled_from(["k", "l", "m", "", "\u2603"]),
    "reset": FLAGS,
    "revealed_by": EDGES,
    "reveals": EDGES,
}
#: Values of 'outcomes' of several decisions.
BATCHES = st.dictionaries(
    GOOD["id"], st.dictionaries(ARMS.map(str), REWARDS, max_size=3), max_size=3
)


@st.composite
def requests(draw: st.DrawFn) -> str:
    """Return a request: valid in most cases, else with a wrong key, value or character."""
    op = draw(st.sampled_from(sorted(OPERATIONS) + ["decide"] * 4 + ["observe"] * 8))
    required = OPERATIONS[op].required
    optional = [key for key in OPERATIONS[op].keys if key not in required]
    keys = [*required, *draw(st.lists(st.sampled_from(optional or ["op"]), max_size=3))]
    good = GOOD | {"outcomes": BATCHES} if op == "observe_many" else GOOD
    found = {"op": op} | {key: draw(good[key]) for key in keys if key != "op"}
    change = draw(st.integers(0, 11))
    if change == 0:
        found[draw(st.sampled_from(["op", *sorted(GOOD), "x"]))] = draw(ANYTHING)
    elif change == 1:
        del found[draw(st.sampled_from(sorted(found)))]
    line = json.dumps(found, ensure_ascii=draw(st.booleans()))
    if change == 2:
        start = draw(st.integers(0, len(line)))
        end = start + draw(st.integers(0, 3))
        inserted = draw(
            st.sampled_from(["", '"', "{", "]", ",", "NaN", "1e999", "\\", "\udc80", "9" * 400])
        )
        line = line[:start] + inserted + line[end:]
    return line


def state_of(agent: Agent) -> str:
    """Return everything that an agent shows of its state."""
    return json_text([agent.status(), agent.state, agent.history(), agent.pending, agent.arms])


def check(setup: dict[str, Any], lines: list[str]) -> None:
    agent = Agent(**setup, seed=1, clock=lambda: 1e9)  # no decision expires
    agent.decide(2)
    for line in lines:
        if agent.arms[0] == 0:
            for number, arm in enumerate(("ann", "bob", "eve")):
                line = line.replace(f'"{arm}"', f'"{number}"')
        for number, id_ in enumerate(agent.pending[:3]):
            line = line.replace(f"${number}", id_)
        before = state_of(agent)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = answer(agent, line.encode("utf-8", "surrogatepass"))
        json.loads(json_text(found, indent=None))
        if not found["ok"]:
            assert found.keys() == {"ok", "error"}
            assert "internal error" not in found["error"], line
            assert len(found["error"].splitlines()) == 1
            assert state_of(agent) == before
    agent.verify()


AGENT_AND_LINES = {"setup": st.sampled_from(AGENTS), "lines": st.lists(requests(), min_size=5)}
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


@settings(max_examples=130, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(**AGENT_AND_LINES)
def test_refused_lines_change_nothing(setup: dict[str, Any], lines: list[str]) -> None:
    check(setup, lines)


@pytest.mark.nightly
@settings(max_examples=13_000, deadline=None, suppress_health_check=QUIET)
@given(**AGENT_AND_LINES)
def test_refused_lines_change_nothing_in_many_examples(
    setup: dict[str, Any], lines: list[str]
) -> None:
    check(setup, lines)
