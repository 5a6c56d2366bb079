"""``graphbandits run``, ``reproduce`` and ``simulate``: run simulations."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphbandits.cli import formatting, options
from graphbandits.cli.formatting import (
    count,
    duration,
    file_size,
    plain_table,
    print_line,
    print_table,
    print_text,
)
from graphbandits.cli.options import flag, load, number, option
from graphbandits.errors import InputError

if TYPE_CHECKING:
    from graphbandits.experiments.run import DryRun

#: Largest number of rows in the table of a dry run; the middle of a longer table is omitted.
MAX_ROWS = 40
#: Number of failures that a dry run prints.
SHOWN_FAILURES = 5


def run(
    experiment: options.ExperimentName,
    trials: Annotated[int | None, number("Trials per policy. Default: from the file.")] = None,
    seed: options.FileSeed = None,
    policy: Annotated[
        list[str] | None,
        option("NAME", "Additional policy to run; repeat for several."),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "DIR",
            "Directory for results, figures and report.html. Default: named after the experiment.",
        ),
    ] = None,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    shard: Annotated[
        int | None,
        number("Trials per shard (stored in one file). Default: 250, fewer for long trials."),
    ] = None,
    plugin: options.Plugin = None,
    bounds: options.Bounds = False,
    ratios: options.Ratios = None,
    dry_run: Annotated[
        bool,
        flag(
            "--dry-run",
            "Only check the experiment and estimate run time and disk space.",
        ),
    ] = False,
) -> None:
    """Run a built-in experiment or an experiment file.

    The experiment is checked completely before it runs. Finished trials are stored: the same
    command continues an interrupted run, and a run with more trials or policies reuses the stored
    trials. `graphbandits new experiment` creates a file in which all keys are explained.

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
    note = f" {shared} policies are the same at several points and run once."
    missing = sum(found.missing)
    simulations = count(len(found.plans), "simulation")
    print_text(f"{simulations}; {missing} of {found.trials} trials to run." + note * bool(shared))
    if missing:
        announce_compilation()
        estimate = found.estimate
        for failure in estimate.failures[:SHOWN_FAILURES]:
            typer.echo(failure, err=True)
        if len(estimate.failures) > SHOWN_FAILURES:
            typer.echo(f"... ({len(estimate.failures) - SHOWN_FAILURES} more)", err=True)
        alone, workers = duration(estimate.seconds), found.options.workers
        if found.options.cluster is not None:
            print_text(f"Time: about {alone} of work for one worker of the cluster.")
        else:
            each = duration(estimate.seconds / workers)
            print_text(f"Time: about {each} on {count(workers, 'worker')} (one worker: {alone}).")
        size, most = file_size(estimate.bytes), file_size(estimate.most_bytes)
        print_line(f"Disk space: about {size}, at most {most}, in {found.output}/.")
        print_text(
            "Estimated from a short run on this machine, without start-up and compilation.\n"
            "Figures and the report need a few MB more."
        )
    print_text("Nothing was written.")


def _print_plans(found: DryRun) -> None:
    """Print the table of the simulations, and their policies."""
    from graphbandits.engine.plan import point_text

    missing_of = dict(zip(found.record.series, found.missing, strict=True))
    # print the policies once if they are the same in all simulations
    alike = len({tuple(plan.lines.values()) for plan in found.plans}) == 1
    words = ["point"] * bool(found.record.sweeps) + ["graph"] + ["policies"] * (not alike)
    table = plain_table(found.record.title, words, ["arms", "rounds", "trials", "stored"])
    rows: list[tuple[str, ...]] = []
    for plan, record in zip(found.plans, found.record.cells, strict=True):
        trials = plan.trials * len(plan.policies)
        missing = sum(min(plan.trials, missing_of[name]) for name in record.policies.values())
        cells = {"point": point_text(plan.point), "graph": plan.graph_text}
        cells["policies"] = _short(list(plan.lines.values()))
        numbers = (plan.world.arms, plan.horizon, f"{plan.trials} x {len(plan.policies)}")
        share = f"{(trials - missing) / trials:.0%}"
        rows.append((*(cells[word] for word in words), *map(str, numbers), share))
    if len(rows) > MAX_ROWS:
        left_out = f"... ({len(rows) - MAX_ROWS} more)", *[""] * (len(words) + 3)
        rows[MAX_ROWS // 2 : -MAX_ROWS // 2] = [left_out]
    for row in rows:
        table.add_row(*row)
    print_table(table)
    if alike:
        print_text(f"Policies: {', '.join(found.plans[0].lines.values())}.")


def _short(names: list[str]) -> str:
    """Join the first three names, with the number of omitted names.

    >>> _short(["ts-n", "ids-n", "ids-lp", "ucb-n", "ucb1"])
    'ts-n, ids-n, ids-lp, ... (2 more)'
    """
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown}, ... ({len(names) - 3} more)"


