"""The commands and their options. Nothing but typer is imported until a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from graphbandits.cli.group import OneLineErrors
from graphbandits.cli.new_commands import new
from graphbandits.errors import InputError, nearest
from graphbandits.version import __version__

GRAPH_HELP = (
    "Who is observed: paper, empty, complete, star, ring, path, cliques(size=3), "
    "grid(columns=4), edges(1-2 2>3:0.5), random(r=0.25), random(r=uniform), "
    "revealed-er(p=0.25), or "
    "file:edges.txt with lines 'source target [probability]'; .csv, .graphml and .npy too, and "
    "with options file(path=edges.csv, directed=false, probability=chance)."
)


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


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a whole number") from None


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a number of seconds") from None


def _load(plugins: list[Path] | None) -> None:
    if plugins:
        from graphbandits.plugins import load_plugin

        for path in plugins:
            load_plugin(path)


def _number(help: str) -> Any:
    return typer.Option(help=help, parser=_whole, metavar="N")


Seed = Annotated[int, _number("Names the random numbers; same seed, same result.")]
FileSeed = Annotated[int | None, _number("Names the random numbers; the file's own, else 0.")]
ExperimentName = Annotated[
    str, typer.Argument(help="A name such as paper-1a, or the path of a TOML file.")
]
Workers = Annotated[int | None, _number("Workers; as many as there are cores if unset.")]
Plugin = Annotated[
    list[Path] | None,
    typer.Option(
        help="A Python file with policies or graphs of your own; repeat for several.",
        metavar="FILE",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]

Bounds = Annotated[
    bool,
    typer.Option(
        "--bounds",
        help="Draw the proved bounds on the regret figure, and show them beside the regrets.",
    ),
]

Ratios = Annotated[
    str | None,
    typer.Option(
        help="Record the information ratios of every trial, by the gain joint (exact) or bound "
        "(G h): they are in the results, and give each policy the bound of Lemma 1.",
        metavar="GAIN",
    ),
]


@app.command()
def reproduce(
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help="One of 1a, 1b, 2a, 2b; repeat for several. All four if unset.", metavar="FIGURE"
        ),
    ] = None,
    trials: Annotated[
        int | None, _number("Trials of each policy; 1000 as in the paper if unset.")
    ] = None,
    seed: Seed = 0,
    output: Annotated[
        Path, typer.Option(help="Directory for figures and results.", metavar="DIR")
    ] = Path("figures"),
    workers: Workers = None,
    bounds: Bounds = False,
) -> None:
    """Run the paper's four experiments and draw their figures.

    1a: a fixed graph of five arms. 1b: a graph redrawn and revealed each round. 2a: random
    feedback with r = 0.25. 2b: random feedback with r uniform each round.

    Example: graphbandits reproduce --figure 1a --trials 200 --output figures
    """
    from graphbandits.cli.reproduce import run

    run(figure, trials, seed, output, workers, bounds)


@app.command()
def simulate(
    policy: Annotated[
        list[str],
        typer.Option(
            help="A policy (see 'graphbandits list'); repeat for several.", metavar="NAME"
        ),
    ],
    graph: Annotated[str, typer.Option(help=GRAPH_HELP, metavar="GRAPH")],
    horizon: Annotated[int, _number("Rounds of each trial.")],
    trials: Annotated[int, _number("Independent trials of each policy.")],
    arms: Annotated[
        int | None, _number("Number of arms; the graph's own, else 5, if unset.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    plugin: Plugin = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Directory for figures, results and report.html; none if unset.", metavar="DIR"
        ),
    ] = None,
    json: Json = False,
    bounds: Bounds = False,
    ratios: Ratios = None,
) -> None:
    """Simulate policies in the same random worlds and compare their regret.

    The arms are Bernoulli with means drawn from a uniform prior.

    Example: graphbandits simulate --policy ids-n --policy ts-n --graph "cliques(size=3)"
    --arms 9 --horizon 500 --trials 200
    """
    _load(plugin)
    from graphbandits.cli.simulate import run

    plugins = plugin or []
    run(policy, graph, horizon, trials, arms, seed, workers, plugins, output, json, bounds, ratios)


@app.command("run")
def run_(
    experiment: ExperimentName,
    trials: Annotated[
        int | None, _number("Trials of each policy; the file's own if unset.")
    ] = None,
    seed: FileSeed = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy to run besides those of the experiment; repeat for several.",
            metavar="NAME",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Directory for figures, results and report.html; its name if unset.", metavar="DIR"
        ),
    ] = None,
    workers: Workers = None,
    plugin: Plugin = None,
    bounds: Bounds = False,
    ratios: Ratios = None,
) -> None:
    """Run an experiment that is described in a file.

    The file has the keys title, graph, arms, horizon, trials, policies, and may have a prior,
    means, what to record, sweeps of parameters with a simulation for each point, figures to draw,
    claims on who has less regret, and more: 'graphbandits new experiment' writes one with all.

    Example: graphbandits run paper-1a --trials 200 --plugin my_ucb.py --policy my-ucb
    """
    _load(plugin)
    from graphbandits.cli.run import run

    run(experiment, trials, seed, policy or [], output, workers, plugin or [], bounds, ratios)


@app.command()
def audit(
    experiment: ExperimentName,
    trials: Annotated[int | None, _number("Trials of each policy; 100 if unset.")] = None,
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
    _load(plugin)
    from graphbandits.cli.audit import run

    raise typer.Exit(run(experiment, trials, seed, policy or [], gain, workers, json))


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
    _load(plugin)
    from graphbandits.cli.inspect import run

    run(beta, graph, samples, seed, json)


@app.command()
def graph(
    text: Annotated[str, typer.Argument(help=GRAPH_HELP, metavar="GRAPH")],
    arms: Annotated[
        int | None, _number("Number of arms; the graph's own, else 5, if unset.")
    ] = None,
    horizon: Annotated[int | None, _number("Rounds of the regret bounds; 1000 if unset.")] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds that the search for each number may take, 5 if unset; what is proved "
            "by then is shown as bounds from both sides.",
            parser=_seconds,
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
    _load(plugin)
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
    _load(plugin)
    from graphbandits.cli.listing import run

    run(what, json)


def main() -> None:
    """The entry point of the ``graphbandits`` command."""
    app()
