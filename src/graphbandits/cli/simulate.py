"""``graphbandits simulate``: policies in the same random worlds."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from graphbandits.cli.options import (
    GRAPH_HELP,
    Bounds,
    Json,
    Plugin,
    Ratios,
    Seed,
    Workers,
    load,
    number,
)
from graphbandits.errors import InputError


def simulate(
    policy: Annotated[
        list[str],
        typer.Option(
            help="A policy (see 'graphbandits list'); repeat for several.", metavar="NAME"
        ),
    ],
    graph: Annotated[str, typer.Option(help=GRAPH_HELP, metavar="GRAPH")],
    horizon: Annotated[int, number("Rounds of each trial.")],
    trials: Annotated[int, number("Independent trials of each policy.")],
    arms: Annotated[
        int | None, number("Number of arms; the graph's own, else 5, if unset.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    plugin: Plugin = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Directory for figures, results and report.html; none if unset.", metavar="DIR"
        ),
    ] = None,
    json: Json = False,
    bounds: Bounds = False,
    ratios: Ratios = None,
) -> None:
    """Simulate policies in the same random worlds and compare their regret.

    The arms are Bernoulli with means drawn from a uniform prior.

    Example: graphbandits simulate --policy ids-n --policy ts-n --graph "cliques(size=3)"
    --arms 9 --horizon 500 --trials 200
    """
    if ratios is not None and output is None and not bounds:
        raise InputError(
            "--ratios are recorded in the results of --output DIR, and --bounds shows what they "
            "allow: give one of these"
        )
    if output is not None and json:
        raise InputError("--output writes summary.json: leave --json out")
    load(plugin)
    from graphbandits.cli.formatting import plain_console, print_json
    from graphbandits.cli.tables import print_bounds, regret_table
    from graphbandits.engine import Plan
    from graphbandits.engine.progress import announce_compilation
    from graphbandits.experiments.run import available_cores, rerun_command, run_plan
    from graphbandits.store import simulate_plan
    from graphbandits.theory import bounds_of, bounds_summary, judge_bounds

    plan = Plan.of(
        policy, graph=graph, arms=arms, horizon=horizon, trials=trials, seed=seed, ratios=ratios
    )
    name = Path(graph.removeprefix("file:")).name if graph.startswith("file:") else graph
    count = f"{trials} trial{'s' * (trials != 1)}"
    size = f"{plan.process.arms} arms, {horizon} rounds, {count}, seed {seed}"
    if output is not None:
        from graphbandits.cli.progress import CommandProgress, interruptible

        command = ["simulate", *(f"--policy={one}" for one in policy), f"--graph={graph}"]
        command += [f"--horizon={horizon}", f"--trials={trials}", f"--seed={seed}"]
        command += [f"--arms={plan.process.arms}", f"--output={output}"]
        command += ["--bounds"] if bounds else []
        command += [f"--ratios={ratios}"] if ratios else []
        progress = CommandProgress(output)
        with interruptible():
            run_plan(
                plan,
                output,
                title=f"{name}, {size}",
                rerun=rerun_command(command, plugin or []),
                bounds=bounds,
                workers=workers,
                progress=progress,
            )
        return
    announce_compilation()
    # what a policy prints must not end up in the JSON
    with redirect_stdout(sys.stderr) if json else nullcontext():
        results = simulate_plan(plan, workers=available_cores() if workers is None else workers)
    if json:
        more = {"bounds": bounds_summary(bounds_of(plan, results), results)} if bounds else {}
        print_json(results.summary() | more)
        return
    plain_console().print(regret_table(results, f"{graph}, {size}"))
    if bounds:
        print_bounds(judge_bounds(bounds_of(plan, results), results))
