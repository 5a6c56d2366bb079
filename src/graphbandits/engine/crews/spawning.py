"""Fresh Pythons, started as commands and not through :mod:`multiprocessing`.

So a script needs no ``if __name__ == "__main__"``, and nothing is pickled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from typing import IO, cast

_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from graphbandits.engine.crews.{module} import serve; serve(*sys.argv[2:])"
)
#: A worker has one core: threads of the linear algebra would only get in each other's way.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: Whether a process can be ended together with its children.
_GROUPS = os.name == "posix"

Process = subprocess.Popen[bytes]


def start(module: str, *arguments: str) -> Process:
    """A process that runs ``serve(*arguments)`` of a module of this package."""
    command = _COMMAND.format(module=module)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", command, json.dumps(sys.path), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | _ONE_THREAD,
        process_group=0 if _GROUPS else None,
    )


def kill(process: Process) -> None:
    """End a process, whatever it is doing; :func:`bury` is to follow."""
    process.kill()
    if _GROUPS:  # and what its policies have started
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def bury(processes: Collection[Process]) -> None:
    """End processes and let go of all that is left of them."""
    for process in processes:
        kill(process)
    for process in processes:
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was left to write has nobody to read it
                ends(pipe).close()


def ends(pipe: IO[bytes] | None) -> IO[bytes]:
    """A pipe that is there."""
    return cast(IO[bytes], pipe)
