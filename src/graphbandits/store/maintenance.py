"""Maintenance of a store: what it has, whether its files are sound, what nothing needs."""

from __future__ import annotations

import hashlib
import math
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits._io import is_abandoned, readable_errors, temporary_for
from graphbandits.engine import Shard
from graphbandits.engine.provenance import facts_hash
from graphbandits.errors import InputError
from graphbandits.store import activity
from graphbandits.store.directory import (
    DAMAGED_SUFFIX,
    READ_ERRORS,
    RUN_AGAIN,
    SERIES_FILE,
    DamagedShardError,
    ShardFile,
    Store,
    index_shards,
    list_names,
)
from graphbandits.store.record import StudyRecord, read_record

HASH = re.compile(r"[0-9a-f]{64}")
_GC = "'graphbandits store gc' removes it"
#: Seconds after which a temporary file of an unknown process is taken for abandoned.
ABANDONED_AFTER = 3600.0
#: Seconds after which the clock of files has moved on, on any usual system.
CLOCK_TICK = 0.02
#: Directories that go when they are empty; not ``running``, where a run may be about to write.
DIRECTORIES = ("studies", "cells", "shards")


def series_names(store: Store) -> list[str]:
    """The names of all series of which a store has a directory."""
    return [name for name in list_names(store.path / "shards") if HASH.fullmatch(name)]


def cell_files(store: Store) -> Iterator[tuple[str, Path]]:
    """The names of all cells that a store describes, and their files."""
    for path in (store.path / "cells" / name for name in list_names(store.path / "cells")):
        if path.suffix == ".npz" and HASH.fullmatch(path.stem):
            yield path.stem, path


# --- what a store has


@dataclass(frozen=True)
class ShardTotals:
    """So many series, with so many shards of so many bytes."""

    series: int
    shards: int
    bytes: int


@dataclass(frozen=True)
class StudyEntry:
    """A study, and how far it has come: ``done`` of ``of`` trials, those of all policies."""

    key: str
    title: str
    changed: float  # when it was last recorded, in seconds since 1970
    cells: int = 0
    policies: tuple[str, ...] = ()
    trials: int = 0
    done: int = 0
    of: int = 0
    amount: ShardTotals = ShardTotals(0, 0, 0)
    damage: str = ""  # why nothing of this is known


@dataclass(frozen=True)
class StoreContents:
    """The studies, all shards, and those that no study refers to."""

    studies: tuple[StudyEntry, ...]
    total: ShardTotals
    without_study: ShardTotals


def store_contents(store: Store) -> StoreContents:
    """Look at a store; no shard is read. Shards that two studies share count for both."""
    series = {name: files for name in series_names(store) if (files := store.shards(name))}
    studies, alone = [], dict(series)
    for key in store.studies():
        path = store.path / "studies" / f"{key}.json"
        changed = path.stat().st_mtime if path.exists() else 0.0
        try:
            record = read_record(store, key)
        except InputError as error:
            studies.append(StudyEntry(key, "", changed, damage=str(error)))
            continue
        covers = [
            store.shard_index(one, record.trials, record.first_trial) for one in record.series
        ]
        of = record.trials * len(covers)
        studies.append(
            StudyEntry(
                key,
                record.title,
                changed,
                len(record.cells),
                record.policies,
                record.trials,
                of - sum(cover.missing for cover in covers),
                of,
                _totals(store, [cover.used for cover in covers if cover.used]),
            )
        )
        for name in record.series:
            alone.pop(name, None)
    return StoreContents(
        tuple(studies), _totals(store, series.values()), _totals(store, alone.values())
    )


def _totals(store: Store, series: Collection[Sequence[ShardFile]]) -> ShardTotals:
    paths = [store.path_of(file) for files in series for file in files]
    return ShardTotals(len(series), len(paths), sum(map(_size, paths)))


def _size(path: Path) -> int:
    with suppress(OSError):  # it has just been removed
        return path.stat().st_size
    return 0


# --- whether its files are sound


@dataclass(frozen=True)
class Finding:
    """Something about a file of a store: what, and what to do.

    ``wrong`` is whether numbers or descriptions are lost or doubtful; else it is only to be known.
    """

    path: Path
    what: str
    advice: str
    wrong: bool = True


