"""Output of the commands: console, JSON, formatted numbers, and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from graphbandits.experiments.study_comparison import ProblemComparison
    from graphbandits.report import SimulationEntry, SweepEntry
    from graphbandits.results import Difference, Judgement, PublishedComparison, Results
    from graphbandits.theory import BoundVerdict

#: Spaces between the columns of a table.
GAP = 2
#: Marks of a policy in comparison with the reference.
MARKS = {"better": "<", "worse": ">", "no clear difference": "=", "unknown": "?"}


def print_json(value: Any) -> None:
    """Print a value as JSON; NaN becomes null."""
    from graphbandits._io import json_text

    typer.echo(json_text(value))


def plain_console() -> Console:
    """Return a console for standard output without markup, as names may contain '['."""
    return Console(markup=False, highlight=False, emoji=False)


def print_table(table: Table) -> None:
    """Print a table."""
    plain_console().print(table)


def print_text(text: str = "", **options: Any) -> None:
    """Print a text, wrapped at the width of the terminal."""
    plain_console().print(text, **options)


def print_line(text: str, **options: Any) -> None:
    """Print a text without wrapping, for example one that contains a path."""
    plain_console().print(text, soft_wrap=True, **options)


def count(number: int, what: str, many: str = "") -> str:
    """Format a number with a noun in singular or plural.

    >>> count(1, "edge"), count(2, "edge"), count(2, "study", "studies")
    ('1 edge', '2 edges', '2 studies')
    """
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
    """Format a difference and its interval."""
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
    from graphbandits.results.published import MAX_DISTANCE

    numbers = ["ours (s.e.)", "published (s.e.)", "distance", f"within {MAX_DISTANCE:g} s.e."]
    table = plain_table(f"Published: {source}", ["policy"], numbers)
    for c in comparisons:
        means = mean_text(c.mean, c.standard_error), mean_text(c.published_mean, c.published_error)
        distance = f"{c.distance:+.1f} s.e.", "yes" if c.within else "no"
        unknown = math.isnan(c.distance)
        table.add_row(c.policy, *means, *(["unknown"] * 2 if unknown else distance))
    return table


def comparison_table(comparison: ProblemComparison, title: str) -> Table:
    """Return a table of policies, lowest regret first, with differences from best or reference.

    ~ marks a difference of independent means.
    """
    rows = comparison.rows
    unequal_trials = len({row.trials for row in rows}) > 1
    numbers = [
        "regret",
        "95% interval",
        *(["trials"] if unequal_trials else ["median", "95% quantile"]),
    ]
    if comparison.against is not None:
        paired = ", paired" if all(row.paired for row in rows) else ""
        against = comparison.against if comparison.reference else "the best"
        numbers.append(f"vs {against}{paired}")
    table = plain_table(title, ["policy"], numbers)
    for row in rows:
        cells = [mean_text(row.mean), interval_text(row.low, row.high, sign="")]
        cells += [str(row.trials)] if unequal_trials else [f"{row.median:.2f}", f"{row.q95:.2f}"]
        if row.difference is not None:
            cells.append(f"{'' if row.paired else '~'}{difference_text(row.difference)}")
        table.add_row(row.policy, *cells)
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


def comparison_tables(
    comparisons: Mapping[Any, ProblemComparison], title: str, label: str, width: int
) -> list[Table]:
    """Return tables of means (standard errors) with the marks of ``MARKS``."""
    rows: dict[Any, dict[str, str]] = {}
    for value, comparison in comparisons.items():
        rows[value] = {}
        for row in comparison.rows:
            mark = MARKS.get(row.verdict, "")
            if not comparison.reference:
                mark = "*" if row is comparison.rows[0] else mark.replace(">", "")
            mean = mean_text(row.mean, row.standard_error)
            rows[value][row.policy] = f"{mark}{'' if row.paired else '~'}{mean}"
    return _split_by_width(rows, title, label, width)


def _split_by_width(
    rows: Mapping[Any, Mapping[str, str]], title: str, label: str, width: int
) -> list[Table]:
    """Split the columns of a table into several tables that fit the width."""
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
    from graphbandits.report import SweepEntry

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
    """Build a table from columns with their headers."""
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
