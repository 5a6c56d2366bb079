"""What of a store no study needs, and its removal."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from graphbandits.errors import InputError
from graphbandits.files import is_abandoned, readable_errors
from graphbandits.store import running
from graphbandits.store.check import temporaries
from graphbandits.store.covers import ShardFile, cover_of
from graphbandits.store.directory import (
    DAMAGED,
    SERIES,
    DamagedShardError,
    Store,
    names_in,
)
from graphbandits.store.records import HASH, Needed, record_of

#: Seconds after which nobody writes on a temporary file of a process that is not known.
OLD = 3600.0
#: Seconds after which the clock of files has moved on, on any usual system.
TICK = 0.02
#: Directories that go when they are empty; not ``running``, where a run may be about to write.
PLACES = ("studies", "cells", "shards")


@dataclass(frozen=True)
class Removed:
    """A file that no study needs, why, and how large it is."""

    path: Path
    why: str
    bytes: int


def gc(store: Store, dry_run: bool = False) -> list[Removed]:
    """Remove what no study needs, and tell what that was; with ``dry_run`` only tell.

    Temporary files whose writer has ended, shards that were set aside as damaged, shards and
    cells that no study refers to, shards whose trials others have too, what killed runs left in
    ``running``; and directories of the store that are empty then. Files of any other name are
    left alone, and so are shards and cells that are younger than the call. Refused while another
    run works in the store, also one that comes before the first file is removed; one that comes
    later waits.
    """
    time.sleep(TICK)  # so that what was there before the call is older than what comes now
    start = running.file_time(store.path)
    if dry_run:
        return list(_garbage(store, start))
    removed, is_announced = [], False
    with ExitStack() as stack:
        with suppress(InputError):  # the disk may be full, which is what this is for
            stack.enter_context(store.announce(kind="gc"))
            is_announced = True
        garbage = list(_garbage(store, start))
        _check_alone(store)
        for one in garbage:
            if not is_announced:  # nobody would wait for us
                _check_alone(store)
            with readable_errors(one.path):
                one.path.unlink(missing_ok=True)
            removed.append(one)
        for place in (*(f"shards/{name}" for name in _series_names(store)), *PLACES):
            with suppress(OSError):  # it is not there, or something is in it
                os.rmdir(store.path / place)
    return removed


def _check_alone(store: Store) -> list[Path]:
    """Refuse to work beside others; the files that those who have ended left of themselves."""
    entries = running.entries(store.path / running.PLACE)
    for run in (run for _, run in entries if run is not None and not run.mine):
        raise InputError(
            f"another {run.kind} works in {store.path}: {run}; wait until it has ended, or end it"
        )
    return [path for path, run in entries if run is None]


def _garbage(store: Store, start: float) -> Iterator[Removed]:
    """What no study needs, of what was there at ``start``, by the clock of the file system."""
    ended = _check_alone(store)
    try:
        records = [record_of(store, key) for key in store.studies()]
    except InputError as error:  # it might refer to anything
        raise InputError(f"{error}; nothing was removed") from None
    if not records and any(store.shards(name) for name in _series_names(store)):
        raise InputError(
            f"{store.path} has shards and no study that refers to them: run the experiment again, "
            "or delete the directory; nothing was removed"
        )
    yield from _removed(ended, "of a run that has ended")
    for path in temporaries(store):
        with suppress(FileNotFoundError):
            if is_abandoned(path.name) or start - path.stat().st_mtime > OLD:
                yield from _removed([path], "half written")
    needed: dict[str, list[Needed]] = {}
    for one in (one for record in records for one in record.needed):
        needed.setdefault(one.series, []).append(one)
    for name in _series_names(store):
        yield from _in_series(store, name, needed.get(name, []), start)
    cells = {cell for record in records for cell in record.cells}
    for name in names_in(store.path / "cells"):
        cell = name.removesuffix(".npz")
        if name.endswith(".npz") and HASH.fullmatch(cell) and cell not in cells:
            yield from _removed([store.path / "cells" / name], "no study refers to it", start)


def _in_series(store: Store, series: str, needed: list[Needed], start: float) -> Iterator[Removed]:
    place, files = store.path / "shards" / series, store.shards(series)
    damaged = [place / name for name in names_in(place) if name.endswith(DAMAGED)]
    yield from _removed(damaged, "damaged, and set aside", start)
    if not needed:
        paths = [store.path_of(file) for file in files]
        known = [place / SERIES] if (place / SERIES).is_file() else []
        yield from _removed([*paths, *known], "no study refers to its series", start)
        return
    used: set[ShardFile] = set()
    for one in needed:
        used |= set(cover_of(files, one.trials, one.first).used)
    # and what a study of more trials would use: its last run may have asked for a few only
    used |= set(cover_of(files, max((file.end for file in files), default=0)).used)
    twice = [file for file in files if file not in used]
    # what others stand in for, if they are sound
    if twice and all(_is_sound(store, file) for file in used):
        paths = [store.path_of(file) for file in twice]
        yield from _removed(paths, "studies use other shards in its place", start)


def _is_sound(store: Store, file: ShardFile) -> bool:
    try:
        store.read(file)
    except DamagedShardError:
        return False
    return True


def _removed(paths: Iterable[Path], why: str, before: float = math.inf) -> Iterator[Removed]:
    """The files that are there, and were written before a time."""
    for path in paths:
        with suppress(FileNotFoundError):
            known = path.stat()
            if known.st_mtime < before:
                yield Removed(path, why, known.st_size)


def _series_names(store: Store) -> list[str]:
    return [name for name in names_in(store.path / "shards") if HASH.fullmatch(name)]
