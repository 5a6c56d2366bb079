"""Options and output that commands share. Only typer and rich are imported."""

from __future__ import annotations

import math
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.box import SIMPLE
from rich.console import Console, RenderableType
from rich.table import Table

if TYPE_CHECKING:
    from graphbandits.simulation.results import Results
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


def argument(metavar: str, help: str) -> Any:
    return typer.Argument(help=help, metavar=metavar)


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


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


def _delay(text: str) -> int | list[int]:
    """Read a delay: a whole number, or the smallest and the largest, separated by a comma.

    >>> _delay("30"), _delay("0,60")
    (30, [0, 60])
    """
    found = [int(part) for part in text.split(",")]
    return found[0] if len(found) == 1 else found


def date(help: str) -> Any:
    return option("DATE", help, parser=_parser(datetime.fromisoformat, "a date such as 2026-01-31"))


def flag(name: str, help: str) -> Any:
    return typer.Option(name, help=help)


def posterior(default: str) -> Any:
    return option(
        "POSTERIOR",
        "Model of the rewards with the prior that policies start from, such as "
        f"\"normal(sd=2)\"; see 'graphbandits list posteriors'. Default: {default}.",
    )


STORE_HELP = (
    "File of SQLite, such as campaign.db, or address of a PostgreSQL database, such as "
    "postgresql://user@host/database."
)
Store = Annotated[str, typer.Argument(help=STORE_HELP, metavar="STORE")]
Seed = Annotated[int, number("Random seed. The same seed gives the same results.")]
FileSeed = Annotated[int | None, number("Random seed. Default: the seed of the file, or 0.")]
Formats = Annotated[
    Any,
    option(
        "LIST",
        "Formats of the figures, such as 'svg' or 'png,pdf'. Default: all three.",
        parser=lambda text: [word.strip() for word in text.split(",")],
    ),
]
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
    option("ADDRESS", "Address of a dask.distributed scheduler, such as tcp://host:8786."),
]
Plugin = Annotated[
    list[Path] | None, option("FILE", "Python file with your own plug-ins; repeat for several.")
]
World = Annotated[
    str | None,
    option("WORLD", "Reward model, such as gaussian(noise=0.5); see 'graphbandits list worlds'."),
]
Posterior = Annotated[str | None, posterior("that of the world")]
Prior = Annotated[
    list[str] | None,
    option(
        "PARAMETERS", "Parameters of the prior, such as mean=0,sd=2; once, or repeated per arm."
    ),
]
Means = Annotated[
    Any,
    option(
        "NUMBERS",
        "Fixed means of the arms, such as 0.2,0.5,0.7. Default: drawn from the prior in each "
        "trial.",
        parser=_parser(_numbers, "numbers separated by commas, such as 0.2,0.5,0.7"),
    ),
]
StudyKeys = Annotated[
    list[str] | None,
    option("KEY", "Key of a study in the directory; repeat for several. Default: all."),
]
Json = Annotated[bool, flag("--json", "Print JSON instead of text.")]
Bounds = Annotated[
    bool, flag("--bounds", "Show the proved regret bounds in the figure and the printed results.")
]
Ratios = Annotated[
    str | None,
    option(
        "GAIN",
        "Record information ratios, for Lemma 1, with the gain joint (exact) or bound (G h).",
    ),
]
Record = Annotated[
    list[str] | None,
    option("WORD", "Also store actions, observations or eligible arms of each round."),
]
Eligible = Annotated[
    float | None, option("P", "Probability that an arm may be played in a round. Default: 1.")
]
Delay = Annotated[
    Any,
    option(
        "ROUNDS",
        "Rounds from a play to its outcomes: a number such as 30, or the smallest and the largest, "
        "such as 0,60, between which each outcome has its own.",
        parser=_parser(_delay, "a whole number such as 30, or two such as 0,60"),
    ),
]
AnswerRate = Annotated[float, option("P", "Probability that an outcome arrives, for each outcome.")]


def answers_text(delay: int | list[int] = 0, answer_rate: float = 1.0) -> str:
    """Describe delayed and missing answers, to be appended to a title."""
    text = f"{delay[0]} to {delay[1]}" if isinstance(delay, list) else str(delay)
    return f", delay {text}, answer rate {answer_rate:g}"