def verify(
    store: Store, advance: Callable[[int, int], None] = lambda done, of: None
) -> Iterator[Finding]:
    """Read everything, and tell what is damaged, missing, doubtful or left over.

    ``advance`` is told after each shard how many have been read, and of how many.
    """
    yield from _studies(store)
    yield from _cells(store)
    series = {name: store.shards(name) for name in series_names(store)}
    total, done = sum(map(len, series.values())), 0
    for name, files in series.items():
        for found in _series(store, name, files):
            if found is None:
                done += 1
                advance(done, total)
            else:
                yield found
    yield from _leftovers(store, series)


def _studies(store: Store) -> Iterator[Finding]:
    for key in store.studies():
        path = store.path / "studies" / f"{key}.json"
        try:
            record = read_record(store, key)
        except InputError as error:
            yield Finding(path, _short_message(path, error), RUN_AGAIN)
            continue
        for cell in dict.fromkeys(cell.cell for cell in record.cells):
            file = store.path / "cells" / f"{cell}.npz"
            if not file.is_file():
                yield Finding(file, f"the study '{key}' refers to it, and it is missing", RUN_AGAIN)
        first, trials = record.first_trial, record.trials
        if lacking := sum(store.shard_index(name, trials, first).missing for name in record.series):
            whole = trials * len(record.series)
            what = f"the study '{key}' lacks {lacking} of {whole} trials of its policies"
            advice = "run the experiment again, which does what is missing"
            yield Finding(path, what, advice, wrong=False)


def _cells(store: Store) -> Iterator[Finding]:
    for cell, path in cell_files(store):
        try:
            store.cell(cell)
        except READ_ERRORS as error:
            yield Finding(path, _short_message(path, error), RUN_AGAIN)


def _series(store: Store, series: str, files: Sequence[ShardFile]) -> Iterator[Finding | None]:
    """What is wrong with a series, and None after each shard."""
    path = store.path / "shards" / series / SERIES_FILE
    facts = store.facts(series)
    if facts is None and (files or path.exists()):
        why = "is damaged" if path.exists() else "is missing"
        yield Finding(path, f"what determines the shards beside it {why}", RUN_AGAIN)
    # of trials in several files: by kind of CPU, a hash of their numbers and where they are
    seen: dict[int, dict[str, tuple[bytes, ShardFile]]] = {}
    end = 0
    starts = [*(file.first for file in files[1:]), math.inf]
    for file, following in zip(files, starts, strict=False):
        try:
            shard = store.read(file)
            _check_against_facts(facts or {}, shard)
        except READ_ERRORS as error:
            where = store.path_of(file)
            is_kept_off = isinstance(error, InputError) and not isinstance(error, DamagedShardError)
            advice = "make it readable" if is_kept_off else RUN_AGAIN
            yield Finding(where, _short_message(where, error), advice)
        else:
            if file.first < end or following < file.end:
                yield from _differences(store, file, shard, seen)
        end = max(end, file.end)
        yield None


def _check_against_facts(facts: dict[str, Any], shard: Shard) -> None:
    """Hold a shard against what determines it."""
    problem = facts.get("problem")
    if not isinstance(problem, dict):
        return
    rounds, horizon = len(problem["recording"]["rounds"]), problem["horizon"]
    if shard.regret.shape[1] != rounds:
        raise ValueError(f"it has {shard.regret.shape[1]} recorded rounds, not {rounds}")
    played = np.bincount(shard.plays.trial, shard.plays.count, minlength=shard.trials)
    if (played != horizon).any():
        raise ValueError(f"its trials do not have {horizon} plays each")
    if (shard.ratios is None) != (problem["recording"]["ratios"] is None):
        raise ValueError("it has not what was to be recorded")


def _differences(
    store: Store,
    file: ShardFile,
    shard: Shard,
    seen: dict[int, dict[str, tuple[bytes, ShardFile]]],
) -> Iterator[Finding]:
    """Compare trials with those seen in other files: they must be the same in each."""
    differ: dict[ShardFile, tuple[int, str]] = {}
    for trial, digest in enumerate(_digests(shard), start=file.first):
        known = seen.setdefault(trial, {})
        for cpu, (theirs, other) in known.items():
            if theirs != digest:
                differ.setdefault(other, (trial, cpu))
        known.setdefault(shard.cpu, (digest, file))
    for other, (trial, cpu) in differ.items():
        what = f"trial {trial} has other numbers than in {store.path_of(other).name}"
        if shard.cpu != cpu:
            what += f": they were run on {shard.cpu} and {cpu}, which may round differently"
        advice = "one of the two is used, always the same; delete one and nobody has to ask"
        yield Finding(store.path_of(file), what, advice, wrong=shard.cpu == cpu)


