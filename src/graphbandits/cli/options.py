"""Options that several commands have. Nothing but typer is imported."""

from __future__ import annotations

from collections.abc import Sequence
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


def whole(text: str) -> int:
    """A whole number, as it was typed."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a whole number") from None


def seconds(text: str) -> float:
    """A time, as it was typed."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a number of seconds") from None


def number(help: str) -> Any:
    """An option that is a whole number."""
    return typer.Option(help=help, parser=whole, metavar="N")


Seed = Annotated[int, number("Names the random numbers; same seed, same result.")]
FileSeed = Annotated[int | None, number("Names the random numbers; the file's own, else 0.")]
ExperimentName = Annotated[
    str, typer.Argument(help="A name such as paper-1a, or the path of a TOML file.")
]
Workers = Annotated[
    int | None,
    number("Local worker processes; as many workers as there are cores if unset."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Run on a dask.distributed cluster: the address of its scheduler, such as "
        "tcp://host:8786, or local, which starts one here.",
        metavar="ADDRESS",
    ),
]
Shard = Annotated[
    int | None,
    number("Trials that are computed and kept together; 250 if unset, fewer of long ones."),
]
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


def load(plugins: Sequence[Path] | None) -> None:
    """Load the files of ``--plugin``."""
    if plugins:
        from graphbandits.plugins import load_plugin

        for path in plugins:
            load_plugin(path)
