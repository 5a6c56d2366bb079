"""What runs on the workers of a cluster, and workers of our own for a cluster on this machine."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from graphbandits.engine.crews.pipes import Message
from graphbandits.engine.crews.study import Studies
from graphbandits.engine.crews.worker import apart_from_policies, end
from graphbandits.engine.settings import versions


@cache
def identity() -> dict[str, str]:
    """What must be the same here and there for all tasks, besides the sources of each.

    >>> identity()["python"].count(".")
    1
    """
    known = versions()
    known["python"] = ".".join(known["python"].split(".")[:2])
    return known


def _folder() -> Path:
    """Where a worker puts its files, which dask removes, be it later if the worker is killed."""
    from distributed import get_worker

    return Path(get_worker().local_directory, "plugins")


#: One for all workers of this process, for they share its plug-ins.
_STUDIES = Studies(_folder)


def run(ours: Mapping[str, str], asked: Mapping[str, Any], data: bytes) -> Message:
    """Answer a request, in a thread of a worker; ``ours`` is the identity of whoever asks."""
    from distributed import get_worker

    worker = get_worker()
    here = {"worker": worker.address}
    if identity() != ours:
        return here | {"refused": identity()}, b""
    key = worker.get_current_task()

    def advance(rounds: int) -> None:
        # it cannot be ended from outside: hours of work must not outlive whoever asked for it
        state = worker.state.tasks.get(key)
        if state is None or state.state not in ("executing", "long-running"):
            raise InterruptedError

    try:
        answer = _STUDIES.answer(asked, data, advance)
    except InterruptedError:
        answer = None  # which nobody will see
    told, shard = answer or ({"unknown": True}, b"")
    return here | told, shard


def serve(address: str, folder: str) -> None:
    """Be a worker of the scheduler at ``address`` until whoever started this process is gone."""
    from distributed import Worker

    alive, _ = apart_from_policies()

    def listen() -> None:
        alive.read()
        end(folder)

    threading.Thread(target=listen, daemon=True).start()

    async def work() -> None:
        worker: Any = Worker(
            address, nthreads=1, memory_limit=0, local_directory=folder, dashboard=False
        )
        async with worker:
            await worker.finished()

    with quiet():
        asyncio.run(work())


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the log of distributed from standard error: what matters is said by our errors."""

    def other(record: logging.LogRecord) -> bool:
        return not record.name.startswith("distributed")

    named = (name for name in logging.root.manager.loggerDict if name.startswith("distributed"))
    handlers = {handler for name in list(named) for handler in logging.getLogger(name).handlers}
    for handler in handlers:
        handler.addFilter(other)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(other)
