"""Active processes of a store: each has a locked file in the directory ``running``.

The operating system releases the lock when a process ends for any reason. Locks work between
machines if the file system supports them, for example NFS.
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
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from graphbandits._io import open_nonblocking, readable_errors
from graphbandits.errors import InputError

try:
    import fcntl
except ImportError:  # without locks, every file counts as that of a running process
    fcntl = None  # type: ignore[assignment]

#: Name of the directory in a store.
DIRECTORY = "running"
#: Seconds that a run waits for a gc to end.
GC_TIMEOUT = 60.0
#: Seconds between two checks whether a gc has ended.
POLL_INTERVAL = 0.1
_NAME = re.compile(r"(?:run|gc)-.*\.json", re.DOTALL)
#: The files of this process, with its process id, because it may fork.
_OWN_FILES: set[tuple[int, Path]] = set()


@dataclass(frozen=True)
class ActiveProcess:
    """A process that works in a store, as described in its file.

    Parameters
    ----------
    pid : int
        Process id.
    host : str
        Name of the machine.
    started : str
        Start time in UTC.
    command : str
        Command line.
    kind : str
        "run" or "gc".
    mine : bool
        Whether it is the current process.
    """

    pid: int
    host: str = "unknown"
    started: str = "unknown"
    command: str = "unknown"
    kind: str = "run"
    mine: bool = False

    def __str__(self) -> str:
        return f"'{self.command}' (process {self.pid} on {self.host}, since {self.started})"


def _parse(content: bytes, mine: bool) -> ActiveProcess | None:
    """Return the process that a file describes, or None if it is not a file of this package."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or type(found.get("pid")) is not int or found["pid"] < 1:
        return None
    names = ("host", "started", "command", "kind")
    texts = {name: found[name] for name in names if name in found}
    if not all(isinstance(text, str) for text in texts.values()):
        return None
    return ActiveProcess(found["pid"], **texts, mine=mine)


@contextmanager
def mark_active(
    directory: Path,
    command: str | None = None,
    kind: Literal["run", "gc"] = "run",
    notify: Callable[[str], None] = lambda line: None,
) -> Iterator[None]:
    """Mark this process as active in a store until the end of the context.

    A run then waits until a running gc has ended; ``notify`` is called with a message in that
    case. Each process writes its file before it looks for others. If two processes start at the
    same time, at least one of them sees the other.
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
    file = directory.resolve() / name
    temporary = file.with_name(f".{name}")
    with readable_errors(file):
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    key = os.getpid(), file
    try:
        with readable_errors(file):
            os.write(descriptor, (json.dumps(asdict(run), indent=1) + "\n").encode())
            os.fsync(descriptor)  # some systems report a full disk only here
            _lock(descriptor)
            os.rename(temporary, file)  # the file appears with its content, and locked
        _OWN_FILES.add(key)
        if kind == "run":
            _wait_for_gc(directory, notify)
        yield
    finally:
        _OWN_FILES.discard(key)
        for path in (temporary, file):
            with suppress(OSError):
                path.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(descriptor: int, exclusive: bool = True) -> bool:
    """Lock a file; return False if another process has locked it, or if that is unknown.

    A shared lock is enough for a check. It needs no write permission, and two processes can check
    the same file at the same time.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _wait_for_gc(directory: Path, notify: Callable[[str], None]) -> None:
    """Wait until no gc is active; raise InputError after ``GC_TIMEOUT`` seconds."""
    start, is_waiting = time.monotonic(), False
    while found := [
        (file, run) for file, run in process_files(directory) if run and run.kind == "gc"
    ]:
        file, run = found[0]
        if time.monotonic() - start > GC_TIMEOUT:
            raise InputError(
                f"a gc still works in {directory.parent}: {run}; wait until it has ended, or end "
                f"it, and run the same command again; if there is no such process, delete {file}"
            )
        if not is_waiting:
            notify(f"a gc works in {directory.parent}: {run}; waiting until it has ended")
        is_waiting = True
        time.sleep(POLL_INTERVAL)


def other_processes(directory: Path) -> list[ActiveProcess]:
    """Return the other active processes; remove the files of processes that were killed."""
    found = []
    for file, run in process_files(directory):
        if run is None:
            with suppress(OSError):
                file.unlink()
        elif not run.mine:
            found.append(run)
    return found


def process_files(directory: Path) -> list[tuple[Path, ActiveProcess | None]]:
    """Return the files in ``running`` with their process; None if the process has ended."""
    try:
        names = [name for name in sorted(os.listdir(directory)) if _NAME.fullmatch(name)]
    except OSError:
        return []
    found: list[tuple[Path, ActiveProcess | None]] = []
    for file in (directory / name for name in names):
        with suppress(OSError), open_nonblocking(file) as stream:  # the process may just have ended
            is_mine = (os.getpid(), file.resolve()) in _OWN_FILES
            if not is_mine and _lock(stream.fileno(), exclusive=False):
                found.append((file, None))
                continue
            if (process := _parse(stream.read(), is_mine)) is not None:
                found.append((file, process))
    return found


def file_time(directory: Path) -> float:
    """Return the current time of the file system, which may be on another machine."""
    try:
        with tempfile.TemporaryFile(dir=directory) as probe:
            return os.fstat(probe.fileno()).st_mtime
    except OSError:
        return time.time()
