"""What a study shows: entries of the report, figures, pages."""

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
from graphbandits.experiments.figures import part_of
from graphbandits.experiments.study import Cell, Share, Study, SweepSlice, listed
from graphbandits.graphs import RandomFeedback, UniformFeedback
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.plots import save_figure
from graphbandits.plots.requested import draw, draw_sweep
from graphbandits.plots.style import FORMATS
from graphbandits.report import Entry, SimulationEntry, SweepEntry, summary_of, write_report
from graphbandits.results import Published, Results
from graphbandits.rng import Keys
from graphbandits.theory import Bound, bounds_for
from graphbandits.theory.bounds import WITH_GRAPH
from graphbandits.theory.regret_bounds import recorded_bounds, why_unsupported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Most arms of graphs whose clique covers are computed without --bounds, by whether all rounds have
#: the same graph: one cover takes seconds at 60 arms, and hundreds of covers do at 40.
COVERED = {True: 60, False: 40}
#: Most different priors of arms for which the entropy of the best arm is: 1 s, and 150 s at 20,000.
DISTINCT = 2000
#: Files of an output directory besides figures and the store's own.
PAGES = ("summary.json", "report.html")


# --- entries of the report


def entries_of(study: Study) -> list[Entry]:
    """The simulation of a study, or the slices of its sweeps, without what is not complete."""
    found: list[Entry] = []
    for cell in study.cells:
        if cell.sweep is None and (complete := cell.complete()):
            found.append(_simulation(study, cell, complete))
    for piece in study.slices():
        sweep = _sweep(study, piece)
        if sweep is not None:
            found.append(sweep)
    if found:  # notes on the whole study are shown once
        found[0] = replace(found[0], notes=(*study.notes, *found[0].notes))
    return found


def all_entries(studies: Sequence[Study]) -> list[Entry]:
    """The entries of several studies, with different keys."""
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
    bounds, why = bounds_at(cell, results, study.record.bounds)
    notes = _missing(study, cell.progress().missing)
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


def _sweep(study: Study, piece: SweepSlice) -> SweepEntry | None:
    """The values at which a policy is complete, with these; None if there is no such value."""
    results: dict[float | str, Results] = {}
    missing: list[Share] = []
    for value, cell in piece.cells.items():
        missing += cell.progress().missing
        if complete := cell.complete():
            lines = {name: cell.lines[name] for name in complete}
            results[value] = cell.results(complete).renamed(lines)
    if not results:
        return None
    several = len(piece.sweep.parameters) > 1
    return SweepEntry(
        piece.key,
        piece.title,
        piece.sweep.x or ", ".join(piece.sweep.parameters),
        results,  # type: ignore[arg-type]  # all numbers, or all texts
        study.rerun,
        label=piece.label,
        scale=piece.scale,
        notes=_missing(study, missing),
        order=tuple(study.lines()),
        lines={value: piece.cells[value].lines for value in results},
        points={value: piece.cells[value].point for value in results} if several else {},
    )


def _missing(study: Study, parts: Sequence[Share]) -> tuple[str, ...]:
    """What is left out, and how to go on with it."""
    if not parts:
        return ()
    return (f"Left out, for trials are missing: {listed(parts)}.{_how_to_go_on(study)}",)


def _how_to_go_on(study: Study) -> str:
    return f" To go on: {study.rerun}" if study.rerun else ""


def _published(study: Study, complete: Sequence[str]) -> Published | None:
    given = study.published
    means = {name: pair for name, pair in given.means.items() if name in complete} if given else {}
    return Published(means, given.source) if given and means else None


def bounds_at(
    cell: Cell, results: Results, asked: bool
) -> tuple[tuple[Bound, ...], tuple[str, ...]]:
    """The bounds that are proved for the policies, and a note if some could not be given.

    Bounds that may take longer than the simulation, by ``COVERED`` and ``DISTINCT``, are computed
    only if ``asked``.
    """
    settings, prior, process = results.settings, cell.prior, cell.process
    if settings.get("means") is not None or why_unsupported(prior):
        return (), ()  # the page says why
    general = recorded_bounds(results, prior) if settings.get("ratios") else ()
    if process is None:
        graph = settings["graph"]
        why = f"No bounds by the graph: '{graph}' is of a plug-in, which --plugin FILE loads."
        return general, (why,)
    fixed = fixed_feedback(process)
    covers = not isinstance(process, RandomFeedback)
    if fixed is not None:
        covers = fixed.deterministic and not isinstance(fixed, UniformFeedback)
    large = process.arms > COVERED[fixed is not None]
    if not covers:
        large = len(np.unique(np.column_stack([prior.a, prior.b]), axis=0)) > DISTINCT
    proved = any(name.split("(")[0] in ("ids-lp", *WITH_GRAPH) for name in results.policies)
    if large and proved and not asked:
        why = (
            f"Bounds on the expected regret were not computed: with {process.arms} arms they can "
            "take longer than the simulation. The command under 'Run it again' computes them if "
            "--bounds is added; it uses the stored trials."
        )
        return general, (why,)
    keys = Keys(settings["seed"], cell.first_trial, cell.trials)
    found = bounds_for(results.policies, process, prior, results.rounds, keys)
    return found + general, ()


# --- pages


