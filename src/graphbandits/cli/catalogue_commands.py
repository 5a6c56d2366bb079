"""``graphbandits list`` and ``new``: what there is, and starting files for more."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

import graphbandits
from graphbandits.cli import options
from graphbandits.cli.formatting import plain_table, print_json, show, show_line
from graphbandits.cli.options import load, option

new = typer.Typer(no_args_is_help=True, help="Write a starting file.")


def list_(
    what: Annotated[
        str, typer.Argument(help="policies, graphs, posteriors or experiments; all if left out.")
    ] = "",
    plugin: options.Plugin = None,
    json: options.Json = False,
) -> None:
    """Show the policies, graphs and experiments there are, with their parameters and needs."""
    load(plugin)
    listing = graphbandits.list_available(what)
    if json:
        print_json(listing)
        return
    for plural, entries in listing.items():
        rows = [_row(entry) for entry in entries]
        table = plain_table(plural, list(rows[0]))
        table.columns[0].no_wrap = True
        for row in rows:
            table.add_row(*row.values())
        show(table)


def _row(entry: dict[str, Any]) -> dict[str, str]:
    """The cells of an entry, by the title of their column."""
    row = {"name": entry["name"], "what it is": entry["description"]}
    if "size" in entry:
        size = {what: number for what, number in entry["size"].items() if number is not None}
        row["size"] = ", ".join(f"{_shown(number)} {what}" for what, number in size.items())
        row["runs"] = str(entry["runs"])
    if "parameters" in entry:
        row["parameters"] = ", ".join(
            name if default is None else f"{name}={default}"
            for name, default in entry["parameters"].items()
        )
    return row | ({"is told": entry["graph_known"]} if "graph_known" in entry else {})


def _shown(number: int | list[int]) -> str:
    """A size in words.

    >>> _shown(5), _shown([2, 3, 100])
    ('5', '2 to 100')
    """
    return f"{min(number)} to {max(number)}" if isinstance(number, list) else str(number)


@new.command("policy")
def new_policy(
    name: Annotated[str, typer.Argument(help="Its name in texts, such as my-ucb.")],
    output: Annotated[
        Path | None, option("FILE", "The file to write; named after the policy if unset.")
    ] = None,
) -> None:
    """Write a commented policy that works and passes the contract, to be made your own.

    Example: graphbandits new policy my-ucb
    """
    target = str(graphbandits.new_policy(name, output))
    simulation = ["simulate", "--plugin", target, "--policy", name, "--policy", "ids-n"]
    simulation += ["--graph", "paper", "--horizon", "300", "--trials", "100"]
    _print_written(target, ["check", target], simulation)


@new.command("experiment")
def new_experiment(
    name: Annotated[
        str, typer.Argument(help="Its name, such as my-study; my-experiment if left out.")
    ] = "my-experiment",
    output: Annotated[
        Path | None, option("FILE", "The file to write; named after the experiment if unset.")
    ] = None,
) -> None:
    """Write a commented experiment that runs in seconds and shows every key.

    Example: graphbandits new experiment my-study
    """
    target = str(graphbandits.new_experiment(name, output))
    _print_written(target, ["run", target, "--dry-run"], ["run", target])


def _print_written(target: str, *commands: list[str]) -> None:
    """Name the file, and commands to go on with."""
    show_line(f"Wrote {target}. Next:")
    for command in commands:
        show_line(f"  {shlex.join(['graphbandits', *command])}")
