"""Messages that the commands print during and after a run."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from graphbandits.cli.formatting import (
    count,
    duration,
    file_size,
    print_entry,
    print_line,
    print_text,
)
from graphbandits.engine import Task
from graphbandits.engine._progress import COMPILATION, announce_compilation
from graphbandits.experiments import Study
from graphbandits.experiments.progress_table import LiveProgress
from graphbandits.plugins import file_of
from graphbandits.policies.base import with_inner
from graphbandits.store import Failure, Store, WorkerOptions
from graphbandits.store.estimate import estimate

#: Number of decisions from which the run time is estimated first.
LONG_RUN = 10**6
#: Number of failures that are printed individually.
SHOWN_FAILURES = 5
#: Number of figures that are listed individually; else only the first and the last.
LISTED_FIGURES = 4


class CommandProgress(LiveProgress):
    """Prints ``announcement``, an estimate of the run time of long runs, and the output files."""

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
            print_text(line)

    def started(self, wanted: Mapping[Task, int], tasks: Sequence[Task], workers: int) -> None:
        self._print_estimate(list(wanted), sum(task.decisions for task in tasks))
        super().started(wanted, tasks, workers)

    def computed(self, failures: Sequence[Failure]) -> None:
        for failure in failures[:SHOWN_FAILURES]:
            typer.echo(" ".join(f"failed: {failure}".split()), err=True)
        if len(failures) > SHOWN_FAILURES:
            typer.echo(f"failed: {len(failures) - SHOWN_FAILURES} more", err=True)

    def read(self, study: Study) -> None:
        for entry in study.entries():
            print_entry(entry, study.record.bounds)

    def written(self, files: Sequence[Path]) -> None:
        """Print the names of the output files; of many figures only the first and the last."""
        elapsed = duration(time.perf_counter() - self._start)
        print_line(f"Finished in {elapsed}. Files in {self._output}/:")
        pages, figures = files[:2], files[2:]
        # list only the first format of each figure
        names = list({path.stem: path.name for path in reversed(figures)}.values())[::-1]
        if len(names) > LISTED_FIGURES:
            names = [names[0], f"... ({len(names) - 2} more)", names[-1]]
        for name in (*(path.name for path in pages), *names):
            print_line(f"  {name}")

    def _print_estimate(self, requested: Sequence[Task], decisions: int) -> None:
        """Announce the compilation of a first run, and estimate the time of a long run."""
        if decisions * max(10 if t.plan.recording.ratios else 1 for t in requested) < LONG_RUN:
            announce_compilation()
            return
        # a plug-in may crash the process: run it in workers only
        safe = [
            task
            for task in requested
            if not any(map(file_of, with_inner(task.plan.policies[task.policy])))
        ]
        if not safe:
            return
        print_text(f"Estimating the run time (a first run also compiles: about {COMPILATION})")
        found = estimate(safe, self._store, self._options)  # failures are reported by the run
        if len(safe) < len(requested):
            print_text("The estimate does not include policies of plug-ins.")
        workers = self._options.workers
        if self._options.cluster is None:
            each = duration(found.seconds / workers)
            print_text(f"About {each} on {count(workers, 'worker')}.")
        else:
            print_text(f"About {duration(found.seconds)} of work for one worker.")
        size = file_size(found.bytes)
        print_line(
            f"About {size} in {self._output}/. Finished trials are kept if the run is stopped.\n"
        )


@contextmanager
def interruptible() -> Iterator[None]:
    """Handle SIGTERM, which batch systems send, like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
