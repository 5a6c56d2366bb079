"""The tables of the terminal: regrets, claims, bounds, published means, sweeps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.table import Table

from graphbandits.cli.formatting import plain_console
from graphbandits.results.published import NEAR

if TYPE_CHECKING:
    from graphbandits.experiments.compare import Comparison
    from graphbandits.report import SimulationEntry, SweepEntry
    from graphbandits.results import Comparison as PublishedComparison
    from graphbandits.results import Judgement, Results
    from graphbandits.theory import BoundVerdict

#: Columns between those of a table.
GAP = 2


def regret_table(results: Results, title: str, confidence: float = 0.95) -> Table:
    """Final regrets with confidence intervals, best first, and differences from the best.

    The intervals of the differences hold for all pairs of policies at once.
    """
    numbers = ["regret", f"{confidence:.0%} interval", "median", "95% below", "vs the best, paired"]
    table = plain_table(title, ["policy"], numbers)
    paired = results.from_best(confidence)
    for name in results.ranking():
        quantiles = results[name].final_quantiles()
        more = ""
        if name in paired:
            d = paired[name]
            more = f"{d.mean:+.2f} {_interval(d.low, d.high)}"
        low, high = results.interval(name, confidence)
        table.add_row(
            name,
            f"{results[name].mean[-1]:.2f}",
            _interval(low, high, sign=""),
            f"{quantiles['0.5']:.2f}",
            f"{quantiles['0.95']:.2f}",
            more,
        )
    return table


def claim_table(judgements: Sequence[Judgement]) -> Table:
    """Each claim with its verdict and the pair that the verdict hangs on.

    The interval holds for all pairs of a claim at once.
    """
    table = plain_table("Claims", ["claim", "verdict", "decided by"], ["paired", "95% interval"])
    for judgement in judgements:
        d = judgement.decisive
        pair = f"{d.first} - {d.second}"
        interval = _interval(d.low, d.high)
        table.add_row(judgement.claim.text, judgement.verdict, pair, f"{d.mean:+.2f}", interval)
    return table


def bound_table(judged: Sequence[BoundVerdict]) -> Table:
    """Each bound beside the mean regret of each policy that it is for.

    The verdict is on the interval of the mean.
    """
    words = ["policy", "by"]
    table = plain_table("Bounds on the expected regret", words, ["bound", "mean", "mean is"])
    for one in judged:
        error = math.nan if one.bound.exact else one.bound.final_error
        value = _mean(one.bound.final, error)
        table.add_row(one.policy, one.bound.name, value, f"{one.mean:.2f}", one.verdict)
    return table


def published_table(comparisons: Sequence[PublishedComparison], source: str) -> Table:
    """Mean regrets here and there, and how many combined standard errors lie between."""
    table = plain_table(
        f"Published: {source}",
        ["policy"],
        ["ours (s.e.)", "published (s.e.)", "apart", f"within {NEAR:g} s.e."],
    )
    for c in comparisons:
        known = not math.isnan(c.distance)
        table.add_row(
            c.policy,
            _mean(c.mean, c.standard_error),
            _mean(c.published_mean, c.published_error),
            f"{c.distance:+.1f} s.e." if known else "unknown",
            ("yes" if c.within else "no") if known else "unknown",
        )
    return table


def sweep_tables(results: Mapping[Any, Results], title: str, label: str, width: int) -> list[Table]:
    """Values by policies, means (standard errors), the best of each value with a star.

    What is too wide for one table is in several, one below the other.
    """
    names = list(dict.fromkeys(name for found in results.values() for name in found.policies))
    columns = {name: [_cell(found, name) for found in results.values()] for name in names}
    return _side_by_side(title, label, [str(value) for value in results], columns, width)


def comparison_table(comparison: Comparison, title: str) -> Table:
    """The policies of a comparison, best first, with differences from the best or the reference.

    ~ stands by a difference of independent means.
    """
    rows = comparison.rows
    numbers = ["regret", "95% interval"]
    lengths = len({row.trials for row in rows}) > 1
    numbers += ["trials"] if lengths else ["median", "95% below"]
    if comparison.against is not None:
        paired = ", paired" if all(row.paired for row in rows) else ""
        against = comparison.against if comparison.reference else "the best"
        numbers.append(f"vs {against}{paired}")
    table = plain_table(title, ["policy"], numbers)
    for row in rows:
        cells = [f"{row.mean:.2f}", _interval(row.low, row.high, sign="")]
        cells += [str(row.trials)] if lengths else [f"{row.median:.2f}", f"{row.q95:.2f}"]
        d = row.difference
        if d is not None:
            cells.append(f"{'' if row.paired else '~'}{d.mean:+.2f} {_interval(d.low, d.high)}")
        table.add_row(row.policy, *cells)
    return table


def comparison_tables(
    comparisons: Mapping[Any, Comparison], title: str, label: str, width: int
) -> list[Table]:
    """Values by policies, means (standard errors), each with a mark of how it stands."""
    names = dict.fromkeys(row.policy for one in comparisons.values() for row in one.rows)
    columns = {name: [_stand(one, name) for one in comparisons.values()] for name in names}
    return _side_by_side(title, label, [str(value) for value in comparisons], columns, width)


#: How a policy stands to the reference.
MARKS = {"better": "<", "worse": ">", "not told apart": "=", "unknown": "?"}


def _stand(comparison: Comparison, name: str) -> str:
    row = next((row for row in comparison.rows if row.policy == name), None)
    if row is None:
        return ""
    mark = MARKS.get(row.standing, "")
    if not comparison.reference:
        mark = "*" if row is comparison.rows[0] else mark.replace(">", "")
    return f"{mark}{'' if row.paired else '~'}{_mean(row.mean, row.standard_error)}"


def _side_by_side(
    title: str, label: str, values: Sequence[str], columns: Mapping[str, Sequence[str]], width: int
) -> list[Table]:
    """Rows by columns; what is too wide for one table is in several, one below the other."""
    room = width - max(map(len, (label, *values))) - GAP
    blocks: list[list[str]] = []
    left = 0
    for name, cells in columns.items():
        needed = max(map(len, (name, *cells))) + GAP
        if needed > left:
            blocks.append([])
            left = room
        blocks[-1].append(name)
        left -= needed
    tables: list[Table] = []
    for block in blocks:
        table = plain_table(title if not tables else "", [label], block)
        for row, value in enumerate(values):
            table.add_row(value, *(columns[name][row] for name in block))
        tables.append(table)
    return tables


def _cell(results: Results, name: str) -> str:
    if name not in results.policies:
        return ""
    best = results[name].mean[-1] == results[results.ranking()[0]].mean[-1]
    mean = _mean(float(results[name].mean[-1]), float(results[name].standard_error[-1]))
    return f"{'*' if best else ''}{mean}"


def plain_table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table: columns of words to the left, of numbers to the right."""
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


