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

from graphbandits.cli import _ui
from graphbandits.errors import InputError

if TYPE_CHECKING:
    from graphbandits.simulation.recommend import Interval, Recommendation
    from graphbandits.study.study import Study

#: Number of failures that are printed individually.
SHOWN_FAILURES = 5


@contextmanager
def _running() -> Iterator[None]:
    """Announce a compilation, print failed tasks, and handle SIGTERM like Ctrl-C."""
    from graphbandits.study.run import IncompleteStudyError

    _ui.prepare()
    try:
        with _ui.on_sigterm(signal.default_int_handler):
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
        _ui.print_entry(entry, study.record.bounds)


def _print_finished(studies: Sequence[Study], start: float) -> None:
    for study in studies:
        _print_study(study)
    elapsed = _ui.duration(time.perf_counter() - start)
    folder = studies[0].directory.path
    _ui.print_line(f"Finished in {elapsed}. Open {folder / 'report.html'} in a browser.")


def run(
    experiment: _ui.ExperimentName,
    trials: Annotated[int | None, _ui.number("Trials per policy. Default: from the file.")] = None,
    seed: _ui.FileSeed = None,
    policy: Annotated[
        list[str] | None, _ui.option("NAME", "Additional policy to run; repeat for several.")
    ] = None,
    output: Annotated[
        Path | None,
        _ui.option("DIR", "Directory for the results. Default: named after the experiment."),
    ] = None,
    workers: _ui.Workers = None,
    cluster: _ui.Cluster = None,
    shard: Annotated[
        int | None,
        _ui.number("Trials per shard (stored in one file). Default: 250, fewer for long trials."),
    ] = None,
    plugin: _ui.Plugin = None,
    bounds: _ui.Bounds = False,
    ratios: _ui.Ratios = None,
    formats: _ui.Formats = None,
    dry_run: Annotated[
        bool, _ui.flag("--dry-run", "Only check the experiment and print its simulations.")
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
    settings |= {"policies": policy or [], "plugins": plugin or [], "formats": formats}
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
    _ui.print_records(study.title, records)
    if alike:
        _ui.print_text(f"Policies: {', '.join(study.cells[0].lines.values())}.")
    progress = study.progress()
    missing = progress.trials - progress.done
    shared = sum(len(cell.series) for cell in study.cells) - len(progress.policies)
    note = f" {shared} policies are the same at several points and run once."
    simulations = _ui.count(len(study.cells), "simulation")
    _ui.print_text(
        f"{simulations}; {missing} of {progress.trials} trials to run.{note * bool(shared)} "
        "Nothing was written."
    )


def reproduce(
    figure: Annotated[
        list[str] | None,
        _ui.option("FIGURE", "Figure: 1a, 1b, 2a or 2b; repeat for several. Default: all."),
    ] = None,
    trials: Annotated[
        int | None, _ui.number("Trials per policy. Default: 1000, as in the paper.")
    ] = None,
    seed: _ui.Seed = 0,
    output: Annotated[
        Path, _ui.option("DIR", "Directory for results, figures and report.html.")
    ] = Path("figures"),
    workers: _ui.Workers = None,
    cluster: _ui.Cluster = None,
    bounds: _ui.Bounds = False,
    formats: _ui.Formats = None,
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
            formats=formats,
        )
    _print_finished(studies, start)


def simulate(
    context: typer.Context,
    policy: Annotated[
        list[str],
        _ui.option("NAME", "Policy, see 'graphbandits list policies'; repeat for several."),
    ],
    graph: _ui.Graph,
    horizon: Annotated[int, _ui.number("Rounds per trial.")],
    trials: Annotated[int, _ui.number("Independent trials per policy.")],
    arms: _ui.Arms = None,
    world: _ui.World = None,
    posterior: _ui.Posterior = None,
    prior: _ui.Prior = None,
    means: _ui.Means = None,
    seed: _ui.Seed = 0,
    workers: _ui.Workers = None,
    plugin: _ui.Plugin = None,
    output: Annotated[
        Path | None,
        _ui.option("DIR", "Directory for results, figures and report.html. Default: only print."),
    ] = None,
    json: _ui.Json = False,
    bounds: _ui.Bounds = False,
    formats: _ui.Formats = None,
    ratios: _ui.Ratios = None,
    record: _ui.Record = None,
    eligible: _ui.Eligible = None,
    delay: _ui.Delay = "0",
    answer_rate: _ui.AnswerRate = 1.0,
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
    _ui.prepare(plugin)
    from graphbandits.simulation.plan import Plan
    from graphbandits.simulation.run import simulate_plan
    from graphbandits.simulation.workers import available_cores
    from graphbandits.study.experiment import build_models
    from graphbandits.study.run import rerun_command, run_plan
    from graphbandits.theory import bounds_of, judge_bounds
    from graphbandits.theory.bounds import bounds_summary

    made, other = build_models(
        graph, arms, world, prior=_ui.one_or_all(prior), means=means, posterior=posterior
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
    size = f"{plan.process.arms} arms, {horizon} rounds, {_ui.count(trials, 'trial')}, seed {seed}"
    if plan.answers is not None:
        size += _ui.answers_text(**plan.answers.settings())
    if output is not None:
        left_out = ["plugin", "workers", "formats"]
        command = ["simulate", *_ui.given_options(context, left_out)]
        start = time.perf_counter()
        with _running():
            study = run_plan(
                plan,
                output,
                title=f"{name}, {size}",
                rerun=rerun_command(command, plugin or []),
                bounds=bounds,
                workers=workers,
                formats=formats,
            )
        _print_finished([study], start)
        return
    # keep the printed output of policies out of the JSON
    with redirect_stdout(sys.stderr) if json else nullcontext():
        results = simulate_plan(plan, workers=available_cores() if workers is None else workers)
    if json:
        more = {"bounds": bounds_summary(bounds_of(plan, results), results)} if bounds else {}
        _ui.print_json(results.summary() | more)
        return
    _ui.print_regrets(results, f"{graph}, {size}")
    if bounds:
        _ui.print_bounds(judge_bounds(bounds_of(plan, results), results))


def recommend(
    graph: _ui.Graph,
    horizon: Annotated[int, _ui.number("Rounds per trial.")],
    arms: _ui.Arms = None,
    world: _ui.World = None,
    prior: _ui.Prior = None,
    posterior: _ui.Posterior = None,
    delay: _ui.Delay = "0",
    answer_rate: _ui.AnswerRate = 1.0,
    policy: Annotated[
        list[str] | None, _ui.option("NAME", "Policy to compare; repeat for several. Default: all.")
    ] = None,
    trials: Annotated[
        int | None, _ui.number("Trials per policy. Default: as many as fit in the time.")
    ] = None,
    seconds: Annotated[float, _ui.seconds("Time limit, approximately; not with --trials.")] = 40.0,
    seed: _ui.Seed = 0,
    workers: _ui.Workers = None,
    plugin: _ui.Plugin = None,
    json: _ui.Json = False,
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
    _ui.prepare(plugin)
    from graphbandits.simulation.recommend import recommend as compare
    from graphbandits.study.experiment import build_models

    made, other = build_models(graph, arms, world, prior=_ui.one_or_all(prior), posterior=posterior)
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
        _ui.print_json(found.to_dict())
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
        title += f", {_ui.count(settings['edges'], f'{way} edge')}"
    title += f", {settings['horizon']} rounds"
    if is_late:
        title += _ui.answers_text(settings["delay"], settings["answer_rate"])
    records = []
    for one in found.candidates:
        difference = "" if one is found.candidates[0] else _with_interval(one.difference, "+")
        record = {"policy": one.policy, "regret": _with_interval(one.regret)}
        record["minus first"] = difference
        if is_late:
            cost = "" if one.delay_cost is None else _with_interval(one.delay_cost, "+")
            record["cost of delay"] = cost
        records.append(record | {"CPU": cpu_text(one.cpu), "trials": str(one.trials)})
    _ui.print_records(title, records)
    _ui.print_text("±: 95 % confidence interval. CPU: of one decision and its update.")
    for name, why in found.left_out.items():
        _ui.print_text(f"Left out: {name} {why}.")
    _ui.print_text()
    _ui.print_text(f"Recommended: {found.policy}. {found.reason}")


def _with_interval(one: Interval, sign: str = "") -> str:
    """Format a mean, with three or more digits, and the half width of its interval."""
    digits = 0 if abs(one.mean) >= 100.0 else 1 if abs(one.mean) >= 10.0 else 2
    return f"{one.mean:{sign}.{digits}f} ± {one.high - one.mean:.{digits}f}"