def reproduce(
    figure: Annotated[
        list[str] | None,
        option("FIGURE", "Figure: 1a, 1b, 2a or 2b; repeat for several. Default: all."),
    ] = None,
    trials: Annotated[
        int | None, number("Trials per policy. Default: 1000, as in the paper.")
    ] = None,
    seed: options.Seed = 0,
    output: Annotated[
        Path, option("DIR", "Directory for results, figures and report.html.")
    ] = Path("figures"),
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    bounds: options.Bounds = False,
) -> None:
    """Run the paper's four experiments and draw their figures.

    1a: a fixed graph with five arms. 1b: a graph that is redrawn and revealed each round.
    2a: random feedback with r = 0.25. 2b: random feedback with r uniform each round. The same
    command continues an interrupted run.

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
    print_line(f"Open {output / 'report.html'} in a browser to explore the results.")


def simulate(
    policy: Annotated[
        list[str],
        option("NAME", "Policy to simulate; repeat for several. See 'graphbandits list policies'."),
    ],
    graph: options.Graph,
    horizon: Annotated[int, number("Rounds per trial.")],
    trials: Annotated[int, number("Independent trials per policy.")],
    arms: options.Arms = None,
    world: options.World = None,
    posterior: options.Posterior = None,
    prior: options.Prior = None,
    means: options.Means = None,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    plugin: options.Plugin = None,
    output: Annotated[
        Path | None,
        option("DIR", "Directory for results, figures and report.html. Default: only print."),
    ] = None,
    json: options.Json = False,
    bounds: options.Bounds = False,
    ratios: options.Ratios = None,
    record: options.Record = None,
    eligible: options.Eligible = None,
    delay: options.Delay = "0",
    answer_rate: options.AnswerRate = 1.0,
) -> None:
    """Simulate policies in the same random worlds and compare their regret.

    By default, arms are Bernoulli and their means are drawn from a uniform prior.

    Example: graphbandits simulate --policy ids-n --policy ts-n --graph "cliques(size=3)"
    --arms 9 --horizon 500 --trials 200 --world "gaussian(noise=0.5)"
    """
    if ratios is not None and output is None and not bounds:
        raise InputError(
            "--ratios needs --output DIR, which stores the ratios, or --bounds, which shows the "
            "bound of Lemma 1: add one of them"
        )
    if record and output is None:
        raise InputError(
            "--record needs --output DIR, which stores the actions and observations: add it"
        )
    if output is not None and json:
        raise InputError(
            "--json cannot be combined with --output, which writes summary.json: remove one of them"
        )
    load(plugin)
    from graphbandits.engine import Plan
    from graphbandits.engine._progress import announce_compilation
    from graphbandits.experiments.experiment import build_models
    from graphbandits.experiments.run import available_cores, rerun_command, run_plan
    from graphbandits.store import simulate_plan
    from graphbandits.theory import bounds_of, judge_bounds
    from graphbandits.theory.simulation_bounds import bounds_summary

    given = prior or []
    entries = tuple(given) if len(given) > 1 else given[0] if given else None
    made, other = build_models(
        graph,
        arms,
        world,
        prior=entries,
        means=None if means is None else options.numbers(means, "--means"),
        posterior=posterior,
    )
    plan = Plan.of(
        policy,
        made,
        graph,
        arms=arms,
        posterior=other,
        horizon=horizon,
        trials=trials,
        seed=seed,
        ratios=ratios,
        record=record or (),
        eligible=eligible,
        delay=options.delay(delay),
        answer_rate=answer_rate,
    )
    name = Path(graph.removeprefix("file:")).name if graph.startswith("file:") else graph
    size = f"{plan.process.arms} arms, {horizon} rounds, {count(trials, 'trial')}, seed {seed}"
    if plan.answers is not None:
        size += options.answers_text(**plan.answers.settings())
    if output is not None:
        from graphbandits.cli.progress import CommandProgress, interruptible

        command = ["simulate", *(f"--policy={one}" for one in policy), f"--graph={graph}"]
        command += [f"--horizon={horizon}", f"--trials={trials}", f"--seed={seed}"]
        command += [f"--arms={plan.process.arms}", f"--output={output}"]
        models = {"world": world, "posterior": posterior, "means": means}
        command += [f"--{key}={text}" for key, text in models.items() if text is not None]
        command += [f"--prior={one}" for one in prior or ()]
        command += ["--bounds"] if bounds else []
        command += [f"--ratios={ratios}"] if ratios else []
        command += [f"--record={word}" for word in plan.recording.trajectories]
        command += [f"--eligible={eligible}"] if eligible is not None else []
        if plan.answers is not None:
            command += [f"--delay={delay}", f"--answer-rate={answer_rate}"]
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
    # keep the printed output of policies out of the JSON
    with redirect_stdout(sys.stderr) if json else nullcontext():
        results = simulate_plan(plan, workers=available_cores() if workers is None else workers)
    if json:
        more = {"bounds": bounds_summary(bounds_of(plan, results), results)} if bounds else {}
        formatting.print_json(results.summary() | more)
        return
    print_table(formatting.regret_table(results, f"{graph}, {size}"))
    if bounds:
        formatting.print_bounds(judge_bounds(bounds_of(plan, results), results))
