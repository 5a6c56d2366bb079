"""What a store has, by the names and sizes of its files alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from graphbandits.errors import InputError
from graphbandits.store.covers import ShardFile, rows_of
from graphbandits.store.directory import Store, names_in
from graphbandits.store.records import HASH, record_of


@dataclass(frozen=True)
class Amount:
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
    amount: Amount = Amount(0, 0, 0)
    damage: str = ""  # why nothing of this is known


@dataclass(frozen=True)
class Contents:
    """The studies, all shards, and those that no study refers to."""

    studies: tuple[StudyEntry, ...]
    total: Amount
    without_study: Amount


def contents_of(store: Store) -> Contents:
    """Look at a store; no shard is read. Shards that two studies share count for both."""
    names = [name for name in names_in(store.path / "shards") if HASH.fullmatch(name)]
    series = {name: store.shards(name) for name in names}
    series = {name: files for name, files in series.items() if files}
    referred: set[str] = set()
    studies = []
    for key in store.studies():
        entry, mine = _study(store, key, series)
        studies.append(entry)
        referred |= mine
    alone = [files for name, files in series.items() if name not in referred]
    return Contents(tuple(studies), _amount(store, list(series.values())), _amount(store, alone))


def _study(
    store: Store, key: str, series: dict[str, list[ShardFile]]
) -> tuple[StudyEntry, set[str]]:
    path = store.path / "studies" / f"{key}.json"
    changed = path.stat().st_mtime if path.exists() else 0.0
    try:
        record = record_of(store, key)
    except InputError as error:
        return StudyEntry(key, "", changed, damage=str(error)), set()
    used = [store.cover(one.series, one.trials, one.first).used for one in record.needed]
    entry = StudyEntry(
        key,
        record.title,
        changed,
        len(record.cells),
        record.policies,
        record.trials,
        sum(map(rows_of, used)),
        sum(one.trials for one in record.needed),
        _amount(store, [files for files in used if files]),
    )
    return entry, {one.series for one in record.needed}


def _amount(store: Store, series: Iterable[Iterable[ShardFile]]) -> Amount:
    groups = [list(files) for files in series]
    paths = [store.path_of(file) for files in groups for file in files]
    return Amount(len(groups), len(paths), sum(map(_size, paths)))


def _size(path: Path) -> int:
    with suppress(OSError):  # it has just been removed
        return path.stat().st_size
    return 0
