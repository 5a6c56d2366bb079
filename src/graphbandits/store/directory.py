"""A store: a directory of shards, each written whole or not at all and checked when it is read."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from graphbandits import _io
from graphbandits._old_words import translate_settings
from graphbandits._version import __version__
from graphbandits.engine import Shard, Task
from graphbandits.engine.provenance import Series, facts_hash, series_of
from graphbandits.errors import InputError, nearest
from graphbandits.store import activity

#: The layout of a store; a newer one is refused by name.
FORMAT = 1
MANIFEST = "store.json"
SERIES_FILE = "series.json"
#: What the file of a damaged shard ends with, once it is set aside.
DAMAGED_SUFFIX = ".damaged"
_SHARD = re.compile(r"([0-9]{10})-([1-9][0-9]*)\.([0-9a-f]{64})\.parquet")
#: All that reading something other than a shard may raise.
READ_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    pa.ArrowException,
)
#: What to do about most that is damaged or missing.
RUN_AGAIN = "run the experiment again, which mends it"


@dataclass(frozen=True, order=True)
class ShardFile:
    """Trials ``first`` to ``first + trials - 1`` of a series; the name of its file tells all."""

    series: str
    first: int
    trials: int
    checksum: str

    @classmethod
    def of(cls, series: str, name: str) -> ShardFile | None:
        """What the name of a file says; None if it is not that of a shard.

        >>> ShardFile.of("s", f"0000000250-50.{'ab' * 32}.parquet").end
        300
        """
        match = _SHARD.fullmatch(name)
        return cls(series, int(match[1]), int(match[2]), match[3]) if match else None

    @property
    def end(self) -> int:
        return self.first + self.trials

    @property
    def name(self) -> str:
        return f"{self.first:010d}-{self.trials}.{self.checksum}.parquet"


@dataclass(frozen=True)
class ShardIndex:
    """Shards that follow each other, and the trials that none has, as (first, trials)."""

    used: tuple[ShardFile, ...]
    gaps: tuple[tuple[int, int], ...]

    @property
    def missing(self) -> int:
        """How many trials none of them has."""
        return sum(trials for _, trials in self.gaps)


def index_shards(shards: Iterable[ShardFile], trials: int, first: int = 0) -> ShardIndex:
    """Which shards make up the trials, each whole and none twice, and what is missing.

    As many trials as can be had; then as few shards as will do; then those whose last ones begin,
    and are named, first. So it depends on which files there are alone.

    >>> short, long = ShardFile("s", 0, 10, "a"), ShardFile("s", 5, 95, "b")
    >>> cover = index_shards([short, long, ShardFile("s", 5, 95, "a")], trials=100)
    >>> [(file.first, file.checksum) for file in cover.used], cover.gaps
    ([(5, 'a')], ((0, 5),))
    """
    end = first + trials
    inside = [file for file in shards if first <= file.first and file.end <= end]
    inside.sort(key=lambda file: (file.end, file.first, file.checksum))
    ends = [file.end for file in inside]
    # best[n]: (trials, -shards) of the first n files, and whether the last of them is taken
    best: list[tuple[int, int]] = [(0, 0)]
    taken: list[bool] = []
    for number, file in enumerate(inside):
        have, count = best[bisect_right(ends, file.first, hi=number)]
        found = have + file.trials, count - 1
        taken.append(found > best[-1])
        best.append(max(found, best[-1]))
    used: list[ShardFile] = []
    number = len(inside)
    while number:
        if taken[number - 1]:
            file = inside[number - 1]
            used.append(file)
            number = bisect_right(ends, file.first, hi=number - 1)
        else:
            number -= 1
    used.reverse()
    return ShardIndex(tuple(used), tuple(_gaps(used, first, end)))


def _gaps(used: Sequence[ShardFile], first: int, end: int) -> list[tuple[int, int]]:
    starts = [first, *(file.end for file in used)]
    stops = [*(file.first for file in used), end]
    return [(at, stop - at) for at, stop in zip(starts, stops, strict=True) if at < stop]


class DamagedShardError(InputError):
    """A shard whose bytes are not those that were written; ``file`` is which."""

    def __init__(self, message: str, file: ShardFile) -> None:
        super().__init__(message)
        self.file = file


class Store:
    """The shards and studies of a directory.

    >>> import tempfile
    >>> from graphbandits.engine import Plan
    >>> from graphbandits.rng import Keys
    >>> from graphbandits.engine.provenance import series_of
    >>> plan = Plan.of("ts-n", graph="paper", horizon=10, trials=5)
    >>> series = series_of(plan, "ts-n")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store.create(folder)
    ...     file = store.write(series, plan.run_shard("ts-n", Keys(0, 0, 3)), {})
    ...     cover = store.shard_index(series.name, trials=5)
    ...     again = store.read(file)
    >>> cover.used == (file,), cover.gaps, again.regret.shape
    (True, ((3, 2),), (3, 10))
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._described: set[str] = set()

    @classmethod
    def create(cls, path: str | Path) -> Store:
        """Open a store; make it if there is none. Other files of the directory are left alone."""
        store = cls(_io.make_directory(Path(path)))
        manifest = store.path / MANIFEST
        if not manifest.exists():
            entry = {"format": FORMAT, "made_by": f"graphbandits {__version__}"}
            # never replaces a manifest that another process has just written
            _io.write_new(manifest, (json.dumps(entry, indent=2) + "\n").encode())
        store._check()
        return store

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """Open a store that is there."""
        store = cls(Path(path))
        manifest = store.path / MANIFEST
        if not os.path.lexists(manifest):
            is_there = os.path.isdir(store.path)
            why = f"it has no {MANIFEST}" if is_there else "there is no such directory"
            raise InputError(
                f"{path} is no store: {why}; give the directory that 'graphbandits run' wrote to"
            )
        store._check()
        return store

    def _check(self) -> None:
        path = self.path / MANIFEST
        entry = parse_json(_io.read_bytes(path, "manifest of a store"))
        number = entry.get("format") if isinstance(entry, dict) else None
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InputError(
                f"{path} is not the manifest of a store, or is damaged: if {self.path} was written "
                "by this version of graphbandits, delete the file and run the experiment again; "
                "the shards stay, and check themselves"
            )
        if number > FORMAT:
            raise InputError(
                f"{self.path} is a store of format {number}, and this version of graphbandits "
                f"reads up to {FORMAT}: update graphbandits"
            )

    # --- shards

    def shards(self, series: str) -> list[ShardFile]:
        """The files of a series, by their names alone; a directory is none, whatever its name."""
        place = self.path / "shards" / series
        found = (ShardFile.of(series, name) for name in list_names(place, only_files=True))
        return sorted(file for file in found if file is not None)

    def shard_index(self, series: str, trials: int, first: int = 0) -> ShardIndex:
        """Which shards make up the trials, each whole and none twice, and what is missing."""
        return index_shards(self.shards(series), trials, first)

    def path_of(self, file: ShardFile) -> Path:
        """Where a shard lies."""
        return self.path / "shards" / file.series / file.name

    def describe(self, series: Series) -> None:
        """Write down what determines a series, unless that is there and sound."""
        if series.name not in self._described:
            place = make_store_directory(self.path / "shards" / series.name)
            write_if_changed(
                place / SERIES_FILE, (json.dumps(series.facts, indent=1) + "\n").encode()
            )
            self._described.add(series.name)

    def facts(self, series: str) -> dict[str, Any] | None:
        """What determines a series; None if that is missing, or not what its name is a hash of."""
        try:
            facts = parse_json(_io.read_regular(self.path / "shards" / series / SERIES_FILE))
            return facts if facts_hash(facts) == series else None
        except READ_ERRORS:
            return None

    def write(self, series: Series, shard: Shard, facts: Mapping[str, Any]) -> ShardFile:
        """Write a shard whole or not at all; the same one again changes nothing.

        ``facts`` are kept with it: plain values, and the same for the same numbers (no times), so
        that two who write the same shard write the same file.
        """
        try:
            data = shard.to_parquet({**facts, "series": series.name})
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"the facts of a shard are plain values of JSON: {error}") from None
        checksum = hashlib.sha256(data).hexdigest()
        file = ShardFile(series.name, shard.first, shard.trials, checksum)
        self.describe(series)
        _io.write_bytes(make_store_directory(self.path_of(file).parent) / file.name, data)
        return file

    def read(self, file: ShardFile, rounds: int | None = None) -> Shard:
        """Read a shard; one that is not what was written is never returned.

        ``rounds`` is how many recorded rounds it must have, if that is known.
        """
        path = self.path_of(file)

        def damaged(why: str) -> DamagedShardError:
            return DamagedShardError(f"the shard {path} {why}", file)

        try:
            data = _io.read_regular(path)
        except FileNotFoundError:
            raise damaged("is gone") from None
        except (OSError, InputError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            if isinstance(error, OSError) and error.errno == errno.EIO:
                raise damaged(f"is damaged: {why}") from None
            raise InputError(f"cannot read the shard {path}: {why}") from None
        if hashlib.sha256(data).hexdigest() != file.checksum:
            raise damaged("is damaged: its sha256 is not its name's")
        try:
            shard, facts = Shard.from_parquet(data)
            series = facts["series"]
        except READ_ERRORS as error:
            why = str(error).split("\n")[0]
            raise damaged(f"is damaged: {why}") from None
        if (shard.first, shard.trials, series) != (file.first, file.trials, file.series):
            raise damaged("is of other trials than its name says")
        if rounds is not None and shard.regret.shape[1] != rounds:
            raise damaged(f"has {shard.regret.shape[1]} recorded rounds, not {rounds}")
        if not np.isfinite(shard.regret).all():
            raise damaged("has regrets that are no numbers")
        return shard

    def set_aside(self, file: ShardFile) -> Path | None:
        """Give a damaged shard another name, so that it is missing and can be looked at.

        None if it is gone already. Another run that has just mended it loses that shard again, and
        does it once more.
        """
        path = self.path_of(file)
        aside = path.with_suffix(DAMAGED_SUFFIX)
        with _io.readable_errors(aside):
            try:
                os.replace(path, aside)
            except FileNotFoundError:
                return None
        return aside

    # --- what the driver asks for

    def missing(self, task: Task) -> tuple[tuple[int, int], ...]:
        """The trials of a task that no shard has, as (first, trials)."""
        series = series_of(task.plan, task.policy)
        return self.shard_index(series.name, task.trials, task.first).gaps

    def put(self, task: Task, shard: Shard) -> None:
        """Keep the outcome of a task."""
        series = series_of(task.plan, task.policy)
        self.write(series, shard, {"policy": task.policy, "cpu": shard.cpu})

    def is_shared(self) -> bool:
        """Whether other processes work here now."""
        return bool(self.other_processes())

    def verify_present(self, task: Task, warn: Callable[[str], None]) -> None:
        """Read every shard that is there of a task, and set aside what is damaged."""
        series = series_of(task.plan, task.policy)
        self.describe(series)
        sound: set[ShardFile] = set()
        # others may stand in for one that is set aside, and are read then
        while doubtful := set(self.shard_index(series.name, task.trials, task.first).used) - sound:
            for file in sorted(doubtful):
                try:
                    self.read(file)
                    sound.add(file)
                except DamagedShardError as error:
                    self.set_aside(file)
                    warn(f"{error}; it was set aside and is computed again")

    # --- cells and studies

    def put_cell(self, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
        """Keep the description of a cell under the hash of its content."""
        data = _io.to_npz(meta, arrays)
        name = hashlib.sha256(data).hexdigest()
        path = self.path / "cells" / f"{name}.npz"
        make_store_directory(path.parent)
        write_if_changed(path, data)
        return name

    def cell(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """What :meth:`put_cell` kept."""
        path = self.path / "cells" / f"{name}.npz"
        if not path.exists():
            raise InputError(f"the description of a cell {path} is missing: {RUN_AGAIN}")
        data = _io.read_bytes(path, "description of a cell")
        if hashlib.sha256(data).hexdigest() != name:
            raise InputError(f"{path} is damaged: {RUN_AGAIN}")
        meta, arrays = _io.from_npz(data)
        return meta | {"settings": translate_settings(meta["settings"])}, arrays

    def put_study(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep what a study is made of, in the place of what it was before.

        A record of a newer format is refused, and nothing is written.
        """
        path = self._study_path(key)
        self.check_study(key, record)
        try:
            text = json.dumps(record, indent=1, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"the record of a study is plain values of JSON: {error}") from None
        make_store_directory(path.parent)
        _io.write_text(path, text + "\n")

    def check_study(self, key: str, record: Mapping[str, Any]) -> None:
        """Refuse what :meth:`put_study` would, as far as its place goes: a newer format there."""
        try:
            there = parse_json(_io.read_regular(self._study_path(key)))
        except (OSError, InputError):  # there is none, or writing will say why not
            return
        number = there.get("format") if isinstance(there, dict) else None
        known = record.get("format", 1)
        if isinstance(number, int) and number > known:
            raise InputError(
                f"the study '{key}' in {self.path} is of format {number}, and this version of "
                f"graphbandits writes {known}: update graphbandits, or choose another place; it "
                "was left as it is"
            )

    def study(self, key: str) -> dict[str, Any]:
        """What :meth:`put_study` kept."""
        path = self._study_path(key)
        if not os.path.lexists(path):
            raise InputError(f"no study '{key}' in {self.path}: {nearest(key, self.studies())}")
        record = parse_json(_io.read_bytes(path, "study"))
        if not isinstance(record, dict):
            raise InputError(f"{path} is damaged: {RUN_AGAIN}")
        return record

    def studies(self) -> list[str]:
        """The keys of the studies, in the order of their names."""
        names = list_names(self.path / "studies")
        return [name[:-5] for name in names if name.endswith(".json") and name[0] != "."]

    def _study_path(self, key: str) -> Path:
        if not re.fullmatch(r"[^./\\\0][^/\\\0]*", key):
            raise InputError(f"the key of a study is a name for a file, not {key!r}")
        return self.path / "studies" / f"{key}.json"

    # --- who works here

    def mark_active(
        self,
        command: str | None = None,
        kind: Literal["run", "gc"] = "run",
        tell: Callable[[str], None] = lambda line: None,
    ) -> AbstractContextManager[None]:
        """Let others know, until the end of the context, that this process works here.

        A run does so before it looks what is there. It waits for a ``gc`` that is at work, and
        ``tell`` is told so; after a minute that is an error.
        """
        return activity.mark_active(
            make_store_directory(self.path / activity.DIRECTORY), command, kind, tell
        )

    def other_processes(self) -> list[activity.ActiveProcess]:
        """The other processes that work here now; what killed ones left of them is removed."""
        return activity.other_processes(self.path / activity.DIRECTORY)


def make_store_directory(path: Path) -> Path:
    """A directory of the store, made when it is first needed."""
    with _io.readable_errors(path):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise _not_a_directory(path) from None
    return path


def list_names(path: Path, only_files: bool = False) -> list[str]:
    """The names in a directory, or of its files, in their order; none if it is not there."""
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if not (only_files and entry.is_dir()))
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        raise _not_a_directory(path) from None
    except OSError as error:
        raise InputError(f"cannot list {path}: {error.strerror}") from None


def _not_a_directory(path: Path) -> InputError:
    """Something else is in the place of a directory of the store, or of one above it."""
    above = (place for place in (*reversed(path.parents), path) if os.path.lexists(place))
    wrong = next((place for place in above if not place.is_dir()), path)
    return InputError(
        f"{wrong} is not a directory, and that of a store is to be there: move it elsewhere, and "
        "run the same again"
    )


def write_if_changed(path: Path, data: bytes) -> None:
    """Write a file that is named by its content, unless it is there and sound."""
    try:
        sound = _io.read_regular(path) == data
    except (OSError, InputError):
        sound = False
    if not sound:
        _io.write_bytes(path, data)


def parse_json(data: bytes) -> Any:
    """What JSON says; None if it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
