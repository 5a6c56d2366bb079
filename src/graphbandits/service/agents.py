"""Agents of a service: opened on first use, created on request."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Literal

from graphbandits.errors import InputError, StoreError, short_repr
from graphbandits.graphs import GraphLike
from graphbandits.live import Agent, values
from graphbandits.live.requests import graph_of
from graphbandits.live.store import AgentStore, open_store
from graphbandits.live.values import Value, check_keys
from graphbandits.registry import text_of

#: Most agents that a process keeps in memory, for each of the two uses.
MOST_OPENED = 200
#: Seconds after a failed attempt to open the store in which no other one is made.
RETRY_SECONDS = 1.0
#: Most arms of an agent that is created by its number of arms. A list is limited by the body.
MOST_ARMS = 1_000_000

#: Types of the keys of a new agent, and the keys that it needs.
SETTINGS: dict[str, Value] = {
    "name": Value(
        "the name of the agent, a text without '/' and of 1 to 200 characters",
        {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^/]+$"},
    ),
    "policy": values.POLICY,
    "arms": Value(
        f"a number of arms, at most {MOST_ARMS:,}, or a list of their names",
        values.any_of({"type": "integer", "minimum": 1, "maximum": MOST_ARMS}, values.ARMS.schema),
    ),
    "graph": values.GRAPH,
    "seed": Value("a whole number of at least 0", {"type": "integer", "minimum": 0}),
    "posterior": Value('a text such as "normal(noise=0.5)"', {"type": "string"}),
    "prior": values.PRIOR,
    "horizon": values.COUNT,
    "trial": Value("a whole number of at least 0", {"type": "integer", "minimum": 0}),
    "accuracy": values.ACCURACY,
    "expires": values.SECONDS,
    "floor": values.PROBABILITY,
    "floor_over": values.choice("arms", "dominating-set"),
}
NEEDED = ("name", "policy")


class Agents:
    """Agents of one store. Threads may share it.

    Each agent is opened twice: decisions do not wait for long answers of the second copy.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._store: AgentStore | None = None
        self._opened: OrderedDict[tuple[str, str], Agent] = OrderedDict()
        self._lock = threading.Lock()
        self._failure = "", 0.0

    @property
    def store(self) -> AgentStore:
        """The store. It is opened on first use, so that a service can start before its database."""
        with self._lock:
            if self._store is None:
                failure, until = self._failure
                if time.monotonic() < until:
                    raise StoreError(failure)  # each attempt may take seconds, one after the other
                try:
                    self._store = open_store(self._place, must_exist=True)
                except (InputError, StoreError) as error:  # it was there when the service started
                    self._failure = str(error), time.monotonic() + RETRY_SECONDS
                    raise StoreError(str(error)) from error
            return self._store

    @property
    def opened(self) -> bool:
        return self._store is not None

    def names(self) -> list[str]:
        return self.store.agents()

    def get(self, name: str, use: Literal["decide", "read"] = "decide") -> Agent:
        """Return an agent to decide and learn, or one to read."""
        with self._lock:
            if found := self._opened.get((name, use)):
                self._opened.move_to_end((name, use))
                return found
        opened = Agent._of_store(self.store, name)
        with self._lock:
            # another thread may have been faster: all must use the same object
            found = self._opened.setdefault((name, use), opened)
            while len(self._opened) > 2 * MOST_OPENED:
                self._opened.popitem(last=False)
        return found

    def create(self, request: Mapping[str, Any]) -> tuple[Agent, bool]:
        """Create an agent, or open one that has the same settings."""
        given = {key: value for key, value in request.items() if value is not None}
        check_keys("a new agent", given, SETTINGS, NEEDED)
        name = given.pop("name")
        if "/" in name or name in (".", ".."):
            raise InputError(
                f"the name of an agent of a service is part of addresses: choose one without '/', "
                f"not {short_repr(name)}"
            )
        if isinstance(given.get("graph"), dict):
            ends = (arm for edge in given["graph"]["edges"] for arm in edge[:2])
            arms = given.setdefault("arms", list(dict.fromkeys(ends)))
            given["graph"] = _from_edges(given["graph"], arms)
        elif "graph" in given:
            given["graph"] = graph_of(given["graph"], ())
        is_new = name not in self.names()
        Agent(**given, store=self._place, name=name).disconnect()
        return self.get(name), is_new

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


def describe(agent: Agent) -> dict[str, Any]:
    """Return the status and the settings of an agent as JSON values."""
    setup = agent._current().setup
    return agent.status() | {
        "posterior": _text(setup.posterior),
        "graph": setup.graph_text,
        "horizon": setup.horizon,
        "seed": setup.keys.seed,
        "arm_names": "integer" if isinstance(setup.arms[0], int) else "text",
    }


def _text(posterior: Any) -> str | None:
    """Return a posterior as text; None if it has too many parameters for one."""
    try:
        found = text_of(posterior)
    except InputError:
        return None
    return found if len(found) <= 200 else None


def _from_edges(value: dict[str, Any], arms: int | list[Any]) -> GraphLike:
    """Return the graph of a new agent; arms without edges need not be named in it."""
    names = list(range(arms)) if isinstance(arms, int) else arms
    edges, alone = value["edges"], [[arm] for arm in names]
    if names and isinstance(names[0], int):  # the graph has no names, so the order counts
        made: Any = graph_of(value | {"edges": alone + edges}, tuple(names))
        return made.feedback
    return graph_of(value | {"edges": edges + alone}, tuple(names))
