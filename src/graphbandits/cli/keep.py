"""What a run leaves behind: figures, results, a summary and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from graphbandits.cli.show import as_json
from graphbandits.errors import InputError
from graphbandits.experiments import SweepPlan
from graphbandits.files import check_name, make_directory, write_text
from graphbandits.plots import (
    final_figure,
    forest_figure,
    plays_figure,
    regret_figure,
    save_figure,
)
from graphbandits.report import Study, Sweep, write_report
from graphbandits.report.summary import study_summary as study_summary
from graphbandits.report.summary import sweep_summary as summary_of_sweep
from graphbandits.results import Results, check_place

#: The figures of a study, by what is added to their file names.
FIGURES: dict[str, Callable[..., Figure]] = {
    "": regret_figure,
    "-final": final_figure,
    "-differences": forest_figure,
    "-plays": plays_figure,
}
#: Files of an output directory besides figures and results.
PAGES = ("summary.json", "report.html")


def figure_names(keys: Iterable[str]) -> list[str]:
    """The figures of studies, without the endings of their files.

    >>> figure_names(["1a"])
    ['figure-1a', 'figure-1a-final', 'figure-1a-differences', 'figure-1a-plays']
    """
    return [f"figure-{key}{part}" for key in keys for part in FIGURES]


def check_output(output: Path, figures: Iterable[str], results: Iterable[str]) -> None:
    """Notice before the work, not after it, that something could not be written."""
    make_directory(output)
    pictures = (f"{figure}.{kind}" for figure in figures for kind in ("png", "svg"))
    for name in (*pictures, *PAGES):
        check_name(output / name)
        if (output / name).is_dir():
            raise InputError(f"{output / name} is a directory: choose another --output")
    for key in results:
        check_name(output / f"results-{key}")
        check_place(output / f"results-{key}")


def keep(study: Study, output: Path, bounds: bool = False) -> list[Path]:
    """Write figures and results of one study, with its bounds if asked; the pictures written."""
    results = study.results
    drawn = []
    for part, figure in FIGURES.items():
        if part == "-differences" and len(results.policies) < 2:
            continue
        name = output / f"figure-{study.key}{part}"
        more = {"bounds": study.drawn_bounds} if bounds and figure is regret_figure else {}
        drawn.append(save_figure(figure(results, title=study.title, **more), name)[0])
    results.save(output / f"results-{study.key}")
    return drawn


def write_pages(
    studies: Sequence[Study | Sweep],
    summary: Mapping[str, Any],
    output: Path,
    *,
    title: str,
    introduction: str,
) -> None:
    """Write report.html and summary.json over all studies."""
    write_text(output / "summary.json", as_json(summary) + "\n")
    write_report(output / "report.html", studies, title=title, introduction=introduction)


def sweep_summary(sweep: SweepPlan, results: Mapping[Any, Results]) -> dict[str, Any]:
    """A sweep as plain numbers; each policy has its own name, and the line it belongs to."""
    return summary_of_sweep(
        Sweep(
            sweep.parameter,
            sweep.title,
            sweep.parameter,
            sweep.drawn(results),
            "",
            label=sweep.label,
            scale=sweep.scale,
            lines=sweep.lines,
        )
    )
