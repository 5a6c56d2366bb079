"""Progress on a terminal: a bar with the time left, and that code is compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from graphbandits._jit import compiled_before

#: Called with the number of decisions made since the last call.
Advance = Callable[[int], None]


def announce_compilation(how_long: str = "20 seconds") -> None:
    """Say on a terminal why nothing happens for a while, the first time."""
    if Console(stderr=True).is_terminal and not compiled_before():
        print(f"Compiling for this machine, once: about {how_long} ...", file=sys.stderr)


@contextmanager
def progress_bar(label: str, decisions: int, show: bool = True) -> Iterator[Advance]:
    """Show a bar on standard error for as long as the context lasts, if it is a terminal.

    >>> with progress_bar("simulating", decisions=100) as advance:
    ...     advance(100)
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not (show and console.is_terminal)
    ) as bar:
        task = bar.add_task(label, total=decisions)
        yield lambda done: bar.advance(task, done)
