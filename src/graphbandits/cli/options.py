"""Options that several commands have. Nothing but typer is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

GRAPH_HELP = (
    "Who is observed: paper, empty, complete, star, ring, path, cliques(size=3), "
    "grid(columns=4), edges(1-2 2>3:0.5), random(r=0.25), random(r=uniform), "
    "revealed-er(p=0.25), or "
    "file:edges.txt with lines 'source target [probability]'; .csv, .graphml and .npy too, and "
    "with options file(path=edges.csv, directed=false, probability=chance)."
)


def _parser(kind: Callable[[str], Any], what: str) -> Callable[[str], Any]:
    """A parser whose error quotes what was typed."""

    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise typer.BadParameter(f"'{text}' is not a {what}") from None

    return parse


def option(metavar: str, help: str, **more: Any) -> Any:
    """An option with a value."""
    return typer.Option(help=help, metavar=metavar, **more)


def number(help: str) -> Any:
    """An option that is a whole number."""
    return option("N", help, parser=_parser(int, "whole number"))


def seconds(help: str) -> Any:
    """An option that is a length of time."""
    return option("SECONDS", help, parser=_parser(float, "number of seconds"))


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help)


Seed = Annotated[int, number("Names the random numbers; same seed, same result.")]
FileSeed = Annotated[int | None, number("Names the random numbers; the file's own, else 0.")]
Arms = Annotated[int | None, number("Number of arms; the graph's own, else 5, if unset.")]
Graph = Annotated[str, option("GRAPH", GRAPH_HELP)]
ExperimentName = Annotated[
    str, typer.Argument(help="A name such as paper-1a, or the path of a TOML file.")
]
Workers = Annotated[
    int | None, number("Local worker processes; as many workers as there are cores if unset.")
]
Cluster = Annotated[
    str | None,
    option(
        "ADDRESS",
        "Run on a dask.distributed cluster: the address of its scheduler, such as "
        "tcp://host:8786, or local, which starts one here.",
    ),
]
Plugin = Annotated[
    list[Path] | None,
    option("FILE", "A Python file with policies or graphs of your own; repeat for several."),
]
StudyKeys = Annotated[
    list[str] | None, option("KEY", "A study of it; repeat for several. All if unset.")
]
Json = Annotated[bool, flag("--json", "Print one JSON object instead of a table.")]
Bounds = Annotated[
    bool,
    flag(
        "--bounds", "Draw the proved bounds on the regret figure, and show them beside the regrets."
    ),
]
Ratios = Annotated[
    str | None,
    option(
        "GAIN",
        "Record the information ratios of every trial, by the gain joint (exact) or bound "
        "(G h): they are in the results, and give each policy the bound of Lemma 1.",
    ),
]


def load(plugins: Sequence[Path] | None) -> None:
    """Load the files of ``--plugin``."""
    if plugins:
        from graphbandits.plugins import load_plugin

        for path in plugins:
            load_plugin(path)
