"""Texts of an experiment's file: placeholders that a sweep fills, and parts of file names."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from graphbandits.errors import GraphBanditsError, InputError

#: A value of a sweep as it is shown and kept.
Value = int | float | str
#: A value of a sweep as it is given: priors and means may be lists.
Given = int | float | str | tuple[Any, ...]
#: Stands for all of its values where a policy is one line of a sweep.
SWEPT = "…"
#: Letters that a value has in the name of a file, at most.
LONGEST = 60
#: Braces around anything but a dictionary.
_PLACEHOLDER = re.compile(r"\{([^{}:,]*)\}")


def placeholders(text: str) -> list[str]:
    """The names in braces, in their order.

    >>> placeholders("revealed-er(p={p}, directed={way})")
    ['p', 'way']
    """
    return _PLACEHOLDER.findall(text)


def filled(text: str, point: Mapping[str, Given]) -> str:
    """The text with the values in the place of their placeholders.

    >>> filled("random(r={r}, low={low})", {"r": "uniform", "low": 0.25})
    'random(r=uniform, low=0.25)'
    """
    return _PLACEHOLDER.sub(lambda found: str(point[found[1]]), text)


def varies_itself(key: str, text: object) -> bool:
    """Whether the text of a key has a placeholder for its own value.

    >>> varies_itself("graph", "{graph}"), varies_itself("graph", "random(r={r})")
    (True, False)
    """
    return isinstance(text, str) and key in placeholders(text)


def line_of(text: str) -> str:
    """What a policy is called as a line of a sweep: one text at all values.

    >>> line_of("eps-greedy-lp(c={c})")
    'eps-greedy-lp(c=…)'
    """
    return _PLACEHOLDER.sub(SWEPT, text)


def check_placeholders(texts: Iterable[str], parameters: Sequence[str] = ()) -> None:
    """Refuse a placeholder that is not one of the sweep's ``parameters``."""
    for text in texts:
        for name in placeholders(text):
            if not parameters:
                raise InputError(
                    f"nothing fills the placeholder {{{name}}} of '{text}': add a [[sweeps]] with "
                    f'parameter = "{name or "r"}" and its values'
                )
            if name not in parameters:
                known = ", ".join(f"{{{parameter}}}" for parameter in parameters)
                raise InputError(
                    f"unknown placeholder {{{name}}} in '{text}': this sweep fills {known}"
                )


def shown_value(given: Given) -> Value:
    """A value of a sweep for tables and axes: lists become texts.

    >>> shown_value(0.5), shown_value((2.0, 5)), shown_value(((1, 2), "3,4"))
    (0.5, '2,5', '1,2 3,4')
    """
    if not isinstance(given, tuple):
        return given
    parts = [str(shown_value(one)).removesuffix(".0") for one in given]
    deep = any(isinstance(one, tuple | str) for one in given)
    return (" " if deep else ",").join(parts)


def file_part(value: Value) -> str:
    """A value as a part of a file name: letters, digits, points and signs.

    A long one ends with a hash in the place of its end.

    >>> file_part(0.25), file_part("random(r=0.25)")
    ('0.25', 'random-r-0.25')
    """
    part = re.sub(r"[^\w.+-]+", "-", str(value)).strip("-.")
    if len(part) <= LONGEST:
        return part
    return f"{part[: LONGEST - 9]}-{hashlib.sha256(str(value).encode()).hexdigest()[:8]}"


def toml_text(value: object) -> str:
    """A value as it would stand in the file, in one line.

    >>> print(toml_text({"horizon": 3, "my r": [True, "a", 0.5]}))
    { horizon = 3, "my r" = [true, 'a', 0.5] }
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # between single quotes everything is as it is, and nothing can be told in other words
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
def errors_at(place: str) -> Iterator[None]:
    """Errors begin with the place in the file that they are about."""
    try:
        yield
    except GraphBanditsError as error:
        raise type(error)(f"{place}: {error}") from error
