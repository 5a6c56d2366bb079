"""Facts about processes: whether one is alive, and on which machine it runs."""

from __future__ import annotations

import hashlib
import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def machine_id() -> str:
    """Identify the set of processes among which process numbers are unique.

    That is one boot of one machine. Containers are distinguished by their process namespace, because
    they may share a host name and have process numbers of their own.
    """
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def is_alive(pid: int) -> bool:
    """Whether a process of this machine is there; True if that cannot be known.

    >>> is_alive(os.getpid())
    True
    """
    if os.name != "posix":  # where to ask might end it
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it runs as another user
        pass
    fields = process_fields(pid)
    return fields is None or fields[0] not in ("Z", "X")  # an entry that waits for its parent


def process_fields(pid: int) -> list[str] | None:
    """What Linux tells of a process, from its state on; None elsewhere."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()  # the program's name, in brackets, may hold anything
