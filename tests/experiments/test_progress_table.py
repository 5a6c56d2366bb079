"""Tests of experiments/progress_table.py: the table shown during a run."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from graphbandits.engine import Plan, Task
from graphbandits.errors import InputError
from graphbandits.experiments.progress_table import LiveProgress
from graphbandits.store import Failure


class Clock:
    """A clock that is set by the test."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def console(terminal: bool, width: int = 80, height: int = 24) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=terminal,
        width=width,
        height=height,
        color_system=None,
        _environ={"TERM": "xterm"},  # independent of the terminal of the tests
    )


def started(
    policies: list[str], workers: int, clock: Clock, screen: Console, there: int = 0
) -> LiveProgress:
    """A run of 1000 trials of 100 rounds for each policy, in shards of 250 trials."""
    plan = Plan.of("ts-n", graph="paper", horizon=100, trials=1000)
    shown = LiveProgress(screen, clock)
    wanted = {Task(plan, policy, 0, 1000): there for policy in policies}
    tasks = [shard(policy, i) for policy in policies for i in range(there, 1000, 250)]
    shown.started(wanted, tasks, workers)
    return shown


def shard(policy: str, first: int = 0) -> Task:
    plan = Plan.of("ts-n", graph="paper", horizon=100, trials=1000)
    return Task(plan, policy, first, 250)


def shown(table: LiveProgress, width: int = 80, height: int = 24) -> list[str]:
    """The lines of the table as a terminal shows them."""
    sheet = console(False, width, height)
    sheet.print(table.table())
    return sheet.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_remaining_time_uses_the_speed_of_each_policy() -> None:
    """One policy takes 1 ms per decision, the other 100 ms; there are two workers."""
    table = started(["quick", "slow"], 2, Clock(), console(False))
    assert table.seconds_left() is None
    table.finished(shard("quick"), 25.0)
    assert table.seconds_left() == pytest.approx(
        (75_000 + 100_000) * 1e-3 / 2
    )  # without a measurement: the speed of the first
    table.finished(shard("slow"), 2500.0)
    assert table.seconds_left() == pytest.approx((75_000 * 1e-3 + 75_000 * 0.1) / 2)
    table.advanced(shard("slow"), 10_000)  # progress of the running shard
    assert table.seconds_left() == pytest.approx((75_000 * 1e-3 + 75_000 * 0.1) / 2)
    table.advanced(shard("slow"), 25_000)
    assert table.seconds_left() == pytest.approx((75_000 * 1e-3 + 65_000 * 0.1) / 2)


def test_reported_progress_is_not_counted_twice() -> None:
    table = started(["a"], 1, Clock(), console(False))
    for _ in range(5):
        table.advanced(shard("a"), 5000)
    assert table.line().startswith("25 %, 0 of 4 shards")
    table.finished(shard("a"), 10.0)
    assert table.line().startswith("25 %, 1 of 4 shards")
    assert table.seconds_left() == pytest.approx(30.0)


def test_stored_trials_count_as_done_but_not_in_the_rate() -> None:
    table = started(["a"], 1, Clock(), console(False), there=500)
    assert table.line() == "50 %, 0 of 2 shards"
    assert table.seconds_left() is None
    table.finished(shard("a"), None)  # another process has computed it
    assert table.seconds_left() is None
    assert table.line().startswith("75 %, 1 of 2 shards; running a")
    table.finished(shard("a"), 5.0)
    assert table.line() == "100 %, 2 of 2 shards"
    assert table.seconds_left() == 0.0
    row = next(line for line in shown(table) if line.startswith(" a "))
    assert row.split()[-5:] == ["1,000", "100", "%", "5.0", "k/s"]


def test_failed_trials_are_neither_done_nor_remaining() -> None:
    table = started(["a"], 1, Clock(), console(False))
    table.finished(shard("a"), 10.0)
    table.failed(Failure(shard("a"), InputError("why")))
    assert table.seconds_left() == pytest.approx(20.0)
    table.finished(shard("a"), 10.0)
    table.finished(shard("a"), 10.0)
    assert table.seconds_left() == 0.0
    assert table.line() == "100 %, 3 of 4 shards, 1 failed"
    assert [line.split()[2:4] for line in shown(table) if line.startswith(" a ")] == [["3/4,", "1"]]


@pytest.mark.parametrize("width", [80, 120])
def test_thirty_policies_fit_and_active_ones_are_shown(width: int) -> None:
    clock = Clock()
    names = [f"policy-{i}(with=a long text, for={i})" for i in range(30)]
    table = started(names, 2, clock, console(True, width))
    for i in (27, 3, *range(5, 15)):
        clock.now += 1
        for _ in range(4 if i == 3 else 1):
            table.finished(shard(names[i]), 3600.0 * 1000)
    lines = shown(table, width)
    assert len(lines) < 24
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for i in (27, *range(5, 15)):
        assert f" policy-{i}(" in text
    assert " policy-3(" not in text  # it is done
    assert "14 more, 1 done" in text
    numbers = [line.split()[-2:] for line in lines if " policy-27(" in line]
    assert numbers == [["62.5", "d"]]  # numbers are not cut


def test_terminal_is_restored() -> None:
    screen = console(True)
    table = started(["ts-n"], 1, Clock(), screen)
    table.finished(shard("ts-n"), 1.0)
    table.stopped()
    written = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "ts-n" in written
    assert "\x1b[?25h" in written  # the cursor is shown again
    assert written.count("\x1b[2K") > 3  # the lines are erased
    assert "shards;" not in written  # no log lines


def test_log_has_a_line_at_intervals() -> None:
    log, clock = console(False, width=40), Clock()
    table = started(["ts-n[x]"], 1, clock, log)
    table.finished(shard("ts-n[x]"), 10.0)
    clock.now += 29.0
    table.advanced(shard("ts-n[x]"), 26_000)
    clock.now += 1.0
    table.advanced(shard("ts-n[x]"), 1000)
    table.advanced(shard("ts-n[x]"), 1000)
    clock.now += 29.0
    table.failed(Failure(shard("ts-n[x]"), InputError("why")))
    clock.now += 6971.0
    table.finished(shard("ts-n[x]"), 10.0)
    assert log.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "[30 s] 27 %, 1 of 4 shards, 29 s left; running ts-n[x]",
        "[2.0 h] 75 %, 2 of 4 shards, 1 failed, 10 s left; running ts-n[x]",
    ]
