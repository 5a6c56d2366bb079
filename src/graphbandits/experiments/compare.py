"""Studies compared: each cell of one by itself, or the problems that several have in common."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits.errors import InputError, nearest
from graphbandits.experiments.study import Cell, Studies, Study, SweepSlice
from graphbandits.experiments.texts import line_of
from graphbandits.results import Difference, PolicyResult, Results
from graphbandits.results.combine import JOINED
from graphbandits.results.compare import independent_difference, paired_differences
from graphbandits.store import ShardFile
from graphbandits.types import Floats, Ints

#: Of all intervals.
CONFIDENCE = 0.95
#: What of the settings says how a problem was looked at, and not what it is.
RECORDING = frozenset({"ratios"})
#: Trials as (first, one after the last), in order and apart from each other.
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Place:
    """A cell in a store of that name; ``sweep_slice`` shows it at ``value`` if it is swept."""

    store: str
    study: Study
    cell: Cell
    sweep_slice: SweepSlice | None = None
    value: Any = None

    def __str__(self) -> str:
        return f"{self.store}: {self.study.key}{self.cell.where}"

    @property
    def seed(self) -> int:
        seed: int = self.cell.description[0]["settings"]["seed"]
        return seed

    @cached_property
    def problem(self) -> str:
        """Everything that regret depends on but the policy, the seed and the trials.

        A graph of a plug-in's own kind is its text and ``graph_source``: so two versions of its
        file are two problems.
        """
        meta, _ = self.cell.description
        left = {k: v for k, v in meta["settings"].items() if k not in JOINED | RECORDING}
        if left.get("graph_hash") is not None:
            del left["graph"]  # a graph is what it is, whatever it is called
        return json.dumps([left, meta["arms"]], sort_keys=True)


def _places_of(store: str, studies: Iterable[Study]) -> list[Place]:
    """All cells of some studies of a store, those of sweeps slice by slice."""
    found: list[Place] = []
    for study in studies:
        found += [Place(store, study, cell) for cell in study.cells if cell.sweep is None]
        for one in study.slices():
            found += [Place(store, study, cell, one, at) for at, cell in one.cells.items()]
    return found


@dataclass(frozen=True)
class Row:
    """A policy of a comparison: its final regret, and its difference from the best or reference.

    ``paired`` is whether that difference is taken trial by trial in the same worlds.
    """

    policy: str
    trials: int
    mean: float
    standard_error: float
    low: float
    high: float
    median: float
    q95: float
    difference: Difference | None = None
    paired: bool = True

    @property
    def standing(self) -> str:
        """What the difference says: "better", "worse", "not told apart" or "unknown"."""
        if self.difference is None:
            return ""
        if math.isnan(self.difference.low):
            return "unknown"
        if self.difference.high < 0.0:
            return "better"
        return "worse" if self.difference.low > 0.0 else "not told apart"


@dataclass(frozen=True)
class Version:
    """Two records of one policy that differ: in so many of the trials that both have."""

    difference: Difference
    paired: bool
    trials: int
    differing: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Policies that met the same problem, from the least regret to the largest.

    ``against`` is what the differences are from: the first policy, or the reference; None where
    that is missing. ``versions`` are the differences of policies of the same text from several
    stores, with intervals that hold together for these pairs.
    """

    places: tuple[Place, ...]
    rows: tuple[Row, ...]
    against: str | None
    notes: tuple[str, ...]
    versions: tuple[Version, ...] = ()
    reference: bool = False  # whether ``against`` was asked for


@dataclass(frozen=True, eq=False)
class Entry:
    """A policy of a cell, in as many stores as have the same numbers of it."""

    name: str  # that of its line, in a sweep
    policy: str
    place: Place
    files: tuple[ShardFile, ...]
    ranges: Ranges
    stores: tuple[str, ...]
    result: PolicyResult | None = None  # of the trials in ``ranges``

    @property
    def final(self) -> Floats:
        assert self.result is not None
        return self.result.final

    @property
    def mean(self) -> float:
        assert self.result is not None
        return float(self.result.mean[-1])

    def final_in(self, some: Ranges) -> Floats:
        """The final regret of some of its trials."""
        return self.final[within(self.ranges, some)]

    def shares(self, other: Entry) -> Ranges:
        """The trials in which both met the same worlds."""
        same = self.place.seed == other.place.seed
        return common(self.ranges, other.ranges) if same else ()


