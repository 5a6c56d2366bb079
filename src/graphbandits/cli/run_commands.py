"""``graphbandits run``, ``reproduce`` and ``simulate``: the commands that run simulations."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphbandits.cli import formatting, options
from graphbandits.cli.formatting import count, duration, file_size, plain_table, show, show_line
from graphbandits.cli.options import flag, load, number, option
from graphbandits.errors import InputError

if TYPE_CHECKING:
    from graphbandits.experiments.run import DryRun

#: Rows that the table of a dry run has; of more the first and the last.
SHOWN = 40
#: Failures that a dry run prints.
FAILURES = 5


def run(
    experiment: options.ExperimentName,
    trials: Annotated[int | None, number("Trials of each policy; the file's own if unset.")] = None,
    seed: options.FileSeed = None,
    policy: Annotated[
        list[str] | None,
        option("NAME", "A policy to run besides those of the experiment; repeat for several."),
    ] = None,
    output: Annotated[
        Path | None,
        option("DIR", "Directory for figures, results and report.html; its name if unset."),
    ] = None,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    shard: Annotated[
        int | None,
        number("Trials that are computed and kept together; 250 if unset, fewer of long ones."),
    ] = None,
    plugin: options.Plugin = None,
    bounds: options.Bounds = False,
    ratios: options.Ratios = None,
    dry_run: Annotated[
        bool,
        flag(
            "--dry-run",
            "Only say what would be run, about how long it takes and what room it needs.",
        ),
    ] = False,
) -> None:
    """Run an experiment that is described in a file.

    Everything is checked before anything runs. Trials are kept as they are finished, so that the
    same command goes on where a run was stopped or killed, and more trials or policies use what is
    there. `graphbandits new experiment` writes a file to start from, with all keys explained.

    Example: graphbandits run paper-1a --trials 200 --plugin my_ucb.py --policy my-ucb
    """
    from graphbandits import experiments
    from graphbandits.cli.progress import CommandProgress, interruptible

    settings: dict[str, Any] = {"output": output, "trials": trials, "seed": seed}
    settings |= {"policies": policy or [], "plugins": plugin or []}
    settings |= {"bounds": bounds, "ratios": ratios}
    settings |= {"workers": workers, "cluster": cluster, "shard": shard}
    if dry_run:
        _print_dry_run(experiments.dry_run(experiment, **settings))
        return
    progress = CommandProgress(Path(Path(experiment).stem) if output is None else output)
    with interruptible():
        experiments.run_experiment(experiment, progress=progress, **settings)


def _print_dry_run(found: DryRun) -> None:
    from graphbandits.engine._progress import announce_compilation

    _print_plans(found)
    shared = sum(len(plan.policies) for plan in found.plans) - len(found.tasks)
    again = f" {shared} of their policies are the same at other values, and run once."
    todo = sum(found.missing)
    simulations = count(len(found.plans), "simulation")
    show(f"{simulations}; {todo} of {found.trials} trials to run." + again * bool(shared))
    if todo:
        announce_compilation()
        told = found.estimate
        for failure in told.failures[:FAILURES]:
            typer.echo(failure, err=True)
        if len(told.failures) > FAILURES:
            typer.echo(f"... ({len(told.failures) - FAILURES} more)", err=True)
        alone, workers = duration(told.seconds), found.options.workers
        if found.options.cluster is not None:
            show(f"Time: about {alone} for one worker of the cluster.")
        else:
            each = duration(told.seconds / workers)
            show(f"Time: about {each} on {count(workers, 'worker')} (one: {alone}).")
        room, most = file_size(told.bytes), file_size(told.most_bytes)
        show_line(f"Room: about {room}, at most {most}, in {found.output}/.")
        show("Measured by a short run here; start-up and compiling come on top, and")
        show("figures and the page take some MB more.")
    show("Nothing was written.")


def _print_plans(found: DryRun) -> None:
    """The table of the simulations, and their policies."""
    from graphbandits.engine.plan import point_text

    lacking = dict(zip(found.record.series, found.missing, strict=True))
    # policies are named once where all simulations have the same
    alike = len({tuple(plan.lines.values()) for plan in found.plans}) == 1
    words = ["at"] * bool(found.record.sweeps) + ["graph"] + ["policies"] * (not alike)
    table = plain_table(found.record.title, words, ["arms", "rounds", "trials", "there"])
    rows: list[tuple[str, ...]] = []
    for plan, cell in zip(found.plans, found.record.cells, strict=True):
        trials = plan.trials * len(plan.policies)
        missing = sum(min(plan.trials, lacking[name]) for name in cell.policies.values())
        said = {"at": point_text(plan.point), "graph": plan.graph_text}
        said["policies"] = _short(list(plan.lines.values()))
        numbers = (plan.world.arms, plan.horizon, f"{plan.trials} x {len(plan.policies)}")
        share = f"{(trials - missing) / trials:.0%}"
        rows.append((*(said[word] for word in words), *map(str, numbers), share))
    if len(rows) > SHOWN:
        left_out = f"... ({len(rows) - SHOWN} more)", *[""] * (len(words) + 3)
        rows[SHOWN // 2 : -SHOWN // 2] = [left_out]
    for row in rows:
        table.add_row(*row)
    show(table)
    if alike:
        show(f"Policies: {', '.join(found.plans[0].lines.values())}.")


def _short(names: list[str]) -> str:
    """Some names, and how many more there are.

    >>> _short(["ts-n", "ids-n", "ids-lp", "ucb-n", "ucb1"])
    'ts-n, ids-n, ids-lp, ... (2 more)'
    """
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown}, ... ({len(names) - 3} more)"


def reproduce(
    figure: Annotated[
        list[str] | None,
        option("FIGURE", "One of 1a, 1b, 2a, 2b; repeat for several. All four if unset."),
    ] = None,
    trials: Annotated[
        int | None, number("Trials of each policy; 1000 as in the paper if unset.")
    ] = None,
    seed: options.Seed = 0,
    output: Annotated[Path, option("DIR", "Directory for figures and results.")] = Path("figures"),
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    bounds: options.Bounds = False,
) -> None:
    """Run the paper's four experiments and draw their figures.

    1a: a fixed graph of five arms. 1b: a graph redrawn and revealed each round. 2a: random
    feedback with r = 0.25. 2b: random feedback with r uniform each round. What was stopped goes on
    where it was with the same command.

    Example: graphbandits reproduce --figure 1a --trials 200 --output figures
    """
    from graphbandits import experiments
    from graphbandits.cli.progress import CommandProgress, interruptible

    lines = ["Reproducing the experiments of Liu, Buccapatnam and Shroff (2018):"]
    for name in sorted({*(figure or experiments.run.FIGURES)} & {*experiments.run.FIGURES}):
        described = experiments.load_experiment(f"paper-{name}")
        size = f"{described.horizon} rounds, {trials or described.trials} trials"
        lines += [f"  {name}. {described.title}", f"      {', '.join(described.lines())}: {size}"]
    with interruptible():
        experiments.reproduce(
            figure,
            output=output,
            trials=trials,
            seed=seed,
            bounds=bounds,
            workers=workers,
            cluster=cluster,
            progress=CommandProgress(output, lines),
        )
    show(f"To explore, open {output / 'report.html'} in a browser.")


def simulate(
    policy: Annotated[
        list[str], option("NAME", "A policy (see 'graphbandits list'); repeat for several.")
    ],
    graph: options.Graph,
    horizon: Annotated[int, number("Rounds of each trial.")],
    trials: Annotated[int, number("Independent trials of each policy.")],
    arms: options.Arms = None,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    plugin: options.Plugin = None,
    output: Annotated[
        Path | None, option("DIR", "Directory for figures, results and report.html; none if unset.")
    ] = None,
    json: options.Json = False,
    bounds: options.Bounds = False,
    ratios: options.Ratios = None,
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
    from graphbandits.engine import Plan
    from graphbandits.engine._progress import announce_compilation
    from graphbandits.experiments.run import available_cores, rerun_command, run_plan
    from graphbandits.store import simulate_plan
    from graphbandits.theory import bounds_of, judge_bounds
    from graphbandits.theory.regret_bounds import bounds_summary

    plan = Plan.of(
        policy, graph=graph, arms=arms, horizon=horizon, trials=trials, seed=seed, ratios=ratios
    )
    name = Path(graph.removeprefix("file:")).name if graph.startswith("file:") else graph
    size = f"{plan.process.arms} arms, {horizon} rounds, {count(trials, 'trial')}, seed {seed}"
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
        formatting.print_json(results.summary() | more)
        return
    show(formatting.regret_table(results, f"{graph}, {size}"))
    if bounds:
        formatting.print_bounds(judge_bounds(bounds_of(plan, results), results))
