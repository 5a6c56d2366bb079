"""``graphbandits graph``: a graph, and the numbers that regret bounds scale with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphbandits.cli.options import GRAPH_HELP, Json, Plugin, load, number, seconds

if TYPE_CHECKING:
    from graphbandits.experiments.describe import GraphDescription

#: Characters of a certificate on the terminal; JSON has all of it.
SHOWN = 48


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
    from graphbandits.cli.formatting import plain_console, print_json
    from graphbandits.experiments.describe import describe_graph

    found = describe_graph(
        text, arms, horizon=horizon, time_limit=time_limit, plot=plot, progress=not json
    )
    if json:
        print_json(found.to_dict())
        return
    _print_numbers(found)
    _print_bounds(found)
    for file in found.files:
        plain_console().print(f"Wrote {file}.", soft_wrap=True)


def _print_numbers(description: GraphDescription) -> None:
    from graphbandits.cli.formatting import count, plain_console
    from graphbandits.cli.tables import plain_table
    from graphbandits.experiments.describe import span

    console, found = plain_console(), description.to_dict()
    way = "directed" if found["directed"] else "undirected"
    out, back = (_degrees(found["degrees"][way]) for way in ("out", "in"))
    console.print(
        f"Graph {found['graph']}: {count(found['arms'], 'arm')}, {count(found['edges'], 'edge')} "
        f"({way}), density {found['density']:.4g}, {count(found['components'], 'component')}.\n"
        f"Degrees: {f'out {out}; in {back}' if found['directed'] else out}.",
        soft_wrap=True,
    )
    if found["note"]:
        console.print(found["note"])
    if (numbers := description.numbers) is None:
        return
    table = plain_table("", ["number", "value", "shown by"], [])
    cliques = [f"{{{', '.join(clique)}}}" for clique in found["clique_cover"]["certificate"]]
    table.add_row("clique cover", span(numbers.clique_cover), _shortened(cliques, " "))
    for key, bracket in (
        ("independence", numbers.independence),
        ("domination", numbers.domination),
    ):
        table.add_row(key, span(bracket), _shortened(found[key]["certificate"], ", "))
    table.add_row("fractional domination", span(numbers.fractional_domination), "")
    console.print(table)
    searched = (numbers.clique_cover, numbers.independence, numbers.domination)
    if not all(bracket.proved for bracket in (*searched, numbers.fractional_domination)):
        console.print(
            f"Where the value is 'a to b', at least a and at most b is proved; a search may "
            f"take {description.time_limit:g} s, or as --time-limit says.\n",
            style="dim",
        )


def _print_bounds(found: GraphDescription) -> None:
    from graphbandits.cli.formatting import plain_console
    from graphbandits.cli.tables import plain_table

    console = plain_console()
    console.print(
        f"The expected regret of {found.horizon} rounds with equal priors (H = log K) is at most:"
    )
    table = plain_table("", ["bound", "proved for"], ["regret"])
    table.add_column("formula")
    for bound in found.bounds:
        value = f"{bound.final:.2f}"
        if bound.final_error:
            value += f" ({bound.final_error:.2f})"
        table.add_row(bound.name, ", ".join(bound.policies), value, bound.formula)
    console.print(table)
    notes = {bound.note for bound in found.bounds}
    if any(bound.final_error for bound in found.bounds):
        notes.add("In brackets: the standard error of a bound that is estimated.")
    if any(bound.final > found.horizon for bound in found.bounds):
        notes.add("A bound above the number of rounds says nothing: no regret exceeds it.")
    for note in sorted(notes - {""}):
        console.print(note, style="dim")


def _degrees(spread: dict[str, Any]) -> str:
    if spread["min"] == spread["max"]:
        return f"{spread['min']:.4g} each"
    return f"{spread['min']:.4g} to {spread['max']:.4g}, {spread['mean']:.4g} on average"


def _shortened(items: Sequence[str], between: str) -> str:
    """The first few, and how many more.

    >>> _shortened(["1", "2"], ", "), _shortened(["ann" * 15, "bob" * 15, "eve"], ", ")[-12:]
    ('1, 2', ', and 2 more')
    """
    count = 1
    while count < len(items) and len(between.join(items[: count + 1])) <= SHOWN:
        count += 1
    more = f"{between}and {len(items) - count} more" if count < len(items) else ""
    return between.join(items[:count]) + more
