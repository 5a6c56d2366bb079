"""Messages with plans and tasks, and the code that runs them in worker processes."""

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
from typing import Any

from graphbandits import errors, plugins
from graphbandits._io import write_bytes
from graphbandits._process_info import versions
from graphbandits.engine.identity import (
    check_facts,
    code_facts,
    cpu_name,
    environment,
    facts_hash,
    pieces_of,
    series_of,
)
from graphbandits.engine.loop import MonitorFactory
from graphbandits.engine.plan import Outcome, Plan, Task
from graphbandits.engine.shard import Shard
from graphbandits.errors import GraphBanditsError, InputError, PolicyError
from graphbandits.policies import Policy, as_policy
from graphbandits.rng import Keys

#: Number of plans in the caches of both processes; there may be thousands with large graphs.
MAX_CACHED_PLANS = 8
#: Seconds between two progress reports of a task.
REPORT_INTERVAL = 0.2


@dataclass(frozen=True, eq=False)
class SentPlan:
    """What a worker receives of a plan."""

    problem: bytes
    settings: dict[str, Any]
    plugins: list[tuple[str, str, bytes]]  # path, sha256 and text of the loaded plug-ins
    modules: list[str]  # other modules outside this package that define policies, graphs and models

    @cached_property
    def plan(self) -> Plan:
        """The plan without policies; its plug-ins must be loaded before the first access."""
        return Plan.unpack(self.problem, policies={}, **self.settings)


@lru_cache(MAX_CACHED_PLANS)
def serialize_plan(plan: Plan) -> tuple[str, bytes]:
    """Return a plan as bytes, and their sha256, which identifies the plan in workers."""
    pieces = [piece for policy in plan.policies for piece in pieces_of(plan, policy)]
    sent = SentPlan(
        plan.pack(),
        {name: getattr(plan, name) for name in ("horizon", "trials", "seed", "recording")},
        # all plug-ins, because one may use another
        [(str(plugin.path), plugin.source, plugin.text) for plugin in plugins.loaded_plugins()],
        sorted({type(one).__module__ for one in pieces if plugins.file_of(one) is None}),
    )
    data = pickle.dumps(sent)
    return hashlib.sha256(data).hexdigest(), data


def task_request(task: Task) -> dict[str, Any]:
    """Return what a worker needs to run a task, in addition to the plan."""
    return {
        "policy": task.policy,
        "first": task.first,
        "trials": task.trials,
        "facts": series_of(task.plan, task.policy).facts | {"machine": versions()["machine"]},
    }


def serve(folder: str) -> None:
    """Run tasks on request until the parent process ends.

    The reply to a request is the number of rounds played so far, every ``REPORT_INTERVAL``
    seconds, and then the outcome. ``folder`` is the directory for copies of plug-ins.
    """
    requests, reply = connect(folder)
    runtime = WorkerRuntime(lambda: Path(folder))
    while True:
        plan, data, request = requests.get()
        reply(runtime.compute(plan, data, request, throttled(reply)))


def throttled(report: Callable[[int], None]) -> Callable[[int], None]:
    """Return a function that adds up rounds and reports the sum every REPORT_INTERVAL seconds."""
    played, reported = 0, time.monotonic()

    def advance(rounds: int) -> None:
        nonlocal played, reported
        played += rounds
        if (now := time.monotonic()) - reported > REPORT_INTERVAL:
            reported = now
            report(played)

    return advance


def connect(folder: str) -> tuple[SimpleQueue[Any], Callable[[object], None]]:
    """Reserve standard input and output for messages; end this process if the parent ends.

    Return a queue of received messages, and a function that sends a message to the parent. Ctrl-C
    is ignored here, because the parent handles it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # print in a policy must not write to the messages, and input() must not read them
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if hasattr(os, "register_at_fork"):  # a child process of a policy must not keep it open
        os.register_at_fork(after_in_child=lambda: os.close(outgoing.fileno()))
    received: SimpleQueue[Any] = SimpleQueue()

    def listen() -> None:
        try:
            while True:
                received.put(pickle.load(incoming))
        finally:
            terminate_self(folder)

    def send(message: object) -> None:
        try:
            pickle.dump(message, outgoing)
            outgoing.flush()
        except OSError:
            terminate_self(folder)

    # in a separate thread, to end a long task when the parent ends
    threading.Thread(target=listen, daemon=True).start()
    return received, send


def terminate_self(folder: str) -> None:
    """Kill this process and its children, and remove its files.

    Normally the parent removes the files, but it may have been killed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


