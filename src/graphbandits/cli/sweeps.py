"""Sweeps of an experiment: one simulation a value, one figure and one table a sweep."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from graphbandits.cli.keep import check_output, sweep_summary, write_pages
from graphbandits.cli.show import announce_long, duration, plain_console, worker_count
from graphbandits.cli.tables import sweep_tables
from graphbandits.engine.progress import progress_bar
from graphbandits.experiments import SweepPlan
from graphbandits.plots import save_figure, sweep_figure
from graphbandits.report import Sweep


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
    places = {
        (sweep.parameter, value): f"{key}-{sweep.file_part(value)}"
        for sweep in sweeps
        for value in sweep.plans
    }
    check_output(output, [f"figure-{one}" for one in keys], places.values())
    announce_long([plan for sweep in sweeps for plan in sweep.runs().values()], count, output)
    console = plain_console()
    start = time.perf_counter()
    studies, summary, written = [], {}, [output / "report.html"]
    for sweep, name in zip(sweeps, keys, strict=True):
        results, ran, runs = {}, {}, sweep.runs()
        with progress_bar(name, sum(plan.decisions for plan in runs.values())) as advance:
            for value in sweep.plans:
                if value in runs:
                    ran[value] = runs[value].run(workers=count, progress=advance)
                results[value] = sweep.whole(value, ran)
                results[value].save(output / f"results-{places[sweep.parameter, value]}")
        drawn = sweep.drawn(results)
        figure = sweep_figure(drawn, sweep.label, title=sweep.title, scale=sweep.scale)
        written.append(save_figure(figure, output / f"figure-{name}")[0])
        for table in sweep_tables(drawn, sweep.title, sweep.label, console.width):
            console.print(table)
        console.print("Mean regret (standard error); * marks the least at each value.\n")
        studies.append(
            Sweep(name, sweep.title, sweep.parameter, drawn, rerun, sweep.label, sweep.scale)
        )
        summary[name] = sweep_summary(sweep, results)
    write_pages(studies, summary, output, title=title, introduction="\n\n".join(notes))
    console.print(f"Done in {duration(time.perf_counter() - start)}. Written:")
    for path in written:
        console.print(f"  {path}", soft_wrap=True)
    for name, sweep in zip(keys, sweeps, strict=True):
        console.print(f"  {output}/results-{name}-*  ({len(sweep.plans)})", soft_wrap=True)
