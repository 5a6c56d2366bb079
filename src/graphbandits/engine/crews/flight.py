"""Tasks in the hands of a dask scheduler."""

from __future__ import annotations

import secrets
import sys
from collections import Counter
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any

from graphbandits.engine.crews.remote import identity, run
from graphbandits.engine.crews.study import done_of, request
from graphbandits.engine.crews.travel import Packer
from graphbandits.engine.tasks import DEATHS, Done, Task
from graphbandits.errors import InputError, SourceError


class Flight:
    """Tasks that were submitted and have not come back.

    A plan is sent when a worker says that it does not know it, and so once to each worker. When a
    worker dies, dask blames all tasks that it held. Those that it gives up are suspects: they
    are tried again one by one when nothing else is flying, so that only those fail that are guilty.

    A worker that would give other bits refuses: all tasks if its versions are other ones, those of
    a policy if that rests on other sources there. Then it is not asked again, and others are.
    """

    def __init__(self, client: Any, address: str, packed: Packer) -> None:
        self._client, self._address, self._packed = client, address, packed
        self._flying: dict[str, tuple[Task, Any, frozenset[str]]] = {}
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._suspects: list[Task] = []
        self._deaths: Counter[Task] = Counter()
        self._alone: Task | None = None
        self._there: dict[str, int] = {}
        self._refusing: dict[object, set[str]] = {}  # by policy; None for all of them
        self._left_out: set[str] = set()

    def __len__(self) -> int:
        return len(self._flying)

    def look(self) -> int:
        """Notice who is there now; the number of threads of those who may be asked."""
        try:
            self._there = dict(self._client.nthreads())
        except (OSError, RuntimeError, ValueError) as error:
            raise gone(self._address, line_of(error)) from None
        # dask would wait for ever for workers that have left
        for key, (task, future, asked) in list(self._flying.items()):
            if asked and asked.isdisjoint(self._there):
                del self._flying[key]
                self._client.cancel([future], force=True)
                self.submit(task)
        unfit = self._refusing.get(None, set())
        return sum(threads for place, threads in self._there.items() if place not in unfit)

    def submit(self, task: Task, plan: bytes = b"", worker: str | None = None) -> None:
        """Hand a task to the scheduler, for a certain worker if one is named."""
        dask: Any = import_module("dask")
        asked = request(self._packed(task.plan).name, task)
        # if nobody is left that fits, any other may say so
        fitting = self._fitting(task) if self._unfit(task) else frozenset()
        # a large plan is sent on purpose: dask would warn of it
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            future = self._client.submit(
                run,
                identity(),
                asked,
                plan,
                key=f"graphbandits-{secrets.token_hex(8)}",
                pure=False,
                workers=list(fitting) or worker,
                allow_other_workers=worker is not None and not fitting,
            )
        self._flying[future.key] = task, future, fitting
        future.add_done_callback(self._ended.put)

    def submit_suspect(self) -> bool:
        """Hand over one task that is to be alone, if there is one."""
        if self._suspects:
            self._alone = self._suspects.pop()
            self.submit(self._alone)
            return True
        return False

    def landed(self, timeout: float) -> Done | None:
        """A task that is over; None if there was none for some seconds."""
        try:
            future = self._ended.get(timeout=timeout)
        except Empty:
            return None
        distributed: Any = import_module("distributed")
        if future.key not in self._flying:  # it was cancelled
            return None
        task, _, _ = self._flying.pop(future.key)
        try:
            meta, data = future.result()
        except distributed.KilledWorker as error:
            return self._died(task, error)
        except (OSError, distributed.CancelledError) as error:  # we cancel at the end only
            raise gone(self._address, line_of(error)) from None
        except Exception as error:
            raise InputError(
                f"the cluster at {self._address} cannot run graphbandits ({line_of(error)}): "
                "install the same version for its scheduler and all of its workers"
            ) from error
        if "refused" in meta:
            return self._refused(task, meta["worker"], None, _refusal(meta))
        if "unknown" in meta:
            self.submit(task, self._packed(task.plan).data, meta["worker"])
            return None
        done = done_of(task, meta, data)
        if isinstance(done.error, SourceError):
            policy = task.plan, task.policy
            said = SourceError(f"{_would(meta)}: {done.error}, with the same version on both")
            return self._refused(task, meta["worker"], policy, said)
        return done

    def cancel(self) -> None:
        """Have the scheduler forget what is left; workers notice within a round's time."""
        futures = [future for _, future, _ in self._flying.values()]
        self._flying.clear()
        if futures and self._client.status == "running":
            self._client.cancel(futures, force=True)

    def _unfit(self, task: Task) -> set[str]:
        return set().union(
            self._refusing.get(None, ()), self._refusing.get((task.plan, task.policy), ())
        )

    def _fitting(self, task: Task) -> frozenset[str]:
        return frozenset(self._there) - self._unfit(task)

    def _refused(self, task: Task, worker: str, what: object, error: InputError) -> Done | None:
        """Give a task to others; its error if there are none, and the end if it is all tasks'."""
        self._refusing.setdefault(what, set()).add(worker)
        self.look()
        if not self._fitting(task):
            if what is None:
                raise error
            return Done(task, 0.0, "", error=error)
        if worker not in self._left_out:
            self._left_out.add(worker)
            print(f"graphbandits goes on without a worker: {error}", file=sys.stderr)
        self.submit(task)
        return None

    def _died(self, task: Task, error: Any) -> Done | None:
        self._deaths[task] += error.allowed_failures + 1
        if self._alone is not task or self._deaths[task] < DEATHS:
            self._suspects.append(task)
            return None
        said = InputError(
            f"{self._deaths[task]} workers of the cluster ended, one after the other, while they "
            f"ran {task} (the last at {error.last_worker.address}): were they out of memory, or "
            "ended from outside?"
        )
        return Done(task, 0.0, "", error=said)


def gone(address: str, why: str) -> InputError:
    """A scheduler that was there."""
    return InputError(
        f"the dask scheduler at {address} went away ({why}): start it again, with its workers; "
        "nothing is lost but what was running"
    )


def line_of(error: BaseException) -> str:
    """An error in one line."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".:") if lines else type(error).__name__


def _would(meta: dict[str, Any]) -> str:
    return f"the worker at {meta['worker']} would give other bits"


def _refusal(meta: dict[str, Any]) -> InputError:
    ours, theirs = identity(), meta["refused"]
    differing = [name for name in ours if theirs.get(name) != ours[name]]
    said = "; ".join(
        f"{name} is {theirs.get(name)} there and {ours[name]} here" for name in differing
    )
    return InputError(f"{_would(meta)}: {said}. Install the same versions on both")
