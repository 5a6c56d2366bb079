"""Requests to an agent in JSON, for programs in other languages: one object is one operation.

``docs/agent-protocol.md`` has the table of operations, keys and answers.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
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
from graphbandits.graphs.edges import named_edges
from graphbandits.graphs.loaders import File
from graphbandits.graphs.processes import Fixed
from graphbandits.live.agent import Agent
from graphbandits.live.operations import OPERATIONS
from graphbandits.live.values import check_keys, json_repr
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

    >>> agent = Agent("ids-n", arms=["ann", "bob"], graph="complete", seed=1)
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
    """Carry out one request as JSON value; without ``files``, no graph is read from a file."""
    if not isinstance(request, Mapping):
        raise InputError(
            f'a request must be an object such as {{"op": "decide"}}, not {json_repr(request)}'
        )
    given = {key: value for key, value in request.items() if value is not None}
    op = given.pop("op", None)
    if not isinstance(op, str) or op not in OPERATIONS:
        raise InputError(f"unknown op {short_repr(op)}: {nearest(str(op), OPERATIONS)}")
    operation = OPERATIONS[op]
    check_keys(f"'{op}'", given, operation.keys, operation.required)
    if "graph" in given and (not files or isinstance(given["graph"], dict)):
        given["graph"] = graph_of(given["graph"], agent.arms)
    asked = operation(**given)
    return asked.answer(agent._perform(asked))


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
    """Build a graph from edges [arm, arm] or [arm, arm, probability]; [arm] has no edges."""
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
    weight = np.array(chances, np.float64)
    names = tuple(number)
    return Fixed(named_edges(names, source, target, weight, not directed), names)


# JSON ---------------------------------------------------------------------------------------------


def read_json(text: str | bytes) -> Any:
    """Parse strict JSON: no repeated keys, and only finite numbers."""
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
