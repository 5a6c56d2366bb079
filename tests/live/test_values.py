"""Tests of live/values.py: the check of a value agrees with its JSON schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from helpers.cases import case_named, each
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

from graphbandits.live import values
from graphbandits.live.values import MAX_DEPTH, Value
from graphbandits.service.agents import SETTINGS

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
JSON = st.recursive(
    SCALARS | st.just("ann"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def generated(schema: dict[str, Any], mode: GenerationMode) -> st.SearchStrategy[Any]:
    """Return values that a schema accepts, or that it refuses."""
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    operation = {"requestBody": body, "responses": {"default": {"description": "any"}}}
    description = {
        "openapi": "3.1.0",
        "info": {"title": "one value", "version": "1"},
        "paths": {"/": {"post": operation}},
    }
    found = schemathesis.openapi.from_dict(description)["/"]["POST"]
    return found.as_strategy(generation_mode=mode).map(lambda case: case.body)


def has_whole_float(value: Any) -> bool:
    """Return whether a value has a number such as 1.0, which is an integer in a schema only."""
    if isinstance(value, dict | list):
        members = value.values() if isinstance(value, dict) else value
        return any(map(has_whole_float, members))
    return isinstance(value, float) and value.is_integer()


def all_values() -> dict[str, Value]:
    known = {name: value for name, value in vars(values).items() if isinstance(value, Value)}
    return known | {f"new agent: {key}": one for key, one in SETTINGS.items() if key != "name"}


def agrees_with_schema(value: Value, examples: int) -> None:
    schema, is_valid = value.schema, value.is_valid
    jsonschema_rs.meta.validate(schema)
    validator = jsonschema_rs.validator_for(schema)
    found = {True: 0, False: 0}
    wrong = generated(schema, GenerationMode.NEGATIVE) if schema else JSON

    @seed(1)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(generated(schema, GenerationMode.POSITIVE) | wrong | JSON)
    def check(value: Any) -> None:
        assume(isinstance(value, str | int | float | bool | list | dict | None))
        assume(not has_whole_float(value))
        assert is_valid(value) == validator.is_valid(value), value
        found[is_valid(value)] += 1

    check()
    assert found[True] > 0
    assert found[False] > 3 or not schema


def test_the_check_of_a_value_agrees_with_its_schema() -> None:
    schemas = {json.dumps(one.schema): one for one in all_values().values()}
    for text, value in schemas.items():
        with case_named(text):
            agrees_with_schema(value, 25)


@pytest.mark.nightly
def test_the_checks_agree_in_many_examples() -> None:
    for name, value in all_values().items():
        with case_named(name):
            agrees_with_schema(value, 1000)


@each(
    ("value", "good", "bad"),
    [
        (values.DECISIONS, 10_000, 10_001),
        (values.DECISIONS, 1, 0),
        (values.DECISIONS, 1, 1.0),
        (values.DECISIONS, 1, True),
        (values.SECONDS, 1e11, 1.1e11),
        (values.SECONDS, 1e-9, 0),
        (values.LEVEL, 0.5, 1),
        (values.PROBABILITY, 1, 1.1),
        (values.NAME, "x", ""),
        (values.GRAPH, {"edges": [["a", 2, 0.5]]}, {"edges": [["a", 2, 0.5, 1]]}),
        (values.GRAPH, {"edges": [["a"]], "directed": True}, {"directed": True}),
        (values.REWARDS, {"a": [1, 2]}, {"a": [1, 2, 3]}),
        (values.FLAG, False, 0),
        (values.PRIOR, [[1, 2], [3, None]], [[[1]]]),
    ],
)
def test_limits_of_values(value: Value, good: Any, bad: Any) -> None:
    assert value.is_valid(good)
    assert not value.is_valid(bad)


def test_nested_values_have_a_limit() -> None:
    nested: Any = 0
    for _ in range(MAX_DEPTH):
        nested = [nested]
    assert values.CONTEXT.is_valid(nested)
    assert not values.CONTEXT.is_valid({"a": nested})
