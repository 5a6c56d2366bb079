"""Stores compared: each cell of one by itself, or the problems that several have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphbandits.errors import InputError, nearest
from graphbandits.experiments.texts import line_of
from graphbandits.studies.opening import Studies
from graphbandits.studies.places import Place, places_of
from graphbandits.studies.pooled import Comparison, pooled


@dataclass(frozen=True, eq=False)
class Compared:
    """All comparisons, and the cells that found no partner in another store.

    ``reference`` is the policy, or line of a sweep, that was to be compared with.
    """

    comparisons: tuple[Comparison, ...]
    alone: tuple[Place, ...]
    reference: str | None = None


def compare_stores(stores: Sequence[Studies], reference: str | None = None) -> Compared:
    """Each cell of one store, or each problem that several have, with the policies of all.

    Cells are the same problem where all but policies, seed and trials agree. Differences are from
    the policy of least regret, or from ``reference`` where it is there: the line of a sweep may be
    named as its file has it, as ``eps-greedy-lp(c={c})``.
    """
    if not stores:
        raise InputError("there is no store to compare: give the studies of one or more")
    reference = None if reference is None else line_of(reference)
    names = directory_names([studies.store.path for studies in stores])
    places = [places_of(name, studies) for name, studies in zip(names, stores, strict=True)]
    groups: list[tuple[Place, ...]] = []
    alone: list[Place] = []
    if len(stores) == 1:
        groups = [(place,) for place in places[0]]
    else:
        groups, alone = _matched(places)
    found = tuple(pooled(group, reference) for group in groups)
    known = {row.policy for one in found for row in one.rows}
    if reference is not None and known and reference not in known:
        raise InputError(f"no policy '{reference}' to compare with: {nearest(reference, known)}")
    return Compared(found, tuple(alone), reference)


def directory_names(paths: Sequence[Path]) -> list[str]:
    """The names of directories, with as many of those above as it takes to tell them apart.

    >>> directory_names([Path("/a/new/out"), Path("/a/old/out")])
    ['new/out', 'old/out']
    """
    whole = [path.resolve() for path in paths]
    for path in whole:
        if whole.count(path) > 1:
            raise InputError(f"the directory {path} is given twice")
    for depth in range(1, max(len(path.parts) for path in whole)):
        names = ["/".join(path.parts[-depth:]) for path in whole]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in whole]


def _matched(places: Sequence[list[Place]]) -> tuple[list[tuple[Place, ...]], list[Place]]:
    """The cells of a store with their partners in later ones, and those that have none."""
    groups: list[tuple[Place, ...]] = []
    alone: list[Place] = []
    met: set[int] = set()
    by_problem: list[dict[str, list[Place]]] = []
    for mine in places:
        problems: dict[str, list[Place]] = {}
        for place in mine:
            problems.setdefault(place.problem, []).append(place)
        by_problem.append(problems)
    for number, mine in enumerate(places):
        for place in mine:
            if id(place) in met:
                continue
            partners = [
                partner
                for later in by_problem[number + 1 :]
                for partner in _partners(place, later.get(place.problem, []))
            ]
            met.update(map(id, partners))
            if partners:
                groups.append((place, *partners))
            else:
                alone.append(place)
    return groups, alone


def _partners(place: Place, same: list[Place]) -> list[Place]:
    """Of the cells of the same problem those that are not at another point of the same sweep.

    A sweep of a policy's parameter has the same problem at each of its values.
    """
    mine = place.cell.point
    points = [(other, other.cell.point) for other in same]
    return [other for other, point in points if point == mine or point.keys() != mine.keys()]
