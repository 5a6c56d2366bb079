"""Workers: threads and processes of this machine, and a dask cluster."""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, current_thread, main_thread
from typing import IO, Any, Self, cast

from graphbandits import errors, plugins
from graphbandits._files import versions, write_bytes
from graphbandits.errors import (
    GraphBanditsError,
    InputError,
    SourceError,
)
from graphbandits.plugins import file_of
from graphbandits.policies import as_policy
from graphbandits.policies.base import with_inner
from graphbandits.rng import Keys
from graphbandits.simulation.identity import (
    check_facts,
    code_facts,
    cpu_name,
    environment,
    facts_hash,
    pieces_of,
    series_of,
    unserializable_reason,
)
from graphbandits.simulation.loop import MonitorFactory
from graphbandits.simulation.plan import (
    MAX_WORKER_DEATHS,
    Outcome,
    Plan,
    ProgressCallback,
    Task,
    ignore_progress,
)
from graphbandits.simulation.shard import Shard

__all__ = [
    "DaskExecutor",
    "ProcessExecutor",
    "ThreadExecutor",
    "executor_for",
]

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
    """Run tasks on request until the parent process ends; ``folder`` is for copies of plug-ins.

    The reply is the number of rounds so far, every ``REPORT_INTERVAL`` seconds, then the outcome.
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
    """Reserve standard input and output for messages; return their queue and a function that sends.

    This process ends if the parent ends. It ignores Ctrl-C, which the parent handles.
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
    """Run tasks of the plans that were sent to this process; thread-safe."""

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
        """Run a task and return its shard or its error; None if the plan is not in the cache."""
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
            known = as_package_error(error)
            kind = next(kind for kind in type(known).__mro__ if kind.__module__ == errors.__name__)
            failure: GraphBanditsError = kind(str(known))  # a class that the receiver can import
            failure.add_note(f"In the worker:\n{traceback.format_exc()}")
            return failure

    def _load_plugins(self, plan: SentPlan, code: Collection[str]) -> None:
        """Load the plug-ins and modules of a plan, and unload other plug-ins.

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


Outcomes = Generator[tuple[Task, Outcome]]
#: Seconds between two checks of the number of workers.
POLL_INTERVAL = 0.5


class ExecutorError(InputError):
    """The executor cannot run any more tasks."""


class ThreadExecutor:
    """Execute tasks in threads; with one worker in that of the caller, for debuggers and Ctrl-C.

    Leaving the context stops all running tasks.
    """

    def __init__(self, workers: int, monitor: MonitorFactory | None = None) -> None:
        self.workers = self._threads = workers
        self._monitor = monitor
        self._stop = Event()
        self._lock = Lock()
        self._running: Outcomes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        if self._running is not None:
            self._running.close()
        serialize_plan.cache_clear()  # large graphs

    def run(
        self, tasks: Iterable[Task], progress: ProgressCallback = ignore_progress
    ) -> Iterator[tuple[Task, Outcome]]:
        """Run tasks and yield each with its outcome, in order of completion.

        A task is taken from ``tasks`` only when a worker is nearly free. If a task raises an
        exception or three workers end during it, its outcome is the error, and the other tasks
        continue. Closing the iterator stops the running tasks.
        """
        self._stop.clear()
        here = self.workers == 1 and type(self) is ThreadExecutor
        self._running = (self._run_here if here else self._run)(tasks, progress)
        return self._running

    def _run_here(self, tasks: Iterable[Task], progress: ProgressCallback) -> Outcomes:
        def report(decisions: int) -> None:
            try:
                progress(task, decisions)
            except BaseException:  # raised by the callback, not by the task
                self._stop.set()
                raise

        for task in tasks:
            yield task, self._outcome(task, report)

    def _run(self, tasks: Iterable[Task], progress: ProgressCallback) -> Outcomes:
        events: SimpleQueue[tuple[Task, int | Outcome]] = SimpleQueue()
        pool = ThreadPoolExecutor(self._threads, "graphbandits")
        done: tuple[Task, Outcome] | None = None
        waiting, running = iter(tasks), 0

        def run(task: Task) -> None:
            events.put((task, self._outcome(task, lambda number: events.put((task, number)))))

        try:
            while True:
                for task in islice(waiting, max(0, self._capacity() - running)):
                    pool.submit(run, task)
                    running += 1
                if done is not None:  # the next tasks run while the caller handles this one
                    yield done
                    done = None
                if not running:
                    return
                try:
                    task, event = events.get(timeout=POLL_INTERVAL)
                except Empty:
                    continue
                if isinstance(event, int):
                    progress(task, event)
                elif isinstance(event, ExecutorError):
                    raise event
                else:
                    running -= 1
                    done = task, event
        finally:
            if running:
                self._interrupt()
            pool.shutdown(cancel_futures=True)

    def _capacity(self) -> int:
        """Return the number of tasks to submit at a time: one more than there are workers."""
        return self.workers + 1

    def _outcome(self, task: Task, report: Callable[[int], None]) -> Outcome:
        reported = 0

        def played(rounds: int) -> None:
            nonlocal reported
            decisions = rounds * task.trials
            if decisions > reported:  # the task may run again from the beginning
                report(decisions - reported)
                reported = decisions

        try:
            outcome = self._compute(task, played)
            if isinstance(outcome, Shard):
                played(task.plan.horizon)
            return outcome
        except BaseException as error:
            pressed = isinstance(error, KeyboardInterrupt) and current_thread() is main_thread()
            if pressed or self._stop.is_set():
                raise
            return as_package_error(error)

    def _compute(self, task: Task, played: Callable[[int], None]) -> Outcome:
        """Run a task and report the rounds played so far; stop if ``_stop`` is set."""
        report = throttled(played)

        def advance(rounds: int) -> None:
            if self._stop.is_set():
                raise InterruptedError
            report(rounds)

        return run_task(task, advance, self._monitor)

    def _interrupt(self) -> None:
        self._stop.set()


#: Seconds to wait for an answer of the scheduler.
CONNECT_TIMEOUT = 5.0
#: Seconds to wait for workers if the cluster has none.
NO_WORKER_TIMEOUT = 60.0
#: Number of submitted tasks per worker: the next task is available when one ends.
TASKS_PER_WORKER = 2
#: Maximum number of submitted tasks. One thread of this process waits for each.
MAX_SUBMITTED = 10_000


def check_address(address: str) -> None:
    if not re.fullmatch(r"[a-z]+://[^\s/]+:\d+", address):
        raise InputError(
            "cluster must be the address of a dask scheduler, such as tcp://192.168.1.5:8786, not "
            f"'{address}': start one with 'dask scheduler'"
        )


class DaskExecutor(ThreadExecutor):
    """Execute tasks on the workers of a dask scheduler, including workers that join later.

    A worker of other versions or sources ends the run: its results could have other bits.
    """

    def __init__(self, address: str) -> None:
        super().__init__(1)
        check_address(address)
        try:
            self._distributed: Any = import_module("distributed")
        except ImportError:
            raise InputError(
                "a cluster needs dask.distributed: python -m pip install 'graphbandits[cluster]'"
            ) from None
        self._address = address
        self._threads = MAX_SUBMITTED
        self._looked = 0.0
        self._futures: set[Any] = set()
        self._sent: dict[str, Any] = {}  # serialized plans on the cluster, the last one used last

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for name in ("distributed", "distributed.client"):  # our errors have the relevant part
                logger = logging.getLogger(name)
                stack.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.CRITICAL)
            # large plans are expected: do not warn about them
            large = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
            stack.enter_context(import_module("dask").config.set(large))
            self._client: Any = self._connected()
            stack.callback(self._client.close, timeout=CONNECT_TIMEOUT)
            self._met = time.monotonic()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *reason: object) -> None:
        super().__exit__(*reason)
        self._sent.clear()
        self._stack.close()

    def _connected(self) -> Any:
        try:
            with warnings.catch_warnings():
                # dask also warns about irrelevant packages; we compare the relevant versions
                warnings.filterwarnings("ignore", message="(?s).*Mismatched versions found")
                return self._distributed.Client(
                    self._address,
                    timeout=CONNECT_TIMEOUT,
                    set_as_default=False,
                    name="graphbandits",
                )
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"no dask scheduler answers at {self._address} ({first_line(error)}): start one "
                "with 'dask scheduler', or give another address"
            ) from None

    def _interrupt(self) -> None:
        with self._lock:  # no task is submitted after this
            super()._interrupt()
            if self._client.status == "running":
                self._client.cancel(list(self._futures), force=True)

    def _capacity(self) -> int:
        now = time.monotonic()
        if now - self._looked > POLL_INTERVAL:
            self._looked = now
            try:
                threads = sum(self._client.nthreads().values())
            except (OSError, RuntimeError, ValueError) as error:
                raise self._scheduler_lost(error) from None
            if threads:
                self._met = now
            elif now - self._met > NO_WORKER_TIMEOUT:
                raise InputError(
                    f"the cluster at {self._address} has had no worker for "
                    f"{NO_WORKER_TIMEOUT:g} s: start one with 'dask worker {self._address}'"
                )
            self.workers = max(1, threads)
        return TASKS_PER_WORKER * self.workers

    def _compute(self, task: Task, played: Callable[[int], None]) -> Outcome:
        request = task_request(task)
        with self._lock:
            if self._stop.is_set():
                raise InterruptedError
            name, data = serialize_plan(task.plan)
            # a task itself, so that dask can copy it to workers and create it again
            plan = self._sent.pop(name, None) or self._client.submit(bytes, data, key=name)
            self._sent[name] = plan
            if len(self._sent) > MAX_CACHED_PLANS:
                del self._sent[next(iter(self._sent))]
            future = self._client.submit(compute, name, plan, request, pure=False)
            self._futures.add(future)
        try:
            worker, outcome = future.result()
        except self._distributed.KilledWorker as error:
            raise InputError(
                f"{error.allowed_failures + 1} workers of the cluster ended while they held {task} "
                f"(the last one at {error.last_worker.address}): check their memory, and whether "
                "another program killed them"
            ) from None
        except (OSError, self._distributed.CancelledError) as error:
            raise self._scheduler_lost(error) from None
        except Exception as error:
            raise ExecutorError(
                f"the cluster at {self._address} cannot run graphbandits ({first_line(error)}): "
                "install the same version of graphbandits for the scheduler and all workers"
            ) from error
        finally:
            self._futures.discard(future)
        if isinstance(outcome, SourceError):
            raise ExecutorError(f"the worker at {worker} would compute other bits: {outcome}")
        found: Outcome = outcome
        return found

    def _scheduler_lost(self, error: BaseException) -> ExecutorError:
        return ExecutorError(
            f"lost the connection to the dask scheduler at {self._address} ({first_line(error)}): "
            "start the scheduler and its workers again; only the running tasks are lost"
        )


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".:") if lines else type(error).__name__


# Code that runs in workers ----------------------------------------------------------------------


def _folder() -> Path:
    """Return the directory for the files of a worker; dask removes it."""
    from distributed import get_worker

    return Path(get_worker().local_directory, "plugins")


#: Shared by all dask workers of this process, because they share the loaded plug-ins.
_RUNTIME = WorkerRuntime(_folder)


def compute(name: str, plan: bytes, request: Mapping[str, Any]) -> tuple[str, Outcome | None]:
    """Run a task in a thread of a dask worker; return its address and the outcome."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def advance(rounds: int) -> None:
        # dask cannot stop a thread: end the task if it was cancelled
        state = worker.state.tasks.get(key)
        if state is None or state.state not in ("executing", "long-running"):
            raise InterruptedError

    return worker.address, _RUNTIME.compute(name, plan, request, advance)


