"""Requests to an agent in JSON, for programs in other languages: one object is one operation.

``docs/agent-protocol.md`` has the table of operations, keys and answers.
"""

from __future__ import annotations

import inspect
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any, NoReturn

import numpy as np

from graphbandits.errors import (
    GraphBanditsError,
    InputError,
    check_probability,
    nearest,
    short_repr,
)
from graphbandits.graphs import GraphLike
from graphbandits.graphs.io._edge_builder import fixed_graph
from graphbandits.graphs.loaders import File
from graphbandits.graphs.processes import Fixed
from graphbandits.live import values
from graphbandits.live.agent import Agent
from graphbandits.live.decision import Decision
from graphbandits.live.values import Value, check_keys, json_repr
from graphbandits.posteriors import Arm
from graphbandits.registry import build

#: Longest request, in bytes.
MOST_BYTES = 2**24
#: Most digits of an integer, so that it is also a finite float.
MOST_DIGITS = 300
#: Longest error message, in characters.
MOST_CHARACTERS = 2000


def answer(agent: Agent, line: str | bytes, *, files: bool = True) -> dict[str, Any]:
    """Carry out one request, given as text. A refused request does not change the agent.

    Parameters
    ----------
    agent : Agent
        The agent.
    line : str or bytes
        A JSON object; bytes are UTF-8.
    files : bool, default=True
        Whether a graph may be read from a file.

    Returns
    -------
    dict
        ``{"ok": True, ...}`` with the result, or ``{"ok": False, "error": message}``.

    Examples
    --------
    >>> agent = Agent("ids-n", arms=["ann", "bob"], graph="complete", seed=1)
    >>> made = answer(agent, '{"op": "decide", "among": ["bob"]}')["decisions"][0]
    >>> made["arm"], made["reveals"]
    ('bob', {'ann': 1.0, 'bob': 1.0})
    >>> answer(agent, '{"op": "close"}')
    {'ok': False, 'error': "'close' needs the key 'id': the id of a decision, a text"}
    """
    try:
        return {"ok": True, **handle(agent, read_json(line), files=files)}
    except GraphBanditsError as error:
        message = str(error)
    except Exception as error:  # a server goes on; the agent is as before
        message = f"internal error, please report it: {type(error).__name__}: {error}"
    message = " ".join(message.split())
    if len(message) > MOST_CHARACTERS:
        message = message[: MOST_CHARACTERS - 3] + "..."
    return {"ok": False, "error": message}


def handle(agent: Agent, request: object, *, files: bool = True) -> dict[str, Any]:
    """Carry out one request, given as JSON value.

    Parameters
    ----------
    agent : Agent
        The agent.
    request : dict
        The operation ``op``, and its keys. A key with the value None is ignored.
    files : bool, default=True
        Whether a graph may be read from a file.

    Returns
    -------
    dict
        The result; empty if the operation has none.

    Raises
    ------
    InputError
        If the request is not valid, or the agent refuses it. Then nothing changes.
    StoreError
        If the store of the agent does not work at the moment.

    Examples
    --------
    >>> agent = Agent("ids-n", arms=["ann", "bob"], seed=1)
    >>> handle(agent, {"op": "learn", "outcomes": {"ann": [3, 10], "bob": 1}})
    {'learned': 11}
    """
    if not isinstance(request, Mapping):
        raise InputError(
            f'a request must be an object such as {{"op": "decide"}}, not {json_repr(request)}'
        )
    given = {key: value for key, value in request.items() if value is not None}
    op = given.pop("op", None)
    if not isinstance(op, str) or op not in OPERATIONS:
        if not isinstance(op, str):
            raise InputError(f"a request needs an 'op': choose from {', '.join(OPERATIONS)}")
        raise InputError(f"unknown op {short_repr(op)}: {nearest(op, OPERATIONS)}")
    required, allowed = keys_of(op)
    check_keys(f"'{op}'", given, {key: value_of(op, key) for key in allowed}, required)
    if "graph" in given and (not files or isinstance(given["graph"], dict)):
        given["graph"] = graph_of(given["graph"], agent.arms)
    return OPERATIONS[op](agent, **given) or {}


