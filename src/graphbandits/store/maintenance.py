"""Maintenance of a store: list its contents, verify its files, remove unused files."""

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
from graphbandits.engine.identity import facts_hash
from graphbandits.engine.trajectories import RECORDS, check_trajectories, trajectory_arrays
from graphbandits.errors import InputError
from graphbandits.store import activity
from graphbandits.store.directory import (
    DAMAGED_SUFFIX,
    RUN_AGAIN,
    SERIES_FILE,
    DamagedShardError,
    ShardFile,
    Store,
    index_shards,
    list_names,
    read_errors,
)
from graphbandits.store.record import StudyRecord, read_record

HASH = re.compile(r"[0-9a-f]{64}")
_GC = "'graphbandits store gc' removes it"
#: Seconds after which a temporary file of an unknown process counts as abandoned.
ABANDONED_AFTER = 3600.0
#: Seconds after which the time stamps of files have changed, on common systems.
CLOCK_TICK = 0.02
#: Directories that are removed if they are empty. A run may be about to write to ``running``.
DIRECTORIES = ("studies", "cells", "shards")


def series_names(store: Store) -> list[str]:
    """List the names of all series with a directory in the store."""
    return [name for name in list_names(store.path / "shards") if HASH.fullmatch(name)]


def cell_files(store: Store) -> Iterator[tuple[str, Path]]:
    """Yield the names of all cells in the store, and their files."""
    for path in (store.path / "cells" / name for name in list_names(store.path / "cells")):
        if path.suffix == ".npz" and HASH.fullmatch(path.stem):
            yield path.stem, path


# --- contents


@dataclass(frozen=True)
class ShardTotals:
    """Number of series, of shards, and of bytes of the shards.

    Parameters
    ----------
    series : int
        Number of series.
    shards : int
        Number of shards.
    bytes : int
        Size of the shards.
    """

    series: int
    shards: int
    bytes: int


@dataclass(frozen=True)
class StudyEntry:
    """A study in a store, and its progress.

    Parameters
    ----------
    key : str
        Key of the study.
    title : str
        Title of the study.
    changed : float
        Time of its last record, in seconds since 1970.
    cells : int
        Number of cells.
    policies : tuple of str
        Policies of all cells.
    trials : int
        Number of trials per cell and policy.
    done : int
        Number of computed trials of all series.
    of : int
        Number of requested trials of all series.
    amount : ShardTotals
        Shards of the study.
    damage : str
        Why the record cannot be read; empty if it can.
    """

    key: str
    title: str
    changed: float
    cells: int = 0
    policies: tuple[str, ...] = ()
    trials: int = 0
    done: int = 0
    of: int = 0
    amount: ShardTotals = ShardTotals(0, 0, 0)
    damage: str = ""


@dataclass(frozen=True)
class StoreContents:
    """Contents of a store.

    Parameters
    ----------
    studies : tuple of StudyEntry
        The studies.
    total : ShardTotals
        All shards.
    without_study : ShardTotals
        Shards to which no study refers.
    """

    studies: tuple[StudyEntry, ...]
    total: ShardTotals
    without_study: ShardTotals


def store_contents(store: Store) -> StoreContents:
    """List the contents of a store without reading shards.

    Shards that two studies share count for both.
    """
    series = {name: files for name in series_names(store) if (files := store.shards(name))}
    studies, unused = [], dict(series)
    for key in store.studies():
        path = store.path / "studies" / f"{key}.json"
        changed = path.stat().st_mtime if path.exists() else 0.0
        try:
            record = read_record(store, key)
        except InputError as error:
            studies.append(StudyEntry(key, "", changed, damage=str(error)))
            continue
        indexes = [
            store.shard_index(one, record.trials, record.first_trial) for one in record.series
        ]
        of = record.trials * len(indexes)
        studies.append(
            StudyEntry(
                key,
                record.title,
                changed,
                len(record.cells),
                record.policies,
                record.trials,
                of - sum(index.missing for index in indexes),
                of,
                _totals(store, [index.used for index in indexes if index.used]),
            )
        )
        for name in record.series:
            unused.pop(name, None)
    return StoreContents(
        tuple(studies), _totals(store, series.values()), _totals(store, unused.values())
    )


def _totals(store: Store, series: Collection[Sequence[ShardFile]]) -> ShardTotals:
    paths = [store.path_of(file) for files in series for file in files]
    return ShardTotals(len(series), len(paths), sum(map(_size, paths)))


