"""Is all that a store has what was written? Every file of it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits.engine.provenance import name_of
from graphbandits.errors import InputError
from graphbandits.files import temporary_for
from graphbandits.results import Shard
from graphbandits.store import running
from graphbandits.store.covers import ShardFile
from graphbandits.store.directory import (
    AGAIN,
    DAMAGED,
    SERIES,
    UNREADABLE,
    DamagedShardError,
    Store,
    names_in,
    parsed,
)
from graphbandits.store.records import HASH, record_of

_GC = "'graphbandits store gc' removes it"


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
    folders = names_in(store.path / "shards")
    series = [name for name in folders if HASH.fullmatch(name)]
    total, done = sum(len(store.shards(name)) for name in series), 0

    def read() -> None:
        nonlocal done
        done += 1
        advance(done, total)

    for name in series:
        yield from _series(store, name, read)
    yield from _leftovers(store, series)


def _studies(store: Store) -> Iterator[Finding]:
    for key in store.studies():
        path = store.path / "studies" / f"{key}.json"
        try:
            record = record_of(store, key)
        except InputError as error:
            yield Finding(path, _without(path, error), AGAIN)
            continue
        for cell in dict.fromkeys(record.cells):
            file = store.path / "cells" / f"{cell}.npz"
            if not file.is_file():
                yield Finding(file, f"the study '{key}' refers to it, and it is missing", AGAIN)
        gaps = [store.cover(one.series, one.trials, one.first).missing for one in record.needed]
        if lacking := sum(gaps):
            whole = sum(one.trials for one in record.needed)
            what = f"the study '{key}' lacks {lacking} of {whole} trials of its policies"
            advice = "run the experiment again, which does what is missing"
            yield Finding(path, what, advice, wrong=False)


def _cells(store: Store) -> Iterator[Finding]:
    for name in names_in(store.path / "cells"):
        cell, dot, kind = name.partition(".")
        if dot and kind == "npz" and HASH.fullmatch(cell):
            try:
                store.cell(cell)
            except UNREADABLE as error:
                path = store.path / "cells" / name
                yield Finding(path, _without(path, error), AGAIN)


def _series(store: Store, series: str, read: Callable[[], None]) -> Iterator[Finding]:
    files = store.shards(series)
    path = store.path / "shards" / series / SERIES
    facts = _facts(path)
    if facts is None and (files or path.exists()):
        why = "is damaged" if path.exists() else "is missing"
        yield Finding(path, f"what determines the shards beside it {why}", AGAIN)
    rows = _Rows(store)
    for number, file in enumerate(files):
        try:
            shard, said = store.read_with_facts(file)
            _check_by(facts or {}, shard)
        except UNREADABLE as error:
            where = store.path_of(file)
            is_kept_off = isinstance(error, InputError) and not isinstance(error, DamagedShardError)
            advice = "make it readable" if is_kept_off else AGAIN
            yield Finding(where, _without(where, error), advice)
        else:
            overlaps = number + 1 < len(files) and files[number + 1].first < file.end
            yield from rows.compare(file, shard, str(said.get("cpu")), overlaps)
        read()


def _facts(path: Path) -> dict[str, Any] | None:
    """What determines a series; None if that is not what its directory is named by."""
    try:
        facts = parsed(path.read_bytes())
        return facts if name_of(facts) == path.parent.name else None
    except UNREADABLE:
        return None


def _check_by(facts: dict[str, Any], shard: Shard) -> None:
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


class _Rows:
    """Trials of a series that are in several files must be the same in each."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # of each trial, and kind of CPU, a hash of its numbers and where they are
        self._seen: dict[int, dict[str, tuple[bytes, ShardFile]]] = {}

    def compare(self, file: ShardFile, shard: Shard, cpu: str, overlaps: bool) -> Iterator[Finding]:
        """Hold a shard against those before it; ``overlaps`` is whether the next one has to be."""
        for trial in [trial for trial in self._seen if trial < file.first]:
            del self._seen[trial]  # files are in the order of their first trials
        if not overlaps and file.first not in self._seen:
            return
        differ: dict[ShardFile, tuple[int, str]] = {}
        for row, digest in enumerate(_digests(shard)):
            seen = self._seen.setdefault(file.first + row, {})
            for their_cpu, (theirs, other) in seen.items():
                if theirs != digest:
                    differ.setdefault(other, (file.first + row, their_cpu))
            seen.setdefault(cpu, (digest, file))
        for other, (trial, their_cpu) in differ.items():
            what = f"trial {trial} has other numbers than in {self._store.path_of(other).name}"
            if cpu != their_cpu:
                what += f": they were run on {cpu} and {their_cpu}, which may round differently"
            advice = "one of the two is used, always the same; delete one and nobody has to ask"
            yield Finding(self._store.path_of(file), what, advice, wrong=cpu == their_cpu)


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


def _leftovers(store: Store, series: Sequence[str]) -> Iterator[Finding]:
    for path in temporaries(store):
        what = "half written: the run that began it was ended, or is at work on it"
        yield Finding(path, what, _GC, wrong=False)
    for name in series:
        place = store.path / "shards" / name
        for file in names_in(place):
            if file.endswith(DAMAGED):
                what = "a damaged shard that a run has set aside and done anew"
                yield Finding(place / file, what, _GC, wrong=False)
            elif file.endswith(".parquet") and ShardFile.of(name, file) is None:
                what = "its name is not that of a shard, so nobody reads it"
                yield Finding(place / file, what, "move it elsewhere", wrong=True)
            elif ShardFile.of(name, file) is not None and (place / file).is_dir():
                what = "a directory under the name of a shard, which cannot be written there"
                yield Finding(place / file, what, "move it elsewhere", wrong=True)
    for path, run in running.entries(store.path / running.PLACE):
        if run is None:
            what = "of a run that has ended without taking its leave"
            yield Finding(path, what, _GC, wrong=False)


def temporaries(store: Store) -> Iterator[Path]:
    """The files of a store that are, or were, being written."""
    shards = [name for name in names_in(store.path / "shards") if HASH.fullmatch(name)]
    for place in ("", "studies", "cells", running.PLACE, *(f"shards/{name}" for name in shards)):
        for name in names_in(store.path / place):
            target = temporary_for(name)
            # beside the manifest lie files of others
            if target is not None and (place or target == "store.json"):
                yield store.path / place / name


def _without(path: Path, error: BaseException) -> str:
    """What went wrong, without saying again where and what to do."""
    text = " ".join(str(error).split())
    for phrase in (f"the shard {path} ", f"the description of a cell {path} ", f"{path} "):
        text = text.replace(phrase, "")
    return text.partition(f": {AGAIN}")[0]
