"""Texts of an experiment file: placeholders of sweeps, parts of file names, TOML values."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from graphbandits.errors import GraphBanditsError, InputError

#: A value of a sweep as it is displayed and stored.
ScalarValue = int | float | str
#: A value of a sweep as it is written in the file: priors and means may be lists.
SweepValue = int | float | str | tuple[Any, ...]
#: Replaces a placeholder in the label of a line.
SWEPT = "…"
#: Maximum number of characters of a value in a file name.
MAX_PART_LENGTH = 60
#: A name in braces; a dictionary does not match.
_PLACEHOLDER = re.compile(r"\{([^{}:,]*)\}")


def placeholders(text: str) -> list[str]:
    """Return the names in braces, in order.

    >>> placeholders("revealed-er(p={p}, directed={way})")
    ['p', 'way']
    """
    return _PLACEHOLDER.findall(text)


def fill_placeholders(text: str, point: Mapping[str, SweepValue]) -> str:
    """Replace the placeholders of a text by their values.

    >>> fill_placeholders("random(r={r}, low={low})", {"r": "uniform", "low": 0.25})
    'random(r=uniform, low=0.25)'
    """
    return _PLACEHOLDER.sub(lambda found: str(point[found[1]]), text)


def has_own_placeholder(key: str, text: object) -> bool:
    """Return whether the value of a key contains a placeholder with the name of the key.

    >>> has_own_placeholder("graph", "{graph}"), has_own_placeholder("graph", "random(r={r})")
    (True, False)
    """
    return isinstance(text, str) and key in placeholders(text)


def line_label(text: str) -> str:
    """Return the label of a policy in a sweep, which is the same at all values.

    >>> line_label("eps-greedy-lp(c={c})")
    'eps-greedy-lp(c=…)'
    """
    return _PLACEHOLDER.sub(SWEPT, text)


def check_placeholders(texts: Iterable[str], parameters: Sequence[str] = ()) -> None:
    """Raise an error if a placeholder is not one of the ``parameters`` of the sweep."""
    for text in texts:
        for name in placeholders(text):
            if not parameters:
                raise InputError(
                    f"the placeholder {{{name}}} in '{text}' has no value: add a table [[sweeps]] "
                    f'with parameter = "{name or "r"}" and its values'
                )
            if name not in parameters:
                known = ", ".join(f"{{{parameter}}}" for parameter in parameters)
                raise InputError(
                    f"unknown placeholder {{{name}}} in '{text}': this sweep has {known}"
                )


def display_value(value: SweepValue) -> ScalarValue:
    """Format a value of a sweep for tables and axes: lists become strings.

    >>> display_value(0.5), display_value((2.0, 5)), display_value(((1, 2), "3,4"))
    (0.5, '2,5', '1,2 3,4')
    """
    if not isinstance(value, tuple):
        return value
    parts = [str(display_value(one)).removesuffix(".0") for one in value]
    deep = any(isinstance(one, tuple | str) for one in value)
    return (" " if deep else ",").join(parts)


def file_name_part(value: ScalarValue) -> str:
    """Convert a value to a part of a file name: letters, digits, '.', '+', '-' and '_'.

    A long value is cut and ends with a hash.

    >>> file_name_part(0.25), file_name_part("random(r=0.25)")
    ('0.25', 'random-r-0.25')
    """
    part = re.sub(r"[^\w.+-]+", "-", str(value)).strip("-.")
    if len(part) <= MAX_PART_LENGTH:
        return part
    return f"{part[: MAX_PART_LENGTH - 9]}-{hashlib.sha256(str(value).encode()).hexdigest()[:8]}"


def toml_text(value: object) -> str:
    """Format a value as TOML in one line.

    >>> print(toml_text({"horizon": 3, "my r": [True, "a", 0.5]}))
    { horizon = 3, "my r" = [true, 'a', 0.5] }
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # a literal string in single quotes has no escape sequences
        return f"'{value}'" if value.isprintable() and "'" not in value else json.dumps(value)
    if isinstance(value, Mapping):
        parts = [f"{_toml_key(key)} = {toml_text(one)}" for key, one in value.items()]
        return f"{{ {', '.join(parts)} }}" if parts else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_text, value))}]"
    return str(value)


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


@contextmanager
def prefix_errors(place: str) -> Iterator[None]:
    """Prefix error messages with a place in the experiment file."""
    try:
        yield
    except GraphBanditsError as error:
        raise type(error)(f"{place}: {error}") from error
