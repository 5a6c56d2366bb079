"""Rows of the comparison, and the tables that are made of the reports of the workers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from display import Table, digits, seconds
from peer_worlds import EMPTY, GRAPH
from scipy.stats import t as student
from worker import ALL, OWN

#: Trials from which an interval of the mean is shown.
ENOUGH = 3


@dataclass(frozen=True)
class Row:
    """A policy of a package; ``graph``: it uses the graph itself, ``simulated``: in simulate."""

    peer: str
    adapter: str
    label: str
    graph: bool = False
    simulated: bool = False

    def feedbacks(self, kind: str) -> tuple[str, ...]:
        """What the policy learns in worlds of a kind; nothing if it does not run in them."""
        if kind == EMPTY:
            return () if self.adapter == "vowpalwabbit/graph" else (OWN,)
        return (ALL,) if self.graph else (OWN, ALL)


ROWS = (
    Row("graphbandits", "graphbandits/ids-n", "ids-n, simulate", graph=True, simulated=True),
    Row("graphbandits", "graphbandits/ids-n", "ids-n, live", graph=True),
    Row("graphbandits", "graphbandits/ts-n", "ts-n, live", graph=True),
    Row("bayesianbandits", "bayesianbandits/ids", "IDS"),
    Row("bayesianbandits", "bayesianbandits/ts", "Thompson"),
    Row("mabwiser", "mabwiser/ts", "Thompson"),
    Row("river", "river/bayes-ucb", "Bayes-UCB"),
    Row("river", "river/ts", "Thompson"),
    Row("smpybandits", "smpybandits/bayes-ucb", "Bayes-UCB"),
    Row("smpybandits", "smpybandits/ts", "Thompson"),
    Row("vowpalwabbit", "vowpalwabbit/graph", "graph feedback", graph=True),
    Row("vowpalwabbit", "vowpalwabbit/squarecb", "SquareCB"),
)
REFERENCE = ROWS[0]
#: Packages in the order of the rows.
PEERS = tuple(dict.fromkeys(row.peer for row in ROWS))
LEARNS = {OWN: "own", ALL: "all"}


def mean_and_half(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval by Student's t.

    >>> mean_and_half([1.0, 2.0, 3.0])
    (2.0, 2.484...)
    """
    mean, count = statistics.fmean(values), len(values)
    if count < 2:
        return mean, math.inf
    error = statistics.stdev(values) / math.sqrt(count)
    return mean, float(student.ppf(0.975, count - 1)) * error


def cpu_of(cell: dict[str, Any]) -> float | None:
    """CPU seconds per decision: median of the trials, without the loop around the policy."""
    if cell["cpus"]:
        return max(statistics.median(cell["cpus"]) - cell["loop"], 0.0)
    return cell["unfinished"]["cpu"] - cell["loop"] if cell["unfinished"] else None


def find(results: dict[str, Any], arms: int, kind: str, row: Row, feedback: str) -> Any:
    """Report of one worker, or None."""
    wanted = (arms, kind, row.peer, row.label, feedback)
    keys = ("arms", "kind", "peer", "label", "feedback")
    return next((c for c in results["cells"] if tuple(c[key] for key in keys) == wanted), None)


def reference_regrets(results: dict[str, Any], arms: int, kind: str) -> list[float]:
    """Regret of ids-n in every trial of these worlds."""
    cell = find(results, arms, kind, REFERENCE, REFERENCE.feedbacks(kind)[0])
    return list(cell["regrets"]) if cell else []


def plus_minus(values: Sequence[float]) -> str:
    """Mean and interval as text; too few trials have no interval.

    >>> plus_minus([1.0, 2.0, 3.0]), plus_minus([4.0]), plus_minus([])
    ('2.0 ± 2.5', '4.0', '-')
    """
    if not values:
        return "-"
    mean, half = mean_and_half(values)
    shown = f"{round(mean, 1) + 0.0:.1f}"  # no -0.0
    return f"{shown} ± {half:.1f}" if len(values) >= ENOUGH else shown


def cells_of(results: dict[str, Any], arms: int, kind: str) -> Iterator[tuple[Row, str, Any]]:
    """Rows of one table: the row, what it learns, and its report, a reason or None."""
    for row in ROWS:
        for feedback in row.feedbacks(kind):
            missing = results["peers"].get(row.peer, {}).get("missing")
            yield row, feedback, missing or find(results, arms, kind, row, feedback)