def _size(path: Path) -> int:
    with suppress(OSError):  # the file may have been removed
        return path.stat().st_size
    return 0


# --- verification


@dataclass(frozen=True)
class Finding:
    """A finding about a file of a store.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        Description of the finding.
    advice : str
        What to do.
    wrong : bool, default=True
        True if numbers or descriptions are lost or unreliable; False for a note.
    """

    path: Path
    what: str
    advice: str
    wrong: bool = True


def verify(
    store: Store, advance: Callable[[int, int], None] = lambda done, of: None
) -> Iterator[Finding]:
    """Verify every file in a store; yield damaged, missing, inconsistent and leftover files.

    ``advance`` is called after each shard with the number of shards read, and their total.
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
                yield Finding(file, f"the study '{key}' refers to it, but it is missing", RUN_AGAIN)
        first, trials = record.first_trial, record.trials
        missing = sum(store.shard_index(name, trials, first).missing for name in record.series)
        if missing:
            total = trials * len(record.series)
            what = f"{missing} of {total} trials of the policies of the study '{key}' are missing"
            advice = "run the experiment again to compute them"
            yield Finding(path, what, advice, wrong=False)


def _cells(store: Store) -> Iterator[Finding]:
    for cell, path in cell_files(store):
        try:
            store.cell(cell)
        except read_errors() as error:
            yield Finding(path, _short_message(path, error), RUN_AGAIN)


def _series(store: Store, series: str, files: Sequence[ShardFile]) -> Iterator[Finding | None]:
    """Yield the findings about a series, and None after each shard."""
    path = store.path / "shards" / series / SERIES_FILE
    facts = store.facts(series)
    if facts is None and (files or path.exists()):
        state = "damaged" if path.exists() else "missing"
        yield Finding(
            path, f"the description of the shards in this directory is {state}", RUN_AGAIN
        )
    # for trials in several files: hash of the numbers and the file, by CPU type
    seen: dict[int, dict[str, tuple[bytes, ShardFile]]] = {}
    end = 0
    starts = [*(file.first for file in files[1:]), math.inf]
    for file, following in zip(files, starts, strict=False):
        try:
            shard = store.read(file)
            _check_against_facts(facts or {}, shard)
        except read_errors() as error:
            where = store.path_of(file)
            is_unreadable = isinstance(error, InputError) and not isinstance(
                error, DamagedShardError
            )
            advice = "make the file readable" if is_unreadable else RUN_AGAIN
            yield Finding(where, _short_message(where, error), advice)
        else:
            if file.first < end or following < file.end:
                yield from _differences(store, file, shard, seen)
        end = max(end, file.end)
        yield None


def _check_against_facts(facts: dict[str, Any], shard: Shard) -> None:
    """Raise ValueError if a shard contradicts the facts of its series."""
    problem = facts.get("problem")
    if not isinstance(problem, dict):
        return
    rounds, horizon = len(problem["recording"]["rounds"]), problem["horizon"]
    if shard.regret.shape[1] != rounds:
        raise ValueError(f"it has {shard.regret.shape[1]} recorded rounds, not {rounds}")
    played = np.bincount(shard.plays.trial, shard.plays.count, minlength=shard.trials)
    if (played != horizon).any():
        raise ValueError(f"its trials do not have {horizon} plays each")
    expected = tuple(word for word in RECORDS if problem["recording"].get(word))
    recorded = () if shard.trajectories is None else shard.trajectories.recorded
    has_ratios = shard.ratios is not None
    if has_ratios != (problem["recording"]["ratios"] is not None) or recorded != expected:
        raise ValueError("its columns are not those that should be recorded")
    if shard.trajectories is not None:
        check_trajectories(shard.trajectories, horizon, shard.plays)


def _differences(
    store: Store,
    file: ShardFile,
    shard: Shard,
    seen: dict[int, dict[str, tuple[bytes, ShardFile]]],
) -> Iterator[Finding]:
    """Yield trials whose numbers differ from those in another file."""
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
            what += f": they were computed on {shard.cpu} and {cpu}, which may round differently"
        advice = "always the same one of the two files is used; delete one of them to resolve this"
        yield Finding(store.path_of(file), what, advice, wrong=shard.cpu == cpu)


def _digests(shard: Shard) -> Iterator[bytes]:
    """Yield a hash of all numbers of each trial."""
    ratios = [] if shard.ratios is None else [array for _, array in shard.ratios.items()]
    starts = np.searchsorted(shard.plays.trial, np.arange(shard.trials + 1))
    for row in range(shard.trials):
        digest = hashlib.blake2b(shard.regret[row].tobytes(), digest_size=16)
        played = slice(starts[row], starts[row + 1])
        for part in (shard.plays.arm[played], shard.plays.count[played]):
            digest.update(part.tobytes())
        for array in ratios:
            digest.update(array[row].tobytes())
        if shard.trajectories is not None:
            for part in trajectory_arrays(shard.trajectories.rows(slice(row, row + 1))):
                digest.update(part.tobytes())
        yield digest.digest()


def _leftovers(store: Store, series: Iterable[str]) -> Iterator[Finding]:
    """Yield temporary, damaged and misnamed files."""
    for path in temporary_files(store):
        what = "incomplete: its run was stopped, or is still writing it"
        yield Finding(path, what, _GC, wrong=False)
    for name in series:
        directory = store.path / "shards" / name
        for path in (directory / file for file in list_names(directory)):
            is_shard = ShardFile.of(name, path.name) is not None
            if path.name.endswith(DAMAGED_SUFFIX):
                what = "a damaged shard that a run has set aside and computed again"
                yield Finding(path, what, _GC, wrong=False)
            elif path.name.endswith(".parquet") and not is_shard:
                what = "its name is not that of a shard, and therefore it is not read"
                yield Finding(path, what, "move it elsewhere")
            elif is_shard and path.is_dir():
                what = "a directory with the name of a shard, which cannot be written"
                yield Finding(path, what, "move it elsewhere")
    for path, run in activity.process_files(store.path / activity.DIRECTORY):
        if run is None:
            what = "left by a run that was killed"
            yield Finding(path, what, _GC, wrong=False)


def temporary_files(store: Store) -> Iterator[Path]:
    """Yield the temporary files of a store."""
    shards = (f"shards/{name}" for name in series_names(store))
    for directory in ("", "studies", "cells", activity.DIRECTORY, *shards):
        for name in list_names(store.path / directory):
            target = temporary_for(name)
            # the top directory may contain other files
            if target is not None and (directory or target == "store.json"):
                yield store.path / directory / name


def _short_message(path: Path, error: BaseException) -> str:
    """Return an error message without the path and the advice."""
    text = " ".join(str(error).split())
    for phrase in (f"the shard {path} ", f"the description of a cell {path} ", f"{path} "):
        text = text.replace(phrase, "")
    return text.partition(f": {RUN_AGAIN}")[0]


# --- removal of unused files


@dataclass(frozen=True)
class RemovedFile:
    """A file that no study needs.

    Parameters
    ----------
    path : Path
        The file.
    why : str
        Why it is not needed.
    bytes : int
        Its size.
    """

    path: Path
    why: str
    bytes: int


def gc(store: Store, dry_run: bool = False, extra_policies: bool = False) -> list[RemovedFile]:
    """Remove the files that no study needs, and return them.

    These are: temporary files of processes that have ended, damaged shards that were set aside,
    shards and cells to which no study refers, shards whose trials are also in other shards, files
    of killed runs in ``running``, and empty directories. Trials of policies that the last run of a
    study left out are kept unless ``extra_policies`` is true; trials beyond the number that the
    last run requested are always kept. Other files are not changed, nor are shards and cells that
    were written after the call.

    Parameters
    ----------
    store : Store
        The store.
    dry_run : bool, default=False
        If true, return the files without removing them.
    extra_policies : bool, default=False
        If true, also remove the policies that the last run of each study left out.

    Returns
    -------
    list of RemovedFile
        The files.

    Raises
    ------
    InputError
        If another process is active in the store before the first file is removed. A run that
        starts later waits. Also if the record of a study cannot be read.
    """
    time.sleep(CLOCK_TICK)  # existing files are then older than files written from now on
    start = activity.file_time(store.path)
    if dry_run:
        return list(_garbage(store, start, extra_policies))
    removed, is_marked = [], False
    with ExitStack() as stack:
        with suppress(InputError):  # the disk may be full, and gc should still work
            stack.enter_context(store.mark_active(kind="gc"))
            is_marked = True
        garbage = list(_garbage(store, start, extra_policies))
        _check_alone(store)
        for one in garbage:
            if not is_marked:  # other runs do not wait for this gc
                _check_alone(store)
            with readable_errors(one.path):
                one.path.unlink(missing_ok=True)
            removed.append(one)
        for directory in (*(f"shards/{name}" for name in series_names(store)), *DIRECTORIES):
            with suppress(OSError):  # it does not exist, or is not empty
                os.rmdir(store.path / directory)
    return removed


def _check_alone(store: Store) -> list[Path]:
    """Raise InputError if another process is active; return the files of ended processes."""
    entries = activity.process_files(store.path / activity.DIRECTORY)
    for run in (run for _, run in entries if run is not None and not run.mine):
        raise InputError(
            f"another {run.kind} is active in {store.path}: {run}; wait until it has ended, or "
            "end it"
        )
    return [path for path, run in entries if run is None]


def _garbage(store: Store, start: float, extra_policies: bool) -> Iterator[RemovedFile]:
    """Yield the files that no study needs; ``start`` is the file system time of the call."""
    ended = _check_alone(store)
    try:
        records = [read_record(store, key) for key in store.studies()]
    except InputError as error:  # the damaged record may refer to any file
        raise InputError(f"{error}; nothing was removed") from None
    if not records and any(store.shards(name) for name in series_names(store)):
        raise InputError(
            f"{store.path} has shards, but no study that refers to them: run the experiment "
            "again, or delete the directory; nothing was removed"
        )
    yield from _removed(ended, "left by a run that has ended")
    for path in temporary_files(store):
        with suppress(FileNotFoundError):
            if is_abandoned(path.name) or start - path.stat().st_mtime > ABANDONED_AFTER:
                yield from _removed([path], "incomplete")
    needed: dict[str, list[StudyRecord]] = {}
    for record in records:
        for name in record.series:
            needed.setdefault(name, []).append(record)
    extra = set() if extra_policies else _extra_policies(store, needed.keys())
    for name in series_names(store):
        yield from _unused_in_series(store, name, needed.get(name, []), name in extra, start)
    cells = {cell.cell for record in records for cell in record.cells}
    unused = [path for cell, path in cell_files(store) if cell not in cells]
    yield from _removed(unused, "no study refers to it", start)


def _extra_policies(store: Store, needed: Collection[str]) -> set[str]:
    """Return the series of policies that the last run of a study left out.

    Such a series has the same problem, versions and sources as a series to which a study refers,
    and its policy is not among those to which a study refers for this problem.
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
    """Return whether a series was computed with the versions and sources of another one."""
    mine, theirs = facts.get("sources", {}), other.get("sources", {})
    same = all(mine[source] == theirs[source] for source in mine.keys() & theirs.keys())
    return same and facts.get("versions") == other.get("versions")