#: Exceptions from reading from a worker that has ended.
WORKER_ENDED_ERRORS = (EOFError, OSError, pickle.UnpicklingError)
_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from graphbandits.simulation.workers import serve; serve(*sys.argv[2:])"
)
#: Each worker uses one core: more threads for linear algebra would compete for it.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: Whether a process can be killed together with its children.
_GROUPS = os.name == "posix"


class WorkerProcess(subprocess.Popen[bytes]):
    """A Python process that runs ``serve(*arguments)``."""

    def __init__(self, *arguments: str) -> None:
        super().__init__(
            [sys.executable, "-P", "-c", _COMMAND, json.dumps(sys.path), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | _ONE_THREAD,
            process_group=0 if _GROUPS else None,
        )

    def compute(
        self, plan: str, data: bytes, request: dict[str, Any], played: Callable[[int], None]
    ) -> Outcome:
        """Run a task in the worker; raise one of WORKER_ENDED_ERRORS if the worker ends."""
        requests, replies = cast(IO[bytes], self.stdin), cast(IO[bytes], self.stdout)
        reply: Outcome | int | None = None
        for sent in (b"", data):
            pickle.dump((plan, sent, request), requests)
            requests.flush()
            while isinstance(reply := pickle.load(replies), int):
                played(reply)
            if reply is not None:  # None: the plan is not in the cache of the worker
                break
        return cast(Outcome, reply)

    def kill(self) -> None:
        """Kill the process and its children."""
        super().kill()
        if _GROUPS:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)


