"""Tasks in the hands of a dask scheduler."""

from __future__ import annotations

import secrets
from collections import Counter
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any

from graphbandits.engine.crews.remote import identity, run
from graphbandits.engine.crews.study import done_of, request
from graphbandits.engine.crews.travel import Packer
from graphbandits.engine.tasks import Done, Task
from graphbandits.errors import InputError

#: A task at which as many workers died is given up, if it was the only one at the last of them.
DEATHS = 3


class Flight:
    """Tasks that were submitted and have not come back.

    A plan is sent when a worker says that it does not know it, and so once to each worker. When a
    worker dies, dask blames all tasks that it held. Those that it gives up are suspects: they
    are tried again one by one when nothing else is flying, so that only those fail that are guilty.
    """

    def __init__(self, client: Any, address: str, packed: Packer) -> None:
        self._client, self._address, self._packed = client, address, packed
        self._flying: dict[str, tuple[Task, Any]] = {}
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._suspects: list[Task] = []
        self._deaths: Counter[Task] = Counter()
        self._alone: Task | None = None

    def __len__(self) -> int:
        return len(self._flying)

    def submit(self, task: Task, plan: bytes = b"", worker: str | None = None) -> None:
        """Hand a task to the scheduler, for a certain worker if one is named."""
        dask: Any = import_module("dask")
        asked = request(self._packed(task.plan).name, task)
        # a large plan is sent on purpose: dask would warn of it
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            future = self._client.submit(
                run,
                identity(),
                asked,
                plan,
                key=f"graphbandits-{secrets.token_hex(8)}",
                pure=False,
                workers=worker,
                allow_other_workers=worker is not None,
            )
        self._flying[future.key] = task, future
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
        task, _ = self._flying.pop(future.key)
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
            raise _refusal(meta["worker"], meta["refused"])
        if "unknown" in meta:
            self.submit(task, self._packed(task.plan).data, meta["worker"])
            return None
        return done_of(task, meta, data)

    def cancel(self) -> None:
        """Have the scheduler forget what is left; workers notice within a round's time."""
        futures = [future for _, future in self._flying.values()]
        self._flying.clear()
        if futures and self._client.status == "running":
            self._client.cancel(futures, force=True)

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


def _refusal(worker: str, theirs: dict[str, str]) -> InputError:
    ours = identity()
    differing = [name for name in ours if theirs.get(name) != ours[name]]
    said = "; ".join(
        f"{name} is {theirs.get(name)} there and {ours[name]} here" for name in differing
    )
    return InputError(
        f"the worker at {worker} would give other bits: {said}. Install the same versions on both"
    )
