"""Sweeps of an experiment: one simulation a value, one figure and one table a sweep."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from graphbandits.cli.keep import check_output, sweep_summary, write_pages
from graphbandits.cli.show import announce_long, duration, plain_console, worker_count
from graphbandits.cli.tables import sweep_tables
from graphbandits.engine import Plan
from graphbandits.engine.progress import progress_bar
from graphbandits.errors import InputError
from graphbandits.experiments import SweepPlan
from graphbandits.plots import save_figure, sweep_figure
from graphbandits.report import Sweep
from graphbandits.results import Results


def run_sweeps(
    sweeps: Sequence[SweepPlan],
    key: str,
    title: str,
    notes: Sequence[str],
    rerun: str,
    output: Path,
    workers: int | None,
) -> None:
    """Run all plans; print the tables; write figures, results, summary and report."""
    count = worker_count(workers)
    keys = [f"{key}-{sweep.parameter}" for sweep in sweeps]
    plans = {
        f"{key}-{sweep.file_part(value)}": plan
        for sweep in sweeps
        for value, plan in sweep.plans.items()
    }
    check_output(output, [f"figure-{name}" for name in keys], plans)
    _tell_of_earlier(output, keys, plans)
    announce_long([plan for sweep in sweeps for plan in sweep.runs().values()], count, output)
    console = plain_console()
    start = time.perf_counter()
    lines = [line for sweep in sweeps for there in sweep.lines.values() for line in there.values()]
    order = tuple(dict.fromkeys(lines))
    kept: list[Path] = []
    studies, summary, written = [], {}, [str(output / "report.html")]
    for sweep, name in zip(sweeps, keys, strict=True):
        results, ran, runs = {}, {}, sweep.runs()
        bar = progress_bar(name, sum(plan.decisions for plan in runs.values()))
        with _says_what_is_kept(kept), bar as advance:
            for value in sweep.plans:
                if value in runs:
                    ran[value] = runs[value].run(workers=count, progress=advance)
                results[value] = sweep.whole(value, ran)
                kept.append(results[value].save(output / f"results-{key}-{sweep.file_part(value)}"))
        drawn = sweep.drawn(results)
        figure = sweep_figure(drawn, sweep.label, title=sweep.title, scale=sweep.scale, order=order)
        written.append(str(save_figure(figure, output / f"figure-{name}")[0]))
        for table in sweep_tables(drawn, sweep.title, sweep.label, console.width):
            console.print(table)
        console.print("Mean regret (standard error); * marks the least at each value.\n")
        studies.append(
            Sweep(
                name,
                sweep.title,
                sweep.parameter,
                drawn,
                rerun,
                label=sweep.label,
                scale=sweep.scale,
                order=order,
            )
        )
        summary[name] = sweep_summary(sweep, results)
    write_pages(studies, summary, output, title=title, introduction="\n\n".join(notes))
    console.print(f"Done in {duration(time.perf_counter() - start)}. Written:")
    for name in keys:
        written += _first_and_last(
            [path for path in kept if path.name.startswith(f"results-{name}-")]
        )
    for path in written:
        console.print(f"  {path}", soft_wrap=True)


def _first_and_last(paths: Sequence[Path]) -> list[str]:
    """The paths, of more than four the ends.

    >>> _first_and_last([Path(letter) for letter in "abcde"])
    ['a', '... (3 more)', 'e']
    """
    names = [str(path) for path in paths]
    return names if len(names) <= 4 else [names[0], f"... ({len(names) - 2} more)", names[-1]]


@contextmanager
def _says_what_is_kept(kept: Sequence[Path]) -> Iterator[None]:
    """Whoever stops a sweep is told which of its values had finished."""
    try:
        yield
    except KeyboardInterrupt:
        if not kept:
            raise
        names = ", ".join(_first_and_last(kept))
        raise KeyboardInterrupt(
            f"values that had finished were kept: {names}; the report was not written"
        ) from None


def _tell_of_earlier(output: Path, keys: Sequence[str], plans: Mapping[str, Plan]) -> None:
    """Say that there are results of another run, which those of this one would lie among."""
    ours = tuple(f"results-{name}-" for name in keys)
    for place in sorted(path for path in output.iterdir() if path.name.startswith(ours)):
        if not _is_of(place, plans.get(place.name.removeprefix("results-"))):
            typer.echo(
                f"{output} holds results of an earlier run with other values or settings, such as "
                f"{place.name}: those of this run replace them one by one as they finish, and "
                "leave what is at other values; use another --output to keep them apart",
                err=True,
            )
            return


def _is_of(place: Path, plan: Plan | None) -> bool:
    """Whether the results in a place are what the plan would make."""
    if plan is None:
        return False
    try:
        results = Results.load(place)
    except InputError:
        return False
    settings = results.settings
    there = tuple(settings.get(key) for key in ("graph", "arms", "horizon", "trials", "seed"))
    planned = (plan.graph_text, plan.process.arms, plan.horizon, plan.trials, plan.seed)
    return there == planned and list(results.policies) == list(plan.policies)
