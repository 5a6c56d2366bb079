"""``graphbandits reproduce``: the paper's four experiments, from nothing to a report."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from graphbandits.cli.keep import check_output, figure_names, keep, study_summary, write_pages
from graphbandits.cli.run import print_study, rerun_command
from graphbandits.cli.show import announce_time, duration, plain_console, worker_count
from graphbandits.errors import InputError, nearest
from graphbandits.experiments import Experiment, load_experiment
from graphbandits.report import Study
from graphbandits.results import Results, recorded_rounds
from graphbandits.theory import Bound, bounds_of

FIGURES = ("1a", "1b", "2a", "2b")
TITLE = "Information-directed sampling on feedback graphs: the paper's experiments"
INTRODUCTION = (
    "The four experiments of F. Liu, S. Buccapatnam and N. Shroff, Information Directed Sampling "
    "for Stochastic Bandits with Graph Feedback (AAAI 2018), run again. Regret is the expected "
    "reward lost to always playing the best arm. All policies met the same arms, graphs and "
    "outcomes, so the difference of two is known better than either."
)


def run(
    figures: list[str] | None,
    trials: int | None,
    seed: int,
    output: Path,
    workers: int | None,
    bounds: bool,
) -> None:
    """Check everything, say what will happen, run, draw, write."""
    chosen = list(dict.fromkeys(figures or FIGURES))
    for figure in chosen:
        if figure not in FIGURES:
            raise InputError(f"unknown figure '{figure}': {nearest(figure, FIGURES)}")
    threads = worker_count(workers)
    experiments = {figure: load_experiment(f"paper-{figure}") for figure in chosen}
    plans = {
        figure: experiment.plan(trials=trials, seed=seed)
        for figure, experiment in experiments.items()
    }
    check_output(output, figure_names(chosen), chosen)
    console = plain_console()
    console.print("Reproducing the experiments of Liu, Buccapatnam and Shroff (2018):")
    for figure, plan in plans.items():
        console.print(f"  {_title(figure)}")
        console.print(
            f"      {', '.join(plan.policies)}: {plan.horizon} rounds, {plan.trials} trials"
        )
    announce_time(plans.values(), threads, output)

    start = time.perf_counter()
    for figure, plan in plans.items():
        results = plan.run(workers=threads, label=f"figure {figure}")
        study = _study(figure, results, output, bounds)
        keep(study, output, bounds)
        print_study(study, bounds)
    studies = _all_studies(chosen, output, bounds)
    summary = {study.key: study_summary(study) for study in studies}
    write_pages(studies, summary, output, title=TITLE, introduction=INTRODUCTION)
    console.print(f"Done in {duration(time.perf_counter() - start)}. Figures:")
    for figure in chosen:
        console.print(f"  {output / f'figure-{figure}.png'}  (and .svg, results-{figure}/)")
    console.print(f"All numbers: {output / 'summary.json'}")
    console.print(f"To explore, open {output / 'report.html'} in a browser.")


def _all_studies(chosen: list[str], output: Path, bounds: bool) -> list[Study]:
    """Those run now, and those that lie in the same directory from before."""
    studies = []
    for figure in FIGURES:
        place = output / f"results-{figure}"
        try:
            drawn = bounds and figure in chosen
            studies.append(_study(figure, Results.load(place), output, drawn))
        except InputError:
            if figure in chosen:
                raise
    return studies


def _study(figure: str, results: Results, output: Path, draw_bounds: bool) -> Study:
    settings = results.settings
    size = [f"--trials={settings['trials']}", f"--seed={settings['seed']}", f"--output={output}"]
    size += ["--bounds"] if draw_bounds else []
    rerun = rerun_command(["reproduce", f"--figure={figure}", *size], [])
    experiment = load_experiment(f"paper-{figure}")
    # results of an earlier version may have fewer policies
    claims = (c for c in experiment.judged_claims() if {*c.better, *c.than} <= {*results.policies})
    return Study(
        figure,
        _title(figure),
        results,
        rerun,
        experiment.notes,
        tuple(claims),
        bounds=_bounds(experiment, results),
    )


def _bounds(experiment: Experiment, results: Results) -> tuple[Bound, ...]:
    """The bounds for the policies of results, which may be of an earlier version."""
    plan = experiment.plan(trials=results.trials, seed=results.settings.get("seed"))
    if not np.array_equal(results.rounds, recorded_rounds(plan.horizon)):
        return ()
    found = bounds_of(plan)
    return tuple(bound for bound in found if any(map(bound.is_for, results.policies)))


def _title(figure: str) -> str:
    return f"{figure}. {load_experiment(f'paper-{figure}').title}"
