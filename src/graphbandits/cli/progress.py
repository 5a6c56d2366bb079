"""What commands print while shards are computed, and afterwards."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from graphbandits.cli.formatting import count, duration, file_size, print_entry, show, show_line
from graphbandits.engine import Task
from graphbandits.engine._progress import announce_compilation
from graphbandits.experiments import Study
from graphbandits.experiments.progress_table import LiveProgress
from graphbandits.plugins import file_of
from graphbandits.store import Failure, Store, WorkerOptions
from graphbandits.store.estimate import estimate

#: Decisions that take long enough to be estimated beforehand.
LONG = 10**6
#: Failures that are printed one by one.
SHOWN = 5
#: Pictures that are named one by one; of more the first and the last.
NAMED = 4


class CommandProgress(LiveProgress):
    """Prints ``announcement`` first, an estimate of long runs, and what was written."""

    def __init__(self, output: Path, announcement: Sequence[str] = ()) -> None:
        super().__init__()
        self._output, self._announcement = output, announcement
        self._start = time.perf_counter()
        self._store: Store | None = None
        self._options = WorkerOptions()

    def prepared(self, store: Store, tasks: Sequence[Task], options: WorkerOptions) -> None:
        super().prepared(store, tasks, options)
        self._store, self._options = store, options
        for line in self._announcement:
            show(line)

    def started(self, wanted: Mapping[Task, int], tasks: Sequence[Task], workers: int) -> None:
        self._announce(list(wanted), sum(task.decisions for task in tasks))
        super().started(wanted, tasks, workers)

    def computed(self, failures: Sequence[Failure]) -> None:
        for failure in failures[:SHOWN]:
            typer.echo(" ".join(f"failed: {failure}".split()), err=True)
        if len(failures) > SHOWN:
            typer.echo(f"failed: {len(failures) - SHOWN} more", err=True)

    def read(self, study: Study) -> None:
        for entry in study.entries():
            print_entry(entry, study.record.bounds)

    def written(self, files: Sequence[Path]) -> None:
        """Name the files that were written; of many figures the first and the last."""
        taken = duration(time.perf_counter() - self._start)
        show(f"Done in {taken}. Written to {self._output}/:")
        pages, figures = files[:2], files[2:]
        # of a figure in several formats the first
        names = list({path.stem: path.name for path in reversed(figures)}.values())[::-1]
        if len(names) > NAMED:
            names = [names[0], f"... ({len(names) - 2} more)", names[-1]]
        for name in (*(path.name for path in pages), *names):
            show_line(f"  {name}")

    def _announce(self, wanted: Sequence[Task], decisions: int) -> None:
        """Say that a first run compiles, and how long a long one will take."""
        if decisions * max(10 if t.plan.recording.ratios else 1 for t in wanted) < LONG:
            announce_compilation()
            return
        # a plug-in may do anything, also end this process: only workers try it
        safe = [task for task in wanted if file_of(task.plan.policies[task.policy]) is None]
        if not safe:
            return
        show("Measuring how long it will take (the first run also compiles: half a minute)")
        found = estimate(safe, self._store, self._options)  # the run itself reports failures
        if len(safe) < len(wanted):
            show("Not counting the policies of plug-ins:")
        workers = self._options.workers
        if self._options.cluster is None:
            each = duration(found.seconds / workers)
            show(f"About {each} of simulation on {count(workers, 'worker')};")
        else:
            show(f"About {duration(found.seconds)} of simulation for one worker;")
        size = file_size(found.bytes)
        show_line(f"about {size} go to {self._output}/, and what is there survives a stop\n")


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM, which batch systems send, ends a run as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
