"""Terminal output during a run: a progress bar, and a note while kernels are compiled."""

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

from graphbandits._jit import announce, compiled_before

#: Called with the number of decisions made since the last call.
Advance = Callable[[int], None]


#: Time of the first compilation on a common machine; the joint gain adds to it.
COMPILATION = "20 seconds"
JOINT_COMPILATION = "half a minute"


def announce_compilation(duration: str = COMPILATION) -> None:
    """Print a note on a terminal if kernels are compiled first, and how long that takes."""
    if not compiled_before():
        announce(f": about {duration}")


@contextmanager
def progress_bar(label: str, decisions: int, show: bool = True) -> Iterator[Advance]:
    """Show a progress bar on standard error if it is a terminal."""
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