@dataclass(frozen=True, eq=False)
class Compared:
    """All comparisons, and the cells that found no partner in another store.

    ``reference`` is the policy, or line of a sweep, that was to be compared with.
    """

    comparisons: tuple[Comparison, ...]
    alone: tuple[Place, ...]
    reference: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain data, the output of ``graphbandits compare --json``."""
        return {
            "confidence": CONFIDENCE,
            "comparisons": [
                {
                    "places": [_place_dict(place) for place in one.places],
                    "against": one.against,
                    "policies": {row.policy: _row_dict(row) for row in one.rows},
                    "versions": [_version_dict(version) for version in one.versions],
                    "notes": list(one.notes),
                }
                for one in self.comparisons
            ],
            "alone": [_place_dict(place) for place in self.alone],
        }


def compare_stores(stores: Sequence[Studies], reference: str | None = None) -> Compared:
    """Compare all studies of one store, or the problems that several stores share.

    See :func:`compare_studies`.
    """
    if not stores:
        raise InputError("there is no store to compare: give the studies of one or more")
    names = directory_names([studies.store.path for studies in stores])
    chosen = [studies.chosen() for studies in stores]
    return _compare(dict(zip(names, chosen, strict=True)), reference)


def compare_studies(studies: Sequence[Study], reference: str | None = None) -> Compared:
    """Compare the policies of each cell of one study, or of the problems that several share.

    Cells are the same problem where all but policies, seed and trials agree. Differences are from
    the policy of least regret, or from ``reference`` where it is there: the line of a sweep may be
    named as its file has it, as ``eps-greedy-lp(c={c})``.
    """
    if not studies:
        raise InputError("there is no study to compare: give one or more")
    for study in studies:
        if not isinstance(study, Study):
            raise InputError(f"studies are compared, as open_study gives them, not {study!r}")
    paths = [study.store.path.resolve() for study in studies]
    distinct = list(dict.fromkeys(paths))
    names = dict(zip(distinct, directory_names(distinct), strict=True))
    if len(distinct) < len(paths):  # several studies of one store
        keyed = [f"{names[path]}/{s.key}" for path, s in zip(paths, studies, strict=True)]
    else:
        keyed = [names[path] for path in paths]
    named = {name: [study] for name, study in zip(keyed, studies, strict=True)}
    if len(named) < len(studies):
        raise InputError("a study is given twice")
    return _compare(named, reference)


def _compare(studies: Mapping[str, Sequence[Study]], reference: str | None) -> Compared:
    reference = None if reference is None else line_of(reference)
    places = [_places_of(name, mine) for name, mine in studies.items()]
    groups: list[tuple[Place, ...]] = []
    alone: list[Place] = []
    if len(studies) == 1:
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


def pooled(places: tuple[Place, ...], reference: str | None) -> Comparison:
    """All policies of cells of one problem, each in the trials that it has.

    Where there are trials that all of them have, in the same worlds, these count and no others.
    """
    entries, notes = _entries(places)
    if not entries:
        return Comparison(places, (), None, (*notes, "there are no trials yet"))
    worlds = reduce(common, (entry.ranges for entry in entries))
    together = len({entry.place.seed for entry in entries}) == 1 and count_of(worlds) > 0
    if together:
        if any(entry.ranges != worlds for entry in entries):
            notes.append(f"compared in the {_trials(worlds)} that all of these policies have")
        entries = [replace(entry, ranges=worlds) for entry in entries]
    else:
        notes.append(
            "not all in the same worlds: where ~ stands by a difference it is one of independent "
            "means, with Welch's interval"
        )
    read = [
        replace(one, result=final_result(one.place.cell, one.files, one.ranges)) for one in entries
    ]
    named = _labelled(_merged(read, notes))
    ranking = sorted(named, key=lambda label: named[label].mean)
    against: str | None = ranking[0] if reference is None else reference
    if against not in named:
        against = None
        notes.append(f"'{reference}' is not there to compare with")
    found: dict[str, tuple[Difference, bool]] = {}
    if against is not None:
        chosen = reference is None
        found = (_together if together else _apart)(named, against, chosen)
    if against is not None and any(_partly(one, named[against]) for one in named.values()):
        notes.append(
            "a paired difference is over the trials that both policies have, the means over all "
            "that each has: so it need not be the difference of the means"
        )
    rows = tuple(_row(label, named[label], *found.get(label, (None, True))) for label in ranking)
    by_name = reference is not None
    return Comparison(places, rows, against, tuple(notes), _versions(named), by_name)


def _entries(places: Sequence[Place]) -> tuple[list[Entry], list[str]]:
    """The policies that have trials, and what is missing."""
    home = places[0]
    lines = home.cell.lines if home.sweep_slice else {}
    found: list[Entry] = []
    notes: list[str] = []
    met: set[tuple[str, str]] = set()
    for place in places:
        where = f" of {place}" if len(places) > 1 else ""
        for policy, series in place.cell.series.items():
            if (place.store, series) in met:
                continue  # another study has the same shards
            met.add((place.store, series))
            cover = place.cell.cover(policy)
            ranges = ranges_of(cover.used)
            if cover.gaps:
                notes.append(
                    f"{policy}{where} has {count_of(ranges)} of {place.cell.trials} trials"
                )
            if ranges:
                own = place.cell.lines[policy] if home.sweep_slice else policy
                name = lines.get(policy, own)
                found.append(Entry(name, policy, place, cover.used, ranges, (place.store,)))
    return found, notes


def _trials(ranges: Ranges) -> str:
    count = count_of(ranges)
    return f"{count} trial{'s' * (count > 1)}"


def _merged(entries: Iterable[Entry], notes: list[str]) -> list[Entry]:
    """Each policy once where its numbers are the same in several stores.

    Of two that have the same trials but for some that only one has, that one stays.
    """
    kept: list[Entry] = []
    for entry in entries:
        twins = (i for i, one in enumerate(kept) if _same(one, entry))
        place = next(twins, None)
        if place is None:
            kept.append(entry)
        else:
            both = (kept[place], entry)
            stores = tuple(dict.fromkeys((*both[0].stores, *both[1].stores)))
            most = max(both, key=lambda one: count_of(one.ranges))
            kept[place] = replace(most, name=both[0].name, stores=stores)
    for entry in kept:
        if len(entry.stores) > 1:
            notes.append(f"{entry.name}: the same in every trial in {' and '.join(entry.stores)}")
    return kept


def _same(one: Entry, other: Entry) -> bool:
    """Whether one of two records of a policy has all that the other has, with the same numbers."""
    assert one.result is not None
    assert other.result is not None
    shared = one.shares(other)
    if one.policy != other.policy or shared not in (one.ranges, other.ranges):
        return False
    plays = np.array_equal(one.result.plays, other.result.plays) or one.ranges != other.ranges
    return plays and np.array_equal(one.final_in(shared), other.final_in(shared))


def _labelled(entries: Sequence[Entry]) -> dict[str, Entry]:
    """The entries by their names; those of the same name have their store behind it."""
    names = [entry.name for entry in entries]
    stores = [f"{entry.name} [{', '.join(entry.stores)}]" for entry in entries]
    studies = [f"{entry.name} [{entry.place}]" for entry in entries]
    labels = list(names)
    for longer in (stores, studies):
        labels = [
            text if labels.count(label) > 1 else label
            for label, text in zip(labels, longer, strict=True)
        ]
    return dict(zip(labels, entries, strict=True))


def _row(label: str, entry: Entry, difference: Difference | None, paired: bool) -> Row:
    assert entry.result is not None
    results = final_results(entry.place.cell, {label: entry.result})
    low, high = results.interval(label, CONFIDENCE)
    quantiles = entry.result.final_quantiles()
    return Row(
        label,
        results.trials,
        entry.mean,
        float(entry.result.standard_error[-1]),
        low,
        high,
        quantiles["0.5"],
        quantiles["0.95"],
        difference,
        paired,
    )


def _together(
    named: Mapping[str, Entry], against: str, chosen: bool
) -> dict[str, tuple[Difference, bool]]:
    """The paired differences of policies in the same worlds, with intervals that hold together."""
    cell = next(iter(named.values())).place.cell
    found = {label: entry.result for label, entry in named.items() if entry.result is not None}
    results = final_results(cell, found)
    if chosen:  # as the best, from the same trials
        differences = list(results.from_best(CONFIDENCE).values())
    else:
        differences = results.differences(against, CONFIDENCE, simultaneous=True)
    return {d.first: (d, True) for d in differences}


def _apart(
    named: Mapping[str, Entry], against: str, chosen: bool
) -> dict[str, tuple[Difference, bool]]:
    """Each pair by what it has in common, with intervals that hold together by Bonferroni's rule.

    Where the policy to compare with is chosen from the same trials all pairs count.
    """
    count = len(named)
    pairs = count * (count - 1) // 2 if chosen else count - 1
    return {
        label: _pair(label, against, named, 1.0 - (1.0 - CONFIDENCE) / pairs)
        for label in named
        if label != against
    }


def _partly(one: Entry, other: Entry) -> bool:
    """Whether two policies met in some worlds, and one of them in others besides."""
    shared = one.shares(other)
    return count_of(shared) > 0 and not shared == one.ranges == other.ranges


def _pair(
    first: str, second: str, named: Mapping[str, Entry], confidence: float
) -> tuple[Difference, bool]:
    """The difference of two policies, and whether it is a paired one."""
    one, other = named[first], named[second]
    shared = one.shares(other)
    if not shared:
        final = {first: one.final, second: other.final}
        return independent_difference(first, second, final, confidence), False
    final = {first: one.final_in(shared), second: other.final_in(shared)}
    return paired_differences(final, [(first, second)], confidence, simultaneous=False)[0], True


def _versions(named: Mapping[str, Entry]) -> tuple[Version, ...]:
    """The policies of the same text that several stores have with different numbers."""
    pairs = [
        (first, second)
        for first, second in combinations(named, 2)
        if named[first].policy == named[second].policy
    ]
    found = []
    for first, second in pairs:
        level = 1.0 - (1.0 - CONFIDENCE) / len(pairs)
        difference, paired = _pair(first, second, named, level)
        shared = named[first].shares(named[second])
        both = [named[label].final_in(shared) for label in (first, second)] if paired else [0, 0]
        apart = int(np.count_nonzero(np.not_equal(*both)))
        found.append(Version(difference, paired, count_of(shared), apart))
    return tuple(found)


def ranges_of(files: Iterable[ShardFile]) -> Ranges:
    """The trials of shards that follow each other.

    >>> ranges_of([ShardFile("s", 0, 5, ""), ShardFile("s", 5, 5, ""), ShardFile("s", 20, 1, "")])
    ((0, 10), (20, 21))
    """
    merged: list[tuple[int, int]] = []
    for file in files:
        if merged and merged[-1][1] == file.first:
            merged[-1] = (merged[-1][0], file.end)
        else:
            merged.append((file.first, file.end))
    return tuple(merged)


def common(one: Ranges, other: Ranges) -> Ranges:
    """The trials that are in both.

    >>> common(((0, 10), (20, 30)), ((5, 25),))
    ((5, 10), (20, 25))
    """
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return tuple((first, end) for first, end in pairs if first < end)


def count_of(ranges: Ranges) -> int:
    """How many trials there are."""
    return sum(end - first for first, end in ranges)


def within(ranges: Ranges, some: Ranges) -> NDArray[np.bool_]:
    """Which of the trials are among some others, one after the other.

    >>> within(((0, 2), (5, 7)), ((1, 6),)).tolist()
    [False, True, True, False]
    """
    numbers = np.concatenate([np.arange(first, end) for first, end in ranges])
    inside = np.zeros(len(numbers), bool)
    for first, end in some:
        inside |= (numbers >= first) & (numbers < end)
    return inside


def final_result(cell: Cell, files: Iterable[ShardFile], ranges: Ranges) -> PolicyResult:
    """What these trials ended with, from shards of a policy, as the last round of its results."""
    parts: list[Floats] = []
    plays: Ints = np.zeros(len(cell.description[0]["arms"]), np.int64)
    for file in files:
        kept = within(((file.first, file.end),), ranges)
        if kept.any():
            shard = cell.store.read(file)
            parts.append(shard.regret[kept, -1])
            counted = kept[shard.plays.trial]
            np.add.at(plays, shard.plays.arm[counted], shard.plays.count[counted])
    final = np.concatenate(parts)
    # one column alone would be summed in another order, which may change the last bit
    twice = PolicyResult.from_trials(np.stack([final, final], axis=1), plays)
    last = slice(1, None)
    return PolicyResult(
        twice.mean[last], twice.standard_error[last], twice.quantiles[:, last], final, plays
    )


def final_results(cell: Cell, found: Mapping[str, PolicyResult]) -> Results:
    """Results of the last round alone, of policies in the worlds of a cell."""
    meta, _ = cell.description
    settings = {k: v for k, v in meta["settings"].items() if k not in ("policies", "runs")}
    return Results(np.array(meta["rounds"][-1:]), found, tuple(meta["arms"]), settings)


def _place_dict(place: Place) -> dict[str, Any]:
    return {
        "directory": str(place.study.store.path),
        "study": place.study.key,
        "title": place.study.title,
        "point": place.cell.point,
    }


def _row_dict(row: Row) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "trials": row.trials,
        "mean": row.mean,
        "standard_error": row.standard_error,
        "interval": [row.low, row.high],
        "median": row.median,
        "q0.95": row.q95,
    }
    if row.difference is not None:
        plain["difference"] = _difference_dict(row.difference, row.paired) | {"is": row.standing}
    return plain


def _version_dict(version: Version) -> dict[str, Any]:
    d = version.difference
    return {
        "first": d.first,
        "second": d.second,
        **_difference_dict(d, version.paired),
        "trials": version.trials,
        "differing": version.differing,
    }


def _difference_dict(d: Difference, paired: bool) -> dict[str, Any]:
    return {
        "mean": d.mean,
        "standard_error": d.standard_error,
        "simultaneous_interval": [d.low, d.high],
        "paired": paired,
    }
