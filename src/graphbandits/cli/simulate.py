"""``graphbandits run``, ``reproduce``, ``simulate`` and ``recommend``."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphbandits.cli import _common
from graphbandits.cli._common import (
    count,
    duration,
    flag,
    load,
    number,
    option,
    print_entry,
    print_json,
    print_line,
    print_records,
    print_rows,
    print_text,
)
from graphbandits.errors import InputError

if TYPE_CHECKING:
    from graphbandits.simulation.recommend import Interval, Recommendation
    from graphbandits.study.study import Study

#: Number of failures that are printed individually.
SHOWN_FAILURES = 5

Formats = Annotated[
    str | None,
    option("LIST", "File formats of the figures, such as 'svg' or 'png,pdf'. Default: all three."),
]


def _formats(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]


@contextmanager
def _running() -> Iterator[None]:
    """Announce a compilation, print failed tasks, and handle SIGTERM like Ctrl-C."""
    from graphbandits.simulation.progress import announce_compilation
    from graphbandits.study.run import IncompleteStudyError

    announce_compilation()
    try:
        with _common.on_sigterm(signal.default_int_handler):
            yield
    except IncompleteStudyError as error:
        for study in error.studies:
            _print_study(study)
        for failure in error.failures[:SHOWN_FAILURES]:
            typer.echo(" ".join(f"failed: {failure}".split()), err=True)
        if len(error.failures) > SHOWN_FAILURES:
            typer.echo(f"failed: {len(error.failures) - SHOWN_FAILURES} more", err=True)
        raise


def _print_study(study: Study) -> None:
    for entry in study.entries():
        print_entry(entry, study.record.bounds)


def _print_finished(studies: Sequence[Study], start: float) -> None:
    for study in studies:
        _print_study(study)
    elapsed = duration(time.perf_counter() - start)
    folder = studies[0].directory.path
    print_line(f"Finished in {elapsed}. Open {folder / 'report.html'} in a browser.")


def run(
    experiment: _common.ExperimentName,
    trials: Annotated[int | None, number("Trials per policy. Default: from the file.")] = None,
    seed: _common.FileSeed = None,
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
    workers: _common.Workers = None,
    cluster: _common.Cluster = None,
    shard: Annotated[
        int | None,
        number("Trials per shard (stored in one file). Default: 250, fewer for long trials."),
    ] = None,
    plugin: _common.Plugin = None,
    bounds: _common.Bounds = False,
    ratios: _common.Ratios = None,
    formats: Formats = None,
    dry_run: Annotated[
        bool, flag("--dry-run", "Only check the experiment and print its simulations.")
    ] = False,
) -> None:
    """Run a built-in experiment or an experiment file.

    The experiment is checked completely before it runs. Finished trials are stored: the same
    command continues an interrupted run, and a run with more trials or policies reuses the stored
    trials. `graphbandits new experiment` creates a file in which all keys are explained.

    Example: graphbandits run paper-1a --trials 200 --plugin my_ucb.py --policy my-ucb
    """
    from graphbandits.study.run import run_experiment

    settings: dict[str, Any] = {"output": output, "trials": trials, "seed": seed}
    settings |= {"policies": policy or [], "plugins": plugin or [], "formats": _formats(formats)}
    settings |= {"bounds": bounds, "ratios": ratios}
    settings |= {"workers": workers, "cluster": cluster, "shard": shard}
    if dry_run:
        _print_dry_run(run_experiment(experiment, dry_run=True, **settings))
        return
    start = time.perf_counter()
    with _running():
        study = run_experiment(experiment, **settings)
    _print_finished([study], start)


def _print_dry_run(study: Study) -> None:
    from graphbandits.simulation.plan import point_text

    # print the policies once if they are the same in all simulations
    alike = len({tuple(cell.lines.values()) for cell in study.cells}) == 1
    records = []
    for cell in study.cells:
        record = {"point": point_text(cell.point)} if study.sweeps else {}
        record["graph"] = cell.settings["graph"]
        if not alike:
            record["policies"] = ", ".join(cell.lines.values())
        record |= {"arms": cell.settings["arms"], "rounds": cell.settings["horizon"]}
        progress = cell.progress()
        share = f"{progress.done / progress.trials:.0%}"
        records.append(record | {"trials": f"{cell.trials} x {len(cell.series)}", "stored": share})
    print_records(study.title, records)
    if alike:
        print_text(f"Policies: {', '.join(study.cells[0].lines.values())}.")
    progress = study.progress()
    missing = progress.trials - progress.done
    shared = sum(len(cell.series) for cell in study.cells) - len(progress.policies)
    note = f" {shared} policies are the same at several points and run once."
    simulations = count(len(study.cells), "simulation")
    print_text(
        f"{simulations}; {missing} of {progress.trials} trials to run.{note * bool(shared)} "
        "Nothing was written."
    )


def reproduce(
    figure: Annotated[
        list[str] | None,
        option("FIGURE", "Figure: 1a, 1b, 2a or 2b; repeat for several. Default: all."),
    ] = None,
    trials: Annotated[
        int | None, number("Trials per policy. Default: 1000, as in the paper.")
    ] = None,
    seed: _common.Seed = 0,
    output: Annotated[
        Path, option("DIR", "Directory for results, figures and report.html.")
    ] = Path("figures"),
    workers: _common.Workers = None,
    cluster: _common.Cluster = None,
    bounds: _common.Bounds = False,
    formats: Formats = None,
) -> None:
    """Run the paper's four experiments and draw their figures.

    1a: a fixed graph with five arms. 1b: a graph that is redrawn and revealed each round.
    2a: random feedback with r = 0.25. 2b: random feedback with r uniform each round. The same
    command continues an interrupted run.

    Example: graphbandits reproduce --figure 1a --trials 200 --output figures
    """
    from graphbandits import study as experiments

    start = time.perf_counter()
    with _running():
        studies = experiments.reproduce(
            figure,
            output=output,
            trials=trials,
            seed=seed,
            bounds=bounds,
            workers=workers,
            cluster=cluster,
            formats=_formats(formats),
        )
    _print_finished(studies, start)


def simulate(
    context: typer.Context,
    policy: Annotated[
        list[str],
        option("NAME", "Policy to simulate; repeat for several. See 'graphbandits list policies'."),
    ],
    graph: _common.Graph,
    horizon: Annotated[int, number("Rounds per trial.")],
    trials: Annotated[int, number("Independent trials per policy.")],
    arms: _common.Arms = None,
    world: _common.World = None,
    posterior: _common.Posterior = None,
    prior: _common.Prior = None,
    means: _common.Means = None,
    seed: _common.Seed = 0,
    workers: _common.Workers = None,
    plugin: _common.Plugin = None,
    output: Annotated[
        Path | None,
        option("DIR", "Directory for results, figures and report.html. Default: only print."),
    ] = None,
    json: _common.Json = False,
    bounds: _common.Bounds = False,
    formats: Formats = None,
    ratios: _common.Ratios = None,
    record: _common.Record = None,
    eligible: _common.Eligible = None,
    delay: _common.Delay = "0",
    answer_rate: _common.AnswerRate = 1.0,
) -> None:
    """Simulate policies in the same random worlds and compare their regret.

    By default, arms are Bernoulli and their means are drawn from a uniform prior.

    Example: graphbandits simulate --policy ids-n --policy ts-n --graph "cliques(size=3)"
    --arms 9 --horizon 500 --trials 200 --world "gaussian(noise=0.5)"
    """
    if output is None:
        stored = {"--ratios": ratios and not bounds, "--record": record, "--formats": formats}
        for name, given in stored.items():
            if given:
                alternative = " or --bounds" if name == "--ratios" else ""
                raise InputError(f"{name} needs --output DIR{alternative}: add it")
    elif json:
        raise InputError(
            "--json cannot be combined with --output, which writes summary.json: remove one of them"
        )
    load(plugin)
    from graphbandits.simulation.plan import Plan
    from graphbandits.simulation.progress import announce_compilation
    from graphbandits.simulation.run import simulate_plan
    from graphbandits.simulation.workers import available_cores
    from graphbandits.study.experiment import build_models
    from graphbandits.study.run import rerun_command, run_plan
    from graphbandits.theory import bounds_of, judge_bounds
    from graphbandits.theory.bounds import bounds_summary

    made, other = build_models(
        graph,
        arms,
        world,
        prior=_common.one_or_all(prior),
        means=means,
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
        delay=delay,
        answer_rate=answer_rate,
    )
    name = Path(graph.removeprefix("file:")).name if graph.startswith("file:") else graph
    size = f"{plan.process.arms} arms, {horizon} rounds, {count(trials, 'trial')}, seed {seed}"
    if plan.answers is not None:
        size += _common.answers_text(**plan.answers.settings())
    if output is not None:
        left_out = ["plugin", "workers", "formats"]
        command = ["simulate", *_common.given_options(context, left_out)]
        start = time.perf_counter()
        with _running():
            study = run_plan(
                plan,
                output,
                title=f"{name}, {size}",
                rerun=rerun_command(command, plugin or []),
                bounds=bounds,
                workers=workers,
                formats=_formats(formats),
            )
        _print_finished([study], start)
        return
    announce_compilation()
    # keep the printed output of policies out of the JSON
    with redirect_stdout(sys.stderr) if json else nullcontext():
        results = simulate_plan(plan, workers=available_cores() if workers is None else workers)
    if json:
        more = {"bounds": bounds_summary(bounds_of(plan, results), results)} if bounds else {}
        _common.print_json(results.summary() | more)
        return
    _common.print_regrets(results, f"{graph}, {size}")
    if bounds:
        _common.print_bounds(judge_bounds(bounds_of(plan, results), results))


def recommend(
    graph: _common.Graph,
    horizon: Annotated[int, number("Rounds per trial.")],
    arms: _common.Arms = None,
    world: _common.World = None,
    prior: _common.Prior = None,
    posterior: _common.Posterior = None,
    delay: _common.Delay = "0",
    answer_rate: _common.AnswerRate = 1.0,
    policy: Annotated[
        list[str] | None,
        option("NAME", "Policy to compare; repeat for several. Default: all suitable policies."),
    ] = None,
    trials: Annotated[
        int | None, number("Trials per policy. Default: as many as fit in the time.")
    ] = None,
    seconds: Annotated[
        float, _common.seconds("Time limit, approximately; not with --trials.")
    ] = 40.0,
    seed: _common.Seed = 0,
    workers: _common.Workers = None,
    plugin: _common.Plugin = None,
    json: _common.Json = False,
) -> None:
    """Compare the suitable policies on your graph, and recommend one.

    The policies are simulated in the same random worlds, with delayed and missing answers, within a
    time limit. The table shows the regret, what delays and missing answers cost, and the CPU time
    of a decision.

    Example: graphbandits recommend --graph file:friends.csv --prior 2,8 --horizon 1000 --delay 0,60
    --answer-rate 0.8

    A line of a file is an edge in one direction. For friendships write
    --graph "file(path=friends.csv, directed=false)".
    """
    _common.load(plugin)
    from graphbandits.simulation.progress import announce_compilation
    from graphbandits.simulation.recommend import recommend as compare
    from graphbandits.study.experiment import build_models

    announce_compilation()
    made, other = build_models(
        graph, arms, world, prior=_common.one_or_all(prior), posterior=posterior
    )
    # keep the printed output of policies out of the JSON
    with redirect_stdout(sys.stderr) if json else nullcontext():
        found = compare(
            graph,
            horizon=horizon,
            arms=arms,
            world=made,
            posterior=other,
            delay=delay,
            answer_rate=answer_rate,
            policies=policy or None,
            trials=trials,
            seconds=seconds,
            seed=seed,
            workers=workers,
        )
    if json:
        print_json(found.to_dict())
    else:
        _print(found, graph)


def _print(found: Recommendation, graph: str) -> None:
    from graphbandits.simulation.recommend import cpu_text

    settings = found.settings
    is_late = settings["delay"] != 0 or settings["answer_rate"] < 1.0
    name = Path(graph.removeprefix("file:")).name if graph.startswith("file:") else graph
    title = f"{name}, {settings['arms']} arms"
    if "edges" in settings:
        way = "directed" if settings["directed"] else "undirected"
        title += f", {count(settings['edges'], f'{way} edge')}"
    title += f", {settings['horizon']} rounds"
    if is_late:
        title += _common.answers_text(settings["delay"], settings["answer_rate"])
    columns = ["regret", "minus first", *["cost of delay"] * is_late, "CPU", "trials"]
    rows = []
    for one in found.candidates:
        numbers = [_with_interval(one.regret)]
        numbers.append("" if one is found.candidates[0] else _with_interval(one.difference, "+"))
        if is_late:
            numbers.append("" if one.delay_cost is None else _with_interval(one.delay_cost, "+"))
        rows.append((one.policy, *numbers, cpu_text(one.cpu), str(one.trials)))
    print_rows(title, ["policy"], columns, rows)
    print_text("±: 95 % confidence interval. CPU: of one decision and its update.")
    for name, why in found.left_out.items():
        print_text(f"Left out: {name} {why}.")
    print_text()
    print_text(f"Recommended: {found.policy}. {found.reason}")


def _with_interval(one: Interval, sign: str = "") -> str:
    """Format a mean, with three or more digits, and the half width of its interval."""
    digits = 0 if abs(one.mean) >= 100.0 else 1 if abs(one.mean) >= 10.0 else 2
    return f"{one.mean:{sign}.{digits}f} ± {one.high - one.mean:.{digits}f}"
