"""``graphbandits new``: starting files."""

from __future__ import annotations

import shlex
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
    from graphbandits.experiments import templates

    target = str(templates.new_policy(name, output))
    simulation = ["simulate", "--plugin", target, "--policy", name, "--policy", "ids-n"]
    simulation += ["--graph", "paper", "--horizon", "300", "--trials", "100"]
    _print_written(target, ["check", target], simulation)


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
    from graphbandits.experiments import templates

    target = str(templates.new_experiment(name, output))
    _print_written(target, ["run", target, "--dry-run"], ["run", target])


def _print_written(target: str, *commands: list[str]) -> None:
    """Name the file, and commands to go on with."""
    from graphbandits.cli.formatting import plain_console

    console = plain_console()
    console.print(f"Wrote {target}. Next:", soft_wrap=True)
    for command in commands:
        console.print(f"  {shlex.join(['graphbandits', *command])}", soft_wrap=True)
