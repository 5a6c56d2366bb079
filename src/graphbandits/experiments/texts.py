"""Placeholders: ``{r}`` in the text of a graph or policy stands for a value of a sweep."""

from __future__ import annotations

import re
from collections.abc import Iterable

from graphbandits.errors import InputError

#: A value of a sweep.
Value = int | float | str
#: Stands for all of its values where a policy is one line of a sweep.
SWEPT = "…"
#: Braces around anything but a dictionary.
_PLACEHOLDER = re.compile(r"\{([^{}:,]*)\}")


def placeholders(text: str) -> list[str]:
    """The names in braces, in their order.

    >>> placeholders("revealed-er(p={p}, directed={way})")
    ['p', 'way']
    """
    return _PLACEHOLDER.findall(text)


def filled(text: str, value: Value) -> str:
    """The text with the value in the place of every placeholder.

    >>> filled("random(r={r})", 0.25)
    'random(r=0.25)'
    """
    return _PLACEHOLDER.sub(lambda _: str(value), text)


def check_placeholders(texts: Iterable[str], parameter: str | None = None) -> None:
    """Refuse a placeholder that is not that of the sweep's ``parameter``."""
    for text in texts:
        for name in placeholders(text):
            if parameter is None:
                raise InputError(
                    f"nothing fills the placeholder {{{name}}} of '{text}': add a [[sweeps]] with "
                    f'parameter = "{name or "r"}" and its values'
                )
            if name != parameter:
                raise InputError(
                    f"unknown placeholder {{{name}}} in '{text}': this sweep fills {{{parameter}}}"
                )


def file_part(value: Value) -> str:
    """A value as a part of a file name: letters, digits, points and signs.

    >>> file_part(0.25), file_part("random(r=0.25)")
    ('0.25', 'random-r-0.25')
    """
    return re.sub(r"[^\w.+-]+", "-", str(value)).strip("-.")
