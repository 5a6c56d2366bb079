"""Who works in a store now: a file for each process, touched while it lives."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.files import write_text
from graphbandits.processes import here, is_alive, start_of

PLACE = "running"
#: Seconds between two touches, and after how many without one a process elsewhere is gone.
BEAT = 60.0
SILENT = 600.0
#: Seconds that a run waits for a gc to end, and between two looks.
PATIENCE = 60.0
LOOK = 0.1
_NAME = re.compile(r"[A-Za-z0-9_.\-]*-[0-9]+\.json")

_LOCK = threading.Lock()
#: In the name of a file where nobody says when a process began: when it came here.
_CAME = time.time_ns()
#: How many contexts this process has open, by its number (it may fork) and file.
_OPEN: dict[tuple[int, Path], int] = {}


@dataclass(frozen=True)
class Run:
    """A process that works in a store, as it says of itself."""

    host: str
    pid: int
    started: str  # in UTC
    command: str
    mine: bool = False
    kind: str = "run"

    def __str__(self) -> str:
        return f"'{self.command}' (process {self.pid} on {self.host}, since {self.started})"


@contextmanager
def announced(
    place: Path,
    command: str | None = None,
    kind: Literal["run", "gc"] = "run",
    tell: Callable[[str], None] = lambda line: None,
) -> Iterator[None]:
    """Let others know, until the end of the context, that this process works here.

    A run then waits for a gc that is at work, and ``tell`` is told so. Each says that it is here
    before it looks for the other, so that at least one of two that come at once sees the other.
    """
    host = re.sub(r"[^A-Za-z0-9_.\-]", "_", socket.gethostname())
    start = start_of(os.getpid())
    # containers may share the name of the host and the numbers of processes
    who = f"{kind}-{host}-{here()}-{_CAME if start is None else start}-{os.getpid()}"
    file = place.resolve() / f"{who}.json"
    entry = {
        "kind": kind,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"),
        "command": command or shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "here": here(),
        "start": start,
    }
    text, key = json.dumps(entry, indent=1) + "\n", (os.getpid(), file)
    with _LOCK:
        if not _OPEN.get(key):
            write_text(file, text)
        _OPEN[key] = _OPEN.get(key, 0) + 1
    done = threading.Event()
    threading.Thread(target=_beat, args=(file, text, done), daemon=True).start()
    try:
        if kind == "run":
            _wait_for_gc(place, tell)
        yield
    finally:
        done.set()
        with _LOCK:
            _OPEN[key] -= 1
            if not _OPEN[key]:
                del _OPEN[key]
                with suppress(OSError):
                    file.unlink(missing_ok=True)


def _wait_for_gc(place: Path, tell: Callable[[str], None]) -> None:
    began, waits = time.monotonic(), False
    while found := [(file, run) for file, run in entries(place) if run and _is_others_gc(run)]:
        file, run = found[0]
        if time.monotonic() - began > PATIENCE:
            raise InputError(
                f"{place.parent} is still being tidied by {run}: wait until that has ended, or end "
                f"it, and run the same again; if there is no such process any more, delete {file}"
            )
        if not waits:
            tell(f"{place.parent} is being tidied by {run}: waiting until that has ended")
        waits = True
        time.sleep(LOOK)


def _is_others_gc(run: Run) -> bool:
    return run.kind == "gc" and not run.mine


def _beat(file: Path, text: str, done: threading.Event) -> None:
    while not done.wait(BEAT):
        with _LOCK:
            if done.is_set():
                return
            try:
                os.utime(file)
            except FileNotFoundError:  # somebody took us for dead
                with suppress(GraphBanditsError, OSError):
                    file.parent.mkdir(exist_ok=True)  # but no store that is gone
                    write_text(file, text)
            except OSError:  # a file system that is away for a while
                pass


def others(place: Path) -> list[Run]:
    """The other processes that work here now; what killed ones left of them is removed."""
    found = []
    for file, run in entries(place):
        if run is None:
            with suppress(OSError):
                file.unlink()
        elif not run.mine:
            found.append(run)
    return found


def entries(place: Path) -> list[tuple[Path, Run | None]]:
    """The files of processes, and of each who it is; None if it does not work here any more."""
    try:
        files = [place / name for name in sorted(os.listdir(place)) if _NAME.fullmatch(name)]
    except OSError:
        files = []
    now = file_time(place) if files else 0.0
    found = []
    for file in files:
        try:
            seen = file.stat().st_mtime
            entry: Any = json.loads(file.read_bytes())
        except OSError:  # it has just ended
            continue
        except (ValueError, RecursionError):
            entry = None
        silent = now - seen
        if _is_entry(entry):
            found.append((file, _living(entry, silent)))
        elif silent > SILENT:  # nobody's: it counts for nothing, and goes when it is old
            found.append((file, None))
    return found


def _is_entry(entry: Any) -> bool:
    """Whether something is what a process says of itself."""
    fields = entry if isinstance(entry, dict) else {}
    pid = fields.get("pid")
    return isinstance(fields.get("here"), str) and type(pid) is int and pid > 0


def _living(fields: dict[str, Any], silent: float) -> Run | None:
    """Who an entry is of, if that process is there."""
    pid, start = fields["pid"], fields.get("start")
    neighbour = fields["here"] == here()
    if neighbour and not is_alive(pid, start if isinstance(start, int) else None):
        return None
    if not neighbour and silent > SILENT:
        return None
    host, started, command = (
        str(fields.get(name, "unknown")) for name in ("host", "started", "command")
    )
    mine = neighbour and pid == os.getpid()
    return Run(host, pid, started, command, mine, str(fields.get("kind", "run")))


def file_time(place: Path) -> float:
    """The time by the clock of the file system, by which files are touched: it may be elsewhere."""
    try:
        with tempfile.TemporaryFile(dir=place) as probe:
            return os.fstat(probe.fileno()).st_mtime
    except OSError:
        return time.time()
