"""Which process is which: whether one that left something behind is still there."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def here() -> str:
    """Names the processes that know each other by their numbers: those of one boot of a machine.

    Containers may have the same host name and number their processes each for itself.
    """
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def start_of(pid: int) -> int | None:
    """When a process here began, in ticks since the machine did; None where nobody says.

    Numbers of processes are given again: both together name one.

    >>> start_of(os.getpid()) == start_of(os.getpid())
    True
    """
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def began() -> float | None:
    """When this process began, as a time of files; None where nobody says.

    >>> began() is None or began() <= time.time()
    True
    """
    start = start_of(os.getpid())
    try:
        up = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, LookupError, ValueError):
        return None
    return None if start is None else time.time() - up + start / os.sysconf("SC_CLK_TCK")


def is_alive(pid: int, start: int | None = None) -> bool:
    """Whether a process here is there, the one that began at ``start`` if that is given.

    True where that cannot be known.

    >>> is_alive(os.getpid()), is_alive(os.getpid(), start_of(os.getpid()))
    (True, True)
    """
    if os.name != "posix":  # where to ask might end it
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it is somebody else's
        pass
    fields = _stat(pid)
    if fields is None:
        return True
    ended = fields[0] in ("Z", "X")  # an entry that waits for its parent to look at it
    return not ended and start in (None, int(fields[19]))


def _stat(pid: int) -> list[str] | None:
    """What Linux tells of a process, from its state on; None elsewhere."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()  # the program's name, in brackets, may hold anything
