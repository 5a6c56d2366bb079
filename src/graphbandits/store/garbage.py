"""What of a store no study needs, and its removal."""

from __future__ import annotations

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
    left alone. Refused while another run works in the store.
    """
    if dry_run:
        return list(_garbage(store))
    removed = []
    with ExitStack() as stack:
        with suppress(InputError):  # the disk may be full, which is what this is for
            stack.enter_context(store.announce())
        for one in list(_garbage(store)):
            with readable_errors(one.path):
                one.path.unlink(missing_ok=True)
            removed.append(one)
    for place in (*(f"shards/{name}" for name in _series_names(store)), *PLACES):
        with suppress(OSError):  # it is not there, or something is in it
            os.rmdir(store.path / place)
    return removed


def _garbage(store: Store) -> Iterator[Removed]:
    runs = running.entries(store.path / running.PLACE)
    if others := [run for _, run in runs if run is not None and not run.mine]:
        raise InputError(
            f"another run works in {store.path}: {others[0]}; wait until it has ended, or end it"
        )
    try:
        records = [record_of(store, key) for key in store.studies()]
    except InputError as error:  # it might refer to anything
        raise InputError(f"{error}; nothing was removed") from None
    if not records and any(store.shards(name) for name in _series_names(store)):
        raise InputError(
            f"{store.path} has shards and no study that refers to them: run the experiment again, "
            "or delete the directory; nothing was removed"
        )
    yield from _removed([path for path, run in runs if run is None], "of a run that has ended")
    now = time.time()
    for path in temporaries(store):
        with suppress(FileNotFoundError):
            if is_abandoned(path.name) or now - path.stat().st_mtime > OLD:
                yield from _removed([path], "half written")
    needed: dict[str, list[Needed]] = {}
    for one in (one for record in records for one in record.needed):
        needed.setdefault(one.series, []).append(one)
    for name in _series_names(store):
        yield from _in_series(store, name, needed.get(name, []))
    cells = {cell for record in records for cell in record.cells}
    for name in names_in(store.path / "cells"):
        cell = name.removesuffix(".npz")
        if name.endswith(".npz") and HASH.fullmatch(cell) and cell not in cells:
            yield from _removed([store.path / "cells" / name], "no study refers to it")


def _in_series(store: Store, series: str, needed: list[Needed]) -> Iterator[Removed]:
    place, files = store.path / "shards" / series, store.shards(series)
    damaged = [place / name for name in names_in(place) if name.endswith(DAMAGED)]
    yield from _removed(damaged, "damaged, and set aside")
    if not needed:
        paths = [store.path_of(file) for file in files]
        known = [place / SERIES] if (place / SERIES).is_file() else []
        yield from _removed([*paths, *known], "no study refers to its series")
        return
    used: set[ShardFile] = set()
    for one in needed:
        used |= set(cover_of(files, one.trials, one.first).used)
    # and what a study of more trials would use: its last run may have asked for a few only
    used |= set(cover_of(files, max((file.end for file in files), default=0)).used)
    twice = [file for file in files if file not in used]
    # what others stand in for, if they are sound
    if twice and all(_is_sound(store, file) for file in used):
        yield from _removed(map(store.path_of, twice), "studies use other shards in its place")


def _is_sound(store: Store, file: ShardFile) -> bool:
    try:
        store.read(file)
    except DamagedShardError:
        return False
    return True


def _removed(paths: Iterable[Path], why: str) -> Iterator[Removed]:
    for path in paths:
        with suppress(FileNotFoundError):
            yield Removed(path, why, path.stat().st_size)


def _series_names(store: Store) -> list[str]:
    return [name for name in names_in(store.path / "shards") if HASH.fullmatch(name)]