class WorkerRuntime:
    """Run tasks of the plans that were sent to this process; thread-safe.

    Parameters
    ----------
    folder : callable
        Returns the directory for copies of plug-ins. The caller removes it, because workers are
        killed.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._plans: dict[str, SentPlan] = {}
        self._plugins: dict[tuple[str, str], Path] = {}  # loaded plug-ins
        self._checked: set[tuple[str, str, str]] = set()  # plans and policies with equal sources
        self._lock = threading.Lock()

    def compute(
        self,
        name: str,
        data: bytes,
        request: Mapping[str, Any],
        advance: Callable[[int], None] = lambda rounds: None,
    ) -> Outcome | None:
        """Run a task and return its shard or its error; None if the plan is not in the cache.

        Parameters
        ----------
        name : str
            Name of the plan, from :func:`serialize_plan`.
        data : bytes
            The serialized plan; empty to use the cache of ``MAX_CACHED_PLANS`` plans.
        request : mapping
            The task, from :func:`task_request`.
        advance : callable
            Called with the number of rounds since its last call.
        """
        policy: Policy | None = None
        try:
            check_facts(request["facts"], environment() | {"machine": versions()["machine"]})
            # classes are looked up by name: no other thread may replace the plug-ins now
            with self._lock:
                if name not in self._plans and not data:
                    return None
                sent = self._plans.pop(name, None) or pickle.loads(data)
                self._plans[name] = sent  # now the most recently used
                if len(self._plans) > MAX_CACHED_PLANS:
                    del self._plans[next(iter(self._plans))]
                self._load_plugins(sent, request["facts"]["code"])
                policy = as_policy(request["policy"])
                plan = replace(sent.plan, policies={request["policy"]: policy})
                checked = name, request["policy"], facts_hash(request["facts"])
                if checked not in self._checked:
                    check_facts(request["facts"], code_facts(plan, request["policy"]))
                    self._checked.add(checked)
            task = Task(plan, request["policy"], request["first"], request["trials"])
            return run_task(task, advance)
        except BaseException as error:  # a policy may raise anything
            if policy is not None and not isinstance(error, Exception | SystemExit):
                # workers ignore Ctrl-C: the policy raised the exception
                reason = plugins.locate_error(error, plugins.source_file(type(policy)))
                error = PolicyError(f"policy '{request['policy']}' failed: {reason}")
            known = as_package_error(error)
            kind = next(kind for kind in type(known).__mro__ if kind.__module__ == errors.__name__)
            failure: GraphBanditsError = kind(str(known))  # a class that the receiver can import
            failure.add_note(f"In the worker:\n{traceback.format_exc()}")
            return failure

    def _load_plugins(self, plan: SentPlan, code: Collection[str]) -> None:
        """Load the plug-ins and import the modules of a plan; unload all other plug-ins.

        A plug-in that cannot be loaded raises an error only if the task depends on it.
        """
        required = {(path, source): text for path, source, text in plan.plugins}
        for key in self._plugins.keys() - required.keys():
            plugins.unload_plugin(self._plugins.pop(key))
        for (path, source), text in required.items():
            if (path, source) in self._plugins:
                continue
            try:
                file = self._plugin_file(path, source, text)
                plugins.load_plugin(file)
            except InputError:
                if f"plug-in {source}" in code:
                    raise
                continue
            self._plugins[path, source] = file
        for module in plan.modules:
            try:
                importlib.import_module(module)
            except ModuleNotFoundError as error:
                raise InputError(
                    f"a worker cannot import {module}: {error}; install it on the worker, or load "
                    "its file as a plug-in"
                ) from error

    def _plugin_file(self, path: str, source: str, text: bytes) -> Path:
        """Return the plug-in file, or a copy of it if the original is not on this machine."""
        file = Path(path)
        try:
            if hashlib.sha256(file.read_bytes()).hexdigest() == source:
                return file
        except OSError:
            pass
        copy = self._folder() / source / file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(copy, text)  # atomically, because another worker may read it
        return copy


def run_task(
    task: Task, advance: Callable[[int], None], monitor: MonitorFactory | None = None
) -> Shard:
    """Run a task in this process, and add the CPU type to its shard."""
    keys = Keys(task.plan.seed, task.first, task.trials)
    made = None if monitor is None else monitor(task.policy, keys)
    shard = task.plan.run_shard(task.policy, keys, advance, made)
    return replace(shard, cpu=cpu_name())


def as_package_error(error: BaseException) -> GraphBanditsError:
    """Return an error of this package; any other error becomes its cause."""
    if isinstance(error, GraphBanditsError):
        return error
    wrapped = GraphBanditsError(f"a worker failed: {type(error).__name__}: {error}".rstrip(": "))
    wrapped.__cause__ = error
    return wrapped
