"""A store: a directory of shards, each written whole or not at all and checked when it is read."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from graphbandits.errors import InputError
from graphbandits.files import from_npz, make_directory, read_bytes, to_npz, write_bytes, write_text
from graphbandits.results import Shard
from graphbandits.store.series import Series
from graphbandits.version import __version__

#: The layout of a store; a newer one is refused by name.
FORMAT = 1
MANIFEST = "store.json"
SERIES = "series.json"
_SHARD = re.compile(r"(\d{10})-(\d+)\.([0-9a-f]{64})\.parquet")


class DamagedShardError(InputError):
    """A shard whose bytes are not those that were written; ``file`` is which."""

    def __init__(self, message: str, file: ShardFile) -> None:
        super().__init__(message)
        self.file = file


@dataclass(frozen=True, order=True)
class ShardFile:
    """Trials ``first`` to ``first + trials - 1`` of a series; the name of its file tells all."""

    series: str
    first: int
    trials: int
    checksum: str

    @property
    def end(self) -> int:
        return self.first + self.trials

    @property
    def name(self) -> str:
        return f"{self.first:010d}-{self.trials}.{self.checksum}.parquet"


@dataclass(frozen=True)
class Cover:
    """Shards that follow each other, and the trials that none has, as (first, trials)."""

    used: tuple[ShardFile, ...]
    gaps: tuple[tuple[int, int], ...]


class Store:
    """The shards and studies of a directory.

    >>> import tempfile
    >>> import numpy as np
    >>> from graphbandits.engine import Plan
    >>> from graphbandits.rng import Keys
    >>> from graphbandits.store.series import series_of
    >>> plan = Plan.of("ts-n", graph="paper", horizon=10, trials=5)
    >>> series = series_of(plan, "ts-n")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store.create(folder)
    ...     file = store.write(series, plan.run_shard("ts-n", Keys(0, 0, 3)), {})
    ...     cover = store.cover(series.name, trials=5)
    ...     again = store.read(file)
    >>> cover.used == (file,), cover.gaps, again.regret.shape
    (True, ((3, 2),), (3, 10))
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: str | Path) -> Store:
        """Open a store; make it if there is none. Other files of the directory are left alone."""
        store = cls(make_directory(Path(path)))
        manifest = store.path / MANIFEST
        if not manifest.exists():
            entry = {"format": FORMAT, "made_by": f"graphbandits {__version__}"}
            write_text(manifest, json.dumps(entry, indent=2) + "\n")
        store._check()
        return store

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """Open a store that is there."""
        store = cls(Path(path))
        if not (store.path / MANIFEST).is_file():
            raise InputError(
                f"{path} is no store: it has no {MANIFEST}; give the directory that "
                "'graphbandits run' wrote to"
            )
        store._check()
        return store

    def _check(self) -> None:
        path = self.path / MANIFEST
        try:
            number = json.loads(read_bytes(path, "store"))["format"]
            sound = isinstance(number, int) and number >= 1
        except (ValueError, LookupError, TypeError):
            sound = False
        if not sound:
            raise InputError(f"{path} is not the manifest of a store, or is damaged")
        if number > FORMAT:
            raise InputError(
                f"{self.path} is a store of format {number}, and this version of graphbandits "
                f"reads up to {FORMAT}: update graphbandits"
            )

    # --- shards

    def shards(self, series: str) -> list[ShardFile]:
        """The files of a series, by their names alone."""
        try:
            names = os.listdir(self.path / "shards" / series)
        except FileNotFoundError:
            return []
        matches = (_SHARD.fullmatch(name) for name in names)
        return sorted(ShardFile(series, int(m[1]), int(m[2]), m[3]) for m in matches if m)

    def cover(self, series: str, trials: int, first: int = 0) -> Cover:
        """Which shards make up the trials, each whole and none twice, and what is missing."""
        used, gaps, place, end = [], [], first, first + trials
        # of those that begin at the same trial the longest
        for file in sorted(self.shards(series), key=lambda f: (f.first, -f.trials, f.checksum)):
            if file.first >= place and file.end <= end:
                if file.first > place:
                    gaps.append((place, file.first - place))
                used.append(file)
                place = file.end
        if place < end:
            gaps.append((place, end - place))
        return Cover(tuple(used), tuple(gaps))

    def path_of(self, file: ShardFile) -> Path:
        """Where a shard lies."""
        return self.path / "shards" / file.series / file.name

    def write(self, series: Series, shard: Shard, facts: Mapping[str, Any]) -> ShardFile:
        """Write a shard whole or not at all; the same one again changes nothing."""
        data = shard.to_parquet({"series": series.name, **facts})
        checksum = hashlib.sha256(data).hexdigest()
        file = ShardFile(series.name, shard.first, shard.trials, checksum)
        place = make_place(self.path_of(file).parent)
        if not (place / SERIES).exists():
            write_text(place / SERIES, json.dumps(series.facts, indent=1) + "\n")
        write_bytes(place / file.name, data)
        return file

    def read(self, file: ShardFile) -> Shard:
        """Read a shard; one that is not what was written is never returned."""
        path = self.path_of(file)
        data = read_bytes(path, "shard")
        if hashlib.sha256(data).hexdigest() != file.checksum:
            raise DamagedShardError(
                f"the shard {path} is damaged: its sha256 is not its name's", file
            )
        try:
            shard, facts = Shard.from_parquet(data)
        except (pa.ArrowException, ValueError, LookupError, TypeError) as error:
            raise DamagedShardError(f"the shard {path} is damaged: {error}", file) from None
        if (shard.first, shard.trials, facts["series"]) != (file.first, file.trials, file.series):
            raise DamagedShardError(f"the shard {path} is of other trials than its name says", file)
        return shard

    def set_aside(self, file: ShardFile) -> Path:
        """Give a damaged shard another name, so that it is missing and can be looked at."""
        path = self.path_of(file)
        aside = path.with_suffix(".damaged")
        os.replace(path, aside)
        return aside

    # --- cells and studies

    def put_cell(self, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
        """Keep the description of a cell under the hash of its content."""
        data = to_npz(meta, arrays)
        name = hashlib.sha256(data).hexdigest()
        path = make_place(self.path / "cells") / f"{name}.npz"
        if not path.exists():
            write_bytes(path, data)
        return name

    def cell(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """What :meth:`put_cell` kept."""
        path = self.path / "cells" / f"{name}.npz"
        data = read_bytes(path, "description of a cell")
        if hashlib.sha256(data).hexdigest() != name:
            raise InputError(f"{path} is damaged: run the experiment again, which mends it")
        return from_npz(data)

    def put_study(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep what a study is made of, in the place of what it was before."""
        place = make_place(self.path / "studies")
        write_text(place / f"{key}.json", json.dumps(record, indent=1, allow_nan=False) + "\n")

    def study(self, key: str) -> dict[str, Any]:
        """What :meth:`put_study` kept."""
        path = self.path / "studies" / f"{key}.json"
        try:
            record: dict[str, Any] = json.loads(read_bytes(path, "study"))
        except ValueError:
            raise InputError(f"{path} is damaged: run the experiment again") from None
        return record

    def studies(self) -> list[str]:
        """The keys of the studies, in the order of their names."""
        place = self.path / "studies"
        return sorted(path.stem for path in place.glob("*.json")) if place.is_dir() else []


def make_place(path: Path) -> Path:
    """A directory of the store, made when it is first needed."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another place") from None
    return path


def rows_of(files: Sequence[ShardFile]) -> int:
    """How many trials the shards have together."""
    return sum(file.trials for file in files)
