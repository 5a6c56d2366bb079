"""What the commands share: JSON, a console, counts, durations and sizes."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console

from graphbandits.files import json_text


def print_json(value: Any) -> None:
    """One JSON object; NaN has no place in JSON and becomes null."""
    typer.echo(json_text(value))


def plain_console() -> Console:
    """Standard output, where '[' in a user's name is a bracket and not an instruction."""
    return Console(markup=False, highlight=False, emoji=False)


def count(number: int, what: str) -> str:
    """A number and what is counted.

    >>> count(1, "edge"), count(2, "edge")
    ('1 edge', '2 edges')
    """
    return f"{number} {what}{'s' * (number != 1)}"


def duration(seconds: float) -> str:
    """A length of time as one would say it.

    >>> duration(4.2), duration(200)
    ('4 s', '3 min 20 s')
    """
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60} s"


def file_size(count: float) -> str:
    """A number of bytes as one would say it.

    >>> file_size(999), file_size(1_500_000), file_size(2 * 10**13)
    ('999 bytes', '1.5 MB', '20000 GB')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.{0 if count >= 100 * size else 1}f} {unit}"
    return f"{count:.0f} byte{'s' * (round(count) != 1)}"
