"""Workers of a dask cluster, on other machines or on this one."""

from __future__ import annotations

import re
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import Any, Self

from graphbandits.engine.crews.flight import Flight, line_of
from graphbandits.engine.crews.remote import quiet
from graphbandits.engine.crews.spawning import Process, bury, start
from graphbandits.engine.crews.travel import Packer
from graphbandits.engine.tasks import Done, Task, Tell, nobody
from graphbandits.errors import InputError, whole_number

#: Seconds within which a scheduler answers.
ANSWERS = 5.0
#: Seconds that a cluster may be without any worker.
PATIENCE = 60.0
#: Seconds between two looks at who is there.
LOOK = 0.5
#: Tasks in the hands of the scheduler, for each worker: the next one is there when one ends.
DEPTH = 2


class Cluster:
    """The workers of a dask scheduler at ``address``, ``tcp://host:port``, those joining included.

    "local" starts a scheduler and ``count`` workers on this machine, and ends them.
    """

    def __init__(self, address: str, count: int = 1) -> None:
        if address != "local" and not re.fullmatch(r"[a-z]+://[^\s/]+:\d+", address):
            raise InputError(
                "a cluster is 'local' or the address of a dask scheduler, such as "
                f"tcp://192.168.1.5:8786, not '{address}'"
            )
        try:
            self._distributed: Any = import_module("distributed")
        except ImportError:
            raise InputError(
                "a cluster needs dask.distributed: python -m pip install 'graphbandits[cluster]'"
            ) from None
        self._local = address == "local"
        self._address = address
        self._count = whole_number(count, "workers")
        self._threads = self._count if self._local else 0
        self._looked = self._met = 0.0
        self._packed = Packer()
        self._own: list[Process] = []
        self._folder = ""
        self._stack = ExitStack()
        self._client: Any = None

    @property
    def workers(self) -> int:
        return self._threads

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(quiet())
            if self._local:
                self._folder = stack.enter_context(
                    tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
                )
                self._address = stack.enter_context(self._scheduler()).scheduler_address
                stack.callback(self._bury)
            self._client = self._connected()
            stack.callback(self._client.close, timeout=ANSWERS)
            self._met = time.monotonic()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *reason: object) -> None:
        self._stack.close()

    def work(self, tasks: Iterable[Task], advance: Tell = nobody) -> Iterator[Done]:
        """See :class:`graphbandits.engine.crews.Crew`."""
        flight = Flight(self._client, self._address, self._packed)
        waiting, done = iter(tasks), None
        try:
            while True:
                self._look(flight)
                while len(flight) < DEPTH * max(1, self.workers):
                    task = next(waiting, None)
                    if task is None:
                        break
                    flight.submit(task)
                if done is not None:  # while it is looked at, the next ones run
                    yield done
                    done = None
                    continue
                if not len(flight) and not flight.submit_suspect():
                    return
                done = flight.landed(LOOK)
                if done is not None and done.error is None:
                    advance(done.task, done.task.decisions)
        finally:
            flight.cancel()

    def _scheduler(self) -> Any:
        """A scheduler in this process; a task whose worker dies comes back to us at once."""
        # there is no scheduler without a port for its dashboard: any that is free
        how = {"dashboard": False, "dashboard_address": "127.0.0.1:0", "allowed_failures": 0}
        return self._distributed.LocalCluster(
            n_workers=0,
            processes=False,
            protocol="tcp://",
            host="127.0.0.1",
            silence_logs=False,
            scheduler_kwargs=how,
        )

    def _connected(self) -> Any:
        try:
            with warnings.catch_warnings():
                # of patch levels and of packages that do not matter; we compare what does
                warnings.filterwarnings("ignore", message="(?s).*Mismatched versions found")
                return self._distributed.Client(
                    self._address, timeout=ANSWERS, set_as_default=False, name="graphbandits"
                )
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"no dask scheduler answers at {self._address} ({line_of(error)}): start one with "
                "'dask scheduler', or name another address"
            ) from None

    def _look(self, flight: Flight) -> None:
        """Notice who came and who left; on this machine, replace who died."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        self._looked = now
        if self._local:
            dead = [process for process in self._own if process.poll() is not None]
            bury(dead)
            self._own = [process for process in self._own if process not in dead]
            while len(self._own) < self._count:
                self._own.append(start("remote", self._address, self._folder))
        threads = flight.look()
        if threads:
            self._met = now
        elif now - self._met > PATIENCE:
            raise InputError(
                f"the cluster at {self._address} has had no worker for {PATIENCE:g} s: start one "
                f"with 'dask worker {self._address}'"
            )
        if not self._local:
            self._threads = threads

    def _bury(self) -> None:
        bury(self._own)
        self._own.clear()
