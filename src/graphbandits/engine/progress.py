"""A progress bar with the time left, on a terminal; silence elsewhere."""

from __future__ import annotations

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

#: Called with the number of decisions made since the last call.
Advance = Callable[[int], None]


@contextmanager
def progress_bar(label: str, decisions: int) -> Iterator[Advance]:
    """Show a bar on standard error for as long as the context lasts.

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
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(label, total=decisions)
        yield lambda done: bar.advance(task, done)
