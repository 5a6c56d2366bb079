"""Text forms: what is written can be read, and comes back as it was."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbandits import registry
from graphbandits.engine import provenance
from graphbandits.errors import InputError
from graphbandits.registry import parse, register, text_of

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
def test_every_parameter_comes_back_from_its_text(value: object) -> None:
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
def test_values_as_people_write_them(text: str, value: object) -> None:
    assert parse(text) == ("x", {"value": value})


@pytest.mark.parametrize("text", ["x(c=0.5))", "x(c=[1)", "x(c='a)", "x(c=[ids-n, ts-n])"])
def test_what_is_not_closed_or_not_plain_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="cannot read"):
        parse(text)


def test_a_plug_in_is_a_frozen_dataclass_and_its_name_its_own() -> None:
    with pytest.raises(InputError, match="frozen dataclass"):
        register("policy", "thawed")(type("Thawed", (), {}))
    with pytest.raises(InputError, match="two classes"):
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
    provenance._analysed(b"import os\n", "graphbandits")
    assert free == [False, False]


def test_sources_are_checked_while_another_thread_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    is_own, added = provenance._is_own, iter(range(10**6))

    def import_another(name: str) -> bool:
        monkeypatch.setitem(sys.modules, f"imported_meanwhile_{next(added)}", sys)
        return is_own(name)

    monkeypatch.setattr(provenance, "_is_own", import_another)
    provenance.check_sources({"package numpy": provenance._version("numpy")})
