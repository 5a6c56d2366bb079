"""``graphbandits reproduce``: the paper's four experiments, from nothing to a report."""

from __future__ import annotations

from pathlib import Path

from graphbandits.cli.how import How
from graphbandits.cli.keep import carry_out
from graphbandits.cli.run import rerun_command
from graphbandits.cli.show import plain_console
from graphbandits.errors import InputError, nearest
from graphbandits.experiments import load_experiment
from graphbandits.studies import Commission

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
    how: How,
    bounds: bool,
) -> None:
    """Check everything, say what will happen, run what is missing, draw, write."""
    chosen = sorted(set(figures or FIGURES))
    for figure in chosen:
        if figure not in FIGURES:
            raise InputError(f"unknown figure '{figure}': {nearest(figure, FIGURES)}")
    commissions = [_commission(figure, trials, seed, output, bounds) for figure in chosen]
    announced = ["Reproducing the experiments of Liu, Buccapatnam and Shroff (2018):"]
    for commission in commissions:
        plan = commission.cells[0].plan
        size = f"{plan.horizon} rounds, {plan.trials} trials"
        announced += [f"  {commission.title}", f"      {', '.join(plan.policies)}: {size}"]
    carry_out(
        commissions,
        output,
        how,
        title=TITLE,
        introduction=INTRODUCTION,
        also=FIGURES,
        announced=announced,
    )
    plain_console().print(f"To explore, open {output / 'report.html'} in a browser.")


def _commission(
    figure: str, trials: int | None, seed: int, output: Path, bounds: bool
) -> Commission:
    experiment = load_experiment(f"paper-{figure}")
    size = [f"--trials={experiment.trials if trials is None else trials}", f"--seed={seed}"]
    words = ["reproduce", f"--figure={figure}", *size, f"--output={output}"]
    rerun = rerun_command(words + (["--bounds"] if bounds else []), [])
    return Commission.of(
        experiment,
        figure,
        rerun,
        title=f"{figure}. {experiment.title}",
        trials=trials,
        seed=seed,
        bounds=bounds,
    )