@cache
def keys_of(op: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the required keys of an operation, and all of them.

    >>> keys_of("observe")
    (('id', 'outcomes'), ('id', 'outcomes', 'partial', 'extra'))
    """
    _, *parameters = inspect.signature(OPERATIONS[op]).parameters.values()
    required = (one.name for one in parameters if one.default is inspect.Parameter.empty)
    return tuple(required), tuple(one.name for one in parameters)


def value_of(op: str, key: str) -> Value:
    """Return the type of a key of an operation."""
    if key == "outcomes":
        return {"observe_many": values.REWARDS_BY_ID, "learn": values.TABLE}.get(op, values.REWARDS)
    return VALUES[key]


# Operations ---------------------------------------------------------------------------------------


def _decide(
    agent: Agent,
    n: int = 1,
    distinct: bool = False,
    among: list[Any] | None = None,
    exclude: list[Any] | None = None,
    graph: GraphLike = None,
    context: Any = None,
    pending: str = "ignore",
    expires: float | None = None,
    pi: bool = False,
    request: str | None = None,
) -> dict[str, Any]:
    made = agent.decide(
        n,
        distinct=distinct,
        among=among,
        exclude=exclude,
        graph=graph,
        context=context,
        pending=pending,
        expires=expires,
        request=request,
    )
    return {"decisions": [_decision(one, pi) for one in made]}


def _decision(made: Decision, pi: bool) -> dict[str, Any]:
    """Return a decision as JSON values; ``pi``, which may be long, only on request."""
    found: dict[str, Any] = {
        "id": made.id,
        "arm": made.arm,
        "probability": made.probability,
        "reveals": {str(arm): chance for arm, chance in made.reveals.items()},
        "time": made.time.isoformat(),
    }
    if made.expires is not None:
        found["expires"] = made.expires.isoformat()
    if made.context is not None:
        found["context"] = made.context
    if pi:
        found["pi"] = made.pi and {str(arm): chance for arm, chance in made.pi.items()}
    return found


def _observe(
    agent: Agent, id: str, outcomes: dict[Any, Any], partial: bool = False, extra: bool = False
) -> None:
    agent.observe(id, outcomes, partial=partial, extra=extra)


def _observe_many(
    agent: Agent,
    outcomes: Mapping[Any, Any],
    partial: bool = False,
    extra: bool = False,
    request: str | None = None,
) -> dict[str, Any]:
    agent.observe_many(outcomes, partial=partial, extra=extra, request=request)
    return {"accepted": len(outcomes)}


def _close(agent: Agent, id: str) -> None:
    agent.close(id)


def _pending(agent: Agent) -> dict[str, Any]:
    return {"pending": list(agent.pending)}


def _show(agent: Agent, id: str, pi: bool = False) -> dict[str, Any]:
    return {"decision": _decision(agent.decision(id), pi)}


def _learn(
    agent: Agent, outcomes: Any, key: str | None = None, unknown: str = "error"
) -> dict[str, Any]:
    table = _Rows(outcomes) if isinstance(outcomes, list) else outcomes
    return {"learned": agent.learn(table, key=key, unknown=unknown)}


class _Rows:
    """Rows of outcomes as a table, with the interface of a table of pyarrow."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows
        self.column_names = list(rows[0]) if rows else []
        for number, row in enumerate(rows, 1):
            if row.keys() != rows[0].keys():
                raise InputError(
                    f"row {number} of the outcomes has the keys {short_repr(list(row))}, and row 1 "
                    f"{short_repr(self.column_names)}: all rows need the same keys"
                )

    def to_pydict(self) -> dict[str, list[Any]]:
        """Return the columns."""
        return {name: [row[name] for row in self._rows] for name in self.column_names}


def _add_arm(
    agent: Agent,
    name: str | int,
    prior: Any = None,
    edges: Any = None,
    reveals: Any = None,
    revealed_by: Any = None,
) -> None:
    agent.add_arm(name, prior, edges, reveals=reveals, revealed_by=revealed_by)


def _retire(agent: Agent, arms: list[Any]) -> None:
    agent.retire(*arms)


def _pause(agent: Agent, arms: list[Any]) -> None:
    agent.pause(*arms)


def _resume(agent: Agent, arms: list[Any]) -> None:
    agent.resume(*arms)


def _set_graph(agent: Agent, graph: GraphLike) -> None:
    agent.set_graph(graph)


def _set_policy(agent: Agent, policy: str, reset: bool = False) -> None:
    agent.set_policy(policy, reset=reset)


def _reset(agent: Agent) -> None:
    agent.reset()


def _beliefs(agent: Agent, accuracy: str | None = None, estimate: bool = False) -> dict[str, Any]:
    found = agent.beliefs(accuracy, estimate)
    beliefs = {str(arm): asdict(found[arm]) for arm in found}
    error = {"error_estimate": found.error} if estimate else {}
    return {"beliefs": beliefs, "rho": found.rho, **error}


def _explain(agent: Agent, id: str) -> dict[str, Any]:
    return {"explanation": agent.explain(id).to_dict()}


def _status(agent: Agent) -> dict[str, Any]:
    return {"status": agent.status()}


def _health(agent: Agent, level: float = 0.01) -> dict[str, Any]:
    return {"health": agent.health(level).to_dict()}


def _history(agent: Agent, last: int | None = None) -> dict[str, Any]:
    return {"entries": agent.history(last)}


#: Operation of each ``op``. Its parameters are the keys of the request.
OPERATIONS: dict[str, Callable[..., dict[str, Any] | None]] = {
    "decide": _decide,
    "observe": _observe,
    "observe_many": _observe_many,
    "close": _close,
    "pending": _pending,
    "decision": _show,
    "learn": _learn,
    "add_arm": _add_arm,
    "retire": _retire,
    "pause": _pause,
    "resume": _resume,
    "set_graph": _set_graph,
    "set_policy": _set_policy,
    "reset": _reset,
    "beliefs": _beliefs,
    "explain": _explain,
    "status": _status,
    "health": _health,
    "history": _history,
}


# Values -------------------------------------------------------------------------------------------

#: Type of each key; that of 'outcomes' depends on the operation.
VALUES: dict[str, Value] = {
    "accuracy": values.ACCURACY,
    "among": values.ARMS,
    "arms": values.ARMS,
    "context": values.CONTEXT,
    "distinct": values.FLAG,
    "edges": values.EDGES,
    "estimate": values.FLAG,
    "exclude": values.ARMS,
    "expires": values.SECONDS,
    "extra": values.FLAG,
    "graph": values.GRAPH,
    "id": values.ID,
    "key": values.NAME,
    "last": values.COUNT,
    "level": values.LEVEL,
    "n": values.DECISIONS,
    "name": values.ARM,
    "outcomes": values.REWARDS,
    "partial": values.FLAG,
    "pending": values.choice("ignore", "expected"),
    "pi": values.FLAG,
    "policy": values.POLICY,
    "prior": values.PRIOR,
    "request": values.KEY,
    "reset": values.FLAG,
    "revealed_by": values.EDGES,
    "reveals": values.EDGES,
    "unknown": values.choice("error", "skip"),
}


def graph_of(value: Any, arms: tuple[Arm, ...]) -> GraphLike:
    """Return a graph from a text or from edges between arms, but never from a file."""
    if isinstance(value, dict):
        return _from_edges(arms, value["edges"], value.get("directed", False))
    # the text itself is not passed on: an error could show whether there is a file of this name
    made = None if value.startswith("file:") else build("graph", value)
    if made is None or isinstance(made, File):
        raise InputError("a graph cannot be read from a file here: give its edges")
    return made


def _from_edges(arms: tuple[Arm, ...], edges: list[list[Any]], directed: bool) -> Fixed:
    """Build a graph from edges [arm, arm] or [arm, arm, probability]; [arm] has no edges.

    >>> edges = [["ann", "bob", 0.5], ["eve"]]
    >>> graph = _from_edges(("ann", "bob", "eve"), edges, directed=True)
    >>> graph.names, graph.feedback.reach([0])
    (('ann', 'bob', 'eve'), array([[1. , 0.5, 0. ]]))
    """
    known, number = set(map(str, arms)), dict[str, int]()
    ends, chances = list[tuple[int, int]](), list[float]()
    for edge in edges:
        for arm in map(str, edge[:2]):
            if arm not in known:
                raise InputError(f"unknown arm {short_repr(arm)}: {nearest(arm, known)}")
            number.setdefault(arm, len(number))
        if len(edge) > 1:
            ends.append((number[str(edge[0])], number[str(edge[1])]))
            what = f"the probability of the edge {short_repr(edge[:2])}"
            chances.append(check_probability(edge[2], what) if len(edge) == 3 else 1.0)
    if not number:
        raise InputError("a graph needs all arms: name an arm without edges as [arm]")
    source, target = np.array(ends, np.int64).reshape(-1, 2).T
    return fixed_graph(tuple(number), source, target, np.array(chances, np.float64), not directed)


# JSON ---------------------------------------------------------------------------------------------


def read_json(text: str | bytes) -> Any:
    """Parse strict JSON: no repeated keys, and only finite numbers.

    Parameters
    ----------
    text : str or bytes
        The text; bytes are UTF-8.

    Returns
    -------
    object
        The value.

    Raises
    ------
    InputError
        If the text is not valid, or too long.

    Examples
    --------
    >>> read_json(b'{"ann": [3, 1e1]}')
    {'ann': [3, 10.0]}
    """
    if len(text) > MOST_BYTES:
        raise InputError(f"a request has at most {MOST_BYTES:,} bytes: divide it into several")
    found = ""
    try:
        found = (text.encode() if isinstance(text, str) else text).decode("utf-8-sig")
        value = json.loads(
            found,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
        if "\\u" in found:  # half a character cannot be written as UTF-8
            json.dumps(value, ensure_ascii=False).encode()
    except InputError:
        raise
    except json.JSONDecodeError as error:
        shown = short_repr(found[max(0, error.pos - 10) : error.pos + 20])
        raise InputError(
            f"not valid JSON: {error.msg} at character {error.pos + 1}, in {shown}"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(f"not valid UTF-8: {error.reason} at byte {error.start}") from None
    except UnicodeEncodeError:
        raise InputError("a text has one half of a surrogate pair, such as \\ud800") from None
    except RecursionError:
        raise InputError("the JSON is nested too deeply") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise InputError(f"the key {short_repr(twice)} is given twice in an object: give it once")
    return found


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise InputError(f"a number has more than {MOST_DIGITS} digits")
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise InputError(f"the number {short_repr(text)} is too large")
    return number


def _constant(text: str) -> NoReturn:
    raise InputError(f"{text} is not a number in JSON: numbers must be finite")
