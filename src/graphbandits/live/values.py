"""Types of values in JSON requests: one table for error messages, checks and OpenAPI schemas."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from itertools import chain, repeat
from typing import Any, cast

from graphbandits.errors import InputError, nearest, short_repr

#: Largest time and longest lifetime, in seconds: a datetime cannot hold a much later date.
MOST_SECONDS = 1e11


def timestamp(value: object, what: str) -> float:
    """Return a date as seconds since 1970; without a time zone it is local time.

    >>> timestamp("1970-01-02T00:00+00:00", "before"), timestamp(5, "before")
    (86400.0, 5.0)
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InputError(
                f"{what} must be a date such as 2026-01-31, not {short_repr(value)}"
            ) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, datetime.min.time())
    if isinstance(value, datetime):
        try:
            return value.timestamp()
        except (ValueError, OverflowError, OSError):
            raise InputError(f"{what} is a date out of range: {value}") from None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not -MOST_SECONDS <= cast(float, value) <= MOST_SECONDS:
        raise InputError(
            f"{what} must be a date, a datetime, or seconds since 1970, not {short_repr(value)}"
        )
    return float(cast(float, value))


Schema = dict[str, Any]
Test = Callable[[Any], bool]

#: Maximum of decisions of one request. A longer answer would be hard to read in one piece.
MAX_DECISIONS = 10_000
#: Maximum of levels of nested values.
MAX_DEPTH = 50


@dataclass(frozen=True)
class Value:
    """Type of a value: ``text`` completes "must be ...", ``schema`` is its JSON schema."""

    text: str
    schema: Schema
    meaning: str = ""

    @cached_property
    def is_valid(self) -> Test:
        """Test whether a JSON value has the schema. A number such as 1.0 is not an integer."""
        return _test_of(self.schema)


def list_of(items: Schema, **limits: Any) -> Schema:
    return {"type": "array", "items": items, **limits}


def object_of(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def any_of(*schemas: Schema) -> Schema:
    return {"anyOf": [*schemas]}


def choice(*names: str) -> Value:
    return Value(" or ".join(f'"{name}"' for name in names), {"type": "string", "enum": [*names]})


_STRING: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_ARM = any_of(_STRING, {"type": "integer"})
_REWARDS = object_of(any_of(_NUMBER, list_of(_NUMBER, minItems=2, maxItems=2)))
_EDGE: Schema = {
    "type": "array",
    "prefixItems": [_ARM, _ARM, _NUMBER],
    "items": False,
    "minItems": 1,
    "maxItems": 3,
}
_EDGE_LIST: Schema = {
    "type": "object",
    "properties": {"edges": list_of(_EDGE), "directed": {"type": "boolean"}},
    "required": ["edges"],
    "additionalProperties": False,
}
_SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
_PARAMETERS = any_of(_SCALAR, list_of(_SCALAR), object_of(_SCALAR))

TEXT = Value("a text", _STRING)
FLAG = Value("true or false", {"type": "boolean"})
WHOLE = Value("a whole number", {"type": "integer"})
COUNT = Value("a whole number of at least 1", {"type": "integer", "minimum": 1})
DECISIONS = Value(
    f"a whole number from 1 to {MAX_DECISIONS}",
    {"type": "integer", "minimum": 1, "maximum": MAX_DECISIONS},
)
PROBABILITY = Value("a number from 0 to 1", {"type": "number", "minimum": 0, "maximum": 1})
LEVEL = Value(
    "a number between 0 and 1", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
)
SECONDS = Value(
    f"a number of seconds above 0 and at most {MOST_SECONDS:g}",
    {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_SECONDS},
)
NAME = Value("a text that is not empty", {"type": "string", "minLength": 1})
ID = Value("the id of a decision, a text", _STRING)
ARM = Value("the name of an arm, a text or an integer", _ARM)
ARMS = Value("a list of arms, each a text or an integer", list_of(_ARM))
EDGES = Value(
    "a list of arms, or an object with the probability of each arm",
    any_of(list_of(_ARM), object_of(_NUMBER)),
)
GRAPH = Value(
    'a text such as "star", or an object such as {"edges": [["ann", "bob"], ["bob", "eve", 0.5]], '
    '"directed": false}',
    any_of(_STRING, _EDGE_LIST),
)
POLICY = Value('a text such as "ids-n"', _STRING)
ACCURACY = choice("simulation", "strict")
PRIOR = Value(
    'parameters of a prior, such as [2, 5] or {"mean": 0, "sd": 2}',
    any_of(_STRING, list_of(_PARAMETERS), object_of(_PARAMETERS)),
)
CONTEXT = Value(f"a JSON value with at most {MAX_DEPTH} levels", {})
REWARDS = Value(
    "an object with the reward of each arm, or [total, count] for several outcomes", _REWARDS
)
REWARDS_BY_ID = Value(
    "an object with the outcomes of each decision by its id: objects with the reward of each arm",
    object_of(_REWARDS),
)
TABLE = Value(
    "an object with the reward of each arm, or [total, count] for several; or a list of rows with "
    "the keys arm, reward or total, and count",
    any_of(_REWARDS, list_of(object_of({"type": ["string", "number"]}))),
)

_TYPES: dict[str, Any] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
    "null": type(None),
}
_LIMITS: dict[str, Callable[[Any, Any], bool]] = {
    "enum": lambda value, names: value in names,
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
    "minLength": lambda value, least: len(value) >= least,
    "maxLength": lambda value, most: len(value) <= most,
    "minItems": lambda value, least: len(value) >= least,
    "maxItems": lambda value, most: len(value) <= most,
    "required": lambda value, keys: value.keys() >= set(keys),
}


