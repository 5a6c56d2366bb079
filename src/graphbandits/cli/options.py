"""Options that several commands have. Nothing but typer is imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

Plugin = Annotated[
    list[Path] | None,
    typer.Option(
        help="A Python file with policies or graphs of your own; repeat for several.",
        metavar="FILE",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def load(plugins: Sequence[Path] | None) -> None:
    """Load the files of ``--plugin``."""
    if plugins:
        from graphbandits.plugins import load_plugin

        for path in plugins:
            load_plugin(path)