def line(row: Row, feedback: str, cell: Any, reference: Sequence[float]) -> list[str] | None:
    """Texts of a row, or None if it was not measured."""
    start = [row.peer, row.label, LEARNS[feedback]]
    if cell is None:
        return None
    if isinstance(cell, str):
        return [row.peer, row.label, "-", "-", "not installed", "-", "-"]
    if cell.get("failed"):
        return [*start, "-", "failed", "-", "-"]
    regrets, cpu = cell["regrets"], cpu_of(cell)
    paired = [own - other for own, other in zip(regrets, reference, strict=False)]
    difference = "-" if row == REFERENCE else plus_minus(paired)
    return [
        *start,
        str(len(regrets)),
        plus_minus(regrets),
        difference,
        "-" if cpu is None else seconds(cpu),
    ]


def tables(results: dict[str, Any]) -> list[Table]:
    """One table for each number of arms and kind of worlds, and one of processes."""
    columns = ("package", "policy", "learns", "trials", "regret", "minus ids-n", "CPU")
    found = []
    rounds = results["settings"]["rounds"]
    for kind in (EMPTY, GRAPH):
        for arms in results["settings"]["arms"]:
            reference = reference_regrets(results, arms, kind)
            rows, notes = [], []
            for row, feedback, cell in cells_of(results, arms, kind):
                texts = line(row, feedback, cell, reference)
                if texts is None:
                    continue
                rows.append(texts)
                notes += remarks(row, cell, rounds)
            title = f"{arms} arms, {'a graph' if kind == GRAPH else 'no graph'}"
            note = f"{rounds} rounds. {' '.join(dict.fromkeys(notes))}".strip()
            if rows:
                found.append(Table(title, columns, rows, note, texts=3))
    return [*found, processes(results)]


def remarks(row: Row, cell: Any, rounds: int) -> list[str]:
    """What a row cannot say in its columns."""
    if isinstance(cell, str):
        return [f"{row.peer} is not installed: {cell}."]
    if cell.get("failed"):
        return [f"{row.peer} {row.label} failed: {cell['failed']}."]
    if cell["unfinished"] and not cell["regrets"]:
        done = cell["unfinished"]["rounds"]
        plural = "" if done == 1 else "s"
        return [
            f"{row.peer} {row.label} finished {done} round{plural} of {rounds} within the time "
            "limit, so it has no regret here."
        ]
    return []


def processes(results: dict[str, Any]) -> Table:
    """Start and memory of a process, as medians over the workers of a package."""
    sizes, rows = results["settings"]["arms"], []
    for peer in PEERS:
        own = [c for c in results["cells"] if c["peer"] == peer and not c.get("failed")]
        started = [cell for cell in own if cell["warm_up"]]
        if started:
            times = (
                statistics.median(cell[key] for cell in started) for key in ("import", "first")
            )
            peaks = (
                statistics.median(cell["peak"] for cell in own if cell["arms"] == arms)
                for arms in sizes
            )
            rows.append([peer, *map(seconds, times), *(digits(peak / 1e6) for peak in peaks)])
    columns = ("package", "import", "first decision", *(f"MB, {arms} arms" for arms in sizes))
    note = (
        "CPU time of the import, after that of NumPy. CPU time of the whole process until its "
        "first decision is made and learned. Peak memory of a process, with Python and NumPy. "
        "Medians over the rows of a package."
    )
    return Table("Start and memory of a process", columns, rows, note, texts=1)


def provenance(results: dict[str, Any]) -> str:
    """Lines of Markdown: machine, settings, and the versions of each package."""
    settings, machine = results["settings"], results["machine"]
    total = sum(peer.get("seconds", 0.0) for peer in results["peers"].values())
    lines = [
        f"- {machine['cores']} cores of {machine['cpu']}, {machine['system']}; one process at a "
        f"time. All packages together took {total / 60:.0f} minutes, without the installation.",
        f"- At most {settings['trials']} trials of {settings['rounds']} rounds in each row, and at "
        f"least {settings['least']} if they fit into the time limit. A row starts no more trials "
        f"after {settings['seconds']:g} s; seed {settings['seed']}.",
    ]
    for peer in PEERS:
        record = results["peers"].get(peer)
        if record is None:
            continue
        if record.get("missing"):
            lines.append(f"- **{peer}**: not installed: {record['missing']}.")
            continue
        known = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
        lines.append(f"- **{peer}**: {known}; {record['date'][:10]}.")
    return "\n".join(lines)


def contents(results: dict[str, Any]) -> dict[str, str]:
    """Texts between the markers of the document."""
    *settings, start = tables(results)
    return {
        "run": provenance(results),
        "regret": "\n".join(table.markdown() for table in settings),
        "start": start.markdown(),
    }
