"""Worker processes: fresh Pythons that share nothing, for policies that hold Python's lock.

They are started as commands, not through :mod:`multiprocessing`, so a script needs no
``if __name__ == "__main__"``, nothing is pickled, and a worker that dies is noticed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any, cast

from numpy.typing import NDArray

from graphbandits import errors
from graphbandits.engine.worker import receive, send
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.results import Shard

_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from graphbandits.engine.worker import serve; serve()"
)
#: A worker has one core: threads of the linear algebra would only get in each other's way.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


#: Whether a process can be ended together with its children.
_GROUPS = os.name == "posix"


class Workers:
    """``count`` processes that run blocks of one study; :meth:`run` may be called by threads."""

    def __init__(
        self, count: int, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        self._all: list[subprocess.Popen[bytes]] = []
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        try:
            for _ in range(count):
                worker = subprocess.Popen(
                    [sys.executable, "-P", "-c", _COMMAND, json.dumps(sys.path)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=os.environ | _ONE_THREAD,
                    process_group=0 if _GROUPS else None,
                )
                self._all.append(worker)
                with suppress(OSError):  # one that is dead already is noticed when it is asked
                    send(_pipe(worker.stdin), meta, arrays)
                self._idle.put(worker)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        for worker in self._all:
            worker.kill()
            if _GROUPS:  # and what its policies have started
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(worker.pid, signal.SIGKILL)
        for worker in self._all:
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                with suppress(OSError):  # what was left to write has nobody to read it
                    _pipe(pipe).close()

    def run(self, policy: str, first: int, trials: int) -> Shard:
        """Have one block run by the next worker that is free."""
        worker = self._idle.get()
        try:
            send(_pipe(worker.stdin), {"policy": policy, "first": first, "trials": trials}, {})
            answer = receive(_pipe(worker.stdout))
        except OSError:
            answer = None
        finally:
            self._idle.put(worker)
        if answer is None:
            with suppress(subprocess.TimeoutExpired):  # its pipe closes a moment before it ends
                worker.wait(timeout=5)
            raise InputError(
                f"a worker process ended while it ran '{policy}', trials {first} to "
                f"{first + trials - 1} (exit code {worker.poll()}): was it out of memory, or ended "
                "from outside? parallel='threads' runs without such processes"
            )
        meta, arrays = answer
        if "error" in meta:
            kind = getattr(errors, meta["kind"], GraphBanditsError)
            error = kind(meta["error"] if meta["kind"] else f"a worker failed: {meta['error']}")
            error.add_note(f"In the worker process:\n{meta['trace']}")
            raise error
        return Shard.from_parquet(arrays["shard"].tobytes())[0]


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    return cast(IO[bytes], pipe)
