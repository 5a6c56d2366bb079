"""``graphbandits simulate``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

from graphbandits.cli.bounds import print_bounds
from graphbandits.cli.how import How
from graphbandits.cli.show import (
    announce_compilation,
    plain_console,
    print_json,
)
from graphbandits.cli.tables import regret_table
from graphbandits.engine import Plan
from graphbandits.errors import InputError
from graphbandits.theory import bounds_of, bounds_summary, judge_bounds


def run(
    policies: list[str],
    graph: str,
    horizon: int,
    trials: int,
    arms: int | None,
    seed: int,
    how: How,
    plugins: Sequence[Path],
    output: Path | None,
    as_json: bool,
    bounds: bool,
    ratios: str | None,
) -> None:
    """Check, run, and print the table or the JSON object; keep it all if there is a place."""
    if ratios is not None and output is None and not bounds:
        raise InputError(
            "--ratios are recorded in the results of --output DIR, and --bounds shows what they "
            "allow: give one of these"
        )
    plan = Plan.of(
        policies,
        graph=graph,
        arms=arms,
        horizon=horizon,
        trials=trials,
        seed=seed,
        ratios=ratios,
    )
    count = f"{trials} trial{'s' * (trials != 1)}"
    size = f"{plan.process.arms} arms, {horizon} rounds, {count}, seed {seed}"
    if output is not None:
        if as_json:
            raise InputError("--output writes summary.json: leave --json out")
        _keep(plan, policies, graph, size, plugins, output, how, bounds)
        return
    announce_compilation()
    # what a policy prints must not end up in the JSON
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        results = plan.run(workers=how.count, label="simulating")
    if as_json:
        more = {"bounds": bounds_summary(bounds_of(plan, results), results)} if bounds else {}
        print_json(results.summary() | more)
        return
    plain_console().print(regret_table(results, f"{graph}, {size}"))
    if bounds:
        print_bounds(judge_bounds(bounds_of(plan, results), results))


def _keep(
    plan: Plan,
    policies: Sequence[str],
    graph: str,
    size: str,
    plugins: Sequence[Path],
    output: Path,
    how: How,
    bounds: bool,
) -> None:
    """Run it in the store of a directory."""
    from graphbandits.cli.keep import carry_out  # it draws, and loads slowly
    from graphbandits.cli.run import rerun_command
    from graphbandits.experiments import Cell
    from graphbandits.experiments.figures import requested
    from graphbandits.studies import Commission

    ratios = plan.recording.ratios
    command = ["simulate", *(f"--policy={policy}" for policy in policies), f"--graph={graph}"]
    command += [f"--horizon={plan.horizon}", f"--trials={plan.trials}", f"--seed={plan.seed}"]
    command += [f"--arms={plan.process.arms}", f"--output={output}"]
    command += ["--bounds"] if bounds else []
    command += [f"--ratios={ratios}"] if ratios else []
    name = Path(graph.removeprefix("file:")).name if graph.startswith("file:") else graph
    title = f"{name}, {size}"
    cells = [Cell(None, {}, "", plan, {name: name for name in plan.policies})]
    figures = tuple(requested(None, cells))
    rerun = rerun_command(command, plugins)
    commission = Commission("simulation", title, cells, rerun, figures=figures, bounds=bounds)
    carry_out([commission], output, how, title=title)
