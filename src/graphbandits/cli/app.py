"""The commands and their options. Nothing but typer is imported until a command runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from graphbandits.errors import GraphBanditsError, InputError, nearest
from graphbandits.version import __version__

GRAPH_HELP = (
    "Who is observed: paper, empty, complete, star, ring, path, cliques(size=3), "
    "grid(columns=4), random(r=0.25), random(r=uniform), revealed-er(p=0.25), or "
    "file:edges.txt with lines 'source target [probability]'; .csv, .graphml and .npy too, and "
    "with options file(path=edges.csv, directed=false, probability=chance)."
)


class _Group(TyperGroup):
    """Errors in one line, without a traceback, exit code 2."""

    def main(self, *args: Any, **options: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a '?' is better than a traceback
                stream.reconfigure(errors="replace")
        standalone = options.get("standalone_mode", True)
        try:
            code = super().main(*args, **(options | {"standalone_mode": False}))
        except GraphBanditsError as error:
            _fail(str(error))
        except Exception as error:
            # typer's own errors about options and arguments
            if not hasattr(error, "format_message"):
                raise
            message = error.format_message()
            if not message:  # no command was given, and the help has been shown
                raise SystemExit(0) from None
            _fail(message)
        if standalone:
            raise SystemExit(code if isinstance(code, int) else 0)
        return code

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            left = str(stop) or "nothing was written for what had not finished"
            typer.echo(f"stopped; {left}.", err=True)
            raise SystemExit(130) from None


def _fail(message: str) -> None:
    typer.echo("Error: " + " ".join(message.split()), err=True)
    raise SystemExit(2)


app = typer.Typer(
    cls=_Group,
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


def _load(plugins: list[Path] | None) -> None:
    if plugins:
        from graphbandits.plugins import load_plugin

        for path in plugins:
            load_plugin(path)


def _number(help: str) -> Any:
    return typer.Option(help=help, parser=_whole, metavar="N")


Seed = Annotated[int, _number("Names the random numbers; same seed, same result.")]
Workers = Annotated[int | None, _number("Workers; as many as there are cores if unset.")]
Plugin = Annotated[
    list[Path] | None,
    typer.Option(
        help="A Python file with policies or graphs of your own; repeat for several.",
        metavar="FILE",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


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
) -> None:
    """Run the paper's four experiments and draw their figures.

    1a: a fixed graph of five arms. 1b: a graph redrawn and revealed each round. 2a: random
    feedback with r = 0.25. 2b: random feedback with r uniform each round.

    Example: graphbandits reproduce --figure 1a --trials 200 --output figures
    """
    from graphbandits.cli.reproduce import run

    run(figure, trials, seed, output, workers)


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
) -> None:
    """Simulate policies in the same random worlds and compare their regret.

    The arms are Bernoulli with means drawn from a uniform prior.

    Example: graphbandits simulate --policy ids-n --policy ts-n --graph "cliques(size=3)"
    --arms 9 --horizon 500 --trials 200
    """
    _load(plugin)
    from graphbandits.cli.simulate import run

    run(policy, graph, horizon, trials, arms, seed, workers, plugin or [], output, json)


@app.command("run")
def run_(
    experiment: Annotated[
        str, typer.Argument(help="A name such as paper-1a, or the path of a TOML file.")
    ],
    trials: Annotated[
        int | None, _number("Trials of each policy; the file's own if unset.")
    ] = None,
    seed: Annotated[
        int | None, _number("Names the random numbers; the file's own, else 0.")
    ] = None,
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
) -> None:
    """Run an experiment that is described in a file.

    The file has the keys title, graph, arms, horizon, trials, policies, and may have seed,
    plugins (Python files, relative to it), notes, claims on who has less regret, published means,
    and sweeps of a parameter, with a simulation for each of its values.

    Example: graphbandits run paper-1a --trials 200 --plugin my_ucb.py --policy my-ucb
    """
    _load(plugin)
    from graphbandits.cli.run import run

    run(experiment, trials, seed, policy or [], output, workers, plugin or [])


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


new = typer.Typer(no_args_is_help=True, help="Write a starting file.")
app.add_typer(new, name="new")


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
