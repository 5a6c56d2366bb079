"""Tests of registry.py: text forms of plug-ins, their parameters and examples."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from threading import Thread
from typing import Any

import pytest
from helpers.messages import raises_pinned
from helpers.valid_policies import UCB
from hypothesis import given
from hypothesis import strategies as st

from graphbandits import registry
from graphbandits.engine import provenance
from graphbandits.errors import InputError
from graphbandits.registry import build, examples_of, parse, register, text_of


def test_single_parameter_needs_no_key() -> None:
    assert build("graph", "cliques(3)") == build("graph", "cliques(size=3)")
    assert build("graph", "star(out)") == build("graph", "star(direction=out)")
    with raises_pinned(InputError):
        build("graph", "random(0.5)")
    with raises_pinned(InputError):
        build("graph", "empty(3)")


@pytest.mark.parametrize("given", [[], [UCB()], "no list", None])
def test_examples_must_be_instances_of_the_class(given: object) -> None:
    @dataclass(frozen=True)
    class Shy(UCB):
        """Has no example."""

        @classmethod
        def examples(cls) -> Any:
            return given

    with raises_pinned(InputError):
        examples_of(Shy)


plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=12),
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", ["x(c=0.5))", "x(c=[1)", "x(c='a)", "x(c=[ids-n, ts-n])"])
def test_malformed_values_are_rejected(text: str) -> None:
    with raises_pinned(InputError):
        parse(text)


def test_plugin_must_be_frozen_dataclass_with_unique_name() -> None:
    with raises_pinned(InputError):
        register("policy", "thawed")(type("Thawed", (), {}))
    with raises_pinned(InputError):
        register("policy", "ids-n")(Example)


def test_one_thread_parses_python_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to Python 3.12 threads share a counter of the depth of syntax trees: SystemError."""
    free: list[bool] = []
    ours = ast.parse

    def parse_tree(*args: Any, **options: Any) -> ast.AST:
        other = Thread(target=lambda: free.append(registry.PARSING.acquire(blocking=False)))
        other.start()
        other.join()
        return ours(*args, **options)

    monkeypatch.setattr(ast, "parse", parse_tree)
    assert parse("cliques(size=[1, 2])") == ("cliques", {"size": (1, 2)})
    provenance._analyse(b"import os\n", "graphbandits")
    assert free == [False, False]
