"""Options and output that commands share. Only typer and rich are imported."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from graphbandits.simulation.results import Results
    from graphbandits.simulation.statistics import Difference
    from graphbandits.study.claims import Judgement, PublishedComparison
    from graphbandits.study.report import SimulationEntry, SweepEntry
    from graphbandits.theory import BoundVerdict

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
    return typer.Option(help=help, metavar=metavar, **more)


def number(help: str) -> Any:
    return option("N", help, parser=_parser(int, "an integer"))


def seconds(help: str) -> Any:
    return option("SECONDS", help, parser=_parser(float, "a number of seconds"))


def fraction(help: str) -> Any:
    return option("X", help, parser=_parser(float, "a number"))


def lifetime(help: str) -> Any:
    return option("TIME", help, parser=_parser(_seconds, "a time such as 90, 30m, 12h or 3d"))


def _seconds(text: str) -> float:
    """Read a duration."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    unit = units.get(text[-1:])
    return float(text) if unit is None else float(text[:-1]) * unit


def date(help: str) -> Any:
    return option("DATE", help, parser=_parser(datetime.fromisoformat, "a date such as 2026-01-31"))


def flag(name: str, help: str) -> Any:
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
    """Read a list of numbers, separated by commas."""
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
    """Describe delayed and missing answers, to be appended to a title."""
    text = f"{delay[0]} to {delay[1]}" if isinstance(delay, list) else str(delay)
    return f", delay {text}, answer rate {answer_rate:g}"


def load(plugins: Sequence[Path] | None) -> None:
    if plugins:
        from graphbandits.plugins import load_plugin

        for path in plugins:
            load_plugin(path)


#: Spaces between the columns of a table.
GAP = 2


def print_json(value: Any) -> None:
    from graphbandits._files import json_text

    typer.echo(json_text(value))


def plain_console() -> Console:
    """Return a console without markup, as names may contain '['."""
    return Console(markup=False, highlight=False, emoji=False)


def print_table(table: Table) -> None:
    plain_console().print(table)


def print_text(text: str = "", **options: Any) -> None:
    plain_console().print(text, **options)


def print_line(text: str, **options: Any) -> None:
    """Print a text without wrapping, for example one that contains a path."""
    plain_console().print(text, soft_wrap=True, **options)


def count(number: int, what: str, many: str = "") -> str:
    """Format a number with a noun in singular or plural."""
    return f"{number} {what if number == 1 else many or f'{what}s'}"


def duration(seconds: float) -> str:
    """Format a duration.

    >>> duration(4.2), duration(200)
    ('4 s', '3 min 20 s')
    """
    rounded = max(1, round(seconds))
    return f"{rounded} s" if rounded < 100 else f"{rounded // 60} min {rounded % 60} s"


