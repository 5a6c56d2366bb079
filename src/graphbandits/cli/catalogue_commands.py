"""``graphbandits list`` and ``new``: list what is available, and create files from templates."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

import graphbandits
from graphbandits.cli import options
from graphbandits.cli.formatting import plain_table, print_json, print_line, print_table
from graphbandits.cli.options import load, option

new = typer.Typer(
    no_args_is_help=True, help="Create a plug-in or experiment file from a commented template."
)


#: Policies of the simulations that are suggested.
_POLICIES = ("--policy", "ids-n", "--policy", "ts-n")
_SIZE = ("--horizon", "300", "--trials", "100")


def list_(
    what: Annotated[
        str,
        typer.Argument(help="policies, graphs, worlds, posteriors or experiments. Default: all."),
    ] = "",
    plugin: options.Plugin = None,
    json: options.Json = False,
) -> None:
    """List the available plug-ins and experiments with their parameters.

    Example: graphbandits list policies
    """
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
        print_table(table)


def _row(entry: dict[str, Any]) -> dict[str, str]:
    """Return the cells of a table row by column title."""
    row = {"name": entry["name"], "description": entry["description"]}
    if "size" in entry:
        size = {what: number for what, number in entry["size"].items() if number is not None}
        row["size"] = ", ".join(f"{_size_text(number)} {what}" for what, number in size.items())
        row["simulations"] = str(entry["runs"])
    if "parameters" in entry:
        row["parameters"] = ", ".join(
            name if default is None else f"{name}={default}"
            for name, default in entry["parameters"].items()
        )
    return row | ({"needs": entry["graph_known"]} if "graph_known" in entry else {})


def _size_text(number: int | list[int]) -> str:
    """Format a size or a range of sizes.

    >>> _size_text(5), _size_text([2, 3, 100])
    ('5', '2 to 100')
    """
    return f"{min(number)} to {max(number)}" if isinstance(number, list) else str(number)


@new.command("policy")
def new_policy(
    name: Annotated[str, typer.Argument(help="Name of the policy, such as my-ucb.")],
    output: Annotated[
        Path | None, option("FILE", "File to write. Default: named after the policy.")
    ] = None,
) -> None:
    """Create a commented, working policy that passes the contract tests, as a starting point.

    Example: graphbandits new policy my-ucb
    """
    target = str(graphbandits.new_policy(name, output))
    simulation = ["simulate", "--plugin", target, "--policy", name, "--policy", "ids-n"]
    _print_written(target, ["check", target], [*simulation, "--graph", "paper", *_SIZE])


@new.command("graph")
def new_graph(
    name: Annotated[str, typer.Argument(help="Name of the graph, such as my-path.")],
    output: Annotated[
        Path | None, option("FILE", "File to write. Default: named after the graph.")
    ] = None,
) -> None:
    """Create a commented, working graph that passes the contract tests, as a starting point.

    Example: graphbandits new graph my-path
    """
    target = str(graphbandits.new_graph(name, output))
    simulation = ["simulate", "--plugin", target, "--graph", name, "--arms", "6"]
    _print_written(target, ["check", target], [*simulation, *_POLICIES, *_SIZE])


@new.command("world")
def new_world(
    name: Annotated[str, typer.Argument(help="Name of the world, such as my-world.")],
    output: Annotated[
        Path | None, option("FILE", "File to write. Default: named after the world.")
    ] = None,
) -> None:
    """Create a commented, working world that passes the contract tests, as a starting point.

    Example: graphbandits new world my-world
    """
    target = str(graphbandits.new_world(name, output))
    simulation = ["simulate", "--plugin", target, "--world", name, "--graph", "star"]
    simulation += ["--arms", "5", *_POLICIES, *_SIZE]
    _print_written(target, ["check", target], simulation)


@new.command("posterior")
def new_posterior(
    name: Annotated[str, typer.Argument(help="Name of the posterior, such as my-normal.")],
    output: Annotated[
        Path | None, option("FILE", "File to write. Default: named after the posterior.")
    ] = None,
) -> None:
    """Create a commented, working posterior that passes the contract tests, as a starting point.

    Example: graphbandits new posterior my-normal
    """
    target = str(graphbandits.new_posterior(name, output))
    simulation = ["simulate", "--plugin", target, "--world", "gaussian", "--posterior", name]
    # sums over a grid are slow
    simulation += ["--graph", "star", "--arms", "3", *_POLICIES, "--horizon", "50"]
    _print_written(target, ["check", target], [*simulation, "--trials", "10"])


@new.command("experiment")
def new_experiment(
    name: Annotated[
        str, typer.Argument(help="Name of the experiment, such as my-study.")
    ] = "my-experiment",
    output: Annotated[
        Path | None, option("FILE", "File to write. Default: named after the experiment.")
    ] = None,
) -> None:
    """Create a commented experiment file that shows every key and runs in seconds.

    Example: graphbandits new experiment my-study
    """
    target = str(graphbandits.new_experiment(name, output))
    _print_written(target, ["run", target, "--dry-run"], ["run", target])


def _print_written(target: str, *commands: list[str]) -> None:
    """Print the name of the file and the next commands to run."""
    print_line(f"Wrote {target}. Next:")
    for command in commands:
        print_line(f"  {shlex.join(['graphbandits', *command])}")
