"""``graphbandits report``: a page about the studies of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphbandits.cli.options import Plugin, load
from graphbandits.errors import InputError


def report(
    directory: Annotated[Path, typer.Argument(help="A directory that runs wrote to.")],
    study: Annotated[
        list[str] | None,
        typer.Option(help="A study of it; repeat for several. All if unset.", metavar="KEY"),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            help="The page to write, with its numbers beside it as .json; report.html and "
            "summary.json in the directory if unset.",
            metavar="FILE",
        ),
    ] = None,
    plugin: Plugin = None,
) -> None:
    """Write report.html about the studies of a store, complete or not.

    Example: graphbandits report figures --output page.html
    """
    if output == "":
        raise InputError("--output is the page to write, a file .html: its name is empty")
    load(plugin)
    from graphbandits.cli.formatting import plain_console
    from graphbandits.experiments import open_studies
    from graphbandits.experiments.outputs import write_pages

    studies = open_studies(directory)
    written = write_pages(studies.chosen(study), output)
    console = plain_console()
    console.print("Written:")
    for path in written:
        console.print(f"  {path}", soft_wrap=True)
    for one in studies.chosen(study):
        progress = one.progress()
        if not progress.complete:
            console.print(
                f"Not complete: {one.key}, {progress.done} of {progress.trials} trials. To go "
                f"on: {one.rerun}",
                soft_wrap=True,
            )
