"""``graphbandits store export``: a table of all studies of a store as one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from graphbandits.cli.show import file_size, plain_console
from graphbandits.studies import open_studies
from graphbandits.studies.export import export
from graphbandits.studies.progress import listed


def run(directory: Path, table: str, output: Path, studies: Sequence[str], partial: bool) -> None:
    """Write the table, and say how large it is and what is missing from it."""
    chosen = open_studies(directory).chosen(list(studies))
    rows = export(chosen, table, output, partial)
    if table != "graph":
        for study in chosen:
            if missing := study.progress().missing:
                typer.echo(f"not complete: {study.key}: {listed(missing)}", err=True)
    room = file_size(output.stat().st_size)
    plain_console().print(f"{output}: {rows} rows, {room}", soft_wrap=True)
