"""Text forms: what is written can be read, and comes back as it was."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbandits.errors import InputError
from graphbandits.registry import parse, register, text_of

values = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=12),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
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


def test_a_plug_in_is_a_frozen_dataclass_and_its_name_its_own() -> None:
    with pytest.raises(InputError, match="frozen dataclass"):
        register("policy", "thawed")(type("Thawed", (), {}))
    with pytest.raises(InputError, match="two classes"):
        register("policy", "ids-n")(Example)
