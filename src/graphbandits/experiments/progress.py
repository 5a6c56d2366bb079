"""Progress of a run: a live table on a terminal, else a line every now and then."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from rich.box import SIMPLE
from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from graphbandits.engine import Task
from graphbandits.engine.progress import progress_bar
from graphbandits.store import Failure, RunMonitor, Store, WorkerOptions

#: Lines of the table that are not policies: the head, the total, what is left out.
FRAME = 8
#: The longest bars, and the names that go before them.
BAR = NAME = 24


@dataclass(frozen=True)
class Work:
    """What a policy has to do in all cells together, and how much of it is there already."""

    shards: int
    trials: int
    decisions: int
    shards_there: int = 0
    trials_there: int = 0
    decisions_there: int = 0


class _Row:
    """How far one policy is."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.shards, self.trials = work.shards_there, work.trials_there
        self.failed = 0
        self.told = self.ended = 0  # decisions, of shards that are running too and of ended ones
        self.measured, self.seconds = 0, 0.0  # decisions whose time is known
        self.active: float | None = None  # when something was heard of it last

    @property
    def played(self) -> int:
        """Decisions that are made, or were there, or will not be made because they failed."""
        work = self.work
        todo = work.decisions - work.decisions_there
        lost = self.failed * todo // max(1, work.shards - work.shards_there)
        return min(work.decisions, work.decisions_there + max(self.told, self.ended) + lost)

    @property
    def over(self) -> bool:
        return self.shards + self.failed >= self.work.shards

    @property
    def cost(self) -> float | None:
        """Seconds that a worker takes for a decision; None if that is not known yet."""
        return self.seconds / self.measured if self.measured else None


class LiveTable:
    """A row for each policy, and how much time is left; a context, on standard error.

    Policies differ a hundredfold, so the time that is left is reckoned for each by itself, from the
    seconds that its shards took; one of which nothing is known yet counts as the mean of the
    others. Where there is no terminal a line is written at most ``every`` seconds.

    >>> work = {"ts-n": Work(4, 1000, 10**6, shards_there=1, trials_there=250,
    ...         decisions_there=250_000)}
    >>> table = LiveTable(work, workers=2, clock=lambda: 0.0)
    >>> table.finished("ts-n", trials=250, decisions=250_000, seconds=10.0)
    >>> table.left(), table.line()
    (10.0, '50 %, 2 of 4 shards, 10 s left; working on ts-n')
    """

    def __init__(
        self,
        work: Mapping[str, Work],
        workers: int,
        clock: Callable[[], float] = time.monotonic,
        console: Console | None = None,
        every: float = 30.0,
    ) -> None:
        self._rows = {name: _Row(one) for name, one in work.items()}
        self._workers, self._clock, self._every = max(1, workers), clock, every
        self._console = Console(stderr=True) if console is None else console
        self._start = self._wrote = clock()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._start = self._wrote = self._clock()
        if self._console.is_terminal:
            self._stack.enter_context(
                Live(
                    get_renderable=self.table,
                    console=self._console,
                    transient=True,
                    refresh_per_second=4,
                )
            )
        return self

    def __exit__(self, *reason: object) -> None:
        self._stack.close()

    def advance(self, policy: str, decisions: int) -> None:
        """Decisions were made in a shard that is not over yet."""
        row = self._heard(policy)
        row.told += decisions
        self._write()

    def finished(
        self, policy: str, trials: int, decisions: int, seconds: float | None = None
    ) -> None:
        """A shard is there; ``seconds`` is what it took a worker, None if it was found there."""
        row = self._heard(policy)
        row.shards += 1
        row.trials += trials
        row.ended += decisions
        if seconds is not None:
            row.measured += decisions
            row.seconds += seconds
        self._write()

    def failed(self, policy: str) -> None:
        """A shard will not be there."""
        row = self._heard(policy)
        row.failed += 1
        self._write()

    def left(self) -> float | None:
        """Seconds until all is ready; None if nothing is known of it."""
        return self._left(list(self._rows.values()))

    def _left(self, rows: list[_Row]) -> float | None:
        """Seconds until some policies would be ready if all workers worked on them."""
        known = [row.cost for row in self._rows.values() if row.cost is not None]
        total = 0.0
        for row in rows:
            if row.over:
                continue
            if not known:
                return None
            cost = sum(known) / len(known) if row.cost is None else row.cost
            total += (row.work.decisions - row.played) * cost / self._workers
        return total

    def line(self) -> str:
        """All of it in one line, for a log."""
        rows = self._rows.values()
        shards, of = sum(row.shards for row in rows), sum(row.work.shards for row in rows)
        failed = sum(row.failed for row in rows)
        rows_now = [(name, self._rows[name]) for name in self._by_activity()]
        working = [name for name, row in rows_now if row.active is not None and not row.over][:3]
        left = self.left()
        return (
            f"{_percent(self._share())}, {shards} of {of} shards"
            + (f", {failed} failed" if failed else "")
            + (f", {_time(left)} left" if left else "")
            + (f"; working on {', '.join(working)}" if working else "")
        )

    def table(self) -> RenderableType:
        """As much of it as the terminal has room for."""
        shown = set(self._by_activity()[: max(1, self._console.height - FRAME)])
        failed = any(row.failed for row in self._rows.values())
        titles = ["policy", "shards", *(["failed"] if failed else []), "trials", "", "rate", "left"]
        lines = [
            (self._cells(name, [row], failed), [row])
            for name, row in self._rows.items()
            if name in shown
        ]
        everyone = list(self._rows.values())
        total = self._cells(f"all, after {_time(self._clock() - self._start)}", everyone, failed)
        widths = [
            max(len(cells[column]) for cells in (titles, total, *(cells for cells, _ in lines)))
            for column in range(len(titles))
        ]
        # numbers are never cut: names are, and bars have what is left
        room = self._console.width - sum(widths[1:]) - 2 * len(titles) - 3
        bar = max(4, min(BAR, room - min(NAME, widths[0])))
        table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
        table.add_column("policy", no_wrap=True, overflow="ellipsis", max_width=max(8, room - bar))
        table.add_column("", width=bar)
        for title, width in zip(titles[1:], widths[1:], strict=True):
            table.add_column(title, justify="right", no_wrap=True, min_width=width)
        for cells, rows in lines:
            self._add(table, cells, rows, bar, "dim" if rows[0].over else "")
        if hidden := [row for name, row in self._rows.items() if name not in shown]:
            over = sum(row.over for row in hidden)
            table.add_row(Text(f"{len(hidden)} more, {over} ready", style="dim"))
        table.add_section()
        self._add(table, total, everyone, bar, "bold")
        return table

    def _add(self, table: Table, cells: list[str], rows: list[_Row], bar: int, style: str) -> None:
        """A line of the table, its bar in the second place."""
        whole = max(1, sum(row.work.decisions for row in rows))
        played = ProgressBar(whole, sum(row.played for row in rows), width=bar)
        table.add_row(Text(cells[0]), played, *map(Text, cells[1:]), style=style)

    def _cells(self, name: str, rows: list[_Row], failed: bool) -> list[str]:
        """One policy, or all of them."""
        decisions = max(1, sum(row.work.decisions for row in rows))
        done, of = sum(row.shards for row in rows), sum(row.work.shards for row in rows)
        cost = rows[0].cost if len(rows) == 1 else None
        over = all(row.over for row in rows)
        return [
            name,
            f"{done}/{of}",
            *([str(sum(row.failed for row in rows) or "")] if failed else []),
            f"{sum(row.trials for row in rows):,}",
            _percent(sum(row.played for row in rows) / decisions),
            f"{_short(1.0 / cost)}/s" if cost else "",
            "" if over else _time(self._left(rows)),
        ]

    def _share(self) -> float:
        """By decisions, which is all that is known of policies before they run."""
        decisions = sum(row.work.decisions for row in self._rows.values())
        return sum(row.played for row in self._rows.values()) / max(1, decisions)

    def _by_activity(self) -> list[str]:
        """Those that are worked on, latest first; those to come; those that are ready."""

        def place(name: str) -> tuple[bool, float]:
            row = self._rows[name]
            return row.over, math.inf if row.active is None else -row.active

        return sorted(self._rows, key=place)

    def _heard(self, policy: str) -> _Row:
        row = self._rows[policy]
        row.active = self._clock()
        return row

    def _write(self) -> None:
        now = self._clock()
        if not self._console.is_terminal and now - self._wrote >= self._every:
            self._wrote = now
            said = f"[{_time(now - self._start)}] {self.line()}"
            self._console.print(said, markup=False, highlight=False, soft_wrap=True)