def _test_of(schema: Schema | bool) -> Test:
    if isinstance(schema, bool):
        return lambda _: schema
    if "anyOf" in schema:
        tests = [_test_of(one) for one in schema["anyOf"]]
        return lambda value: any(test(value) for test in tests)
    if "type" not in schema:
        return lambda value: _is_shallow(value, MAX_DEPTH)
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    types, may_be_bool = tuple(_TYPES[name] for name in names), "boolean" in names
    limits = [(_LIMITS[name], limit) for name, limit in schema.items() if name in _LIMITS]
    first = [_test_of(one) for one in schema.get("prefixItems", ())]
    items = _test_of(schema.get("items", True))
    known = {key: _test_of(one) for key, one in schema.get("properties", {}).items()}
    others = _test_of(schema.get("additionalProperties", True))

    def test(value: Any) -> bool:
        if not isinstance(value, types) or (isinstance(value, bool) and not may_be_bool):
            return False
        for is_within, limit in limits:
            if not is_within(value, limit):
                return False
        if isinstance(value, dict):
            for key, one in value.items():
                if not known.get(key, others)(one):
                    return False
        elif isinstance(value, list):
            tests = chain(first, repeat(items))
            return all(is_item(one) for one, is_item in zip(value, tests, strict=False))
        return True

    return test


def _is_shallow(value: Any, most: int) -> bool:
    members = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return True
    return most > 0 and all(_is_shallow(one, most - 1) for one in members)


def check_keys(
    what: str, given: Mapping[str, Any], keys: Mapping[str, Value], required: tuple[str, ...]
) -> None:
    for key in given:
        if key not in keys:
            hint = nearest(str(key), keys) if keys else "it has none"
            raise InputError(f"{what} has no key {short_repr(key)}: {hint}")
    for key in required:
        if key not in given:
            raise InputError(f"{what} needs the key '{key}': {keys[key].text}")
    for key, value in given.items():
        if not keys[key].is_valid(value):
            raise InputError(f"'{key}' must be {keys[key].text}; not {json_repr(value)}")


def body_schema(keys: Mapping[str, Value], required: tuple[str, ...]) -> Schema:
    """Return the schema of a JSON object with these keys; null stands for a default."""
    properties = {}
    for key, value in keys.items():
        is_needed = key in required or not value.schema
        schema = value.schema if is_needed else any_of(value.schema, {"type": "null"})
        properties[key] = schema | {"description": value.meaning or value.text}
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def json_repr(value: Any, most: int = 80) -> str:
    """Return a value as JSON, shortened; a value that is not JSON in the form of Python."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return short_repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."