def _digests(shard: Shard) -> Iterator[bytes]:
    """A hash of all numbers of each trial."""
    ratios = [] if shard.ratios is None else [array for _, array in shard.ratios.items()]
    starts = np.searchsorted(shard.plays.trial, np.arange(shard.trials + 1))
    for row in range(shard.trials):
        digest = hashlib.blake2b(shard.regret[row].tobytes(), digest_size=16)
        played = slice(starts[row], starts[row + 1])
        for part in (shard.plays.arm[played], shard.plays.count[played]):
            digest.update(part.tobytes())
        for array in ratios:
            digest.update(array[row].tobytes())
        yield digest.digest()


def _leftovers(store: Store, series: Iterable[str]) -> Iterator[Finding]:
    for path in temporary_files(store):
        what = "half written: the run that began it was ended, or is at work on it"
        yield Finding(path, what, _GC, wrong=False)
    for name in series:
        place = store.path / "shards" / name
        for path in (place / file for file in list_names(place)):
            is_shard = ShardFile.of(name, path.name) is not None
            if path.name.endswith(DAMAGED_SUFFIX):
                what = "a damaged shard that a run has set aside and done anew"
                yield Finding(path, what, _GC, wrong=False)
            elif path.name.endswith(".parquet") and not is_shard:
                what = "its name is not that of a shard, so nobody reads it"
                yield Finding(path, what, "move it elsewhere")
            elif is_shard and path.is_dir():
                what = "a directory under the name of a shard, which cannot be written there"
                yield Finding(path, what, "move it elsewhere")
    for path, run in activity.active_processes(store.path / activity.DIRECTORY):
        if run is None:
            what = "of a run that has ended without taking its leave"
            yield Finding(path, what, _GC, wrong=False)


def temporary_files(store: Store) -> Iterator[Path]:
    """The files of a store that are, or were, being written."""
    shards = (f"shards/{name}" for name in series_names(store))
    for place in ("", "studies", "cells", activity.DIRECTORY, *shards):
        for name in list_names(store.path / place):
            target = temporary_for(name)
            # beside the manifest lie files of others
            if target is not None and (place or target == "store.json"):
                yield store.path / place / name


def _short_message(path: Path, error: BaseException) -> str:
    """What went wrong, without saying again where and what to do."""
    text = " ".join(str(error).split())
    for phrase in (f"the shard {path} ", f"the description of a cell {path} ", f"{path} "):
        text = text.replace(phrase, "")
    return text.partition(f": {RUN_AGAIN}")[0]


# --- what nothing needs


@dataclass(frozen=True)
class RemovedFile:
    """A file that no study needs, why, and how large it is."""

    path: Path
    why: str
    bytes: int


def gc(store: Store, dry_run: bool = False, extra_policies: bool = False) -> list[RemovedFile]:
    """Remove what no study needs, and tell what that was; with ``dry_run`` only tell.

    Temporary files whose writer has ended, shards that were set aside as damaged, shards and
    cells that no study refers to, shards whose trials others have too, what killed runs left in
    ``running``; and directories of the store that are empty then. Trials of policies that the last
    run of a study left out stay, as more trials than it asked for do, unless ``extra_policies`` is
    true. Files of any other name are left alone, and so are shards and cells that are younger than
    the call. Refused while another run works in the store, also one that comes before the first
    file is removed; one that comes later waits.
    """
    time.sleep(CLOCK_TICK)  # so that what was there before the call is older than what comes now
    start = activity.file_time(store.path)
    if dry_run:
        return list(_garbage(store, start, extra_policies))
    removed, is_announced = [], False
    with ExitStack() as stack:
        with suppress(InputError):  # the disk may be full, which is what this is for
            stack.enter_context(store.mark_active(kind="gc"))
            is_announced = True
        garbage = list(_garbage(store, start, extra_policies))
        _check_alone(store)
        for one in garbage:
            if not is_announced:  # no run would wait for this gc
                _check_alone(store)
            with readable_errors(one.path):
                one.path.unlink(missing_ok=True)
            removed.append(one)
        for place in (*(f"shards/{name}" for name in series_names(store)), *DIRECTORIES):
            with suppress(OSError):  # it is not there, or something is in it
                os.rmdir(store.path / place)
    return removed


