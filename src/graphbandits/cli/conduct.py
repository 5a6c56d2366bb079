"""Run studies into a store, and tell what happens."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from graphbandits.cli.how import How
from graphbandits.cli.live import LiveTable, Work
from graphbandits.cli.show import announce_compilation, duration, file_size, plain_console
from graphbandits.engine.executors import executor_for
from graphbandits.engine.progress import Advance, progress_bar
from graphbandits.engine.tasks import Task
from graphbandits.plugins import file_of
from graphbandits.store import ShardFile, Store
from graphbandits.studies.estimate import estimate
from graphbandits.studies.recording import Commission
from graphbandits.studies.runner import (
    Failure,
    Outcome,
    Part,
    check_present,
    conduct,
    missing,
    parts_of,
    tasks_of,
)

#: Decisions that take long enough to be told so beforehand.
LONG = 10**6
#: Failures that are told one by one.
TOLD = 5
#: How often a run looks again whether all is there.
ROUNDS = 5


@contextmanager
def working_in(store: Store, commissions: Sequence[Commission]) -> Iterator[list[Part]]:
    """Be known in the store as long as this lasts; a stop says how to go on.

    Gives the parts of all studies. Other runs that work there are told of.
    """
    parts = parts_of(commissions)
    with _stopping(store, parts), store.announce(tell=_say):
        for other in store.others():
            typer.echo(
                f"another run works in {store.path} (process {other.pid} on {other.host}, since "
                f"{other.started}): both go on, and each uses what the other has finished",
                err=True,
            )
        yield parts


def run_into(store: Store, parts: Sequence[Part], how: How) -> Outcome:
    """Compute what the store lacks, with a live table."""
    notes = _Notes()
    with progress_bar("checking what is there", len(parts)) as notes.checking:
        check_present(store, parts, notes)
    outcome = Outcome()
    tasks = tasks_of(store, parts, how.count, how.shard)
    decisions = sum(task.decisions for _, task in tasks)
    plans = list({id(part.plan): part.plan for part in parts}.values())
    executor = executor_for(how.count, how.cluster, how.parallel, plans, decisions)
    if not tasks:
        return outcome
    _announce(store, parts, decisions, how)
    with executor, LiveTable(_work(store, parts, tasks), executor.workers) as table:
        notes.table = table
        for _ in range(ROUNDS):
            outcome.add(conduct(store, tasks, executor, notes))
            # somebody may have removed what was there, or set it aside
            failed = {(failure.part.series.name, failure.first) for failure in outcome.failures}
            again = tasks_of(store, parts, how.count, how.shard)
            tasks = [(p, task) for p, task in again if (p.series.name, task.first) not in failed]
            if not tasks:
                break
    return outcome


def _work(
    store: Store, parts: Sequence[Part], tasks: Sequence[tuple[Part, Task]]
) -> dict[str, Work]:
    """What each policy has to do, and what of it is there, over all cells."""
    totals: dict[str, Counter[str]] = {}
    for part in parts:
        used = store.cover(part.series.name, part.trials, part.plan.first_trial).used
        there = sum(file.trials for file in used)
        mine = Counter(
            shards=len(used),
            trials=part.trials,
            decisions=part.trials * part.plan.horizon,
            shards_there=len(used),
            trials_there=there,
            decisions_there=there * part.plan.horizon,
        )
        totals.setdefault(part.policy, Counter()).update(mine)
    for part, _ in tasks:
        totals[part.policy]["shards"] += 1
    return {policy: Work(**total) for policy, total in totals.items()}


class _Notes:
    """Hears of a run; tells the table, and standard error what is not in it."""

    def __init__(self) -> None:
        self.table: LiveTable | None = None
        self.checking: Advance = lambda done: None

    def checked(self, part: Part) -> None:
        self.checking(1)

    def damaged(self, file: ShardFile, reason: str) -> None:
        typer.echo(f"{reason}; it was set aside and is computed again", err=True)

    def advance(self, part: Part, decisions: int) -> None:
        if self.table is not None:
            self.table.advance(part.policy, decisions)

    def finished(self, part: Part, trials: int, seconds: float) -> None:
        if self.table is not None:
            self.table.finished(part.policy, trials, trials * part.plan.horizon, seconds)

    def found(self, part: Part, trials: int) -> None:
        if self.table is not None:
            self.table.finished(part.policy, trials, trials * part.plan.horizon)

    def failed(self, failure: Failure) -> None:
        if self.table is not None:
            self.table.failed(failure.part.policy)


def _announce(store: Store, parts: Sequence[Part], lacking: int, how: How) -> None:
    """Say what a first run has to, and how long a long one will take."""
    if lacking * max(10 if p.plan.recording.ratios else 1 for p in parts) < LONG:
        announce_compilation()
        return
    # a plug-in may do anything, also end this process: it is tried by the workers alone
    safe = [part for part in parts if file_of(part.plan.policies[part.policy]) is None]
    if not safe:
        return
    console = plain_console()
    console.print("Measuring how long it will take (the first run also compiles: half a minute)")
    told = estimate(safe, store, how.count, how.shard)  # what fails is told by the run
    if len(safe) < len(parts):
        console.print("Not counting the policies of plug-ins:")
    if how.cluster is None:
        who = f"{how.count} worker{'s' * (how.count > 1)}"
        console.print(f"About {duration(told.seconds / how.count)} of simulation on {who};")
    else:
        console.print(f"About {duration(told.seconds)} of simulation for one worker;")
    console.print(
        f"about {file_size(told.bytes)} go to {store.path}/, and what is there survives a stop\n",
        soft_wrap=True,
    )


@contextmanager
def _stopping(store: Store, parts: Sequence[Part]) -> Iterator[None]:
    """A stop, by Ctrl-C or by the terminator of a batch system, says how to go on."""
    before = None
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    except KeyboardInterrupt:
        trials = sum(part.trials for part in parts)
        there = trials - sum(lacking for part in parts for _, lacking in missing(store, part))
        raise KeyboardInterrupt(
            f"{there} of {trials} trials are kept in {store.path}: the same command goes on there"
        ) from None
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _say(line: str) -> None:
    typer.echo(line, err=True)


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def tell_failures(failures: Sequence[Failure]) -> None:
    """What could not be computed, line by line."""
    for failure in failures[:TOLD]:
        typer.echo(" ".join(f"failed: {failure}".split()), err=True)
    if len(failures) > TOLD:
        typer.echo(f"failed: {len(failures) - TOLD} more", err=True)