def _mean(mean: float, error: float) -> str:
    """One trial has no standard error."""
    return f"{mean:.2f}" if math.isnan(error) else f"{mean:.2f} ({error:.2f})"


def _interval(low: float, high: float, sign: str = "+") -> str:
    """One trial has no interval."""
    return "unknown" if math.isnan(low) else f"[{low:{sign}.2f}, {high:{sign}.2f}]"


def print_bounds(judged: Sequence[BoundVerdict]) -> None:
    """Print the table of bounds, or that there is none."""
    if judged:
        plain_console().print(bound_table(judged))
    else:
        plain_console().print("No bound is proved for any of these policies.\n")


def print_entry(entry: SimulationEntry | SweepEntry, bounds: bool = False) -> None:
    """Print the regrets, and what they say of claims, of published means and, if asked, bounds."""
    from graphbandits.report import SweepEntry

    console = plain_console()
    if isinstance(entry, SweepEntry):
        for table in sweep_tables(entry.results, entry.title, entry.label, console.width):
            console.print(table)
        console.print("Mean regret (standard error); * marks the least at each value.\n")
        return
    console.print(regret_table(entry.results, entry.title))
    if entry.claims:
        console.print(claim_table(entry.judgements))
    if bounds:
        print_bounds(entry.kept_bounds)
    if entry.published is not None:
        console.print(published_table(entry.comparisons, entry.published.source))
