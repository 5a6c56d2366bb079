"""``graphbandits reproduce``: the paper's four experiments, from nothing to figures."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from graphbandits.cli.show import duration, regret_table, worker_count
from graphbandits.errors import InputError, nearest
from graphbandits.experiments import Experiment, load_experiment
from graphbandits.files import make_directory, write_text
from graphbandits.plots import regret_figure, save_figure
from graphbandits.results import Results

FIGURES = ("1a", "1b", "2a", "2b")


def run(
    figures: list[str] | None, trials: int | None, seed: int, output: Path, workers: int | None
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
    make_directory(output)

    console = Console(highlight=False, soft_wrap=True)
    console.print("Reproducing the experiments of Liu, Buccapatnam and Shroff (2018):")
    for figure, plan in plans.items():
        console.print(f"  {figure}  {experiments[figure].title}")
        console.print(
            f"      {', '.join(plan.policies)}: {plan.horizon} rounds, {plan.trials} trials"
        )
    console.print("Measuring how long it will take (the first run also compiles: half a minute)")
    seconds = sum(plan.seconds(threads) for plan in plans.values())
    console.print(
        f"About {duration(seconds)} on {threads} thread{'s' if threads > 1 else ''}; "
        f"figures and results go to {output}/\n"
    )

    start = time.perf_counter()
    summary: dict[str, Any] = {}
    for figure, plan in plans.items():
        results = plan.run(workers=threads, label=f"figure {figure}")
        summary[figure] = _keep(results, experiments[figure], figure, output)
        console.print(regret_table(results, f"{figure}  {experiments[figure].title}"))
    write_text(output / "summary.json", json.dumps(summary, indent=2) + "\n")
    console.print(f"Done in {duration(time.perf_counter() - start)}. Figures:")
    for figure in chosen:
        console.print(f"  {output / f'figure-{figure}.png'}  (and .svg, results-{figure}/)")
    console.print(f"All numbers: {output / 'summary.json'}")


def _keep(results: Results, experiment: Experiment, figure: str, output: Path) -> dict[str, Any]:
    """Write the figure and the results; return the numbers for the summary."""
    save_figure(regret_figure(results, experiment.title), output / f"figure-{figure}")
    results.save(output / f"results-{figure}")
    policies = {
        name: {
            "regret": numbers["regret"] | {"interval": list(results.interval(name))},
            "plays": numbers["plays"],
        }
        for name, numbers in results.summary()["policies"].items()
    }
    differences = [
        {
            "first": d.first,
            "second": d.second,
            "mean": d.mean,
            "standard_error": d.standard_error,
            "interval": [d.low, d.high],
        }
        for d in results.differences()
    ]
    return {
        "title": experiment.title,
        "settings": dict(results.settings),
        "policies": policies,
        "differences": differences,
    }
