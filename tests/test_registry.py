"""Tests of registry.py: text forms of plug-ins, and plug-ins as JSON and arrays."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused, refuses
from helpers.cases import each
from helpers.reward_families import FAMILIES, write_plugin
from helpers.valid_policies import UCB
from hypothesis import given
from hypothesis import strategies as st

from graphbandits import load_plugin, registry
from graphbandits.errors import InputError
from graphbandits.policies import as_policy
from graphbandits.posteriors import BetaBernoulli, Normal
from graphbandits.registry import (
    Arrays,
    build,
    examples_of,
    kind_of,
    pack_plugin,
    parameters_given,
    parameters_of,
    parse,
    plain_value,
    register,
    registered,
    restored_value,
    text_of,
    unpack_plugin,
)
from graphbandits.worlds import Gaussian


def test_single_parameter_needs_no_key() -> None:
    assert build("graph", "cliques(3)") == build("graph", "cliques(size=3)")
    assert build("graph", "star(out)") == build("graph", "star(direction=out)")
    with refuses(InputError, match=r"cannot read the parameter of graph 'random\(0\.5\)'"):
        build("graph", "random(0.5)")
    with refuses(InputError, match=r"cannot read the parameter of graph 'empty\(3\)'"):
        build("graph", "empty(3)")


@each("given", [[], [UCB()], "no list", None])
def test_examples_must_be_instances_of_the_class(given: object) -> None:
    @dataclass(frozen=True)
    class Shy(UCB):
        """Has no example."""

        @classmethod
        def examples(cls) -> Any:
            return given

    with refuses(InputError):
        examples_of(Shy)


plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=12)
)
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=6,
)


@dataclass(frozen=True)
class Example:
    """Not registered: named after its class."""

    value: object


@given(values)
def test_parameters_round_trip_through_text(value: object) -> None:
    name, arguments = parse(text_of(Example(value)))
    assert name == "Example"
    assert arguments == {"value": value}
    assert type(arguments["value"]) is type(value)


@each(
    ("text", "value"),
    [
        ("x(value=[up, down])", ("up", "down")),
        ("x(value=[[1, 2], [3, -inf]])", ((1, 2), (3, float("-inf")))),
        (r"""x(value='it\'s, "x"')""", '''it's, "x"'''),
        ("x(value={'a': [1, true]})", {"a": (1, True)}),
        ("x(value=a-b.c)", "a-b.c"),
    ],
)
def test_values_are_parsed(text: str, value: object) -> None:
    assert parse(text) == ("x", {"value": value})


@each("text", ["x(c=0.5))", "x(c=[1)", "x(c='a)", "x(c=[ids-n, ts-n])"])
def test_malformed_values_are_rejected(text: str) -> None:
    with refuses(InputError):
        parse(text)


def test_plugin_must_be_frozen_dataclass_with_unique_name() -> None:
    with refuses(InputError, match="Thawed: a policy must be a frozen dataclass"):
        register("policy", "thawed")(type("Thawed", (), {}))
    with refuses(InputError, match="two classes are registered as policy 'ids-n': IDSN of"):
        register("policy", "ids-n")(Example)


# Worlds and posteriors ----------------------------------------------------------------------------


def assert_same(one: Any, other: Any) -> None:
    """Check that all parameters are equal, those of a nested prior, too."""
    assert type(one) is type(other)
    for (name, mine), its in zip(
        parameters_given(one).items(), parameters_given(other).values(), strict=True
    ):
        if kind_of(mine) is not None:
            assert_same(mine, its)
        else:
            assert np.array_equal(mine, its), name


def test_every_family_is_registered() -> None:
    """A family without a line in the table of families would not be tested."""
    assert {one.world_name for one in FAMILIES.values()} == set(registered("world"))
    models = list(FAMILIES.values())
    assert {one.posterior_name for one in models} == set(registered("posterior"))


def test_text_of_every_posterior_gives_the_posterior() -> None:
    texts = [text for one in FAMILIES.values() for text in (one.posterior, one.other_posterior)]
    made = [build("posterior", text, arms=3) for text in texts]
    for cls in registered("posterior").values():
        made += examples_of(cls)
    for posterior in made:
        assert_same(build("posterior", text_of(posterior), arms=posterior.arms), posterior)


def test_arrays_are_written_as_numbers_or_lists() -> None:
    assert text_of(Normal.of(3)) == "normal"
    assert text_of(Normal.of(3, mean=0.5)) == "normal(mean=0.5)"
    assert text_of(Normal.of(2, mean=[0.5, 1])) == "normal(mean=[0.5, 1.0])"
    assert text_of(Normal.of(2, sd=[2, 2], noise=3)) == "normal(sd=2.0, noise=3.0)"
    assert text_of(BetaBernoulli.of(2, accuracy="strict")) == "beta-bernoulli(accuracy=strict)"


def test_parameters_are_those_of_the_class_method_of() -> None:
    own = {"mean": 0.0, "sd": 1.0, "noise": 1.0}
    common = {"accuracy": "simulation", "discount": 1.0, "half_life": None}
    assert parameters_of(Normal) == own | common
    assert parameters_of(Gaussian) == {"mean": 0.0, "sd": 1.0, "noise": 1.0, "fixed": None}


def test_more_parameters_override_the_text() -> None:
    made = build("posterior", "normal(mean=1, sd=2)", 2, mean=[5, 6])
    assert (made.means.tolist(), made.sds.tolist()) == ([5.0, 6.0], [2.0, 2.0])


def test_number_of_arms_is_given_to_plug_ins_with_this_parameter() -> None:
    """A class without ``of`` may have a parameter ``arms``; the text overrides it."""
    name = "test-sized"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            registry, "_REGISTERED", {k: dict(v) for k, v in registry._REGISTERED.items()}
        )
        patch.setattr(registry, "_NAMES", dict(registry._NAMES))

        @register("world", name)
        @dataclass(frozen=True)
        class Sized:
            """Has a number of arms."""

            arms: int = 7
            scale: float = 1.0

        assert build("world", name, arms=3) == Sized(3)
        assert build("world", f"{name}(arms=4)", arms=3) == Sized(4)
        assert build("world", f"{name}(scale=2)", arms=3) == Sized(3, 2)
        assert build("world", name) == Sized(7)
        assert text_of(Sized(3)) == f"{name}(arms=3)"


@each(
    ("kind", "text", "words"),
    [
        ("world", "bernouli", ["unknown world 'bernouli'", "did you mean 'bernoulli'"]),
        ("posterior", "bernoulli", ["unknown posterior 'bernoulli'", "'beta-bernoulli'"]),
        ("posterior", "normal(means=1)", ["no parameter 'means'", "mean"]),
        ("posterior", "normal(3)", ["write key=value", "mean, sd, noise, accuracy"]),
        ("posterior", "normal(noise=none)", ["noise"]),
        ("posterior", "normal(accuracy=high)", ["accuracy", "'high'"]),
    ],
)
def test_bad_models_are_refused(kind: str, text: str, words: list[str]) -> None:
    refused(lambda: build(kind, text, arms=2), *words)


@each("arms", [0, -1, 2.5, "3", True])
def test_bad_numbers_of_arms_are_refused(arms: Any) -> None:
    for name in registered("posterior"):
        refused(lambda name=name: build("posterior", name, arms), "arms")


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


def test_examples_of_all_models_are_restored() -> None:
    for kind in ("posterior", "world"):
        for example in (one for cls in registered(kind).values() for one in examples_of(cls)):
            found, arrays = through_json(example)
            same_plugin(found, example)
            assert all(name.startswith("here/") for name in arrays)


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