def file_size(count: float) -> str:
    """Format a number of bytes.

    >>> file_size(999), file_size(1_500_000), file_size(2 * 10**13)
    ('999 bytes', '1.5 MB', '20000 GB')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.{0 if count >= 100 * size else 1}f} {unit}"
    return f"{count:.0f} byte{'s' * (round(count) != 1)}"


def mean_text(mean: float, error: float = math.nan) -> str:
    """Format a mean and its standard error, which is NaN for a single trial."""
    return f"{mean:.2f}" if math.isnan(error) else f"{mean:.2f} ({error:.2f})"


def interval_text(low: float, high: float, sign: str = "+") -> str:
    """Format an interval, which is NaN for a single trial."""
    return "unknown" if math.isnan(low) else f"[{low:{sign}.2f}, {high:{sign}.2f}]"


def difference_text(difference: Difference) -> str:
    return f"{difference.mean:+.2f} {interval_text(difference.low, difference.high)}"


# --- tables


def plain_table(title: str, words: Sequence[str], numbers: Sequence[str] = ()) -> Table:
    """Return an empty table: first left-aligned text columns, then right-aligned numbers."""
    table = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=SIMPLE,
        padding=(0, GAP - 1, 0, 0),
    )
    for column in words:
        table.add_column(column)
    for column in numbers:
        table.add_column(column, justify="right")
    return table


def regret_table(results: Results, title: str) -> Table:
    """Return a table of final regrets with confidence intervals, lowest regret first.

    The intervals of the differences from the best are simultaneous for all pairs of policies.
    """
    numbers = ["regret", "95% interval", "median", "95% quantile", "vs the best, paired"]
    table = plain_table(title, ["policy"], numbers)
    paired = results.from_best()
    for name in results.ranking():
        quantiles = results[name].final_quantiles()
        table.add_row(
            name,
            mean_text(results[name].mean[-1]),
            interval_text(*results.interval(name), sign=""),
            *(f"{quantiles[level]:.2f}" for level in ("0.5", "0.95")),
            difference_text(paired[name]) if name in paired else "",
        )
    return table


def claim_table(judgements: Sequence[Judgement]) -> Table:
    """Return a table of claims with their verdicts and the decisive pairs.

    Intervals are simultaneous for all pairs of a claim.
    """
    table = plain_table("Claims", ["claim", "verdict", "decided by"], ["paired", "95% interval"])
    for judgement in judgements:
        d = judgement.decisive
        numbers = f"{d.mean:+.2f}", interval_text(d.low, d.high)
        table.add_row(judgement.claim.text, judgement.verdict, f"{d.first} - {d.second}", *numbers)
    return table


def published_table(comparisons: Sequence[PublishedComparison], source: str) -> Table:
    """Return a table of our and published mean regrets, with their distance in standard errors."""
    from graphbandits.study.claims import MAX_DISTANCE

    numbers = ["ours (s.e.)", "published (s.e.)", "distance", f"within {MAX_DISTANCE:g} s.e."]
    table = plain_table(f"Published: {source}", ["policy"], numbers)
    for c in comparisons:
        means = mean_text(c.mean, c.standard_error), mean_text(c.published_mean, c.published_error)
        distance = f"{c.distance:+.1f} s.e.", "yes" if c.within else "no"
        unknown = math.isnan(c.distance)
        table.add_row(c.policy, *means, *(["unknown"] * 2 if unknown else distance))
    return table


def sweep_tables(results: Mapping[Any, Results], title: str, label: str, width: int) -> list[Table]:
    """Return tables of means (standard errors): one row per value, one column per policy.

    A star marks the lowest regret of each row. Wide tables are split into several.
    """
    rows: dict[Any, dict[str, str]] = {}
    for value, found in results.items():
        best = found[found.ranking()[0]].mean[-1]
        rows[value] = {
            name: "*" * bool(one.mean[-1] == best)
            + mean_text(float(one.mean[-1]), float(one.standard_error[-1]))
            for name, one in found.policies.items()
        }
    return _split_by_width(rows, title, label, width)


def _split_by_width(
    rows: Mapping[Any, Mapping[str, str]], title: str, label: str, width: int
) -> list[Table]:
    room = width - max(map(len, (label, *map(str, rows)))) - GAP
    blocks: list[list[str]] = []
    left = 0
    for name in dict.fromkeys(name for cells in rows.values() for name in cells):
        needed = max(map(len, (name, *(cells.get(name, "") for cells in rows.values())))) + GAP
        if needed > left:
            blocks.append([])
            left = room
        blocks[-1].append(name)
        left -= needed
    tables: list[Table] = []
    for block in blocks:
        table = plain_table(title if not tables else "", [label], block)
        for value, cells in rows.items():
            table.add_row(str(value), *(cells.get(name, "") for name in block))
        tables.append(table)
    return tables


def print_bounds(judged: Sequence[BoundVerdict]) -> None:
    """Print the bounds of each policy with its mean regret and a verdict.

    The verdict compares the bound with the confidence interval of the mean.
    """
    if not judged:
        print_text("None of these policies has a proved bound.\n")
        return
    title, numbers = "Bounds on the expected regret", ["bound", "mean", "mean is"]
    table = plain_table(title, ["policy", "source"], numbers)
    for one in judged:
        error = math.nan if one.bound.exact else one.bound.final_error
        bound = mean_text(one.bound.final, error)
        table.add_row(one.policy, one.bound.name, bound, mean_text(one.mean), one.verdict)
    print_table(table)


def print_entry(entry: SimulationEntry | SweepEntry, bounds: bool = False) -> None:
    """Print the regrets, claims, published means and, on request, the bounds of an entry."""
    from graphbandits.study.report import SweepEntry

    if isinstance(entry, SweepEntry):
        for table in sweep_tables(entry.results, entry.title, entry.label, plain_console().width):
            print_table(table)
        print_text("Mean regret (standard error); * marks the lowest mean in each row.\n")
        return
    print_table(regret_table(entry.results, entry.title))
    if entry.claims:
        print_table(claim_table(entry.judgements))
    if bounds:
        print_bounds(entry.kept_bounds)
    if entry.published is not None:
        print_table(published_table(entry.comparisons, entry.published.source))


def table_of(columns: Sequence[tuple[str, Iterable[str]]], wrapped: str | None = None) -> Table:
    table = plain_table("", [])
    for header, _ in columns:
        left = header in ("arm", "")
        wrap = header == wrapped  # wrap long parameters rather than cut other numbers
        table.add_column(header, justify="left" if left else "right", no_wrap=not wrap)
    for row in zip(*(cells for _, cells in columns), strict=True):
        table.add_row(*row)
    return table


def small_number(value: float, form: str = ".4f") -> str:
    """Format a number, with two digits in scientific notation if it is very small or large.

    >>> small_number(0.25), small_number(1.234e-12), small_number(0.0)
    ('0.2500', '1.2e-12', '0')
    """
    if value == 0.0:
        return "0"
    return format(value, form if 1e-3 <= value < 1e5 else ".1e")
