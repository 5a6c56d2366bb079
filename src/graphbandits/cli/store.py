"""``graphbandits store``: the commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphbandits.cli.options import Json

store = typer.Typer(no_args_is_help=True, help="Look after what experiments have left on disk.")

Directory = Annotated[
    Path, typer.Argument(help="A directory that 'graphbandits run' wrote to.", metavar="DIR")
]


@store.command("ls")
def list_(directory: Directory, json: Json = False) -> None:
    """Show the studies of a store, how far each has come, and the disk they take.

    Example: graphbandits store ls paper-1a
    """
    from graphbandits.cli.storekeeping import show

    show(directory, json)


@store.command()
def verify(directory: Directory, json: Json = False) -> None:
    """Read every file of a store and hold it against its checksum.

    Ends with exit code 1 if something is wrong, and says what to do.

    Example: graphbandits store verify paper-1a
    """
    from graphbandits.cli.storekeeping import check

    raise typer.Exit(check(directory, json))


@store.command()
def gc(
    directory: Directory,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    json: Json = False,
) -> None:
    """Remove what no study of a store needs: shards, leftovers of killed runs.

    Files of other names, such as figures and reports, are left alone.

    Example: graphbandits store gc paper-1a --dry-run
    """
    from graphbandits.cli.storekeeping import tidy

    tidy(directory, dry_run, json)


@store.command("export")
def export_(
    directory: Directory,
    output: Annotated[
        Path, typer.Option(help="The file: .parquet, .csv or .csv.gz.", metavar="FILE")
    ],
    table: Annotated[
        str,
        typer.Option(
            help="final (each trial), curve (each round), plays, regret (each trial and round), "
            "ratios or graph.",
            metavar="TABLE",
        ),
    ] = "final",
    study: Annotated[
        list[str] | None,
        typer.Option(help="A study of it; repeat for several. All if unset.", metavar="KEY"),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Take the trials that are there.")
    ] = False,
) -> None:
    """Write a table of all simulations to one file, the swept parameters in front.

    Example: graphbandits store export my-study --table regret --output regret.parquet
    """
    from graphbandits.cli.export import run

    run(directory, table, output, study or [], partial)
