"""Store: a directory of shards, which are written atomically and checked when they are read."""

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

from graphbandits import _io
from graphbandits._version import __version__
from graphbandits.engine import Shard, Task
from graphbandits.engine.provenance import Series, facts_hash, series_of
from graphbandits.errors import InputError, nearest
from graphbandits.store import activity

#: Format of a store. A newer format raises an error.
FORMAT = 1
MANIFEST = "store.json"
SERIES_FILE = "series.json"
#: File name extension of a damaged shard that was set aside.
DAMAGED_SUFFIX = ".damaged"
_SHARD = re.compile(r"([0-9]{10})-([1-9][0-9]*)\.([0-9a-f]{64})\.parquet")
#: Advice for most damaged or missing files.
RUN_AGAIN = "run the experiment again to repair it"


def read_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that reading a damaged file may raise."""
    from pyarrow import ArrowException  # after an error only: a simulation in memory has no files

    return (
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
        ArrowException,
    )


@dataclass(frozen=True, order=True)
class ShardFile:
    """File of a shard: consecutive trials of a series. The file name contains all fields.

    Parameters
    ----------
    series : str
        Name of the series, a sha256.
    first : int
        Number of the first trial.
    trials : int
        Number of trials.
    checksum : str
        Sha256 of the content of the file.
    """

    series: str
    first: int
    trials: int
    checksum: str

    @classmethod
    def of(cls, series: str, name: str) -> ShardFile | None:
        """Parse the name of a file.

        Parameters
        ----------
        series : str
            Name of the series.
        name : str
            Name of the file.

        Returns
        -------
        ShardFile or None
            The file; None if the name is not that of a shard.

        Examples
        --------
        >>> ShardFile.of("s", f"0000000250-50.{'ab' * 32}.parquet").end
        300
        """
        match = _SHARD.fullmatch(name)
        return cls(series, int(match[1]), int(match[2]), match[3]) if match else None

    @property
    def end(self) -> int:
        """Number of the trial after the last one."""
        return self.first + self.trials

    @property
    def name(self) -> str:
        """Name of the file."""
        return f"{self.first:010d}-{self.trials}.{self.checksum}.parquet"


@dataclass(frozen=True)
class ShardIndex:
    """Index of the shards of a range of trials.

    Parameters
    ----------
    used : tuple of ShardFile
        Files that contain the trials, in order and without overlap.
    gaps : tuple of (int, int)
        Ranges of trials that no file contains, as (first, trials).
    """

    used: tuple[ShardFile, ...]
    gaps: tuple[tuple[int, int], ...]

    @property
    def missing(self) -> int:
        """Number of trials that no file contains."""
        return sum(trials for _, trials in self.gaps)


def index_shards(shards: Iterable[ShardFile], trials: int, first: int = 0) -> ShardIndex:
    """Select the shards that contain a range of trials, without overlap, and find the gaps.

    The selection has the maximum number of trials, and among those the minimum number of shards.
    Ties are broken by the end, the start and the name of the files, from the last one. The result
    depends only on the set of files.

    >>> short, long = ShardFile("s", 0, 10, "a"), ShardFile("s", 5, 95, "b")
    >>> index = index_shards([short, long, ShardFile("s", 5, 95, "a")], trials=100)
    >>> [(file.first, file.checksum) for file in index.used], index.gaps
    ([(5, 'a')], ((0, 5),))
    """
    end = first + trials
    inside = [file for file in shards if first <= file.first and file.end <= end]
    inside.sort(key=lambda file: (file.end, file.first, file.checksum))
    ends = [file.end for file in inside]
    # best[n]: (trials, -shards) of the first n files; taken[n - 1]: whether file n is used
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
    """The content of a shard is not what was written; ``file`` is the shard."""

    def __init__(self, message: str, file: ShardFile) -> None:
        super().__init__(message)
        self.file = file


class Store:
    """Shards and studies in a directory. Use :meth:`create` or :meth:`open` to get a store.

    Parameters
    ----------
    path : Path
        The directory.

    Examples
    --------
    >>> import tempfile
    >>> from graphbandits.engine import Plan
    >>> from graphbandits.rng import Keys
    >>> from graphbandits.engine.provenance import series_of
    >>> plan = Plan.of("ts-n", graph="paper", horizon=10, trials=5)
    >>> series = series_of(plan, "ts-n")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store.create(folder)
    ...     file = store.write(series, plan.run_shard("ts-n", Keys(0, 0, 3)), {})
    ...     index = store.shard_index(series.name, trials=5)
    ...     again = store.read(file)
    >>> index.used == (file,), index.gaps, again.regret.shape
    (True, ((3, 2),), (3, 10))
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._described: set[str] = set()

    @classmethod
    def create(cls, path: str | Path) -> Store:
        """Open a store, and create it if it does not exist.

        Parameters
        ----------
        path : str or Path
            The directory. Other files in it are not changed.

        Returns
        -------
        Store
            The store.

        Raises
        ------
        InputError
            If the directory cannot be created, or if its manifest is damaged or too new.
        """
        store = cls(_io.make_directory(Path(path)))
        manifest = store.path / MANIFEST
        if not manifest.exists():
            entry = {"format": FORMAT, "made_by": f"graphbandits {__version__}"}
            # does not replace a manifest that another process has just written
            _io.write_new(manifest, (json.dumps(entry, indent=2) + "\n").encode())
        store._check()
        return store

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """Open an existing store.

        Parameters
        ----------
        path : str or Path
            The directory.

        Returns
        -------
        Store
            The store.

        Raises
        ------
        InputError
            If the directory is not a store, or if its manifest is damaged or too new.
        """
        store = cls(Path(path))
        manifest = store.path / MANIFEST
        if not os.path.lexists(manifest):
            is_there = os.path.isdir(store.path)
            reason = f"it has no {MANIFEST}" if is_there else "the directory does not exist"
            raise InputError(
                f"{path} is not a store: {reason}; give the output directory of 'graphbandits run'"
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
                "the shards are kept and verified"
            )
        if number > FORMAT:
            raise InputError(
                f"{self.path} is a store of format {number}, but this version of graphbandits "
                f"reads formats up to {FORMAT}: update graphbandits"
            )

    # --- shards

    def shards(self, series: str) -> list[ShardFile]:
        """List the shards of a series by their file names; no file is read.

        Parameters
        ----------
        series : str
            Name of the series.

        Returns
        -------
        list of ShardFile
            The files, sorted.
        """
        directory = self.path / "shards" / series
        found = (ShardFile.of(series, name) for name in list_names(directory, only_files=True))
        return sorted(file for file in found if file is not None)

    def shard_index(self, series: str, trials: int, first: int = 0) -> ShardIndex:
        """Select the shards that contain a range of trials, and find the gaps.

        Parameters
        ----------
        series : str
            Name of the series.
        trials : int
            Number of trials.
        first : int, default=0
            Number of the first trial.

        Returns
        -------
        ShardIndex
            Files without overlap, and the missing trials.
        """
        return index_shards(self.shards(series), trials, first)

    def path_of(self, file: ShardFile) -> Path:
        """Return the path of a shard.

        Parameters
        ----------
        file : ShardFile
            The shard.

        Returns
        -------
        Path
            Path of its file.
        """
        return self.path / "shards" / file.series / file.name

    def describe(self, series: Series) -> None:
        """Write the facts of a series, unless the file exists and is correct.

        Parameters
        ----------
        series : Series
            The series.
        """
        if series.name not in self._described:
            directory = make_store_directory(self.path / "shards" / series.name)
            text = json.dumps(series.facts, indent=1) + "\n"
            write_if_changed(directory / SERIES_FILE, text.encode())
            self._described.add(series.name)

    def facts(self, series: str) -> dict[str, Any] | None:
        """Read the facts of a series.

        Parameters
        ----------
        series : str
            Name of the series.

        Returns
        -------
        dict or None
            The facts; None if they are missing, or if their hash is not the name of the series.
        """
        try:
            facts = parse_json(_io.read_regular(self.path / "shards" / series / SERIES_FILE))
            return facts if facts_hash(facts) == series else None
        except read_errors():
            return None

    def write(self, series: Series, shard: Shard, facts: Mapping[str, Any]) -> ShardFile:
        """Write a shard atomically.

        Writing the same shard twice gives one file.

        Parameters
        ----------
        series : Series
            Series of the shard.
        shard : Shard
            The shard.
        facts : mapping
            Plain JSON values that are stored in the file. They must not vary between runs (no
            times), because the file is named by its content.

        Returns
        -------
        ShardFile
            The file.

        Raises
        ------
        InputError
            If the file cannot be written, or if the facts are not JSON values.
        """
        try:
            data = shard.to_parquet({**facts, "series": series.name})
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"the facts of a shard must be plain JSON values: {error}") from None
        checksum = hashlib.sha256(data).hexdigest()
        file = ShardFile(series.name, shard.first, shard.trials, checksum)
        self.describe(series)
        _io.write_bytes(make_store_directory(self.path_of(file).parent) / file.name, data)
        return file

    def read(self, file: ShardFile, rounds: int | None = None, trajectories: bool = True) -> Shard:
        """Read and verify a shard.

        Parameters
        ----------
        file : ShardFile
            The shard.
        rounds : int, optional
            Expected number of recorded rounds.
        trajectories : bool, default=True
            If false, actions and observations are verified but not read.

        Returns
        -------
        Shard
            The shard.

        Raises
        ------
        DamagedShardError
            If the file is missing, or if its content is not what was written.
        InputError
            If the file cannot be read for another reason, such as its permissions.
        """
        path = self.path_of(file)

        def damaged(reason: str) -> DamagedShardError:
            return DamagedShardError(f"the shard {path} {reason}", file)

        try:
            data = _io.read_regular(path)
        except FileNotFoundError:
            raise damaged("is missing") from None
        except (OSError, InputError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            if isinstance(error, OSError) and error.errno == errno.EIO:
                raise damaged(f"is damaged: {reason}") from None
            raise InputError(f"cannot read the shard {path}: {reason}") from None
        if hashlib.sha256(data).hexdigest() != file.checksum:
            raise damaged("is damaged: its sha256 differs from the one in its name")
        try:
            shard, facts = Shard.from_parquet(data, trajectories)
            series = facts["series"]
        except read_errors() as error:
            reason = str(error).split("\n")[0]
            raise damaged(f"is damaged: {reason}") from None
        if (shard.first, shard.trials, series) != (file.first, file.trials, file.series):
            raise damaged("is damaged: its trials are not those in its name")
        if rounds is not None and shard.regret.shape[1] != rounds:
            raise damaged(f"has {shard.regret.shape[1]} recorded rounds, not {rounds}")
        if not np.isfinite(shard.regret).all():
            raise damaged("has a regret that is not a finite number")
        return shard

    def set_aside(self, file: ShardFile) -> Path | None:
        """Rename a damaged shard, for later inspection. Its trials are then missing.

        If another run has just repaired the shard, it is renamed too, and computed again.

        Parameters
        ----------
        file : ShardFile
            The shard.

        Returns
        -------
        Path or None
            New path; None if the file no longer exists.
        """
        path = self.path_of(file)
        aside = path.with_suffix(DAMAGED_SUFFIX)
        with _io.readable_errors(aside):
            try:
                os.replace(path, aside)
            except FileNotFoundError:
                return None
        return aside

    # --- used by the driver

    def missing(self, task: Task) -> tuple[tuple[int, int], ...]:
        """Return the trials of a task that no shard contains.

        Parameters
        ----------
        task : Task
            The task.

        Returns
        -------
        tuple of (int, int)
            Ranges of trials as (first, trials).
        """
        series = series_of(task.plan, task.policy)
        return self.shard_index(series.name, task.trials, task.first).gaps

    def put(self, task: Task, shard: Shard) -> None:
        """Write the shard of a task.

        Parameters
        ----------
        task : Task
            The task.
        shard : Shard
            Its outcome.
        """
        series = series_of(task.plan, task.policy)
        self.write(series, shard, {"policy": task.policy, "cpu": shard.cpu})

    def is_shared(self) -> bool:
        """Return whether other processes are active in the store.

        Returns
        -------
        bool
            True if there are other processes.
        """
        return bool(self.other_processes())

    def verify_present(self, task: Task, warn: Callable[[str], None]) -> None:
        """Read all existing shards of a task, and set aside damaged ones.

        Parameters
        ----------
        task : Task
            The task.
        warn : callable
            Called with a message for each damaged shard.
        """
        series = series_of(task.plan, task.policy)
        self.describe(series)
        sound: set[ShardFile] = set()
        # after a shard is set aside, others may replace it; these are read too
        while unread := set(self.shard_index(series.name, task.trials, task.first).used) - sound:
            for file in sorted(unread):
                try:
                    self.read(file)
                    sound.add(file)
                except DamagedShardError as error:
                    self.set_aside(file)
                    warn(f"{error}; it was set aside and will be computed again")

    # --- cells and studies

    def put_cell(self, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
        """Write the description of a cell; its name is the hash of its content.

        Parameters
        ----------
        meta : mapping
            Plain JSON values.
        arrays : mapping of str to ndarray
            Arrays.

        Returns
        -------
        str
            Name of the cell, a sha256.
        """
        data = _io.to_npz(meta, arrays)
        name = hashlib.sha256(data).hexdigest()
        path = self.path / "cells" / f"{name}.npz"
        make_store_directory(path.parent)
        write_if_changed(path, data)
        return name

    def cell(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read the description of a cell.

        Parameters
        ----------
        name : str
            Name of the cell.

        Returns
        -------
        meta : dict
            Plain values.
        arrays : dict of str to ndarray
            Arrays.

        Raises
        ------
        InputError
            If the description is missing or damaged.
        """
        path = self.path / "cells" / f"{name}.npz"
        if not path.exists():
            raise InputError(f"the description of a cell {path} is missing: {RUN_AGAIN}")
        data = _io.read_bytes(path, "description of a cell")
        if hashlib.sha256(data).hexdigest() != name:
            raise InputError(f"{path} is damaged: {RUN_AGAIN}")
        return _io.from_npz(data)

    def put_study(self, key: str, record: Mapping[str, Any]) -> None:
        """Write the record of a study, and replace an earlier record.

        Parameters
        ----------
        key : str
            Key of the study.
        record : mapping
            Plain JSON values.

        Raises
        ------
        InputError
            If the existing record has a newer format, or if the values are not JSON values.
        """
        path = self._study_path(key)
        self.check_study(key, record)
        try:
            text = json.dumps(record, indent=1, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"the record of a study must be plain JSON values: {error}") from None
        make_store_directory(path.parent)
        _io.write_text(path, text + "\n")

    def check_study(self, key: str, record: Mapping[str, Any]) -> None:
        """Check that :meth:`put_study` may replace the existing record of a study.

        Parameters
        ----------
        key : str
            Key of the study.
        record : mapping
            The new record.

        Raises
        ------
        InputError
            If the existing record has a newer format.
        """
        try:
            existing = parse_json(_io.read_regular(self._study_path(key)))
        except (OSError, InputError):  # no record, or one that gives an error when it is written
            return
        number = existing.get("format") if isinstance(existing, dict) else None
        known = record.get("format", 1)
        if isinstance(number, int) and number > known:
            raise InputError(
                f"the study '{key}' in {self.path} has format {number}, but this version of "
                f"graphbandits writes format {known}: update graphbandits, or choose another "
                "directory; the study was not changed"
            )

    def study(self, key: str) -> dict[str, Any]:
        """Read the record of a study.

        Parameters
        ----------
        key : str
            Key of the study.

        Returns
        -------
        dict
            The record.

        Raises
        ------
        InputError
            If there is no such study, or if its record is damaged.
        """
        path = self._study_path(key)
        if not os.path.lexists(path):
            raise InputError(f"no study '{key}' in {self.path}: {nearest(key, self.studies())}")
        record = parse_json(_io.read_bytes(path, "study"))
        if not isinstance(record, dict):
            raise InputError(f"{path} is damaged: {RUN_AGAIN}")
        return record

    def studies(self) -> list[str]:
        """List the keys of the studies.

        Returns
        -------
        list of str
            The keys, sorted.
        """
        names = list_names(self.path / "studies")
        return [name[:-5] for name in names if name.endswith(".json") and name[0] != "."]

    def _study_path(self, key: str) -> Path:
        if not re.fullmatch(r"[^./\\\0][^/\\\0]*", key):
            raise InputError(f"the key of a study must be a valid file name, not {key!r}")
        return self.path / "studies" / f"{key}.json"

    # --- active processes

    def mark_active(
        self,
        command: str | None = None,
        kind: Literal["run", "gc"] = "run",
        notify: Callable[[str], None] = lambda line: None,
    ) -> AbstractContextManager[None]:
        """Mark this process as active in the store until the end of the context.

        A run does this before it looks for existing shards. It waits until a running gc has ended,
        at most for a minute.

        Parameters
        ----------
        command : str, optional
            Command line that other processes show. The default is that of this process.
        kind : {"run", "gc"}, default="run"
            Kind of the process.
        notify : callable, optional
            Called with a message if the run has to wait.

        Returns
        -------
        context manager
            Its entry raises InputError if a gc does not end within a minute.
        """
        return activity.mark_active(
            make_store_directory(self.path / activity.DIRECTORY), command, kind, notify
        )

    def other_processes(self) -> list[activity.ActiveProcess]:
        """List the other processes that are active in the store.

        The files of processes that were killed are removed.

        Returns
        -------
        list of ActiveProcess
            The other processes.
        """
        return activity.other_processes(self.path / activity.DIRECTORY)


def make_store_directory(path: Path) -> Path:
    """Create a directory of the store if it does not exist, and return its path."""
    with _io.readable_errors(path):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise _not_a_directory(path) from None
    return path


def list_names(path: Path, only_files: bool = False) -> list[str]:
    """List the names in a directory, sorted; empty if it does not exist."""
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
    """Return an error: a directory of the store, or a parent of it, is not a directory."""
    existing = (one for one in (*reversed(path.parents), path) if os.path.lexists(one))
    wrong = next((one for one in existing if not one.is_dir()), path)
    return InputError(
        f"{wrong} is not a directory, but the store needs a directory with this name: move it "
        "elsewhere, and run the same command again"
    )


def write_if_changed(path: Path, data: bytes) -> None:
    """Write a file, unless it exists with the same content."""
    try:
        sound = _io.read_regular(path) == data
    except (OSError, InputError):
        sound = False
    if not sound:
        _io.write_bytes(path, data)


def parse_json(data: bytes) -> Any:
    """Parse JSON; return None if it is not valid."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
