"""The commands and their options. Nothing but typer is imported until a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphbandits.cli.compare import compare
from graphbandits.cli.group import OneLineErrors
from graphbandits.cli.new_commands import new
from graphbandits.cli.options import (
    GRAPH_HELP,
    ExperimentName,
    FileSeed,
    Json,
    Plugin,
    Workers,
    load,
    number,
    seconds,
)
from graphbandits.cli.report import report
from graphbandits.cli.reproduce import reproduce
from graphbandits.cli.run import run
from graphbandits.cli.simulate import simulate
from graphbandits.cli.store_commands import store
from graphbandits.errors import InputError, nearest
from graphbandits.version import __version__

app = typer.Typer(
    cls=OneLineErrors,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help=(
        "Bandits where playing one arm also shows you its neighbours.\n\n"
        "Start with `graphbandits inspect --beta 1,2 --beta 4,4 --beta 12,9 --graph star`, which "
        "lays one decision open, or `graphbandits reproduce`, which draws the paper's figures."
    ),
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"graphbandits {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


app.command()(reproduce)
app.command()(simulate)
app.command()(run)


@app.command()
def audit(
    experiment: ExperimentName,
    trials: Annotated[int | None, number("Trials of each policy; 100 if unset.")] = None,
    seed: FileSeed = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy to audit besides those of the experiment that a theorem is about; "
            "repeat for several.",
            metavar="NAME",
        ),
    ] = None,
    gain: Annotated[
        str,
        typer.Option(
            help="What information is by: joint (exact), bound (G h), or auto: joint where it is "
            "quick.",
            metavar="GAIN",
        ),
    ] = "auto",
    workers: Workers = None,
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Check the paper's statements in every round of an experiment.

    Propositions 1 and 2, Lemmas 2 and 3 and Theorems 1 to 3, for the policies and graphs that each
    is about. Ends with exit code 1 if one is violated, and prints the command that shows the state.

    Example: graphbandits audit paper-1a --trials 20
    """
    load(plugin)
    from graphbandits.cli.audit import run as audit_

    raise typer.Exit(audit_(experiment, trials, seed, policy or [], gain, workers, json))


@app.command()
def check(
    plugin: Annotated[
        list[str],
        typer.Argument(help="A Python file with plug-ins of your own, or the name of a policy."),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run this check only; repeat for several.", metavar="CHECK"),
    ] = None,
    json: Json = False,
) -> None:
    """Try the contract on a policy, graph or posterior: a verdict for each promise.

    Ends with exit code 1 if a promise is broken.

    Example: graphbandits check my_ucb.py
    """
    from graphbandits.cli.check import run

    raise typer.Exit(run(plugin, only or [], json))


app.add_typer(new, name="new")
app.add_typer(store, name="store")


@app.command()
def inspect(
    beta: Annotated[
        list[str],
        typer.Option(
            help="The posterior Beta(A,B) of an arm, as A,B; once for each arm.", metavar="A,B"
        ),
    ],
    graph: Annotated[str, typer.Option(help=GRAPH_HELP, metavar="GRAPH")],
    samples: Annotated[
        int | None,
        typer.Option(help="Estimate the joint gain g from so many draws, too.", metavar="N"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Names the draws of --samples.", metavar="N")] = 0,
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Lay one decision open: what is believed, what each arm would teach, what to play.

    Example: graphbandits inspect --beta 1,2 --beta 4,4 --beta 12,9 --graph star
    """
    load(plugin)
    from graphbandits.cli.inspect import run

    run(beta, graph, samples, seed, json)


@app.command()
def graph(
    text: Annotated[str, typer.Argument(help=GRAPH_HELP, metavar="GRAPH")],
    arms: Annotated[
        int | None, number("Number of arms; the graph's own, else 5, if unset.")
    ] = None,
    horizon: Annotated[int | None, number("Rounds of the regret bounds; 1000 if unset.")] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds that the search for each number may take, 5 if unset; what is proved "
            "by then is shown as bounds from both sides.",
            parser=seconds,
            metavar="SECONDS",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the graph, its cliques coloured, to a .png, .svg or .pdf file.",
            metavar="FILE",
        ),
    ] = None,
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Tell what a graph is: its degrees, the numbers that regret bounds scale with, the bounds.

    The clique cover number, the independence number and the (fractional) domination number, each
    with the cliques or arms that show it. On a directed graph cliques need edges both ways.

    Example: graphbandits graph "edges(1-2 1-3 2-3 3-4 3-5 4-5)" --plot paper.png
    """
    load(plugin)
    from graphbandits.cli.graph import run

    run(text, arms, time_limit, horizon, plot, json)


@app.command("list")
def list_(
    what: Annotated[
        str, typer.Argument(help="policies, graphs, posteriors or experiments; all if left out.")
    ] = "",
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Show the policies, graphs and experiments there are, with their parameters and needs."""
    kinds = ("policies", "graphs", "posteriors", "experiments")
    if what and what not in kinds:
        raise InputError(f"list shows {', '.join(kinds)}, not '{what}': {nearest(what, kinds)}")
    load(plugin)
    from graphbandits.cli.listing import run

    run(what, json)


app.command()(compare)
app.command()(report)


def main() -> None:
    """The entry point of the ``graphbandits`` command."""
    app()
