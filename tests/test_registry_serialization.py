"""Tests of registry.py: plug-ins as JSON and named arrays, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused
from helpers.cases import each
from helpers.reward_families import FAMILIES, write_plugin
from hypothesis import given
from hypothesis import strategies as st

from graphbandits import load_plugin
from graphbandits.policies import as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import (
    Arrays,
    build,
    examples_of,
    pack_plugin,
    parameters_given,
    plain_value,
    registered,
    restored_value,
    unpack_plugin,
)
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.plan import Plan

EXAMPLES = [
    pytest.param(example, id=f"{kind} {name} {i}")
    for kind in ("posterior", "world")
    for name, cls in registered(kind).items()
    for i, example in enumerate(examples_of(cls))
]


def through_json(plugin: object) -> tuple[Any, Arrays]:
    """Pack a plug-in, write and read its JSON strictly, and restore it."""
    arrays: Arrays = {}
    config = pack_plugin(plugin, arrays, "here")
    text = json.dumps(config, allow_nan=False)
    return unpack_plugin(json.loads(text), arrays), arrays


def same_plugin(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    mine, its = parameters_given(one), parameters_given(other)
    assert mine.keys() == its.keys()
    for key, value in mine.items():
        if isinstance(value, np.ndarray):
            assert value.dtype == its[key].dtype
            assert value.tobytes() == its[key].tobytes()
        elif hasattr(value, "init"):
            same_plugin(value, its[key])
        else:
            assert value == its[key], key
            assert type(value) is type(its[key])


@each("example", EXAMPLES)
def test_examples_of_all_models_are_restored(example: object) -> None:
    found, arrays = through_json(example)
    same_plugin(found, example)
    assert all(name.startswith("here/") for name in arrays)


@each("family", FAMILIES)
@each("kind", ["world", "posterior"])
def test_models_of_text_forms_are_restored(family: str, kind: str) -> None:
    made = build(kind, getattr(FAMILIES[family], kind), arms=4)
    same_plugin(through_json(made)[0], made)


def test_policies_and_graphs_are_restored_too() -> None:
    for made in (as_policy("ids-n(gain=joint)"), build("graph", "random(r=[0.25, 0.5])")):
        assert through_json(made)[0] == made


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[[str], Any]:
    """Return a function that makes a world of the plug-in file."""
    load_plugin(write_plugin(tmp_path / "mine.py"))
    return lambda text: build("world", text, arms=2)


def test_infinite_numbers_and_nested_tuples_are_restored(plugin: Callable[[str], Any]) -> None:
    world, _ = through_json(plugin("my-world(scale=0.5)"))
    assert (world.scale, world.prior.limit) == (0.5, math.inf)
    assert world.prior.table == ((1, 2), (3.5, math.inf))


def test_infinite_parameter_of_a_plug_in_has_a_series(plugin: Callable[[str], Any]) -> None:
    """JSON has no infinite numbers, and the name of a series is a hash of JSON."""
    world = plugin("my-world")
    plan = Plan.of("ts-n", world, "star", horizon=3, trials=2)
    json.dumps(plan.settings(), allow_nan=False)
    assert len(series_of(plan, "ts-n").name) == 64


plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=12)
)


@given(st.recursive(plain, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6))
def test_plain_values_are_restored(value: object) -> None:
    text = json.dumps(plain_value(value, "here"), allow_nan=False)
    found = restored_value(json.loads(text))
    assert found == value
    assert repr(found) == repr(value)


def test_nan_and_numpy_scalars_are_restored_as_floats() -> None:
    assert math.isnan(restored_value(plain_value(math.nan, "here")))
    for scalar, number in ((np.float64(0.1), 0.1), (np.int64(3), 3), (np.bool_(True), True)):
        found = restored_value(plain_value(scalar, "here"))
        assert found == number
        assert type(found) is type(number)


@each("value", [{1: 2}, {1, 2}, object(), 1j, b"x", [1, {2}]])
def test_other_values_are_refused(value: object) -> None:
    refused(lambda: plain_value(value, "mine: table"), "mine: table", "cannot be stored")


def test_unregistered_class_is_refused() -> None:
    class Mine(BetaBernoulli):
        """Not registered."""

    refused(lambda: pack_plugin(Mine.of(2), {}, "prior"), "Mine is not registered", "@register")


def test_unknown_name_and_changed_constructor_are_refused() -> None:
    arrays: Arrays = {}
    config: dict[str, Any] = pack_plugin(BetaBernoulli.of(2), arrays, "prior")
    refused(lambda: unpack_plugin(config | {"name": "gone"}, arrays), "unknown posterior 'gone'")
    changed = config | {"parameters": config["parameters"] | {"colour": "red"}}
    refused(lambda: unpack_plugin(changed, arrays), "posterior 'beta-bernoulli'", "colour")
