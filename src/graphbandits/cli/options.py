"""Options shared by several commands. Only typer is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

GRAPH_HELP = (
    "Feedback graph: paper, empty, complete, star, ring, path, cliques(size=3), "
    "grid(columns=4), edges(1-2 2>3:0.5), random(r=0.25), random(r=uniform), "
    "revealed-er(p=0.25), or a file: file:edges.txt with lines 'source target [probability]', "
    ".csv, .graphml or .npy; with options: "
    "file(path=edges.csv, directed=false, probability=chance)."
)


def _parser(kind: Callable[[str], Any], what: str) -> Callable[[str], Any]:
    """Return a parser whose error message quotes the input."""

    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise typer.BadParameter(f"'{text}' is not {what}") from None

    return parse


def option(metavar: str, help: str, **more: Any) -> Any:
    """Define an option with a value."""
    return typer.Option(help=help, metavar=metavar, **more)


def number(help: str) -> Any:
    """Define an integer option."""
    return option("N", help, parser=_parser(int, "an integer"))


def seconds(help: str) -> Any:
    """Define an option for a duration in seconds."""
    return option("SECONDS", help, parser=_parser(float, "a number of seconds"))


def fraction(help: str) -> Any:
    """Define an option for a number such as a level."""
    return option("X", help, parser=_parser(float, "a number"))


def lifetime(help: str) -> Any:
    """Define an option for a duration in seconds, minutes, hours or days."""
    return option("TIME", help, parser=_parser(_seconds, "a time such as 90, 30m, 12h or 3d"))


def _seconds(text: str) -> float:
    """Read a duration.

    >>> _seconds("90"), _seconds("1.5h"), _seconds("3d")
    (90.0, 5400.0, 259200.0)
    """
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    unit = units.get(text[-1:])
    return float(text) if unit is None else float(text[:-1]) * unit


def date(help: str) -> Any:
    """Define an option for a date, or a time in ISO format."""
    return option("DATE", help, parser=_parser(datetime.fromisoformat, "a date such as 2026-01-31"))


def flag(name: str, help: str) -> Any:
    """Define a boolean option without a value."""
    return typer.Option(name, help=help)


Seed = Annotated[int, number("Random seed. The same seed gives the same results.")]
FileSeed = Annotated[int | None, number("Random seed. Default: the seed of the file, or 0.")]
Arms = Annotated[int | None, number("Number of arms. Default: fixed by the graph, or 5.")]
Graph = Annotated[str, option("GRAPH", GRAPH_HELP)]
ExperimentName = Annotated[
    str,
    typer.Argument(help="Name of a built-in experiment, such as paper-1a, or path of a TOML file."),
]
Workers = Annotated[
    int | None,
    number("Number of workers: threads, or processes for long runs. Default: one per core."),
]
Cluster = Annotated[
    str | None,
    option(
        "ADDRESS",
        "Run on a dask.distributed cluster: address of the scheduler, such as tcp://host:8786.",
    ),
]
Plugin = Annotated[
    list[Path] | None,
    option(
        "FILE",
        "Python file with your own policies, graphs, worlds or posteriors; repeat for several.",
    ),
]
World = Annotated[
    str | None,
    option(
        "WORLD",
        "Reward model, such as \"gaussian(noise=0.5)\"; see 'graphbandits list worlds'. Default: "
        "bernoulli.",
    ),
]
Posterior = Annotated[
    str | None,
    option(
        "POSTERIOR",
        'Prior that policies start from, such as "normal(sd=2)"; see \'graphbandits list '
        "posteriors'. Default: that of the world.",
    ),
]
Prior = Annotated[
    list[str] | None,
    option(
        "PARAMETERS",
        "Parameters of the prior of the world, such as 2,5 or mean=0,sd=2; once for all arms, or "
        "repeated once per arm.",
    ),
]
Means = Annotated[
    str | None,
    option(
        "NUMBERS",
        "Fixed means of the arms, such as 0.2,0.5,0.7. Default: drawn from the prior in each "
        "trial.",
    ),
]
StudyKeys = Annotated[
    list[str] | None,
    option("KEY", "Key of a study in the directory; repeat for several. Default: all."),
]
Json = Annotated[bool, flag("--json", "Print JSON instead of text.")]
Bounds = Annotated[
    bool,
    flag(
        "--bounds", "Show the proved regret bounds in the regret figure and in the printed results."
    ),
]
Ratios = Annotated[
    str | None,
    option(
        "GAIN",
        "Record the information ratios of every trial, with the information gain 'joint' (exact) "
        "or 'bound' (G h). They are stored in the results, and give each policy the bound of "
        "Lemma 1.",
    ),
]
Record = Annotated[
    list[str] | None,
    option(
        "WORD",
        "Also store what each trial played ('actions') or observed ('observations') in every "
        "round, or which arms were eligible ('eligible'); repeat for several.",
    ),
]
Eligible = Annotated[
    float | None,
    option(
        "P",
        "Probability that an arm is eligible, in each trial and round. Only eligible arms are "
        "played. Default: all arms are eligible.",
    ),
]
Delay = Annotated[
    str,
    option(
        "ROUNDS",
        "Rounds from a play to its outcomes: a number such as 30, or the smallest and the largest, "
        "such as 0,60, between which each outcome has its own.",
    ),
]
AnswerRate = Annotated[
    float,
    option("P", "Probability that an outcome arrives, for each outcome."),
]


def numbers(text: str, what: str) -> tuple[float, ...]:
    """Read a list of numbers, separated by commas.

    >>> numbers("0.2, 0.5", "--means")
    (0.2, 0.5)
    """
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(
            f"{what} must be numbers separated by commas, such as 0.2,0.5,0.7; not '{text}'"
        ) from None


def delay(text: str) -> int | list[int]:
    """Read a delay: a whole number, or the smallest and the largest, separated by a comma.

    >>> delay("30"), delay("0,60")
    (30, [0, 60])
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            "--delay must be a whole number such as 30, or two separated by a comma such as 0,60; "
            f"not '{text}'"
        ) from None
    return found[0] if len(found) == 1 else found


def answers_text(delay: int | list[int] = 0, answer_rate: float = 1.0) -> str:
    """Describe delayed and missing answers, to be appended to a title.

    >>> answers_text([0, 60], 0.8)
    ', delay 0 to 60, answer rate 0.8'
    """
    text = f"{delay[0]} to {delay[1]}" if isinstance(delay, list) else str(delay)
    return f", delay {text}, answer rate {answer_rate:g}"


def load(plugins: Sequence[Path] | None) -> None:
    """Load the files given with ``--plugin``."""
    if plugins:
        from graphbandits.plugins import load_plugin

        for path in plugins:
            load_plugin(path)