def _check_alone(store: Store) -> list[Path]:
    """Refuse to work beside others; the files that those who have ended left of themselves."""
    entries = activity.active_processes(store.path / activity.DIRECTORY)
    for run in (run for _, run in entries if run is not None and not run.mine):
        raise InputError(
            f"another {run.kind} works in {store.path}: {run}; wait until it has ended, or end it"
        )
    return [path for path, run in entries if run is None]


def _garbage(store: Store, start: float, extra_policies: bool) -> Iterator[RemovedFile]:
    """What no study needs, of what was there at ``start``, by the clock of the file system."""
    ended = _check_alone(store)
    try:
        records = [read_record(store, key) for key in store.studies()]
    except InputError as error:  # it might refer to anything
        raise InputError(f"{error}; nothing was removed") from None
    if not records and any(store.shards(name) for name in series_names(store)):
        raise InputError(
            f"{store.path} has shards and no study that refers to them: run the experiment again, "
            "or delete the directory; nothing was removed"
        )
    yield from _removed(ended, "of a run that has ended")
    for path in temporary_files(store):
        with suppress(FileNotFoundError):
            if is_abandoned(path.name) or start - path.stat().st_mtime > ABANDONED_AFTER:
                yield from _removed([path], "half written")
    needed: dict[str, list[StudyRecord]] = {}
    for record in records:
        for name in record.series:
            needed.setdefault(name, []).append(record)
    extra = set() if extra_policies else _extra_policies(store, needed.keys())
    for name in series_names(store):
        yield from _in_series(store, name, needed.get(name, []), name in extra, start)
    cells = {cell.cell for record in records for cell in record.cells}
    unused = [path for cell, path in cell_files(store) if cell not in cells]
    yield from _removed(unused, "no study refers to it", start)


def _extra_policies(store: Store, needed: Collection[str]) -> set[str]:
    """The series of policies that a study's last run left out, and its next one may want again.

    Such a series has the problem, the versions and the sources of one that a study refers to, and
    is of another policy than all that a study refers to in that problem.
    """
    by_problem: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for name in series_names(store):
        if (found := store.facts(name)) is not None:
            problem = facts_hash({"problem": found.get("problem")})
            by_problem.setdefault(problem, []).append((name, found))
    extra = set()
    for group in by_problem.values():
        beside = [facts for name, facts in group if name in needed]
        policies = [facts.get("policy") for facts in beside]
        for name, facts in group:
            is_other = name not in needed and facts.get("policy") not in policies
            if is_other and any(_is_usable_beside(facts, one) for one in beside):
                extra.add(name)
    return extra


def _is_usable_beside(facts: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a series was computed by the versions and sources that another one has."""
    mine, theirs = facts.get("sources", {}), other.get("sources", {})
    same = all(mine[source] == theirs[source] for source in mine.keys() & theirs.keys())
    return same and facts.get("versions") == other.get("versions")


def _in_series(
    store: Store, series: str, needed: list[StudyRecord], is_extra: bool, start: float
) -> Iterator[RemovedFile]:
    place, files = store.path / "shards" / series, store.shards(series)
    damaged = [place / name for name in list_names(place) if name.endswith(DAMAGED_SUFFIX)]
    yield from _removed(damaged, "damaged, and set aside", start)
    if not needed and not is_extra:
        paths = [store.path_of(file) for file in files]
        known = [place / SERIES_FILE] if (place / SERIES_FILE).is_file() else []
        yield from _removed([*paths, *known], "no study refers to its series", start)
        return
    covers = [index_shards(files, one.trials, one.first_trial) for one in needed]
    # and what a study of more trials would use: its last run may have asked for a few only
    covers.append(index_shards(files, max((file.end for file in files), default=0)))
    used = {file for cover in covers for file in cover.used}
    twice = [store.path_of(file) for file in files if file not in used]
    # what others stand in for, if they are sound
    if twice and all(_is_sound(store, file) for file in used):
        yield from _removed(twice, "studies use other shards in its place", start)


def _is_sound(store: Store, file: ShardFile) -> bool:
    try:
        store.read(file)
    except DamagedShardError:
        return False
    return True


def _removed(paths: Iterable[Path], why: str, before: float = math.inf) -> Iterator[RemovedFile]:
    """The files that are there, and were written before a time."""
    for path in paths:
        with suppress(FileNotFoundError):
            known = path.stat()
            if known.st_mtime < before:
                yield RemovedFile(path, why, known.st_size)