def given_options(context: typer.Context, left_out: Sequence[str]) -> list[str]:
    """Return the options with which a command was called, to repeat it."""
    words = []
    options: list[Any] = context.command.params
    for one in options:
        value = context.params[one.name]
        if one.name in left_out or value is None or value is False:
            continue
        for item in value if one.multiple else [value]:
            text = ",".join(map(str, item)) if isinstance(item, list | tuple) else item
            words.append(one.opts[0] if item is True else f"{one.opts[0]}={text}")
    return words


def one_or_all(texts: list[str] | None) -> str | tuple[str, ...] | None:
    """Return the prior of all arms if one is given, otherwise that of each arm."""
    return texts[0] if texts and len(texts) == 1 else tuple(texts or ()) or None


def prepare(plugins: Sequence[Path] | None = None) -> None:
    """Load plug-ins, and announce the compilation of kernels."""
    from graphbandits.simulation.progress import announce_compilation

    load(plugins)
    announce_compilation()


def load(plugins: Sequence[Path] | None) -> None:
    if plugins:
        from graphbandits.plugins import load_plugin

        for path in plugins:
            load_plugin(path)


@contextmanager
def on_sigterm(handler: Callable[..., Any]) -> Iterator[None]:
    """Handle SIGTERM in the main thread; a test may run a command in another one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def print_json(value: Any, indent: int | None = 2) -> None:
    from graphbandits._files import json_text

    typer.echo(json_text(value, indent))


def plain_console() -> Console:
    """Return a console without markup, as names may contain '['."""
    return Console(markup=False, highlight=False, emoji=False)


def print_text(text: RenderableType = "", **options: Any) -> None:
    plain_console().print(text, **options)


def print_line(text: str) -> None:
    """Print a text without wrapping, for example one that contains a path."""
    print_text(text, soft_wrap=True)


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


def mean_text(mean: float, error: float = math.nan) -> str:
    """Format a mean and its standard error, which is NaN for a single trial."""
    return f"{mean:.2f}" if math.isnan(error) else f"{mean:.2f} ({error:.2f})"


def interval_text(low: float, high: float, sign: str = "+") -> str:
    """Format an interval, which is NaN for a single trial."""
    return "unknown" if math.isnan(low) else f"[{low:{sign}.2f}, {high:{sign}.2f}]"


def local_time(time: str | float) -> str:
    """Format a time, in ISO format or in seconds since 1970, as local time."""
    read = datetime.fromisoformat(time) if isinstance(time, str) else datetime.fromtimestamp(time)
    return f"{read.astimezone():%Y-%m-%d %H:%M:%S}"


# --- tables

#: Maximum length of the names in a first column that is not broken into lines.
MAX_NAME = 30


def print_records(title: str, records: Sequence[Mapping[str, Any]]) -> None:
    """Print a table with one row per record and one column per key; columns of numbers right."""
    if not records:
        return
    style: Any = {"title_justify": "left", "title_style": "bold", "box": SIMPLE}
    table = Table(title=title or None, padding=(0, 1, 0, 0), **style)
    rows = [[cell(value) for value in record.values()] for record in records]
    for i, key in enumerate(records[0]):
        is_number = i > 0 and all(re.match(r"[-+*.\d]|none|unknown|$", row[i]) for row in rows)
        justify: Literal["left", "right"] = "right" if is_number else "left"
        # names and numbers are not broken; sentences are
        is_whole = not any(" " in row[i] for row in rows)
        is_name = i == 0 and all(len(row[i]) <= MAX_NAME for row in rows)
        table.add_column(key.replace("_", " "), justify=justify, no_wrap=is_whole or is_name)
    for row in rows:
        table.add_row(*row)
    print_text(table)


def print_values(values: Mapping[str, Any]) -> None:
    """Print names with their values."""
    width = max(map(len, values))
    for key, value in values.items():
        print_line(f"  {key:{width}}  {cell(value)}")


def cell(value: Any) -> str:
    """Format a value for a table.

    >>> cell(2 / 3), cell([1.0, 2.5]), cell(None), cell(True)
    ('0.66667', '1, 2.5', '', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    return "" if value is None else str(value)


def print_regrets(results: Results, title: str) -> None:
    """Print final regrets with confidence intervals, lowest regret first.

    The intervals of the differences from the best are simultaneous for all pairs of policies.
    """
    paired = results.from_best()
    records = []
    for name in results.ranking():
        quantiles, other = results[name].final_quantiles(), paired.get(name)
        difference = f"{other.mean:+.2f} {interval_text(other.low, other.high)}" if other else ""
        record = {
            "policy": name,
            "regret": mean_text(results[name].mean[-1]),
            "95% interval": interval_text(*results.interval(name), sign=""),
            "median": f"{quantiles['0.5']:.2f}",
            "95% quantile": f"{quantiles['0.95']:.2f}",
            "vs the best, paired": difference,
        }
        records.append(record)
    print_records(title, records)


def print_claims(judgements: Sequence[Judgement]) -> None:
    """Print claims with their verdicts and the decisive pairs.

    Intervals are simultaneous for all pairs of a claim.
    """
    records = []
    for judgement in judgements:
        decisive = judgement.decisive
        record = {
            "claim": judgement.claim.text,
            "verdict": judgement.verdict,
            "decided by": f"{decisive.first} - {decisive.second}",
            "paired": f"{decisive.mean:+.2f}",
            "95% interval": interval_text(decisive.low, decisive.high),
        }
        records.append(record)
    print_records("Claims", records)


def print_published(comparisons: Sequence[PublishedComparison], source: str) -> None:
    """Print our and published mean regrets, with their distance in standard errors."""
    from graphbandits.study.claims import MAX_DISTANCE

    records = []
    for one in comparisons:
        is_known = not math.isnan(one.distance)
        record = {
            "policy": one.policy,
            "ours (s.e.)": mean_text(one.mean, one.standard_error),
            "published (s.e.)": mean_text(one.published_mean, one.published_error),
            "distance": f"{one.distance:+.1f} s.e." if is_known else "unknown",
            f"within {MAX_DISTANCE:g} s.e.": one.within if is_known else "unknown",
        }
        records.append(record)
    print_records(f"Published: {source}", records)


def print_sweep(results: Mapping[Any, Results], title: str, label: str) -> None:
    """Print means (standard errors): one row per value, one column per policy."""
    records = []
    for value, found in results.items():
        best = found[found.ranking()[0]].mean[-1]
        record = {label: str(value)}
        for name, one in found.policies.items():
            text = mean_text(float(one.mean[-1]), float(one.standard_error[-1]))
            record[name] = "*" * bool(one.mean[-1] == best) + text
        records.append(record)
    print_records(title, records)
    print_text("Mean regret (standard error); * marks the lowest mean in each row.\n")


def print_bounds(judged: Sequence[BoundVerdict]) -> None:
    """Print the bounds of each policy with its mean regret and a verdict.

    The verdict compares the bound with the confidence interval of the mean.
    """
    if not judged:
        print_text("None of these policies has a proved bound.\n")
        return
    records = []
    for one in judged:
        error = math.nan if one.bound.exact else one.bound.final_error
        record = {
            "policy": one.policy,
            "source": one.bound.name,
            "bound": mean_text(one.bound.final, error),
            "mean": mean_text(one.mean),
            "mean is": one.verdict,
        }
        records.append(record)
    print_records("Bounds on the expected regret", records)


def print_entry(entry: SimulationEntry | SweepEntry, bounds: bool = False) -> None:
    """Print the regrets, claims, published means and, on request, the bounds of an entry."""
    from graphbandits.study.report import SweepEntry

    if isinstance(entry, SweepEntry):
        print_sweep(entry.results, entry.title, entry.label)
        return
    print_regrets(entry.results, entry.title)
    if entry.claims:
        print_claims(entry.judgements)
    if bounds:
        print_bounds(entry.kept_bounds)
    if entry.published is not None:
        print_published(entry.comparisons, entry.published.source)


def small_number(value: float, form: str = ".4f") -> str:
    """Format a number, with two digits in scientific notation if it is very small or large.

    >>> small_number(0.25), small_number(1.234e-12), small_number(0.0)
    ('0.2500', '1.2e-12', '0')
    """
    if value == 0.0:
        return "0"
    return format(value, form if 1e-3 <= value < 1e5 else ".1e")