def terminate_all(workers: Collection[WorkerProcess]) -> None:
    """Kill processes, wait for them, and close their pipes."""
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            with suppress(OSError):  # unsent data
                cast(IO[bytes], pipe).close()


class ProcessExecutor(ThreadExecutor):
    """Execute tasks in worker processes, which are started on demand."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._workers: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        # directory for copies of plug-ins; workers remove it if this process is killed
        self._folder = tempfile.mkdtemp()
        return self

    def __exit__(self, *reason: object) -> None:
        super().__exit__(*reason)
        terminate_all(self._workers)
        self._workers.clear()
        self._idle.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _interrupt(self) -> None:
        with self._lock:  # no worker is started after this
            super()._interrupt()
            for worker in list(self._workers):
                worker.kill()

    def _compute(self, task: Task, played: Callable[[int], None]) -> Outcome:
        with self._lock:
            plan, data = serialize_plan(task.plan)
        request = task_request(task)
        for _ in range(MAX_WORKER_DEATHS):
            worker = self._idle_or_new_worker()
            try:
                outcome = worker.compute(plan, data, request, played)
            except WORKER_ENDED_ERRORS:
                # the pipe closes shortly before the process ends
                with suppress(subprocess.TimeoutExpired):
                    worker.wait(timeout=5)
                code = worker.poll()
                self._workers.discard(worker)
                terminate_all([worker])
            else:
                self._idle.append(worker)
                return outcome
        raise InputError(
            f"{MAX_WORKER_DEATHS} worker processes in a row ended while they ran {task} "
            f"({describe_exit(code)}): check the memory, and whether another program killed them; "
            "if not, the policy ends its process: run it alone to find out"
        )

    def _idle_or_new_worker(self) -> WorkerProcess:
        """Return an idle worker, or a new one."""
        with self._lock:
            if self._stop.is_set():
                raise InterruptedError
            while self._idle:
                worker = self._idle.pop()
                if worker.poll() is None:
                    return worker
                self._workers.discard(worker)
                terminate_all([worker])
            worker = WorkerProcess(self._folder)
            self._workers.add(worker)
            return worker


def describe_exit(code: int | None) -> str:
    """Describe how a process ended.

    >>> describe_exit(7), describe_exit(-11)
    ('exit code 7', 'exit code -11, SIGSEGV')
    """
    try:
        return f"exit code {code}, {signal.Signals(-(code or 0)).name}"
    except ValueError:  # not ended by a signal
        return f"exit code {code}"


#: From this many decisions, the start-up time of processes (1 to 2 s) is negligible.
LARGE = 10**6


def executor_for(
    workers: int,
    cluster: str | None,
    parallel: str,
    plans: Collection[Plan],
    decisions: int,
    monitor: MonitorFactory | None = None,
) -> ThreadExecutor:
    if parallel not in ("auto", "threads", "processes"):
        raise InputError(f"parallel must be 'auto', 'threads' or 'processes', not {parallel!r}")
    if monitor is not None:
        if cluster is not None or parallel == "processes":
            raise InputError(
                "a monitor runs in threads of this process only: use parallel='threads' or 'auto', "
                "or remove the monitor"
            )
        if not callable(monitor):
            raise InputError(
                "monitor must be a function of the policy and the keys that returns a monitor for "
                f"the block, not {monitor!r}"
            )
        return ThreadExecutor(workers, monitor)
    if cluster is not None or parallel == "processes":
        otherwise = "use parallel='threads'" if cluster is None else "run without a cluster"
        for plan in plans:
            if reason := unserializable_reason(plan):
                raise InputError(f"{reason}; {otherwise}")
        return ProcessExecutor(workers) if cluster is None else DaskExecutor(cluster)
    if parallel == "auto" and workers > 1:
        pieces = [[*with_inner(p), *plan.models] for plan in plans for p in plan.policies.values()]
        from_files = any(file_of(one) for listed in pieces for one in listed)
        if (from_files or decisions >= LARGE) and not any(map(unserializable_reason, plans)):
            return ProcessExecutor(workers)
    return ThreadExecutor(workers)


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
