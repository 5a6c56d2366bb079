"""Studies compared: each cell of one by itself, or the problems that several have in common."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, nearest
from graphbandits.experiments._texts import line_of
from graphbandits.experiments.study import Cell, Studies, Study, SweepSlice
from graphbandits.results import Difference, PolicyResult
from graphbandits.results.combine import JOINED_SETTINGS
from graphbandits.results.differences import independent_difference, paired_differences, t_quantile
from graphbandits.store import ShardFile

#: Of all intervals.
CONFIDENCE = 0.95
#: What of the settings says how a problem was looked at, and not what it is.
RECORDING = frozenset({"ratios"})


@dataclass(frozen=True, eq=False)
class ComparedCell:
    """A cell in a store of that name; ``sweep_slice`` shows it at ``value`` if it is swept."""

    store: str
    study: Study
    cell: Cell
    sweep_slice: SweepSlice | None = None
    value: Any = None

    def __str__(self) -> str:
        return f"{self.store}: {self.study.key}{self.cell.where}"

    @cached_property
    def problem(self) -> str:
        """Everything that regret depends on but the policy, the seed and the trials.

        A graph of a plug-in's own kind is its text and ``graph_source``: so two versions of its
        file are two problems.
        """
        meta, _ = self.cell.description
        left = {k: v for k, v in meta["settings"].items() if k not in JOINED_SETTINGS | RECORDING}
        if left.get("graph_hash") is not None:
            del left["graph"]  # a graph is what it is, whatever it is called
        return json.dumps([left, meta["arms"]], sort_keys=True)

    def meets(self, other: ComparedCell) -> bool:
        """Whether two cells are the same problem, and not two points of the same sweep.

        A sweep of a policy's parameter has the same problem at each of its values.
        """
        mine, theirs = self.cell.point, other.cell.point
        return self.problem == other.problem and (mine == theirs or mine.keys() != theirs.keys())

    def to_dict(self) -> dict[str, Any]:
        """Where it is, as plain data."""
        return {
            "directory": str(self.study.store.path),
            "study": self.study.key,
            "title": self.study.title,
            "point": self.cell.point,
        }


@dataclass(frozen=True)
class ComparedPolicy:
    """A policy of a comparison: its final regret, and its difference from the best or reference."""

    policy: str
    trials: int
    mean: float
    standard_error: float
    low: float
    high: float
    median: float
    q95: float
    difference: Difference | None = None

    @property
    def paired(self) -> bool:
        """Whether the difference is taken trial by trial in the same worlds."""
        return self.difference is None or self.difference.paired

    @property
    def standing(self) -> str:
        """What the difference says: "better", "worse", "no clear difference" or "unknown"."""
        if self.difference is None:
            return ""
        if math.isnan(self.difference.low):
            return "unknown"
        if self.difference.high < 0.0:
            return "better"
        return "worse" if self.difference.low > 0.0 else "no clear difference"

    def to_dict(self) -> dict[str, Any]:
        """Its numbers as plain data."""
        more = {} if self.difference is None else _plain(self.difference) | {"is": self.standing}
        return {
            "trials": self.trials,
            "mean": self.mean,
            "standard_error": self.standard_error,
            "interval": [self.low, self.high],
            "median": self.median,
            "q0.95": self.q95,
        } | ({"difference": more} if more else {})


@dataclass(frozen=True)
class ComparedVersion:
    """Two records of one policy that differ: in so many of the trials that both have."""

    difference: Difference
    trials: int
    differing: int

    def to_dict(self) -> dict[str, Any]:
        """Its numbers as plain data."""
        pair = {"first": self.difference.first, "second": self.difference.second}
        more = {"trials": self.trials, "differing": self.differing}
        return pair | _plain(self.difference) | more


def _plain(d: Difference) -> dict[str, Any]:
    return {
        "mean": d.mean,
        "standard_error": d.standard_error,
        "simultaneous_interval": [d.low, d.high],
        "paired": d.paired,
    }


@dataclass(frozen=True, eq=False)
class ProblemComparison:
    """Policies that met the same problem, from the least regret to the largest.

    ``against`` is what the differences are from: the first policy, or the reference; None where
    that is missing. ``versions`` are the differences of policies of the same text from several
    stores, with intervals that hold together for these pairs.
    """

    places: tuple[ComparedCell, ...]
    rows: tuple[ComparedPolicy, ...]
    against: str | None
    notes: tuple[str, ...]
    versions: tuple[ComparedVersion, ...] = ()
    reference: bool = False  # whether ``against`` was asked for

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain data."""
        return {
            "places": [place.to_dict() for place in self.places],
            "against": self.against,
            "policies": {row.policy: row.to_dict() for row in self.rows},
            "versions": [version.to_dict() for version in self.versions],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class StudyComparison:
    """All comparisons, and the cells that found no partner in another store.

    ``reference`` is the policy, or line of a sweep, that was to be compared with.
    """

    comparisons: tuple[ProblemComparison, ...]
    alone: tuple[ComparedCell, ...]
    reference: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain data, the output of ``graphbandits compare --json``."""
        return {
            "confidence": CONFIDENCE,
            "comparisons": [one.to_dict() for one in self.comparisons],
            "alone": [place.to_dict() for place in self.alone],
        }


def compare_stores(stores: Sequence[Studies], reference: str | None = None) -> StudyComparison:
    """Compare all studies of one store, or the problems that several stores share.

    See :func:`compare_studies`.
    """
    if not stores:
        raise InputError("there is no store to compare: give the studies of one or more")
    paths = [studies.store.path.resolve() for studies in stores]
    for path in paths:
        if paths.count(path) > 1:
            raise InputError(f"the directory {path} is given twice")
    return _compare([studies.chosen() for studies in stores], reference)


def compare_studies(studies: Sequence[Study], reference: str | None = None) -> StudyComparison:
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
    if len({(study.store.path.resolve(), study.key) for study in studies}) < len(studies):
        raise InputError("a study is given twice")
    return _compare([[study] for study in studies], reference)


def directory_names(paths: Sequence[Path]) -> list[str]:
    """The names of directories, with as many of those above as it takes to tell them apart.

    >>> directory_names([Path("/a/new/out"), Path("/a/old/out")])
    ['new/out', 'old/out']
    """
    for depth in range(1, max(len(path.parts) for path in paths)):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _compare(studies: Sequence[Sequence[Study]], reference: str | None) -> StudyComparison:
    reference = None if reference is None else line_of(reference)
    paths = [mine[0].store.path.resolve() for mine in studies]
    distinct = list(dict.fromkeys(paths))
    short = dict(zip(distinct, directory_names(distinct), strict=True))
    several = len(distinct) < len(paths)  # studies of one store
    places = [
        _places_of(f"{short[path]}/{mine[0].key}" if several else short[path], mine)
        for path, mine in zip(paths, studies, strict=True)
    ]
    groups = _groups(places)
    apart = len(studies) == 1  # each cell by itself
    found = tuple(_comparison(group, reference) for group in groups if apart or len(group) > 1)
    alone = tuple(group[0] for group in groups if not apart and len(group) == 1)
    known = {row.policy for one in found for row in one.rows}
    if reference is not None and known and reference not in known:
        raise InputError(f"no policy '{reference}' to compare with: {nearest(reference, known)}")
    return StudyComparison(found, alone, reference)


def _places_of(store: str, studies: Iterable[Study]) -> list[ComparedCell]:
    """All cells of some studies of a store, those of sweeps slice by slice."""
    found: list[ComparedCell] = []
    for study in studies:
        found += [ComparedCell(store, study, cell) for cell in study.cells if cell.sweep is None]
        for one in study.slices():
            found += [ComparedCell(store, study, cell, one, at) for at, cell in one.cells.items()]
    return found


def _groups(places: Sequence[list[ComparedCell]]) -> list[tuple[ComparedCell, ...]]:
    """The cells of each store with their partners in later ones; a partner begins no group."""
    groups: list[tuple[ComparedCell, ...]] = []
    met: set[ComparedCell] = set()
    for number, mine in enumerate(places):
        later = [place for others in places[number + 1 :] for place in others]
        for place in mine:
            if place not in met:
                partners = [other for other in later if place.meets(other)]
                met.update(partners)
                groups.append((place, *partners))
    return groups


# --- the policies of one problem


@dataclass(eq=False)
class _Record:
    """The trials of a policy of a cell, in as many stores as have the same numbers of it."""

    name: str  # that of its line, in a sweep
    policy: str
    place: ComparedCell
    files: tuple[ShardFile, ...]
    trials: Ints  # their numbers, in order
    stores: tuple[str, ...]

    @property
    def seed(self) -> int:
        seed: int = self.place.cell.description[0]["settings"]["seed"]
        return seed

    @cached_property
    def result(self) -> PolicyResult:
        """What the trials ended with, as the last round of results."""
        cell, parts = self.place.cell, []
        plays: Ints = np.zeros(len(cell.description[0]["arms"]), np.int64)
        for file in self.files:
            kept = np.isin(np.arange(file.first, file.end), self.trials)
            if kept.any():
                shard = cell.store.read(file)
                parts.append(shard.regret[kept, -1])
                counted = kept[shard.plays.trial]
                np.add.at(plays, shard.plays.arm[counted], shard.plays.count[counted])
        final = np.concatenate(parts)
        # one column alone would be summed in another order, which may change the last bit
        return PolicyResult.from_trials(np.stack([final, final], axis=1), plays)

    @property
    def mean(self) -> float:
        return float(self.result.mean[-1])

    def final_in(self, some: Ints) -> Floats:
        """The final regret of some of its trials."""
        return self.result.final[np.isin(self.trials, some)]

    def shared(self, other: _Record) -> Ints:
        """The trials in which both met the same worlds."""
        same = self.seed == other.seed
        return np.intersect1d(self.trials, other.trials) if same else np.zeros(0, np.int64)

    def covers(self, other: _Record) -> bool:
        """Whether one of two records of a policy has all of the other, with the same numbers."""
        shared = self.shared(other)
        if self.policy != other.policy or len(shared) not in (len(self.trials), len(other.trials)):
            return False
        same_trials = len(self.trials) == len(other.trials)
        plays = not same_trials or np.array_equal(self.result.plays, other.result.plays)
        return plays and np.array_equal(self.final_in(shared), other.final_in(shared))

    def row(self, label: str, difference: Difference | None) -> ComparedPolicy:
        """Its numbers in a comparison."""
        mean, error = self.mean, float(self.result.standard_error[-1])
        half = t_quantile(CONFIDENCE, len(self.trials)) * error
        quantiles = self.result.final_quantiles()
        return ComparedPolicy(
            label,
            len(self.trials),
            mean,
            error,
            mean - half,
            mean + half,
            quantiles["0.5"],
            quantiles["0.95"],
            difference,
        )


def _comparison(places: tuple[ComparedCell, ...], reference: str | None) -> ProblemComparison:
    """All policies of cells of one problem, each in the trials that it has.

    Where there are trials that all of them have, in the same worlds, these count and no others.
    """
    records, notes = _records(places)
    if not records:
        return ProblemComparison(places, (), None, (*notes, "there are no trials yet"))
    worlds: Ints = reduce(np.intersect1d, (record.trials for record in records))
    together = len({record.seed for record in records}) == 1 and len(worlds) > 0
    if together:
        if any(len(record.trials) > len(worlds) for record in records):
            count = f"{len(worlds)} trial{'s' * (len(worlds) > 1)}"
            notes.append(f"compared in the {count} that all of these policies have")
        for record in records:
            record.trials = worlds
    else:
        notes.append(
            "not all in the same worlds: where ~ stands by a difference it is one of independent "
            "means, with Welch's interval"
        )
    named = _labelled(_merged(records, notes))
    ranking = sorted(named, key=lambda label: named[label].mean)
    against: str | None = ranking[0] if reference is None else reference
    found: dict[str, Difference] = {}
    if against not in named:
        against = None
        notes.append(f"'{reference}' is not there to compare with")
    else:
        found = _differences(named, ranking, against, reference is None, together)
        if any(_partly(one, named[against]) for one in named.values()):
            notes.append(
                "a paired difference is over the trials that both policies have, the means over "
                "all that each has: so it need not be the difference of the means"
            )
    rows = tuple(named[label].row(label, found.get(label)) for label in ranking)
    by_name = reference is not None
    return ProblemComparison(places, rows, against, tuple(notes), _versions(named), by_name)


def _records(places: Sequence[ComparedCell]) -> tuple[list[_Record], list[str]]:
    """The policies that have trials, and what is missing."""
    home = places[0]
    lines = home.cell.lines if home.sweep_slice else {}
    found: list[_Record] = []
    notes: list[str] = []
    met: set[tuple[str, str]] = set()
    for place in places:
        where = f" of {place}" if len(places) > 1 else ""
        for policy, series in place.cell.series.items():
            if (place.store, series) in met:
                continue  # another study has the same shards
            met.add((place.store, series))
            files = place.cell.cover(policy).used
            numbers = (np.arange(file.first, file.end) for file in files)
            trials = np.concatenate([np.zeros(0, np.int64), *numbers])
            if len(trials) < place.cell.trials:
                notes.append(f"{policy}{where} has {len(trials)} of {place.cell.trials} trials")
            if files:
                own = place.cell.lines[policy] if home.sweep_slice else policy
                name = lines.get(policy, own)
                found.append(_Record(name, policy, place, files, trials, (place.store,)))
    return found, notes


def _merged(records: Iterable[_Record], notes: list[str]) -> list[_Record]:
    """Each policy once where its numbers are the same in several stores.

    Of two that have the same trials but for some that only one has, that one stays.
    """
    kept: list[_Record] = []
    for record in records:
        place = next((i for i, one in enumerate(kept) if one.covers(record)), None)
        if place is None:
            kept.append(record)
        else:
            both = (kept[place], record)
            stores = tuple(dict.fromkeys((*both[0].stores, *both[1].stores)))
            most = max(both, key=lambda one: len(one.trials))
            most.name, most.stores = both[0].name, stores
            kept[place] = most
    for record in kept:
        if len(record.stores) > 1:
            where = " and ".join(record.stores)
            notes.append(f"{record.name}: the same in every trial in {where}")
    return kept


def _labelled(records: Sequence[_Record]) -> dict[str, _Record]:
    """The records by their names; those of the same name have their store behind it."""
    labels = [record.name for record in records]
    stores = [f"{record.name} [{', '.join(record.stores)}]" for record in records]
    studies = [f"{record.name} [{record.place}]" for record in records]
    for longer in (stores, studies):
        labels = [
            text if labels.count(label) > 1 else label
            for label, text in zip(labels, longer, strict=True)
        ]
    return dict(zip(labels, records, strict=True))


def _differences(
    named: Mapping[str, _Record],
    ranking: Sequence[str],
    against: str,
    chosen: bool,
    together: bool,
) -> dict[str, Difference]:
    """The differences from one policy, with intervals that hold together.

    In the same worlds they are paired; else each pair is compared by what it has in common, with
    Bonferroni's rule. Where the policy is ``chosen`` from the same trials all pairs count.
    """
    others = [label for label in ranking if label != against]
    if not together:
        pairs = math.comb(len(ranking), 2) if chosen else len(others)
        return {label: _pair(label, against, named, pairs) for label in others}
    final = {label: record.result.final for label, record in named.items()}
    if chosen:
        found = paired_differences(final, list(combinations(ranking, 2)), CONFIDENCE, True)
        return {d.second: d.reversed() for d in found if d.first == against}
    wanted = [(label, against) for label in others]
    return {d.first: d for d in paired_differences(final, wanted, CONFIDENCE, True)}


def _partly(one: _Record, other: _Record) -> bool:
    """Whether two policies met in some worlds, and one of them in others besides."""
    return 0 < len(one.shared(other)) < max(len(one.trials), len(other.trials))


def _pair(first: str, second: str, named: Mapping[str, _Record], pairs: int) -> Difference:
    """The difference of two policies, one of several that hold together."""
    confidence = 1.0 - (1.0 - CONFIDENCE) / pairs
    one, other = named[first], named[second]
    shared = one.shared(other)
    if not len(shared):
        final = {first: one.result.final, second: other.result.final}
        return independent_difference(first, second, final, confidence)
    final = {first: one.final_in(shared), second: other.final_in(shared)}
    return paired_differences(final, [(first, second)], confidence, simultaneous=False)[0]


def _versions(named: Mapping[str, _Record]) -> tuple[ComparedVersion, ...]:
    """The policies of the same text that several stores have with different numbers."""
    pairs = [(a, b) for a, b in combinations(named, 2) if named[a].policy == named[b].policy]
    found = []
    for first, second in pairs:
        shared = named[first].shared(named[second])
        both = (named[label].final_in(shared) for label in (first, second))
        differing = int(np.count_nonzero(np.not_equal(*both)))
        found.append(
            ComparedVersion(_pair(first, second, named, len(pairs)), len(shared), differing)
        )
    return tuple(found)
