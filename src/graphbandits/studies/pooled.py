"""The policies of cells of one problem in one comparison: paired where worlds are the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations

import numpy as np

from graphbandits.results import Difference, PolicyResult
from graphbandits.results.compare import independent_difference, paired_differences
from graphbandits.store import ShardFile
from graphbandits.studies.finals import (
    Ranges,
    common,
    count_of,
    final_result,
    final_results,
    ranges_of,
    within,
)
from graphbandits.studies.places import Place
from graphbandits.types import Floats

#: Of all intervals.
CONFIDENCE = 0.95


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
    lines = home.cell.lines if home.facet else {}
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
                own = place.cell.lines[policy] if home.facet else policy
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
