"""The commands that read stores, and their options; nothing but typer is imported before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphbandits.cli.options import Json, Plugin, load


def compare(
    directory: Annotated[
        list[Path], typer.Argument(help="Directories that runs wrote to.", metavar="DIR...")
    ],
    reference: Annotated[
        str | None,
        typer.Option(
            help="Show differences from this policy; from the best if unset.", metavar="POLICY"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compare the policies of a store, or of several where the problem is the same.

    Policies of several stores that met the same worlds are compared trial by trial; so are two
    versions of a policy. All intervals of a table hold together.

    Example: graphbandits compare my-study --reference ts-n
    """
    from graphbandits.cli.compare import run

    run(directory, reference, json)


def report(
    directory: Annotated[Path, typer.Argument(help="A directory that runs wrote to.")],
    study: Annotated[
        list[str] | None,
        typer.Option(help="A study of it; repeat for several. All if unset.", metavar="KEY"),
    ] = None,
    output: Annotated[
        Path | None,
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
    load(plugin)
    from graphbandits.cli.report import run

    run(directory, study or [], output)
