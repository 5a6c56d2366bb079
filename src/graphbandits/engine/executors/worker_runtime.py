"""What runs in a worker process: plans made of what was sent, their plug-ins, and tasks.

Everything arrives as plain numbers and texts: a policy as its text, a plug-in as its file.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
import shutil
import signal
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from numpy.typing import NDArray

from graphbandits import errors
from graphbandits.engine.executors.serialization import LATEST
from graphbandits.engine.provenance import check_sources, plugin_name
from graphbandits.engine.recorder import run_recorded
from graphbandits.engine.recording import Recording
from graphbandits.engine.settings import cpu
from graphbandits.engine.shard import Shard
from graphbandits.engine.tasks import Outcome
from graphbandits.errors import GraphBanditsError, InputError, PolicyError
from graphbandits.files import from_npz, write_bytes
from graphbandits.graphs.storage import unpack_process
from graphbandits.plugins import blame, load_plugin, source_file, unload_plugin
from graphbandits.policies import Policy, as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys
from graphbandits.worlds import Bernoulli

#: Seconds between two progress reports of a task.
PACE = 0.2


def serve(folder: str) -> None:
    """Run tasks on request until the parent process is gone.

    A request is answered by the number of rounds played so far, every ``PACE`` seconds, and then
    by the outcome. ``folder`` is for copies of plug-ins.
    """
    requests, reply = connect(folder)
    runtime = WorkerRuntime(lambda: Path(folder))
    while True:
        plan, data, request = requests.get()
        played, reported = 0, time.monotonic()

        def advance(rounds: int) -> None:
            nonlocal played, reported
            played += rounds
            if (now := time.monotonic()) - reported > PACE:
                reported = now
                reply(played)

        reply(runtime.compute(plan, data, request, advance))


def connect(folder: str) -> tuple[SimpleQueue[Any], Callable[[object], None]]:
    """Keep standard input and output for messages; end this process when the parent is gone.

    Returns a queue of what the parent sends, and a function that sends something to it. Ctrl-C is
    for the parent to handle.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # a policy's print must not end up among the messages, nor its input() read one
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if hasattr(os, "register_at_fork"):  # a child that a policy forks must not keep it open
        os.register_at_fork(after_in_child=lambda: os.close(outgoing.fileno()))
    received: SimpleQueue[Any] = SimpleQueue()

    def listen() -> None:
        try:
            while True:
                received.put(pickle.load(incoming))
        finally:
            end(folder)

    def send(message: object) -> None:
        try:
            pickle.dump(message, outgoing)
            outgoing.flush()
        except OSError:
            end(folder)

    # in a thread of its own: hours of work must not outlive the parent
    threading.Thread(target=listen, daemon=True).start()
    return received, send


