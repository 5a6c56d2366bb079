"""Compare studies: each cell of one study, or the problems that several studies share."""

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
from graphbandits.experiments._texts import line_label
from graphbandits.experiments.study import Cell, Studies, Study, SweepSlice
from graphbandits.results import Difference, PolicyResult
from graphbandits.results.combine import JOINED_SETTINGS
from graphbandits.results.differences import independent_difference, paired_differences, t_quantile
from graphbandits.store import ShardFile

#: Confidence level of all intervals.
CONFIDENCE = 0.95
#: Settings that affect the recording, but not the problem.
RECORDING_SETTINGS = frozenset({"ratios", "record"})


@dataclass(frozen=True, eq=False)
class ComparedCell:
    """A cell in a comparison.

    Parameters
    ----------
    store
        Short name of the store.
    study
        The study of the cell.
    cell
        The cell.
    sweep_slice
        The slice of a sweep that contains the cell; None without sweeps.
    value
        Value of the cell on the axis of the slice.
    """

    store: str
    study: Study
    cell: Cell
    sweep_slice: SweepSlice | None = None
    value: Any = None

    def __str__(self) -> str:
        return f"{self.store}: {self.study.key}{self.cell.where}"

    @cached_property
    def problem(self) -> str:
        """Everything that affects the regret except policy, seed and trials, as JSON.

        A graph of a plug-in is identified by its text and ``graph_source``. Two versions of its
        file are therefore different problems.
        """
        meta, _ = self.cell.description
        settings = {
            k: v
            for k, v in meta["settings"].items()
            if k not in JOINED_SETTINGS | RECORDING_SETTINGS
        }
        if settings.get("graph_hash") is not None:
            del settings["graph"]  # the hash identifies the graph, not its name
        return json.dumps([settings, meta["arms"]], sort_keys=True)

    def same_problem(self, other: ComparedCell) -> bool:
        """Return whether two cells have the same problem and are not two points of one sweep.

        In a sweep of a policy parameter, all points have the same problem.
        """
        mine, theirs = self.cell.point, other.cell.point
        return self.problem == other.problem and (mine == theirs or mine.keys() != theirs.keys())

    def to_dict(self) -> dict[str, Any]:
        """Return the location of the cell as JSON data."""
        return {
            "directory": str(self.study.store.path),
            "study": self.study.key,
            "title": self.study.title,
            "point": self.cell.point,
        }


