"""Which processes work in a store: each has a file in ``running`` that it keeps locked.

The operating system releases the lock when a process ends, however it ends. Locks work between
machines where the file system supports them, as NFS does.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from graphbandits._io import opened, readable_errors
from graphbandits.errors import InputError

try:
    import fcntl
except ImportError:  # no such locks: a file is taken for that of a living process
    fcntl = None  # type: ignore[assignment]

DIRECTORY = "running"
#: Seconds that a run waits for a gc to end, and between two looks.
GC_TIMEOUT = 60.0
POLL_INTERVAL = 0.1
_NAME = re.compile(r"(?:run|gc)-.*\.json", re.DOTALL)
#: The files of this process, by its number (it may fork).
_OWN_FILES: set[tuple[int, Path]] = set()


@dataclass(frozen=True)
class ActiveProcess:
    """A process that works in a store, as its file describes it."""

    pid: Annotated[int, Field(ge=1, strict=True)]
    host: str = "unknown"
    started: str = "unknown"  # in UTC
    command: str = "unknown"
    kind: str = "run"
    mine: bool = False

    def __str__(self) -> str:
        return f"'{self.command}' (process {self.pid} on {self.host}, since {self.started})"


_ACTIVE_PROCESS = TypeAdapter(ActiveProcess)


@contextmanager
def mark_active(
    place: Path,
    command: str | None = None,
    kind: Literal["run", "gc"] = "run",
    notify: Callable[[str], None] = lambda line: None,
) -> Iterator[None]:
    """Let other processes know, until the end of the context, that this one works here.

    A run then waits for a gc that is at work, and ``notify`` is called with a sentence about it.
    Each process announces itself before it looks for others, so that at least one of two that
    come at once sees the other.
    """
    run = ActiveProcess(
        os.getpid(),
        socket.gethostname(),
        datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"),
        command or shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        kind,
    )
    host = re.sub(r"[^A-Za-z0-9_.\-]", "_", run.host)
    name = f"{kind}-{host}-{run.pid}-{secrets.token_hex(4)}.json"
    file = place.resolve() / name
    temporary = file.with_name(f".{name}")
    with readable_errors(file):
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    key = os.getpid(), file
    try:
        with readable_errors(file):
            os.write(descriptor, (json.dumps(asdict(run), indent=1) + "\n").encode())
            os.fsync(descriptor)  # on a full disk some systems say so only here
            _lock(descriptor)
            os.rename(temporary, file)  # it appears with its content, and locked
        _OWN_FILES.add(key)
        if kind == "run":
            _wait_for_gc(place, notify)
        yield
    finally:
        _OWN_FILES.discard(key)
        for path in (temporary, file):
            with suppress(OSError):
                path.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(descriptor: int, alone: bool = True) -> bool:
    """Lock a file; False if another process has locked it, or that cannot be known.

    A shared lock is enough to find out. It needs no right to write, and two processes that look at
    the same file do not see each other's.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _wait_for_gc(place: Path, notify: Callable[[str], None]) -> None:
    began, waits = time.monotonic(), False
    while found := [
        (file, run) for file, run in active_processes(place) if run and run.kind == "gc"
    ]:
        file, run = found[0]
        if time.monotonic() - began > GC_TIMEOUT:
            raise InputError(
                f"{place.parent} is still being tidied by {run}: wait until that has ended, or end "
                f"it, and run the same again; if there is no such process any more, delete {file}"
            )
        if not waits:
            notify(f"{place.parent} is being tidied by {run}: waiting until that has ended")
        waits = True
        time.sleep(POLL_INTERVAL)


def other_processes(place: Path) -> list[ActiveProcess]:
    """The other processes that work here now; files that killed ones left are removed."""
    found = []
    for file, run in active_processes(place):
        if run is None:
            with suppress(OSError):
                file.unlink()
        elif not run.mine:
            found.append(run)
    return found


def active_processes(place: Path) -> list[tuple[Path, ActiveProcess | None]]:
    """The files of processes, and the process of each; None if it has ended."""
    try:
        names = [name for name in sorted(os.listdir(place)) if _NAME.fullmatch(name)]
    except OSError:
        return []
    found: list[tuple[Path, ActiveProcess | None]] = []
    for file in (place / name for name in names):
        with suppress(OSError), opened(file) as stream:  # it may just have ended
            is_mine = (os.getpid(), file.resolve()) in _OWN_FILES
            if not is_mine and _lock(stream.fileno(), alone=False):
                found.append((file, None))
                continue
            with suppress(ValidationError):  # it is not a file of ours
                found.append(
                    (file, replace(_ACTIVE_PROCESS.validate_json(stream.read()), mine=is_mine))
                )
    return found


def file_time(place: Path) -> float:
    """The time by the clock of the file system, which may be on another machine."""
    try:
        with tempfile.TemporaryFile(dir=place) as probe:
            return os.fstat(probe.fileno()).st_mtime
    except OSError:
        return time.time()