def _unused_in_series(
    store: Store, series: str, needed: list[StudyRecord], is_extra: bool, start: float
) -> Iterator[RemovedFile]:
    """Yield the unused files of a series; ``needed`` are the studies that refer to it."""
    directory, files = store.path / "shards" / series, store.shards(series)
    damaged = [directory / name for name in list_names(directory) if name.endswith(DAMAGED_SUFFIX)]
    yield from _removed(damaged, "damaged, and set aside", start)
    if not needed and not is_extra:
        paths = [store.path_of(file) for file in files]
        known = [directory / SERIES_FILE] if (directory / SERIES_FILE).is_file() else []
        yield from _removed([*paths, *known], "no study refers to its series", start)
        return
    indexes = [index_shards(files, one.trials, one.first_trial) for one in needed]
    # keep the shards of a study with more trials: the last run may have requested only a few
    indexes.append(index_shards(files, max((file.end for file in files), default=0)))
    used = {file for index in indexes for file in index.used}
    duplicates = [store.path_of(file) for file in files if file not in used]
    # remove duplicates only if the used files are correct
    if duplicates and all(_is_sound(store, file) for file in used):
        yield from _removed(duplicates, "studies use other shards instead", start)


def _is_sound(store: Store, file: ShardFile) -> bool:
    try:
        store.read(file)
    except DamagedShardError:
        return False
    return True


def _removed(paths: Iterable[Path], why: str, before: float = math.inf) -> Iterator[RemovedFile]:
    """Yield the existing files that were written before a time."""
    for path in paths:
        with suppress(FileNotFoundError):
            known = path.stat()
            if known.st_mtime < before:
                yield RemovedFile(path, why, known.st_size)
