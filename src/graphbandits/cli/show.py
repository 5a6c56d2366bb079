"""What the commands share: JSON, the number of threads, how long it will take."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import typer
from rich.console import Console

from graphbandits.errors import whole_number


def print_json(value: Any) -> None:
    """One JSON object; NaN has no place in JSON and becomes null."""
    typer.echo(as_json(value))


def as_json(value: Any) -> str:
    """JSON in ASCII, so that every terminal and pipe can carry it.

    >>> print(as_json({"interval": [1.0, float("nan")]}))
    {
      "interval": [
        1.0,
        null
      ]
    }
    """
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain_console() -> Console:
    """Standard output, where '[' in a user's name is a bracket and not an instruction."""
    return Console(markup=False, highlight=False, emoji=False)


def worker_count(given: int | None) -> int:
    """The number of threads: as asked, else one for each core this process may use."""
    if given is not None:
        return whole_number(given, "workers")
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def announce_compilation(how_long: str = "20 seconds") -> None:
    """Say on a terminal why nothing happens for a while, the first time."""
    from graphbandits.jit import compiled_before  # numba, which --help must not wait for

    if Console(stderr=True).is_terminal and not compiled_before():
        typer.echo(f"Compiling for this machine, once: about {how_long} ...", err=True)


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