def end(folder: str) -> None:
    """End this process, what its policies have started, and its files.

    The parent would remove them, but it may have been killed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


class WorkerRuntime:
    """Runs tasks of the plans that were sent to this process; threads may share it.

    Parameters
    ----------
    folder : callable
        Returns the directory for copies of plug-ins, which the caller removes: workers are killed.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._plans: dict[str, _ReceivedPlan] = {}
        self._plugins: dict[tuple[str, str], Path] = {}  # the loaded ones
        self._lock = threading.Lock()

    def compute(
        self,
        name: str,
        data: bytes,
        request: Mapping[str, Any],
        advance: Callable[[int], None] = lambda rounds: None,
    ) -> Outcome | None:
        """Run a task, and return its shard or its error; None if the plan is not known here.

        Parameters
        ----------
        name : str
            Name of the plan, as :func:`graphbandits.engine.executors.serialization.pack` gave it.
        data : bytes
            The plan, or nothing if it may be among the ``LATEST`` ones that were sent.
        request : mapping
            The task, by :func:`graphbandits.engine.executors.serialization.request_of`.
        advance : callable
            Called with the number of rounds played since its last call.
        """
        policy: Policy | None = None
        try:
            # classes are found by name, so no other thread may exchange the plug-ins meanwhile
            with self._lock:
                if name not in self._plans and not data:
                    return None
                plan = self._plans.pop(name, None) or _ReceivedPlan(*from_npz(data))
                self._plans[name] = plan  # the last to be dropped
                if len(self._plans) > LATEST:
                    del self._plans[next(iter(self._plans))]
                self._load_plugins(plan, request["sources"])
                chosen = policy = plan.prepare(request["policy"])
            keys = Keys(plan.meta["seed"], request["first"], request["trials"])
            return run_checked(request["sources"], lambda: plan.run(chosen, keys, advance))
        except BaseException as error:  # a policy may raise anything
            if policy is not None and not isinstance(error, Exception | SystemExit):
                # nobody presses Ctrl-C in a worker: it is the policy's
                reason = blame(error, source_file(type(policy)))
                error = PolicyError(f"policy '{request['policy']}' failed: {reason}")
            known = as_known_error(error)
            kind = next(kind for kind in type(known).__mro__ if kind.__module__ == errors.__name__)
            sent: GraphBanditsError = kind(str(known))  # of a class that the receiver has
            sent.add_note(f"In the worker:\n{traceback.format_exc()}")
            return sent

    def _load_plugins(self, plan: _ReceivedPlan, sources: Collection[str]) -> None:
        """Load the plug-ins of a plan, and unload all others.

        One that cannot be loaded is an error if it is among the sources of the task.
        """
        wanted = [(path, source) for path, source in plan.meta["plugins"]]
        for key in self._plugins.keys() - set(wanted):
            unload_plugin(self._plugins.pop(key))
        for path, source in wanted:
            if (path, source) in self._plugins:
                continue
            try:
                place = self._place(path, source, plan.arrays[f"plugin/{source}"].tobytes())
                load_plugin(place)
            except InputError:
                if plugin_name(source) in sources:
                    raise
                continue
            self._plugins[path, source] = place

    def _place(self, path: str, source: str, text: bytes) -> Path:
        """The file itself if it is here; else a copy of it, for this may be another machine."""
        file = Path(path)
        try:
            if hashlib.sha256(file.read_bytes()).hexdigest() == source:
                return file
        except OSError:
            pass
        copy = self._folder() / source / file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(copy, text)  # whole, for another worker may read it
        return copy


class _ReceivedPlan:
    """A plan as it was sent; its parts are made when they are needed, with its plug-ins loaded."""

    def __init__(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.meta, self.arrays = meta, arrays
        kept = meta["recording"]
        self._recording = Recording(**kept | {"rounds": tuple(kept["rounds"])})
        prior = BetaBernoulli(arrays["prior/a"], arrays["prior/b"], meta["accuracy"])
        self._world = Bernoulli(prior, arrays.get("fixed"))

    @cached_property
    def _process(self) -> Any:
        return unpack_process(self.meta["graph"], self.arrays)

    def prepare(self, policy: str) -> Policy:
        """The policy; everything that is found by name is found now."""
        for module in self.meta["modules"]:
            try:
                importlib.import_module(module)
            except ModuleNotFoundError as error:
                raise InputError(
                    f"a worker cannot import {module}: {error}; install it there, or load its "
                    "file as a plug-in"
                ) from error
        self._process  # noqa: B018
        return as_policy(policy)

    def run(self, policy: Policy, keys: Keys, advance: Callable[[int], None]) -> Shard:
        horizon = self.meta["horizon"]
        return run_recorded(
            policy, self._world, self._process, horizon, keys, self._recording, advance
        )


def run_checked(sources: Mapping[str, str], run: Callable[[], Shard]) -> Shard:
    """The shard that ``run`` returns, with its time and processor, if the sources are those named.

    Raises
    ------
    SourceError
        If this process has imported another version of one.
    """
    check_sources(sources)
    start = time.perf_counter()
    shard = replace(run(), cpu=cpu(), seconds=time.perf_counter() - start)
    check_sources(sources)  # it may have imported more on the way
    return shard


def as_known_error(error: BaseException) -> GraphBanditsError:
    """An error of this package; any other becomes the cause of one."""
    if isinstance(error, GraphBanditsError):
        return error
    said = GraphBanditsError(f"a worker failed: {type(error).__name__}: {error}".rstrip(": "))
    said.__cause__ = error
    return said
