"""``graphbandits reproduce``: the paper's four experiments, from nothing to figures."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from graphbandits.cli.show import as_json, duration, plain_console, regret_table, worker_count
from graphbandits.errors import InputError, nearest
from graphbandits.experiments import Experiment, load_experiment
from graphbandits.files import make_directory, write_text
from graphbandits.plots import regret_figure, save_figure
from graphbandits.results import Results, check_place

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

    _check_targets(chosen, output)
    console = plain_console()
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
    write_text(output / "summary.json", as_json(_earlier(output) | summary) + "\n")
    console.print(f"Done in {duration(time.perf_counter() - start)}. Figures:")
    for figure in chosen:
        console.print(f"  {output / f'figure-{figure}.png'}  (and .svg, results-{figure}/)")
    console.print(f"All numbers: {output / 'summary.json'}")


def _check_targets(figures: list[str], output: Path) -> None:
    """Notice before the work, not after it, that a result could not be written."""
    names = [f"figure-{figure}.{kind}" for figure in figures for kind in ("png", "svg")]
    for name in (*names, "summary.json"):
        if (output / name).is_dir():
            raise InputError(f"{output / name} is a directory: choose another --output")
    for figure in figures:
        check_place(output / f"results-{figure}")


def _earlier(output: Path) -> dict[str, Any]:
    """The summary of figures drawn before into the same directory."""
    try:
        earlier = json.loads((output / "summary.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {k: v for k, v in earlier.items() if k in FIGURES} if isinstance(earlier, dict) else {}


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
