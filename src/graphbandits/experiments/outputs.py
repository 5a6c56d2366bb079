"""Outputs of a study: entries of the report, HTML pages, and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphbandits._io import check_name, json_text, make_directory, write_text
from graphbandits.errors import InputError
from graphbandits.experiments.study import Cell, PolicyProgress, Study, SweepSlice, join_limited
from graphbandits.graphs import RandomFeedback, UniformFeedback
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.plots import (
    final_figure,
    forest_figure,
    plays_figure,
    regret_figure,
    save_figure,
    sweep_figure,
)
from graphbandits.plots.style import FORMATS, check_word
from graphbandits.posteriors import Posterior
from graphbandits.report import Entry, SimulationEntry, SweepEntry, summary_of, write_report
from graphbandits.results import Published, Results
from graphbandits.rng import Keys
from graphbandits.theory import Bound, bounds_for
from graphbandits.theory.bounds import WITH_GRAPH
from graphbandits.theory.simulation_bounds import recorded_bounds, why_no_bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Maximum number of arms for which clique covers are computed without --bounds, for graphs that
#: are fixed (True) or change (False). One cover at 60 arms, or hundreds at 40, take seconds.
MAX_COVER_ARMS = {True: 60, False: 40}
#: Maximum number of different priors for which the entropy of the best arm is computed without
#: --bounds: it takes 1 s, and 150 s at 20,000.
MAX_DISTINCT_PRIORS = 2000
#: Files of an output directory besides the figures and the trials.
PAGES = ("summary.json", "report.html")


# --- entries of the report


def entries_of(study: Study) -> list[Entry]:
    """Return the report entries of a study: its simulation, or the slices of its sweeps.

    Incomplete policies are left out.
    """
    found: list[Entry] = []
    for cell in study.cells:
        if cell.sweep is None and (complete := cell.complete()):
            found.append(_simulation(study, cell, complete))
    for sweep_slice in study.slices():
        sweep = _sweep(study, sweep_slice)
        if sweep is not None:
            found.append(sweep)
    if found:  # show the notes of the study once
        found[0] = replace(found[0], notes=(*study.notes, *found[0].notes))
    return found


def merge_entries(studies: Sequence[Study]) -> list[Entry]:
    """Return the entries of several studies, with unique keys."""
    found: list[Entry] = []
    for study in studies:
        for entry in study.entries():
            key, number = entry.key, 2
            while any(key == other.key for other in found):
                key, number = f"{entry.key}-{number}", number + 1
            found.append(replace(entry, key=key))
    return found


def _simulation(study: Study, cell: Cell, complete: Sequence[str]) -> SimulationEntry:
    results = cell.results(complete, curves=False)
    bounds, why = cell_bounds(cell, results, study.record.bounds)
    notes = _missing_note(study, cell.progress().missing)
    return SimulationEntry(
        study.key,
        study.title,
        results,
        study.rerun,
        (*notes, *why),
        tuple(c for c in study.claims if {*c.better, *c.than} <= {*complete}),
        _published(study, complete),
        bounds,
    )


def _sweep(study: Study, sweep_slice: SweepSlice) -> SweepEntry | None:
    """Return the entry of a slice with all complete policies; None if there are none."""
    results: dict[float | str, Results] = {}
    missing: list[PolicyProgress] = []
    for value, cell in sweep_slice.cells.items():
        missing += cell.progress().missing
        if complete := cell.complete():
            lines = {name: cell.lines[name] for name in complete}
            results[value] = cell.results(complete, curves=False).renamed(lines)
    if not results:
        return None
    several = len(sweep_slice.sweep.parameters) > 1
    return SweepEntry(
        sweep_slice.key,
        sweep_slice.title,
        sweep_slice.sweep.x or ", ".join(sweep_slice.sweep.parameters),
        results,  # type: ignore[arg-type]  # all numbers, or all texts
        study.rerun,
        label=sweep_slice.label,
        scale=sweep_slice.scale,
        notes=_missing_note(study, missing),
        order=tuple(study.lines()),
        lines={value: sweep_slice.cells[value].lines for value in results},
        points={value: sweep_slice.cells[value].point for value in results} if several else {},
    )


def _missing_note(study: Study, parts: Sequence[PolicyProgress]) -> tuple[str, ...]:
    """Return a note about policies that are left out because trials are missing."""
    if not parts:
        return ()
    return (f"Left out because trials are missing: {join_limited(parts)}.{_continue_hint(study)}",)


def _continue_hint(study: Study) -> str:
    return f" To continue: {study.rerun}" if study.rerun else ""


def _published(study: Study, complete: Sequence[str]) -> Published | None:
    published = study.published
    means = (
        {name: pair for name, pair in published.means.items() if name in complete}
        if published
        else {}
    )
    return Published(means, published.source) if published and means else None


def cell_bounds(
    cell: Cell, results: Results, requested: bool
) -> tuple[tuple[Bound, ...], tuple[str, ...]]:
    """Return the proved bounds of the policies, and a note if some were not computed.

    Bounds that may take longer than the simulation, according to ``MAX_COVER_ARMS`` and
    ``MAX_DISTINCT_PRIORS``, are computed only if ``requested``.
    """
    settings, prior, process = results.settings, cell.posterior, cell.process
    if cell.world is None or prior is None or process is None:
        why = (
            "Bounds were not computed: the graph, the world or the posterior is defined by a "
            "plug-in. Load it with --plugin FILE."
        )
        return (), (why,)
    late = settings.get("delay", settings.get("answer_rate"))
    if "posterior" in settings or why_no_bounds(
        cell.world, eligible=settings.get("eligible"), answers=late
    ):
        return (), ()  # the report gives the reason
    general = recorded_bounds(results, prior) if settings.get("ratios") else ()
    fixed = fixed_feedback(process)
    covers = not isinstance(process, RandomFeedback)
    if fixed is not None:
        covers = fixed.deterministic and not isinstance(fixed, UniformFeedback)
    large = process.arms > MAX_COVER_ARMS[fixed is not None]
    if not covers:
        large = _distinct_priors(prior) > MAX_DISTINCT_PRIORS
    proved = any(name.split("(")[0] in ("ids-lp", *WITH_GRAPH) for name in results.policies)
    if large and proved and not requested:
        why = (
            f"Bounds on the expected regret were not computed: with {process.arms} arms they can "
            "take longer than the simulation. The command under 'Run it again' computes them if "
            "--bounds is added; it uses the stored trials."
        )
        return general, (why,)
    keys = Keys(settings["seed"], cell.first_trial, cell.trials)
    found = bounds_for(results.policies, process, prior, results.rounds, keys)
    return found + general, ()


def _distinct_priors(prior: Posterior) -> int:
    """Return the number of arms with different priors."""
    rows = [array[0].reshape(prior.arms, -1) for array in prior.init(trials=1).values()]
    return len(np.unique(np.column_stack(rows), axis=0))


# --- pages


def write_pages(studies: Sequence[Study], path: str | Path | None = None) -> tuple[Path, Path]:
    """Write the HTML report on studies of one directory, and its numbers as JSON.

    Incomplete policies are left out and listed in a note.

    Parameters
    ----------
    studies
        One or more studies.
    path
        The .html file. Default: report.html in the directory of the studies.

    Returns
    -------
    tuple of Path
        The HTML file and the JSON file.
    """
    chosen, directory = list(studies), studies[0].directory.path
    if path is not None and not Path(path).name:
        raise InputError("the name of the report is empty: give the name of an .html file")
    page = directory / "report.html" if path is None else Path(path)
    numbers = directory / "summary.json" if path is None else page.with_suffix(".json")
    if page == numbers:
        raise InputError(
            f"the report cannot be written to '{page.name}': give the name of an .html file"
        )
    for file in (page, numbers):
        check_name(file)
        if file.is_dir():
            raise InputError(f"{file} is a directory: choose another --output")
    entries = merge_entries(chosen)
    if not entries:
        raise InputError(
            f"no policy in {directory} is complete yet; to continue: {chosen[0].rerun}"
        )
    missing = [
        f"{study.title}: no policy is complete yet.{_continue_hint(study)}"
        for study in chosen
        if not any(cell.complete() for cell in study.cells)
    ]
    alone = len(chosen) == 1
    title = chosen[0].title if alone else f"{len(chosen)} studies in {directory.resolve().name}"
    write_entries(entries, page, numbers, title=title, introduction="\n\n".join(missing))
    return page, numbers


def write_entries(
    entries: Sequence[Entry], page: Path, numbers: Path, *, title: str, introduction: str = ""
) -> None:
    """Write the HTML report on entries, and their numbers as JSON."""
    write_text(numbers, json_text(summary_of(entries)) + "\n")
    write_report(page, entries, title=title, introduction=introduction)


# --- figures


def figure_names(study: Study) -> list[str]:
    """Return the file names of the figures of a study, without suffix."""
    if slices := study.slices():
        return [f"figure-{one.key}" for one in slices]
    several = len(study.cells[0].series) > 1  # else there is nothing to compare
    kinds = ("", "-final", *(["-differences"] if several else []), "-plays")
    return [f"figure-{study.key}{kind}" for kind in kinds]


def draw_figures(
    study: Study, directory: str | Path | None = None, formats: Sequence[str] | None = None
) -> list[Path]:
    """Draw the figures of the complete policies of a study; return the files that were written."""
    target = study.directory.path if directory is None else make_directory(Path(directory))
    drawn: list[Path] = []
    for entry in study.entries():
        for kind, make in _figures(study, entry).items():
            drawn += save_figure(make(), target / f"figure-{entry.key}{kind}", formats)
    return drawn


def _figures(study: Study, entry: Entry) -> dict[str, Callable[[], Figure]]:
    """Return functions that draw the figures of an entry, by the end of their names."""
    if isinstance(entry, SweepEntry):
        order, title = study.lines(), entry.title
        return {
            "": lambda: sweep_figure(
                entry.results, entry.label, title, scale=entry.scale, order=order
            )
        }
    results, title = entry.results, entry.title
    bounds = entry.drawn_bounds if study.record.bounds else ()
    figures = {
        "": lambda: regret_figure(results, title, bounds=bounds),
        "-final": lambda: final_figure(results, title),
        "-differences": lambda: forest_figure(results, title=title),
        "-plays": lambda: plays_figure(results, title=title),
    }
    if len(results.policies) == 1:
        del figures["-differences"]
    return figures


def check_formats(formats: Sequence[str] | None) -> None:
    """Raise an error if a file format of figures is unknown."""
    for kind in formats or ():
        check_word(kind, "file format", FORMATS)


def check_outputs(study: Study, formats: Sequence[str] | None) -> None:
    """Raise an error before the run if a page or a figure could not be written."""
    figures = [f"{name}.{kind}" for name in figure_names(study) for kind in formats or FORMATS]
    for name in (*PAGES, *figures):
        path = study.directory.path / name
        check_name(path)
        if path.is_dir():
            raise InputError(f"{path} is a directory: choose another --output")
