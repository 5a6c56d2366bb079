"""``graphbandits run``: any experiment, from its file to figures and a report."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from graphbandits.cli.keep import check_output, keep, write_pages
from graphbandits.cli.show import (
    announce_compilation,
    duration,
    plain_console,
    regret_table,
    worker_count,
)
from graphbandits.engine import Plan
from graphbandits.experiments import load_experiment
from graphbandits.report import Study


def run(
    experiment: str,
    trials: int | None,
    seed: int | None,
    policies: list[str],
    output: Path | None,
    workers: int | None,
    plugins: Sequence[Path],
) -> None:
    """Check everything, run, draw, write."""
    described = load_experiment(experiment)
    plan = described.plan(trials=trials, seed=seed, policies=policies)
    key = Path(experiment).stem
    place = Path(key) if output is None else output
    command = ["run", experiment, f"--trials={plan.trials}", f"--seed={plan.seed}"]
    command += [f"--policy={policy}" for policy in policies]
    command += [f"--output={place}"]
    run_and_keep(plan, key, described.title, rerun_command(command, plugins), place, workers)


def run_and_keep(
    plan: Plan, key: str, title: str, rerun: str, output: Path, workers: int | None
) -> None:
    """Run a plan; print its table; write figures, results, summary and report."""
    count = worker_count(workers)
    check_output(output, [key])
    announce_compilation()
    console = plain_console()
    start = time.perf_counter()
    results = plan.run(workers=count, label=key)
    console.print(regret_table(results, title))
    study = Study(key, title, results, rerun)
    drawn = keep(study, output)
    write_pages([study], output, title=title, introduction="")
    console.print(f"Done in {duration(time.perf_counter() - start)}. Written:")
    for path in (output / "report.html", *drawn, output / f"results-{key}"):
        console.print(f"  {path}", soft_wrap=True)


def rerun_command(words: Sequence[str], plugins: Sequence[Path]) -> str:
    """The shell command that makes a study again.

    >>> rerun_command(["run", "paper-1a", "--seed=0"], [Path("my ucb.py")])
    "graphbandits run paper-1a --seed=0 '--plugin=my ucb.py'"
    """
    return shlex.join(["graphbandits", *words, *(f"--plugin={path}" for path in plugins)])
