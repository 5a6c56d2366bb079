"""What a store and worker processes cost over the kernels' own time, and what a summary takes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from display import Table, digits, seconds
from graphbandits.store.summary import summarise_files
from processes import peak_memory
from settings import Settings

from graphbandits.engine import Plays, Shard
from graphbandits.engine.executors import ProcessExecutor
from graphbandits.engine.identity import Series
from graphbandits.engine.plan import Outcome, ProgressCallback, Task, ignore_progress
from graphbandits.experiments import load_experiment
from graphbandits.store import Failure, RunProgress, Store, WorkerOptions, run_missing
from graphbandits.store.driver import split_tasks
from graphbandits.store.record import StudyRecord, tasks_of_plans

FIGURES = ("1a", "1b", "2a", "2b")
WORKERS = 2
ROUNDS, ARMS = 200, 5


class Timed(ProcessExecutor):
    """Worker processes that count the seconds in which kernels ran."""

    kernels = 0.0

    def run(
        self, tasks: Iterable[Task], progress: ProgressCallback = ignore_progress
    ) -> Iterator[tuple[Task, Outcome]]:
        for task, outcome in super().run(tasks, progress):
            assert isinstance(outcome, Shard), outcome
            self.kernels += outcome.seconds
            yield task, outcome


class Strict(RunProgress):
    """Nothing may fail."""

    def failed(self, failure: Failure) -> None:
        raise failure.error


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """The paper's experiments in a store, all at once; a summary in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            "trials": settings.store_trials,
            **_run(Path(folder, "paper"), settings),
            "summary": _summary(Path(folder, "many"), settings.summary_trials),
        }


def _run(place: Path, settings: Settings) -> dict[str, Any]:
    store, wanted = Store.create(place), []
    for figure in FIGURES:
        experiment = load_experiment(f"paper-{figure}")
        plans = experiment.plans(trials=settings.store_trials, seed=settings.seed)
        StudyRecord.of(plans, key=figure, title=figure, rerun="").write(store, plans)
        wanted += tasks_of_plans(plans)
    options = WorkerOptions(WORKERS)
    tasks = split_tasks({task: store.missing(task) for task in wanted}, options)
    with Timed(WORKERS) as executor:
        start = time.perf_counter()
        # each policy twice at a time, so that both workers have loaded its machine code
        short = [Task(t.plan, t.policy, 0, 1) for t in tasks if not t.first]
        for task in short:
            list(executor.run([task] * WORKERS))
        loaded = time.perf_counter() - start
        executor.kernels = 0.0
        start, used = time.perf_counter(), time.process_time()
        run_missing(store, wanted, options, Strict(), executor)
        wall, here = time.perf_counter() - start, time.process_time() - used
    files = [path.stat().st_size for path in place.rglob("*.parquet")]
    assert len(tasks) == len(files)
    return {
        "shards": len(tasks),
        "startup": loaded,
        "kernels": executor.kernels,
        "wall": wall,
        "here": here,
        "bytes": sum(files),
    }


def _summary(place: Path, trials: int) -> dict[str, float]:
    """Write shards of made-up curves; summarise them in a new process and measure its peak."""
    store, series = Store.create(place), Series("0" * 64, {})
    rng = np.random.default_rng(0)
    size = min(250, trials)
    for first in range(0, trials, size):
        regret = np.cumsum(rng.random((size, ROUNDS)) < 0.1, axis=1, dtype=np.float64)
        plays = Plays.of(rng.multinomial(ROUNDS, [1 / ARMS] * ARMS, size))
        store.write(series, Shard(first, regret, plays), {})
    command = [sys.executable, __file__, str(place), str(trials)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wall, peak = map(float, told.split())
    return {"trials": trials, "wall": wall, "peak": peak}


def main(place: str, trials: str) -> None:
    """Seconds and the peak of memory in bytes."""
    store = Store.open(place)
    start = time.perf_counter()
    summarise_files(store, store.shard_index("0" * 64, int(trials)).used, ROUNDS, ARMS)
    wall = time.perf_counter() - start
    print(wall, peak_memory())


def tables(section: dict[str, Any]) -> list[Table]:
    """The run, and the summary."""
    own = section["kernels"] / WORKERS
    rows = [
        ["time in kernels, per worker", seconds(own), ""],
        ["from the first shard to the last", seconds(section["wall"]), _more(section["wall"], own)],
        ["CPU time of the process that writes shards", seconds(section["here"]), ""],
        ["start-up and loading of machine code, before", seconds(section["startup"]), ""],
    ]
    summary = section["summary"]
    return [
        Table(
            f"The paper's four experiments in a store, {section['trials']} trials",
            ["", "time", "more"],
            rows,
            f"{section['shards']} shards, {section['bytes'] / 1e6:.1f} MB, {WORKERS} worker "
            "processes. The workers measure the time in kernels.",
        ),
        Table(
            f"A summary of {summary['trials']} trials",
            ["time", "peak memory"],
            [[seconds(summary["wall"]), f"{digits(summary['peak'] / 1e6)} MB"]],
            f"One policy, {ROUNDS} recorded rounds; means, standard errors and quantiles. Peak "
            "memory of a fresh process, including Python and all its packages.",
        ),
    ]


def _more(wall: float, own: float) -> str:
    return f"{100 * (wall / own - 1):.1f} %"


if __name__ == "__main__":
    main(*sys.argv[1:])
