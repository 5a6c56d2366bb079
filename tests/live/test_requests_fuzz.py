"""Tests of live/requests.py with random lines: a refused line changes nothing."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphbandits import Agent
from graphbandits._files import json_text
from graphbandits.live.operations import OPERATIONS
from graphbandits.live.requests import answer

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
    agent = Agent(**setup, seed=1, clock=lambda: 1e9)  # no decision expires meanwhile
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
