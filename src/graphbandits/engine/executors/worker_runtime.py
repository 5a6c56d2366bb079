"""Plans and tasks as they are sent to another process, and what runs them there.

Policies, and graphs of a plug-in's class, are sent as their texts; a plug-in as its file.
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
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

from graphbandits import errors, plugins
from graphbandits._io import from_npz, to_npz, write_bytes
from graphbandits.engine.plan import Outcome, Plan, Task
from graphbandits.engine.provenance import (
    arrays_of,
    check_sources,
    cpu,
    plugin_name,
    recipe_of,
    wanted_of_worker,
)
from graphbandits.engine.shard import Shard
from graphbandits.errors import GraphBanditsError, InputError, PolicyError
from graphbandits.graphs._storage import unpack_process
from graphbandits.policies import Policy, as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys
from graphbandits.worlds import Bernoulli

#: Number of plans that are kept at either end: there may be thousands, each with a large graph.
LATEST = 8
#: Seconds between two progress reports of a task.
PACE = 0.2


@dataclass(frozen=True, eq=False)
class SentPlan:
    """A plan as it is sent: ``bare`` is without its policies, its graph and its world."""

    bare: Plan
    accuracy: str
    graph: Any
    arrays: bytes
    plugins: list[tuple[str, str, bytes]]  # path, sha256 and text as it was loaded
    modules: list[str]  # that policies and graphs are from

    @cached_property
    def plan(self) -> Plan:
        """The plan without policies; made when it is needed, with its plug-ins loaded."""
        _, arrays = from_npz(self.arrays)
        prior = BetaBernoulli(arrays["prior/a"], arrays["prior/b"], self.accuracy)
        world = Bernoulli(prior, arrays.get("fixed"))
        return replace(self.bare, world=world, process=unpack_process(self.graph, arrays))


@lru_cache(LATEST)
def pack(plan: Plan) -> tuple[str, bytes]:
    """A plan as bytes, behind their sha256, by which workers know it."""
    graph, arrays = arrays_of(plan)
    pieces = [type(policy) for policy in plan.policies.values()]
    if "text" in graph:
        pieces.append(recipe_of(graph["text"]))
    nothing: Any = None
    sent = SentPlan(
        replace(plan, policies={}, lines={}, point={}, world=nothing, process=nothing),
        cast(BetaBernoulli, plan.world.prior).accuracy,
        graph,
        to_npz({}, arrays),
        # all of them, for one may use another
        [(str(plugin.path), plugin.source, plugin.text) for plugin in plugins.loaded_plugins()],
        sorted({cls.__module__ for cls in pieces if plugins.file_of(cls) is None}),
    )
    data = pickle.dumps(sent)
    return hashlib.sha256(data).hexdigest(), data


def request_of(task: Task) -> dict[str, Any]:
    """What a worker needs besides the plan to run a task."""
    return {
        "policy": task.policy,
        "first": task.first,
        "trials": task.trials,
        "sources": wanted_of_worker(task.plan, task.policy),
    }


def serve(folder: str) -> None:
    """Run tasks on request until the parent process is gone.

    A request is answered by the number of rounds played so far, every ``PACE`` seconds, and then
    by the outcome. ``folder`` is for copies of plug-ins.
    """
    requests, reply = connect(folder)
    runtime = WorkerRuntime(lambda: Path(folder))
    while True:
        plan, data, request = requests.get()
        reply(runtime.compute(plan, data, request, paced(reply)))


def paced(report: Callable[[int], None]) -> Callable[[int], None]:
    """A function to call with rounds, which reports their sum so far every ``PACE`` seconds."""
    played, reported = 0, time.monotonic()

    def advance(rounds: int) -> None:
        nonlocal played, reported
        played += rounds
        if (now := time.monotonic()) - reported > PACE:
            reported = now
            report(played)

    return advance


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
        self._plans: dict[str, SentPlan] = {}
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
            Name of the plan, as :func:`pack` gave it.
        data : bytes
            The plan, or nothing if it may be among the ``LATEST`` ones that were sent.
        request : mapping
            The task, by :func:`request_of`.
        advance : callable
            Called with the number of rounds played since its last call.
        """
        policy: Policy | None = None
        try:
            # classes are found by name, so no other thread may exchange the plug-ins meanwhile
            with self._lock:
                if name not in self._plans and not data:
                    return None
                sent = self._plans.pop(name, None) or pickle.loads(data)
                self._plans[name] = sent  # the last to be dropped
                if len(self._plans) > LATEST:
                    del self._plans[next(iter(self._plans))]
                self._load_plugins(sent, request["sources"])
                policy = as_policy(request["policy"])
                plan = replace(sent.plan, policies={request["policy"]: policy})
            task = Task(plan, request["policy"], request["first"], request["trials"])
            return run_checked(task, request["sources"], advance)
        except BaseException as error:  # a policy may raise anything
            if policy is not None and not isinstance(error, Exception | SystemExit):
                # Ctrl-C does not reach a worker: the policy raised it
                reason = plugins.locate_error(error, plugins.source_file(type(policy)))
                error = PolicyError(f"policy '{request['policy']}' failed: {reason}")
            known = as_known_error(error)
            kind = next(kind for kind in type(known).__mro__ if kind.__module__ == errors.__name__)
            failure: GraphBanditsError = kind(str(known))  # of a class that the receiver has
            failure.add_note(f"In the worker:\n{traceback.format_exc()}")
            return failure

    def _load_plugins(self, plan: SentPlan, sources: Collection[str]) -> None:
        """Load the plug-ins and import the modules of a plan; unload all other plug-ins.

        A plug-in that cannot be loaded is an error if it is among the sources of the task.
        """
        wanted = {(path, source): text for path, source, text in plan.plugins}
        for key in self._plugins.keys() - wanted.keys():
            plugins.unload_plugin(self._plugins.pop(key))
        for (path, source), text in wanted.items():
            if (path, source) in self._plugins:
                continue
            try:
                place = self._place(path, source, text)
                plugins.load_plugin(place)
            except InputError:
                if plugin_name(source) in sources:
                    raise
                continue
            self._plugins[path, source] = place
        for module in plan.modules:
            try:
                importlib.import_module(module)
            except ModuleNotFoundError as error:
                raise InputError(
                    f"a worker cannot import {module}: {error}; install it there, or load its "
                    "file as a plug-in"
                ) from error

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


def run_checked(task: Task, sources: Mapping[str, str], advance: Callable[[int], None]) -> Shard:
    """Run a task here, with its time and processor, if the sources are those named.

    Raises
    ------
    SourceError
        If this process has imported another version of one.
    """
    check_sources(sources)
    start = time.perf_counter()
    keys = Keys(task.plan.seed, task.first, task.trials)
    shard = task.plan.run_shard(task.policy, keys, advance)
    seconds = time.perf_counter() - start
    check_sources(sources)  # it may have imported more on the way
    return replace(shard, cpu=cpu(), seconds=seconds)


def as_known_error(error: BaseException) -> GraphBanditsError:
    """An error of this package; any other becomes the cause of one."""
    if isinstance(error, GraphBanditsError):
        return error
    said = GraphBanditsError(f"a worker failed: {type(error).__name__}: {error}".rstrip(": "))
    said.__cause__ = error
    return said
