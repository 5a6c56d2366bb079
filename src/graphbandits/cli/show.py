"""What the commands share: JSON, the number of threads, how long it will take."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from graphbandits.errors import whole_number
from graphbandits.jit import compiled_before

if TYPE_CHECKING:
    from graphbandits.engine import Plan

#: Decisions that take long enough to be told so beforehand.
LONG = 10**6


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
    if Console(stderr=True).is_terminal and not compiled_before():
        typer.echo(f"Compiling for this machine, once: about {how_long} ...", err=True)


def duration(seconds: float) -> str:
    """A length of time as one would say it.

    >>> duration(4.2), duration(200)
    ('4 s', '3 min 20 s')
    """
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60} s"


def announce_time(plans: Collection[Plan], threads: int, output: object) -> None:
    """Measure how long the plans will take, and say so."""
    console = plain_console()
    console.print("Measuring how long it will take (the first run also compiles: half a minute)")
    seconds = sum(plan.seconds(threads) for plan in plans)
    console.print(
        f"About {duration(seconds)} of simulation on {threads} thread{'s' if threads > 1 else ''}, "
        "and some seconds for each figure;\n"
        f"figures and results go to {output}/\n"
    )


def announce_long(plans: Collection[Plan], threads: int, output: object) -> None:
    """The same where it will take long; else what a first run needs to say."""
    # ratios take ten times as long, and more by the joint gain
    if sum(plan.decisions * (10 if plan.recording.ratios else 1) for plan in plans) >= LONG:
        announce_time(plans, threads, output)
    else:
        announce_compilation()
