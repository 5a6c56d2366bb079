"""The commands of ``graphbandits new`` and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

new = typer.Typer(no_args_is_help=True, help="Write a starting file.")


@new.command("policy")
def new_policy(
    name: Annotated[str, typer.Argument(help="Its name in texts, such as my-ucb.")],
    output: Annotated[
        Path | None,
        typer.Option(help="The file to write; named after the policy if unset.", metavar="FILE"),
    ] = None,
) -> None:
    """Write a commented policy that works and passes the contract, to be made your own.

    Example: graphbandits new policy my-ucb
    """
    from graphbandits.cli.new import write_policy

    write_policy(name, output)


@new.command("experiment")
def new_experiment(
    name: Annotated[
        str, typer.Argument(help="Its name, such as my-study; my-experiment if left out.")
    ] = "my-experiment",
    output: Annotated[
        Path | None,
        typer.Option(
            help="The file to write; named after the experiment if unset.", metavar="FILE"
        ),
    ] = None,
) -> None:
    """Write a commented experiment that runs in seconds and shows every key.

    Example: graphbandits new experiment my-study
    """
    from graphbandits.cli.new import write_experiment

    write_experiment(name, output)
