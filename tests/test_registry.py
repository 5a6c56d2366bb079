"""Text forms: what is written can be read, and comes back as it was."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

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


def test_texts_and_sources_are_read_by_several_threads_at_once() -> None:
    """Up to Python 3.12 threads share a counter of the depth of syntax trees (SystemError)."""
    source = Path(registry.__file__).read_bytes()
    failures: list[BaseException] = []

    class Cyclic:
        """Collected in the middle of what another thread does."""

        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            sum(range(50))

    def work() -> None:
        try:
            for _ in range(30):
                _ = [Cyclic() for _ in range(20)]
                parse("cliques(size=[1, [2, 3]])")
                provenance._analysed(source, "graphbandits")
        except BaseException as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    threads = [Thread(target=work) for _ in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
