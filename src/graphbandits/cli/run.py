"""``graphbandits run``: an experiment, from its file to figures and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphbandits.cli.options import (
    Bounds,
    Cluster,
    ExperimentName,
    FileSeed,
    Plugin,
    Ratios,
    Shard,
    Workers,
    number,
)

if TYPE_CHECKING:
    from graphbandits.experiments.run import DryRun

#: Rows that the table of a dry run has; of more the first and the last.
SHOWN = 40


def run(
    experiment: ExperimentName,
    trials: Annotated[int | None, number("Trials of each policy; the file's own if unset.")] = None,
    seed: FileSeed = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy to run besides those of the experiment; repeat for several.",
            metavar="NAME",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Directory for figures, results and report.html; its name if unset.", metavar="DIR"
        ),
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    shard: Shard = None,
    plugin: Plugin = None,
    bounds: Bounds = False,
    ratios: Ratios = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only say what would be run, about how long it takes and what room it needs.",
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

    settings = {
        "output": output,
        "trials": trials,
        "seed": seed,
        "policies": policy or [],
        "plugins": plugin or [],
        "bounds": bounds,
        "ratios": ratios,
        "workers": workers,
        "cluster": cluster,
        "shard": shard,
    }
    if dry_run:
        _print_dry_run(experiments.dry_run(experiment, **settings))  # type: ignore[arg-type]
        return
    progress = CommandProgress(Path(Path(experiment).stem) if output is None else output)
    with interruptible():
        experiments.run_experiment(experiment, progress=progress, **settings)  # type: ignore[arg-type]


def _print_dry_run(found: DryRun) -> None:
    from graphbandits.cli.formatting import duration, file_size, plain_console
    from graphbandits.engine.progress import announce_compilation

    console = plain_console()
    _print_plans(found)
    shared = sum(len(plan.policies) for plan in found.plans) - len(found.tasks)
    again = f" {shared} of their policies are the same at other values, and run once."
    todo = sum(found.missing)
    console.print(
        f"{_count(len(found.plans), 'simulation')}; {todo} of {found.trials} trials to run."
        + again * bool(shared)
    )
    if todo:
        announce_compilation()
        told = found.estimate
        for failure in told.failures[:5]:
            typer.echo(failure, err=True)
        if len(told.failures) > 5:
            typer.echo(f"... ({len(told.failures) - 5} more)", err=True)
        alone, count = duration(told.seconds), found.options.workers
        if found.options.cluster is not None:
            console.print(f"Time: about {alone} for one worker of the cluster.")
        else:
            each = duration(told.seconds / count)
            console.print(f"Time: about {each} on {_count(count, 'worker')} (one: {alone}).")
        room, most = file_size(told.bytes), file_size(told.most_bytes)
        console.print(f"Room: about {room}, at most {most}, in {found.output}/.", soft_wrap=True)
        console.print("Measured by a short run here; start-up and compiling come on top, and")
        console.print("figures and the page take some MB more.")
    console.print("Nothing was written.")


def _print_plans(found: DryRun) -> None:
    """The table of the simulations, and their policies."""
    from graphbandits.cli.formatting import plain_console
    from graphbandits.cli.tables import plain_table
    from graphbandits.engine.plan import point_text

    lacking = dict(zip(found.record.series, found.missing, strict=True))
    # policies are named once where all simulations have the same
    alike = len({tuple(plan.lines.values()) for plan in found.plans}) == 1
    words = ["at"] * bool(found.record.sweeps) + ["graph"] + ["policies"] * (not alike)
    table = plain_table(found.record.title, words, ["arms", "rounds", "trials", "there"])
    rows = []
    for plan, cell in zip(found.plans, found.record.cells, strict=True):
        trials = plan.trials * len(plan.policies)
        missing = sum(min(plan.trials, lacking[name]) for name in cell.policies.values())
        said = {"at": point_text(plan.point), "graph": plan.graph_text}
        said["policies"] = _short(list(plan.lines.values()))
        numbers = (plan.world.arms, plan.horizon, f"{plan.trials} x {len(plan.policies)}")
        share = f"{(trials - missing) / trials:.0%}"
        rows.append((*(said[word] for word in words), *map(str, numbers), share))
    for row in rows if len(rows) <= SHOWN else rows[: SHOWN // 2]:
        table.add_row(*row)
    if len(rows) > SHOWN:
        table.add_row(f"... ({len(rows) - SHOWN} more)", *[""] * (len(words) + 3))
        for row in rows[-SHOWN // 2 :]:
            table.add_row(*row)
    plain_console().print(table)
    if alike:
        plain_console().print(f"Policies: {', '.join(found.plans[0].lines.values())}.")


def _short(names: list[str]) -> str:
    """Some names, and how many more there are.

    >>> _short(["ts-n", "ids-n", "ids-lp", "ucb-n", "ucb1"])
    'ts-n, ids-n, ids-lp, ... (2 more)'
    """
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown}, ... ({len(names) - 3} more)"


def _count(number: int, word: str) -> str:
    """A number with its word.

    >>> _count(1, "worker"), _count(2, "worker")
    ('1 worker', '2 workers')
    """
    return f"{number} {word}{'s' * (number != 1)}"