def write_pages(studies: Sequence[Study], path: str | Path | None = None) -> tuple[Path, Path]:
    """Write the page about studies of one store, and its numbers as JSON beside it.

    Policies that lack trials are left out, and a note says so.

    Parameters
    ----------
    studies
        The studies, one or more.
    path
        The page, a file .html; report.html in the directory of the store if not given.

    Returns
    -------
    tuple of Path
        The page and the JSON file.
    """
    chosen, directory = list(studies), studies[0].store.path
    if path is not None and not Path(path).name:
        raise InputError("the page is a file .html, and its name must not be empty")
    page = directory / "report.html" if path is None else Path(path)
    numbers = directory / "summary.json" if path is None else page.with_suffix(".json")
    if page == numbers:
        raise InputError(f"the page is a file .html, not '{page.name}'")
    for file in (page, numbers):
        check_name(file)
        if file.is_dir():
            raise InputError(f"{file} is a directory: choose another --output")
    entries = all_entries(chosen)
    if not entries:
        raise InputError(
            f"no policy in {directory} has all its trials yet; to go on: {chosen[0].rerun}"
        )
    missing = [
        f"{study.title}: no policy has all its trials yet.{_how_to_go_on(study)}"
        for study in chosen
        if not any(cell.complete() for cell in study.cells)
    ]
    alone = len(chosen) == 1
    title = chosen[0].title if alone else f"{len(chosen)} studies of {directory.resolve().name}"
    write_entries(entries, page, numbers, title=title, introduction="\n\n".join(missing))
    return page, numbers


def write_entries(
    entries: Sequence[Entry], page: Path, numbers: Path, *, title: str, introduction: str = ""
) -> None:
    """Write the page about these entries, and their numbers."""
    write_text(numbers, json_text(summary_of(entries)) + "\n")
    write_report(page, entries, title=title, introduction=introduction)


# --- figures


def pictures(study: Study) -> Iterator[tuple[str, Mapping[str, Any], SweepSlice | None, Any]]:
    """The figures of a study: name without ending, options, slice of a sweep, value on its axis.

    There is no slice without sweeps, and no value where the figure shows the whole sweep.
    """
    slices = study.slices()
    for figure in study.record.figures:
        if not slices:
            yield picture_name(study.key, figure), figure, None, None
        for piece in slices:
            if figure["kind"] == "sweep":
                yield picture_name(piece.key, figure), figure, piece, None
                continue
            for value, cell in piece.cells.items():
                yield picture_name(f"{study.key}-{cell.name}", figure), figure, piece, value


def picture_name(place: str, figure: Mapping[str, Any]) -> str:
    """The name of a figure's files, without their ending.

    >>> picture_name("1a", {"kind": "final"})
    'figure-1a-final'
    """
    return "-".join(filter(None, ("figure", place, part_of(figure))))


def draw_figures(
    study: Study,
    directory: str | Path | None = None,
    formats: Sequence[str] | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> list[Path]:
    """Draw the figures that a study asks for; the files written.

    A figure whose policies lack trials is not drawn, and ``warn`` is called with a sentence.
    """
    target = study.store.path if directory is None else make_directory(Path(directory))
    entries, drawn = {entry.key: entry for entry in study.entries()}, []
    if not entries:
        warn(f"no figure of the study '{study.key}' was drawn: its policies lack trials")
    for name, figure, piece, value in pictures(study):
        entry = entries.get(study.key if piece is None else piece.key)
        if isinstance(entry, SweepEntry) and value is not None and value not in entry.results:
            entry = None
        if entry is None:
            continue
        lines, make = _figure(study, entry, figure, piece, value)
        if _can_be_drawn(figure, lines):
            chosen = figure.get("formats") if formats is None else formats
            drawn += save_figure(make(), target / name, chosen)
        else:
            warn(f"{name} was not drawn: its policies lack trials")
    return drawn


def _figure(
    study: Study, entry: Entry, figure: Mapping[str, Any], piece: SweepSlice | None, value: Any
) -> tuple[Collection[str], Callable[[], Figure]]:
    """The lines and the maker of a figure."""
    order, asked = study.lines(), study.record.bounds
    if isinstance(entry, SimulationEntry):
        bounds = entry.drawn_bounds if asked else ()
        return entry.results.policies, partial(draw, figure, entry.results, entry.title, bounds)
    if piece is None or value is None:
        lines = {line for found in entry.results.values() for line in found.policies}
        make = partial(draw_sweep, figure, entry.results, entry.label, entry.title)
        return lines, partial(make, scale=entry.scale, order=order)
    cell, results = piece.cells[value], entry.results[value]
    title = f"{piece.sweep.title}: {point_text(cell.point)}"
    drawn = asked and figure["kind"] == "regret"
    bounds = bounds_at(cell, results, drawn)[0] if drawn else ()
    return results.policies, partial(draw, figure, results, title, bounds, order=order)


def _can_be_drawn(figure: Mapping[str, Any], lines: Collection[str]) -> bool:
    """Whether what a figure is to show is there."""
    wanted = [line for line in figure.get("policies", lines) if line in lines]
    least = 2 if figure["kind"] == "differences" else 1
    return len(wanted) >= least and figure.get("reference", wanted[0]) in wanted


def check_outputs(study: Study) -> None:
    """Notice before anything runs that a page or a figure could not be written."""
    names = [*PAGES]
    for name, figure, _, _ in pictures(study):
        names += [f"{name}.{kind}" for kind in figure.get("formats", FORMATS)]
    for name in names:
        path = study.store.path / name
        check_name(path)
        if path.is_dir():
            raise InputError(f"{path} is a directory: choose another --output")
