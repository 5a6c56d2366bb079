"""``graphbandits run``: any experiment, from its file to figures and a report."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from graphbandits.cli.bounds import print_bounds
from graphbandits.cli.keep import check_output, figure_names, keep, study_summary, write_pages
from graphbandits.cli.show import announce_long, duration, plain_console, worker_count
from graphbandits.cli.sweeps import run_sweeps
from graphbandits.cli.tables import claim_table, published_table, regret_table
from graphbandits.engine import Plan
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.experiments import load_experiment
from graphbandits.report import Study
from graphbandits.results import Claim, Published
from graphbandits.theory import bounds_of


def run(
    experiment: str,
    trials: int | None,
    seed: int | None,
    policies: list[str],
    output: Path | None,
    workers: int | None,
    plugins: Sequence[Path],
    bounds: bool,
    ratios: str | None,
) -> None:
    """Check everything, run, draw, write."""
    described = load_experiment(experiment)
    key = Path(experiment).stem
    place = Path(key) if output is None else output
    command = ["run", experiment]
    command += [f"--trials={described.trials if trials is None else trials}"]
    command += [f"--seed={described.seed if seed is None else seed}"]
    command += [f"--policy={policy}" for policy in policies]
    command += [f"--output={place}"]
    command += ["--bounds"] if bounds else []
    command += [f"--ratios={ratios}"] if ratios else []
    rerun = rerun_command(command, plugins)
    if described.sweeps:
        if bounds or ratios is not None:
            raise InputError(
                f"{experiment} has sweeps, which are drawn against a parameter, and bounds and "
                f"ratios are of one simulation: leave {'--bounds' if bounds else '--ratios'} out"
            )
        with errors_of(experiment):
            sweeps = described.sweep_plans(trials=trials, seed=seed, policies=policies)
        run_sweeps(sweeps, key, described.title, described.notes, rerun, place, workers)
        return
    with errors_of(experiment):
        plan = described.plan(trials=trials, seed=seed, policies=policies, ratios=ratios)
    run_and_keep(
        plan,
        key,
        described.title,
        rerun,
        place,
        workers,
        notes=described.notes,
        claims=described.judged_claims(),
        published=described.published_means(),
        draw_bounds=bounds,
    )


@contextmanager
def errors_of(experiment: str) -> Iterator[None]:
    """Errors name the experiment that they are about."""
    try:
        yield
    except GraphBanditsError as error:
        raise type(error)(f"{experiment}: {error}") from error


def run_and_keep(
    plan: Plan,
    key: str,
    title: str,
    rerun: str,
    output: Path,
    workers: int | None,
    *,
    notes: tuple[str, ...] = (),
    claims: tuple[Claim, ...] = (),
    published: Published | None = None,
    draw_bounds: bool = False,
) -> None:
    """Run a plan; print its tables; write figures, results, summary and report."""
    count = worker_count(workers)
    check_output(output, figure_names([key]), [key])
    announce_long([plan], count, output)
    console = plain_console()
    start = time.perf_counter()
    results = plan.run(workers=count, label=key)
    study = Study(key, title, results, rerun, notes, claims, published, bounds_of(plan, results))
    print_study(study, draw_bounds)
    drawn = keep(study, output, draw_bounds)
    write_pages([study], {key: study_summary(study)}, output, title=title, introduction="")
    console.print(f"Done in {duration(time.perf_counter() - start)}. Written:")
    for path in (output / "report.html", *drawn, output / f"results-{key}"):
        console.print(f"  {path}", soft_wrap=True)


def print_study(study: Study, bounds: bool = False) -> None:
    """The regrets, and what they say of claims, of bounds if asked, and of published means."""
    console = plain_console()
    console.print(regret_table(study.results, study.title))
    if study.claims:
        console.print(claim_table(study.judgements))
    if bounds:
        print_bounds(study.kept_bounds)
    if study.published is not None:
        console.print(published_table(study.comparisons, study.published.source))


def rerun_command(words: Sequence[str], plugins: Sequence[Path]) -> str:
    """The shell command that makes a study again.

    >>> rerun_command(["run", "paper-1a", "--seed=0"], [Path("my ucb.py")])
    "graphbandits run paper-1a --seed=0 '--plugin=my ucb.py'"
    """
    return shlex.join(["graphbandits", *words, *(f"--plugin={path}" for path in plugins)])
