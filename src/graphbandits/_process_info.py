"""Facts about processes: whether one is alive, its machine, and the versions of its packages."""

from __future__ import annotations

import hashlib
import os
import platform
import socket
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from graphbandits._version import __version__


@cache
def machine_id() -> str:
    """Identify the set of processes among which process numbers are unique.

    That is one boot of one machine. Containers are distinguished by their process namespace: they
    may share a host name, but each has its own process numbers.
    """
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


@cache
def versions() -> dict[str, str]:
    """Return the versions with which results were computed.

    >>> sorted(versions())
    ['graphbandits', 'machine', 'numba', 'numpy', 'python', 'scipy']
    """
    return {
        "graphbandits": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "numba")},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def is_alive(pid: int) -> bool:
    """Return whether a process of this machine is alive; True if unknown.

    >>> is_alive(os.getpid())
    True
    """
    if os.name != "posix":  # os.kill would end the process
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it runs as another user
        pass
    fields = process_fields(pid)
    return fields is None or fields[0] not in ("Z", "X")  # a zombie, or dead


def process_fields(pid: int) -> list[str] | None:
    """Return the fields of ``/proc/PID/stat`` from the state on; None if unavailable."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[
        2
    ].split()  # the name of the program, in brackets, may contain anything
