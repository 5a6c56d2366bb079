"""Outputs of a study: entries of the report, HTML pages, and figures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphbandits._io import check_name, json_text, make_directory, write_text
from graphbandits.engine.plan import point_text
from graphbandits.errors import InputError
from graphbandits.experiments.figures import figure_name_part
from graphbandits.experiments.study import Cell, PolicyProgress, Study, SweepSlice, join_limited
from graphbandits.graphs import RandomFeedback, UniformFeedback
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.plots import save_figure
from graphbandits.plots.requested import draw, draw_sweep
from graphbandits.plots.style import FORMATS
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
#: Files of an output directory besides the figures and the store.
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
    results = cell.results(complete)
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
            results[value] = cell.results(complete).renamed(lines)
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
    if cell.world is None or prior is None or "posterior" in settings:
        return (), ()
    late = settings.get("delay", settings.get("answer_rate"))
    if why_no_bounds(cell.world, eligible=settings.get("eligible"), answers=late):
        return (), ()  # the report gives the reason
    general = recorded_bounds(results, prior) if settings.get("ratios") else ()
    if process is None:
        graph = settings["graph"]
        why = (
            f"Bounds that depend on the graph were not computed: '{graph}' is defined by a "
            "plug-in. Load it with --plugin FILE."
        )
        return general, (why,)
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
    """Write the HTML report on studies of one store, and its numbers as JSON.

    Incomplete policies are left out and listed in a note.

    Parameters
    ----------
    studies
        One or more studies.
    path
        The .html file. Default: report.html in the directory of the store.

    Returns
    -------
    tuple of Path
        The HTML file and the JSON file.
    """
    chosen, directory = list(studies), studies[0].store.path
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


def figure_files(study: Study) -> Iterator[tuple[str, Mapping[str, Any], SweepSlice | None, Any]]:
    """Yield the figures of a study: name without suffix, options, slice of a sweep, axis value.

    The slice is None without sweeps; the value is None if the figure shows the whole slice.
    """
    slices = study.slices()
    for figure in study.record.figures:
        if not slices:
            yield figure_name(study.key, figure), figure, None, None
        for sweep_slice in slices:
            if figure["kind"] == "sweep":
                yield figure_name(sweep_slice.key, figure), figure, sweep_slice, None
                continue
            for value, cell in sweep_slice.cells.items():
                yield figure_name(f"{study.key}-{cell.name}", figure), figure, sweep_slice, value


def figure_name(key: str, figure: Mapping[str, Any]) -> str:
    """Return the file name of a figure without its suffix.

    >>> figure_name("1a", {"kind": "final"})
    'figure-1a-final'
    """
    return "-".join(filter(None, ("figure", key, figure_name_part(figure))))


def draw_figures(
    study: Study,
    directory: str | Path | None = None,
    formats: Sequence[str] | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> list[Path]:
    """Draw the figures of a study and return the files that were written.

    If trials are missing for a figure, it is not drawn, and ``warn`` is called with a message.
    """
    target = study.store.path if directory is None else make_directory(Path(directory))
    entries, drawn = {entry.key: entry for entry in study.entries()}, []
    if not entries:
        warn(f"no figure of the study '{study.key}' was drawn: trials are missing")
    for name, figure, sweep_slice, value in figure_files(study):
        entry = entries.get(study.key if sweep_slice is None else sweep_slice.key)
        if isinstance(entry, SweepEntry) and value is not None and value not in entry.results:
            entry = None
        if entry is None:
            continue
        lines, make = _figure(study, entry, figure, sweep_slice, value)
        if _has_data(figure, lines):
            chosen = figure.get("formats") if formats is None else formats
            drawn += save_figure(make(), target / name, chosen)
        else:
            warn(f"{name} was not drawn: trials are missing")
    return drawn


def _figure(
    study: Study,
    entry: Entry,
    figure: Mapping[str, Any],
    sweep_slice: SweepSlice | None,
    value: Any,
) -> tuple[Collection[str], Callable[[], Figure]]:
    """Return the lines of a figure, and a function that draws it."""
    order, with_bounds = study.lines(), study.record.bounds
    if isinstance(entry, SimulationEntry):
        bounds = entry.drawn_bounds if with_bounds else ()
        return entry.results.policies, partial(draw, figure, entry.results, entry.title, bounds)
    if sweep_slice is None or value is None:
        lines = {line for found in entry.results.values() for line in found.policies}
        make = partial(draw_sweep, figure, entry.results, entry.label, entry.title)
        return lines, partial(make, scale=entry.scale, order=order)
    cell, results = sweep_slice.cells[value], entry.results[value]
    title = f"{sweep_slice.sweep.title}: {point_text(cell.point)}"
    drawn = with_bounds and figure["kind"] == "regret"
    bounds = cell_bounds(cell, results, drawn)[0] if drawn else ()
    return results.policies, partial(draw, figure, results, title, bounds, order=order)


def _has_data(figure: Mapping[str, Any], lines: Collection[str]) -> bool:
    """Return whether the policies of a figure have results."""
    shown = [line for line in figure.get("policies", lines) if line in lines]
    least = 2 if figure["kind"] == "differences" else 1
    return len(shown) >= least and figure.get("reference", shown[0]) in shown


def check_outputs(study: Study) -> None:
    """Raise an error before the run if a page or a figure could not be written."""
    names = [*PAGES]
    for name, figure, _, _ in figure_files(study):
        names += [f"{name}.{kind}" for kind in figure.get("formats", FORMATS)]
    for name in names:
        path = study.store.path / name
        check_name(path)
        if path.is_dir():
            raise InputError(f"{path} is a directory: choose another --output")