class LiveProgress(RunMonitor):
    """Shows a :class:`LiveTable` while shards are computed, and warnings on standard error."""

    def __init__(self) -> None:
        self._table: LiveTable | None = None
        self._checking = ExitStack()
        self._advance: Callable[[int], None] | None = None
        self._tasks = 1

    def prepared(self, store: Store, tasks: Sequence[Task], options: WorkerOptions) -> None:
        self._tasks = len(tasks)

    def warn(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)

    def checked(self, task: Task) -> None:
        if self._advance is None:
            bar = progress_bar("checking what is there", self._tasks)
            self._advance = self._checking.enter_context(bar)
        self._advance(1)

    def all_checked(self) -> None:
        self._checking.close()
        self._advance = None

    def started(self, wanted: Mapping[Task, int], tasks: Sequence[Task], workers: int) -> None:
        totals: dict[str, Counter[str]] = {}
        for task, there in wanted.items():
            mine = Counter(
                trials=task.trials,
                decisions=task.decisions,
                trials_there=there,
                decisions_there=there * task.plan.horizon,
            )
            totals.setdefault(task.policy, Counter(shards=0)).update(mine)
        for task in tasks:
            totals[task.policy]["shards"] += 1
        work = {policy: Work(**total) for policy, total in totals.items()}
        self._table = LiveTable(work, workers).__enter__()

    def advanced(self, task: Task, decisions: int) -> None:
        if self._table is not None:
            self._table.advance(task.policy, decisions)

    def finished(self, task: Task, seconds: float | None) -> None:
        if self._table is not None:
            self._table.finished(task.policy, task.trials, task.decisions, seconds)

    def failed(self, failure: Failure) -> None:
        if self._table is not None:
            self._table.failed(failure.task.policy)

    def stopped(self) -> None:
        if self._table is not None:
            self._table.__exit__()
            self._table = None


def _time(seconds: float | None) -> str:
    """In few letters, for it is an estimate.

    >>> _time(42.0), _time(3190.0), _time(8600.0), _time(4e5), _time(None)
    ('42 s', '53 min', '2.4 h', '4.6 d', '?')
    """
    if seconds is None:
        return "?"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} d"


def _percent(share: float) -> str:
    """Never 100 % before the end."""
    return f"{int(100 * share)} %"


def _short(number: float) -> str:
    """Two or three digits.

    >>> _short(38_214.0), _short(1_250_000.0), _short(7.25)
    ('38 k', '1.2 M', '7.2')
    """
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.1f}{unit}" if scaled < 10 else f"{scaled:.0f}{unit}"
    return f"{number:.1f}" if number < 10 else f"{number:.0f}"
