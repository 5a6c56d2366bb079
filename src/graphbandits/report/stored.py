"""What a store has of its studies, as the page tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs import RandomFeedback, Uniform
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.report.entries import Entry, SimulationEntry, SweepEntry
from graphbandits.results import Published, Results
from graphbandits.rng import Keys
from graphbandits.store import Store
from graphbandits.studies import Facet, StoredCell, StoredStudy, Studies
from graphbandits.studies.progress import Share, listed
from graphbandits.theory import Bound, bounds_for
from graphbandits.theory.bounds import WITH_GRAPH
from graphbandits.theory.regret import recorded_bounds, why_unfit

#: Most arms of graphs whose clique covers are computed without --bounds, by whether all rounds have
#: the same graph: one cover takes seconds at 60 arms, and hundreds of covers do at 40.
COVERED = {True: 60, False: 40}
#: Most different priors of arms for which the entropy of the best arm is: 1 s, and 150 s at 20,000.
DISTINCT = 2000


def studies_of(store: Store, keys: Sequence[str] | None = None) -> list[Entry]:
    """The studies of these keys, or all: each simulation, and each facet of its sweeps.

    Policies that lack trials are left out, and a note says so; :func:`missing_of` names the
    studies of which nothing is left.
    """
    chosen = Studies(store).chosen(list(keys or ()))
    found: list[Entry] = []
    for study in chosen:
        for entry in entries_of(study):
            key, number = entry.key, 2
            while any(key == other.key for other in found):
                key, number = f"{entry.key}-{number}", number + 1
            found.append(replace(entry, key=key))
    if not found:
        raise InputError(
            f"no policy in {store.path} has all its trials yet; to go on: {chosen[0].rerun}"
        )
    return found


def missing_of(store: Store, keys: Sequence[str] | None = None) -> list[str]:
    """A sentence on each study of which there is nothing to show yet."""
    return [
        f"{study.title}: no policy has all its trials yet. To go on: {study.rerun}"
        for study in Studies(store).chosen(list(keys or ()))
        if not any(cell.complete() for cell in study.cells)
    ]


def entries_of(study: StoredStudy) -> list[Entry]:
    """A study and its sweeps, without what is not complete."""
    found: list[Entry] = []
    for cell in study.cells:
        if cell.sweep is None and (complete := cell.complete()):
            found.append(_simulation(study, cell, complete))
    for facet in study.facets():
        sweep = _sweep(study, facet)
        if sweep is not None:
            found.append(sweep)
    if found:  # what is said of the whole study is said once
        found[0] = replace(found[0], notes=(*study.notes, *found[0].notes))
    return found


def _simulation(study: StoredStudy, cell: StoredCell, complete: Sequence[str]) -> SimulationEntry:
    results = cell.results(complete)
    bounds, why = bounds_at(cell, results, study.record["bounds"])
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


def _sweep(study: StoredStudy, facet: Facet) -> SweepEntry | None:
    """The values at which a policy is complete, with these; None if there is no such value."""
    results: dict[float | str, Results] = {}
    missing: list[Share] = []
    for value, cell in facet.cells.items():
        missing += cell.progress().missing
        if complete := cell.complete():
            lines = {name: cell.lines[name] for name in complete}
            results[value] = cell.results(complete).renamed(lines)
    if not results:
        return None
    several = len(facet.sweep.parameters) > 1
    return SweepEntry(
        facet.key,
        facet.title,
        facet.sweep.x or ", ".join(facet.sweep.parameters),
        results,  # type: ignore[arg-type]  # all numbers, or all texts
        study.rerun,
        label=facet.label,
        scale=facet.scale,
        notes=_missing(study, missing),
        order=tuple(study.lines()),
        lines={value: facet.cells[value].lines for value in results},
        points={value: facet.cells[value].point for value in results} if several else {},
    )


def _missing(study: StoredStudy, parts: Sequence[Share]) -> tuple[str, ...]:
    """What is left out, and how to go on with it."""
    if not parts:
        return ()
    return (f"Left out, for trials are missing: {listed(parts)}. To go on: {study.rerun}",)


def _published(study: StoredStudy, complete: Sequence[str]) -> Published | None:
    given = study.published
    means = {name: pair for name, pair in given.means.items() if name in complete} if given else {}
    return Published(means, given.source) if given and means else None


def bounds_at(
    cell: StoredCell, results: Results, asked: bool
) -> tuple[tuple[Bound, ...], tuple[str, ...]]:
    """The bounds that are proved for the policies, and a note if some could not be given.

    Bounds that may take longer than the simulation, by ``COVERED`` and ``DISTINCT``, are computed
    only if ``asked``.
    """
    settings, prior, process = results.settings, cell.prior, cell.process
    if settings.get("means") is not None or why_unfit(prior):
        return (), ()  # the page says why
    general = recorded_bounds(results, prior) if settings.get("ratios") else ()
    if process is None:
        graph = settings["graph"]
        why = f"No bounds by the graph: '{graph}' is of a plug-in, which --plugin FILE loads."
        return general, (why,)
    fixed = fixed_feedback(process)
    covers = not isinstance(process, RandomFeedback)
    if fixed is not None:
        covers = fixed.deterministic and not isinstance(fixed, Uniform)
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