@dataclass(frozen=True)
class ComparedPolicy:
    """A policy in a comparison: its final regret, and its difference from best or reference.

    Parameters
    ----------
    policy
        Label of the policy.
    trials
        Number of trials.
    mean, standard_error
        Mean final regret and its standard error.
    low, high
        Confidence interval of the mean.
    median, q95
        Median and 95% quantile of the final regret.
    difference
        Difference from the best policy or the reference; None for that policy.
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

    @property
    def paired(self) -> bool:
        """Whether the difference is paired: trial by trial in the same worlds."""
        return self.difference is None or self.difference.paired

    @property
    def verdict(self) -> str:
        """One of "better", "worse", "no clear difference" or "unknown"; "" without difference."""
        if self.difference is None:
            return ""
        if math.isnan(self.difference.low):
            return "unknown"
        if self.difference.high < 0.0:
            return "better"
        return "worse" if self.difference.low > 0.0 else "no clear difference"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON data."""
        more = {} if self.difference is None else _plain(self.difference) | {"is": self.verdict}
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
    """Two versions of a policy with different results.

    Parameters
    ----------
    difference
        Difference of the mean regrets.
    trials
        Number of trials that both versions have.
    differing
        Number of these trials with different regret.
    """

    difference: Difference
    trials: int
    differing: int

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON data."""
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
    """Comparison of the policies that were run on one problem.

    Parameters
    ----------
    cells
        The cells with this problem.
    rows
        The policies, lowest regret first.
    against
        Policy that the others are compared with: the best or the reference; None if missing.
    notes
        Notes for the user.
    versions
        Differences between versions of the same policy in several stores, with simultaneous
        intervals.
    reference
        Whether ``against`` is a reference given by the user.
    """

    cells: tuple[ComparedCell, ...]
    rows: tuple[ComparedPolicy, ...]
    against: str | None
    notes: tuple[str, ...]
    versions: tuple[ComparedVersion, ...] = ()
    reference: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON data."""
        return {
            "places": [compared.to_dict() for compared in self.cells],
            "against": self.against,
            "policies": {row.policy: row.to_dict() for row in self.rows},
            "versions": [version.to_dict() for version in self.versions],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class StudyComparison:
    """Comparisons of all problems of one or several studies.

    Parameters
    ----------
    comparisons
        One comparison per problem.
    alone
        Cells whose problem is in no other store.
    reference
        Policy, or line of a sweep, that the others are compared with; None for the best.
    """

    comparisons: tuple[ProblemComparison, ...]
    alone: tuple[ComparedCell, ...]
    reference: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON data, the output of ``graphbandits compare --json``."""
        return {
            "confidence": CONFIDENCE,
            "comparisons": [one.to_dict() for one in self.comparisons],
            "alone": [compared.to_dict() for compared in self.alone],
        }


def compare_stores(stores: Sequence[Studies], reference: str | None = None) -> StudyComparison:
    """Compare all studies of one store, or the problems that several stores share.

    See :func:`compare_studies`.
    """
    if not stores:
        raise InputError("nothing to compare: give at least one store")
    paths = [studies.store.path.resolve() for studies in stores]
    for path in paths:
        if paths.count(path) > 1:
            raise InputError(f"the directory {path} is given twice")
    return _compare([studies.select() for studies in stores], reference)


def compare_studies(studies: Sequence[Study], reference: str | None = None) -> StudyComparison:
    """Compare the policies of each cell of one study, or of problems that several studies share.

    Two cells have the same problem if all settings except policies, seed and trials are equal.

    Parameters
    ----------
    studies
        One or more studies.
    reference
        Policy to compare with. The line of a sweep can be given as in the experiment file, such as
        ``eps-greedy-lp(c={c})``. Default: the policy with the lowest regret.

    Returns
    -------
    StudyComparison
        One comparison per problem.

    Raises
    ------
    InputError
        If a study is given twice or the reference is unknown.
    """
    if not studies:
        raise InputError("nothing to compare: give at least one study")
    for study in studies:
        if not isinstance(study, Study):
            raise InputError(
                f"compare_studies needs studies, as returned by open_study, not {study!r}"
            )
    if len({(study.store.path.resolve(), study.key) for study in studies}) < len(studies):
        raise InputError("a study is given twice")
    return _compare([[study] for study in studies], reference)


def short_names(paths: Sequence[Path]) -> list[str]:
    """Return short unique names of directories, with parent directories if necessary.

    >>> short_names([Path("/a/new/out"), Path("/a/old/out")])
    ['new/out', 'old/out']
    """
    for depth in range(1, max(len(path.parts) for path in paths)):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _compare(studies: Sequence[Sequence[Study]], reference: str | None) -> StudyComparison:
    reference = None if reference is None else line_label(reference)
    paths = [mine[0].store.path.resolve() for mine in studies]
    distinct = list(dict.fromkeys(paths))
    short = dict(zip(distinct, short_names(distinct), strict=True))
    several = len(distinct) < len(paths)  # several studies of one store
    cells = [
        _cells_of(f"{short[path]}/{mine[0].key}" if several else short[path], mine)
        for path, mine in zip(paths, studies, strict=True)
    ]
    groups = _groups(cells)
    single = len(studies) == 1  # compare within each cell
    found = tuple(_comparison(group, reference) for group in groups if single or len(group) > 1)
    alone = tuple(group[0] for group in groups if not single and len(group) == 1)
    known = {row.policy for one in found for row in one.rows}
    if reference is not None and known and reference not in known:
        raise InputError(f"unknown reference policy '{reference}': {nearest(reference, known)}")
    return StudyComparison(found, alone, reference)


def _cells_of(store: str, studies: Iterable[Study]) -> list[ComparedCell]:
    """Return all cells of studies, those of sweeps slice by slice."""
    found: list[ComparedCell] = []
    for study in studies:
        found += [ComparedCell(store, study, cell) for cell in study.cells if cell.sweep is None]
        for one in study.slices():
            found += [ComparedCell(store, study, cell, one, at) for at, cell in one.cells.items()]
    return found


def _groups(cells: Sequence[list[ComparedCell]]) -> list[tuple[ComparedCell, ...]]:
    """Group the cells of each store with the cells of later stores that have the same problem."""
    groups: list[tuple[ComparedCell, ...]] = []
    met: set[ComparedCell] = set()
    for number, mine in enumerate(cells):
        later = [compared for others in cells[number + 1 :] for compared in others]
        for compared in mine:
            if compared not in met:
                partners = [other for other in later if compared.same_problem(other)]
                met.update(partners)
                groups.append((compared, *partners))
    return groups


# --- the policies of one problem


@dataclass(eq=False)
class _Record:
    """The trials of a policy of a cell, and the stores that have the same results."""

    name: str  # in a sweep, the label of its line
    policy: str
    compared: ComparedCell
    files: tuple[ShardFile, ...]
    trials: Ints  # numbers of the trials, in order
    stores: tuple[str, ...]

    @property
    def seed(self) -> int:
        seed: int = self.compared.cell.description[0]["settings"]["seed"]
        return seed

    @cached_property
    def result(self) -> PolicyResult:
        """Results of the last round."""
        cell, parts = self.compared.cell, []
        plays: Ints = np.zeros(len(cell.description[0]["arms"]), np.int64)
        for file in self.files:
            kept = np.isin(np.arange(file.first, file.end), self.trials)
            if kept.any():
                shard = cell.store.read(file)
                parts.append(shard.regret[kept, -1])
                counted = kept[shard.plays.trial]
                np.add.at(plays, shard.plays.arm[counted], shard.plays.count[counted])
        final = np.concatenate(parts)
        # a single column would be summed in another order, which can change the last bit
        return PolicyResult.from_trials(np.stack([final, final], axis=1), plays)

    @property
    def mean(self) -> float:
        return float(self.result.mean[-1])

    def final_in(self, some: Ints) -> Floats:
        """Return the final regret of some trials."""
        return self.result.final[np.isin(self.trials, some)]

    def shared(self, other: _Record) -> Ints:
        """Return the trials that both have in the same worlds."""
        same = self.seed == other.seed
        return np.intersect1d(self.trials, other.trials) if same else np.zeros(0, np.int64)

    def duplicates(self, other: _Record) -> bool:
        """Return whether one record contains all trials of the other, with the same results."""
        shared = self.shared(other)
        if self.policy != other.policy or len(shared) not in (len(self.trials), len(other.trials)):
            return False
        same_trials = len(self.trials) == len(other.trials)
        plays = not same_trials or np.array_equal(self.result.plays, other.result.plays)
        return plays and np.array_equal(self.final_in(shared), other.final_in(shared))

    def row(self, label: str, difference: Difference | None) -> ComparedPolicy:
        """Return the row of a comparison."""
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


def _comparison(cells: tuple[ComparedCell, ...], reference: str | None) -> ProblemComparison:
    """Compare all policies of cells with the same problem.

    If all policies have common trials in the same worlds, only these are used.
    """
    records, notes = _records(cells)
    if not records:
        return ProblemComparison(cells, (), None, (*notes, "no trials yet"))
    worlds: Ints = reduce(np.intersect1d, (record.trials for record in records))
    same_worlds = len({record.seed for record in records}) == 1 and len(worlds) > 0
    if same_worlds:
        if any(len(record.trials) > len(worlds) for record in records):
            count = f"{len(worlds)} trial{'s' * (len(worlds) > 1)}"
            notes.append(f"compared in the {count} that all policies have")
        for record in records:
            record.trials = worlds
    else:
        notes.append(
            "the policies were not all run in the same worlds: ~ marks a difference of independent "
            "means with Welch's interval"
        )
    named = _by_label(_merge_duplicates(records, notes))
    ranking = sorted(named, key=lambda label: named[label].mean)
    against: str | None = ranking[0] if reference is None else reference
    found: dict[str, Difference] = {}
    if against not in named:
        against = None
        notes.append(f"no results of the reference '{reference}'")
    else:
        found = _differences(named, ranking, against, reference is None, same_worlds)
        if any(_partially_shared(one, named[against]) for one in named.values()):
            notes.append(
                "paired differences use the trials that both policies have, and means use all "
                "trials: a paired difference can deviate from the difference of the means"
            )
    rows = tuple(named[label].row(label, found.get(label)) for label in ranking)
    by_name = reference is not None
    return ProblemComparison(cells, rows, against, tuple(notes), _versions(named), by_name)


def _records(cells: Sequence[ComparedCell]) -> tuple[list[_Record], list[str]]:
    """Return the policies that have trials, and notes about missing trials."""
    home = cells[0]
    lines = home.cell.lines if home.sweep_slice else {}
    found: list[_Record] = []
    notes: list[str] = []
    met: set[tuple[str, str]] = set()
    for compared in cells:
        where = f" of {compared}" if len(cells) > 1 else ""
        for policy, series in compared.cell.series.items():
            if (compared.store, series) in met:
                continue  # another study of the store has the same shards
            met.add((compared.store, series))
            files = compared.cell.shard_index(policy).used
            numbers = (np.arange(file.first, file.end) for file in files)
            trials = np.concatenate([np.zeros(0, np.int64), *numbers])
            if len(trials) < compared.cell.trials:
                notes.append(f"{policy}{where} has {len(trials)} of {compared.cell.trials} trials")
            if files:
                own = compared.cell.lines[policy] if home.sweep_slice else policy
                name = lines.get(policy, own)
                found.append(_Record(name, policy, compared, files, trials, (compared.store,)))
    return found, notes


def _merge_duplicates(records: Iterable[_Record], notes: list[str]) -> list[_Record]:
    """Merge the records of a policy with the same results in several stores.

    The record with more trials is kept.
    """
    kept: list[_Record] = []
    for record in records:
        index = next((i for i, one in enumerate(kept) if one.duplicates(record)), None)
        if index is None:
            kept.append(record)
        else:
            both = (kept[index], record)
            stores = tuple(dict.fromkeys((*both[0].stores, *both[1].stores)))
            most = max(both, key=lambda one: len(one.trials))
            most.name, most.stores = both[0].name, stores
            kept[index] = most
    for record in kept:
        if len(record.stores) > 1:
            where = " and ".join(record.stores)
            notes.append(f"{record.name}: identical in every trial in {where}")
    return kept


def _by_label(records: Sequence[_Record]) -> dict[str, _Record]:
    """Return the records by name; the store is added to names that are not unique."""
    labels = [record.name for record in records]
    stores = [f"{record.name} [{', '.join(record.stores)}]" for record in records]
    studies = [f"{record.name} [{record.compared}]" for record in records]
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
    same_worlds: bool,
) -> dict[str, Difference]:
    """Return the differences from one policy, with simultaneous intervals.

    In the same worlds, differences are paired. Else each pair is compared in its common trials,
    with Bonferroni's correction. If the policy is ``chosen`` from the same trials, the intervals
    are simultaneous for all pairs.
    """
    others = [label for label in ranking if label != against]
    if not same_worlds:
        pairs = math.comb(len(ranking), 2) if chosen else len(others)
        return {label: _pair(label, against, named, pairs) for label in others}
    final = {label: record.result.final for label, record in named.items()}
    if chosen:
        found = paired_differences(final, list(combinations(ranking, 2)), CONFIDENCE, True)
        return {d.second: d.reversed() for d in found if d.first == against}
    from_reference = [(label, against) for label in others]
    return {d.first: d for d in paired_differences(final, from_reference, CONFIDENCE, True)}


def _partially_shared(one: _Record, other: _Record) -> bool:
    """Return whether two policies share some, but not all trials."""
    return 0 < len(one.shared(other)) < max(len(one.trials), len(other.trials))


def _pair(first: str, second: str, named: Mapping[str, _Record], pairs: int) -> Difference:
    """Return the difference of two policies, with an interval corrected for several pairs."""
    confidence = 1.0 - (1.0 - CONFIDENCE) / pairs
    one, other = named[first], named[second]
    shared = one.shared(other)
    if not len(shared):
        final = {first: one.result.final, second: other.result.final}
        return independent_difference(first, second, final, confidence)
    final = {first: one.final_in(shared), second: other.final_in(shared)}
    return paired_differences(final, [(first, second)], confidence, simultaneous=False)[0]


def _versions(named: Mapping[str, _Record]) -> tuple[ComparedVersion, ...]:
    """Compare versions of the same policy with different results in several stores."""
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
