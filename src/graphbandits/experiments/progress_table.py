"""Progress of a run: a live table on a terminal, else a line at regular intervals."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from rich.box import SIMPLE
from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from graphbandits.engine import Task
from graphbandits.engine._progress import Advance, progress_bar
from graphbandits.store import Failure, RunProgress, Store, WorkerOptions

#: Lines of the table that are not policies: header, total, and omitted rows.
RESERVED_LINES = 8
#: Maximum width of a progress bar.
MAX_BAR_WIDTH = 24
#: Minimum number of seconds between two lines of a log.
LOG_INTERVAL = 30.0


@dataclass
class _Row:
    """Progress of one policy in all cells."""

    shards: int = 0  # to compute
    decisions: int = 0  # requested
    stored: int = 0  # decisions in the store before the run
    trials: int = 0  # trials in the store now
    done: int = 0  # finished shards
    failed: int = 0  # failed shards
    reported: int = 0  # decisions of running and finished shards
    ended: int = 0  # decisions of finished shards
    measured: int = 0  # decisions with known run time
    seconds: float = 0.0
    active: float = -math.inf  # time of the last report

    @property
    def played(self) -> int:
        """Decisions that are stored, made, or lost because their shard failed."""
        lost = self.failed * (self.decisions - self.stored) // max(1, self.shards)
        return min(self.decisions, self.stored + max(self.reported, self.ended) + lost)

    @property
    def over(self) -> bool:
        return self.done + self.failed >= self.shards

    @property
    def cost(self) -> float | None:
        """Seconds per decision of one worker; None if not known yet."""
        return self.seconds / self.measured if self.measured else None


class LiveProgress(RunProgress):
    """Progress display on standard error: one row per policy, the time left, and warnings.

    The speed of policies differs by a factor of up to 100. The time left is therefore estimated
    for each policy separately, from the run time of its finished shards. A policy without finished
    shards uses the mean of the others. Without a terminal, a line is written at most every
    ``LOG_INTERVAL`` seconds.
    """

    def __init__(
        self, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._clock = clock
        self._rows: dict[str, _Row] = {}
        self._workers = self._tasks = 1
        self._began = self._wrote = clock()
        self._displays = ExitStack()
        self._advance: Advance | None = None

    # --- methods of RunProgress

    def prepared(self, store: Store, tasks: Sequence[Task], options: WorkerOptions) -> None:
        self._tasks = len(tasks)

    def warn(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)

    def checked(self, task: Task) -> None:
        if self._advance is None:
            bar = progress_bar("checking stored trials", self._tasks)
            self._advance = self._displays.enter_context(bar)
        self._advance(1)

    def all_checked(self) -> None:
        self._displays.close()
        self._advance = None

    def started(self, wanted: Mapping[Task, int], tasks: Sequence[Task], workers: int) -> None:
        self._rows = {task.policy: _Row() for task in wanted}
        for task, stored in wanted.items():
            row = self._rows[task.policy]
            row.trials += stored
            row.stored += stored * task.plan.horizon
            row.decisions += task.decisions
        for task in tasks:
            self._rows[task.policy].shards += 1
        self._workers = max(1, workers)
        self._began = self._wrote = self._clock()
        if self._console.is_terminal:
            live = Live(get_renderable=self.table, console=self._console, transient=True)
            self._displays.enter_context(live)

    def advanced(self, task: Task, decisions: int) -> None:
        self._rows[task.policy].reported += decisions
        self._record_activity(task)

    def finished(self, task: Task, seconds: float | None) -> None:
        row = self._rows[task.policy]
        row.done += 1
        row.trials += task.trials
        row.ended += task.decisions
        if seconds is not None:
            row.measured += task.decisions
            row.seconds += seconds
        self._record_activity(task)

    def failed(self, failure: Failure) -> None:
        self._rows[failure.task.policy].failed += 1
        self._record_activity(failure.task)

    def stopped(self) -> None:
        self._displays.close()

    def _record_activity(self, task: Task) -> None:
        now = self._rows[task.policy].active = self._clock()
        if not self._console.is_terminal and now - self._wrote >= LOG_INTERVAL:
            self._wrote = now
            text = f"[{_time(now - self._began)}] {self.line()}"
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    # --- display

    def seconds_left(self, rows: Iterable[_Row] | None = None) -> float | None:
        """Estimate the time until these policies, or all, are finished if all workers run them.

        None if the run times are not known yet.
        """
        known = [row.cost for row in self._rows.values() if row.cost is not None]
        total = 0.0
        for row in self._rows.values() if rows is None else rows:
            if row.over:
                continue
            if not known:
                return None
            cost = sum(known) / len(known) if row.cost is None else row.cost
            total += (row.decisions - row.played) * cost / self._workers
        return total

    def line(self) -> str:
        """Return the progress in one line, for a log."""
        rows = self._rows.values()
        failed = sum(row.failed for row in rows)
        running = [
            name
            for name in self._by_activity()
            if self._rows[name].active > -math.inf and not self._rows[name].over
        ]
        left = self.seconds_left()
        return (
            f"{_percent(rows)}, {_sum(rows, 'done')} of {_sum(rows, 'shards')} shards"
            + (f", {failed} failed" if failed else "")
            + (f", {_time(left)} left" if left else "")
            + (f"; running {', '.join(running[:3])}" if running else "")
        )

    def table(self) -> RenderableType:
        """Return the table, cut to the height of the terminal."""
        shown = set(self._by_activity()[: max(1, self._console.height - RESERVED_LINES)])
        table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
        # in a narrow terminal, names and bars are cut, but numbers are not
        table.add_column("policy")
        table.add_column("", min_width=4, max_width=MAX_BAR_WIDTH)
        for title in ("shards", "trials", "", "rate", "left"):
            table.add_column(title, justify="right", no_wrap=True)
        for name, row in self._rows.items():
            if name in shown:
                table.add_row(*self._cells(name, [row]), style="dim" if row.over else "")
        if hidden := [row for name, row in self._rows.items() if name not in shown]:
            over = sum(row.over for row in hidden)
            table.add_row(Text(f"{len(hidden)} more, {over} done", style="dim"))
        table.add_section()
        total = f"all, after {_time(self._clock() - self._began)}"
        table.add_row(*self._cells(total, self._rows.values()), style="bold")
        return table

    def _cells(self, name: str, rows: Collection[_Row]) -> list[RenderableType]:
        """Return the cells of a row for one policy or for all."""
        failed = _sum(rows, "failed")
        cost = next(iter(rows)).cost if len(rows) == 1 else None
        texts = [
            f"{_sum(rows, 'done')}/{_sum(rows, 'shards')}{f', {failed} failed' * (failed > 0)}",
            f"{_sum(rows, 'trials'):,}",
            _percent(rows),
            f"{_short(1.0 / cost)}/s" if cost else "",
            "" if all(row.over for row in rows) else _time(self.seconds_left(rows)),
        ]
        bar = ProgressBar(max(1, _sum(rows, "decisions")), _sum(rows, "played"))
        return [Text(name, no_wrap=True, overflow="ellipsis"), bar, *map(Text, texts)]

    def _by_activity(self) -> list[str]:
        """Return the policies: running (latest activity first), waiting, finished."""
        return sorted(
            self._rows, key=lambda name: (self._rows[name].over, -self._rows[name].active)
        )


def _sum(rows: Iterable[_Row], field: str) -> int:
    return sum(getattr(row, field) for row in rows)


def _percent(rows: Collection[_Row]) -> str:
    """Format the share of decisions, rounded down: 100 % means finished."""
    return f"{int(100 * _sum(rows, 'played') / max(1, _sum(rows, 'decisions')))} %"


def _time(seconds: float | None) -> str:
    """Format a duration briefly.

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


def _short(number: float) -> str:
    """Format a number with two or three digits.

    >>> _short(38_214.0), _short(1_250_000.0), _short(7.25)
    ('38 k', '1.2 M', '7.2')
    """
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.1f}{unit}" if scaled < 10 else f"{scaled:.0f}{unit}"
    return f"{number:.1f}" if number < 10 else f"{number:.0f}"
