"""Fresh processes, and the memory that one has and had."""

from __future__ import annotations

import importlib
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MEGABYTE = 1e6


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of these modules returns in a Python process of its own.

    Arguments and result are plain data. Memory that others have used, and what an allocator has
    learnt from them, do not count there.
    """
    call = json.dumps([Path(function.__code__.co_filename).stem, function.__name__, arguments])
    run = subprocess.run([sys.executable, __file__, call], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{function.__name__}{arguments} failed:\n{run.stderr.strip()}")
    return json.loads(run.stdout.splitlines()[-1])


def memory_now() -> float:
    """Resident bytes of this process; the most it ever had where the system does not tell."""
    return _status("VmRSS")


def peak_memory() -> float:
    """The most resident bytes since the start, or since :func:`forget_peak`."""
    return _status("VmHWM")


def forget_peak() -> None:
    """Let the peak begin anew from the memory that is in use; Linux only, elsewhere nothing."""
    counter = Path("/proc/self/clear_refs")
    if counter.exists():
        counter.write_text("5")


def _status(field: str) -> float:
    # ru_maxrss would be at hand, but a child begins with that of the process that started it
    status = Path("/proc/self/status")
    if not status.exists():
        unit = 1 if sys.platform == "darwin" else 1024
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return float(lines[field].split()[0]) * 1024


if __name__ == "__main__":
    module, name, given = json.loads(sys.argv[1])
    print(json.dumps(getattr(importlib.import_module(module), name)(*given)))
