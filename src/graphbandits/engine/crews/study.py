"""What a worker that is another process makes of a packed plan, and what it answers.

It is told everything as plain numbers and texts: a policy is its text, a plug-in its file.
"""

from __future__ import annotations

import hashlib
import importlib
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from graphbandits import errors
from graphbandits.engine.crews.pipes import Message
from graphbandits.engine.crews.travel import Latest
from graphbandits.engine.provenance import check_sources, plugin_name, wanted_of_worker
from graphbandits.engine.recorder import run_recorded
from graphbandits.engine.recording import Recording
from graphbandits.engine.settings import cpu
from graphbandits.engine.tasks import Done, Task
from graphbandits.errors import GraphBanditsError, InputError, PolicyError
from graphbandits.files import from_npz, write_bytes
from graphbandits.graphs.storage import unpack_process
from graphbandits.plugins import blame, load_plugin, source_file, unload_plugin
from graphbandits.policies import Policy, as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.results import Shard
from graphbandits.rng import Keys
from graphbandits.worlds import Bernoulli


def request(plan: str, task: Task) -> dict[str, Any]:
    """What a worker is asked for; ``plan`` is the name of the packed plan."""
    return {
        "plan": plan,
        "policy": task.policy,
        "first": task.first,
        "trials": task.trials,
        "sources": wanted_of_worker(task.plan, task.policy),
    }


def done_of(task: Task, meta: Mapping[str, Any], data: bytes) -> Done:
    """What a worker answered, as it is handed on."""
    seconds, kind = meta["seconds"], meta["cpu"]
    if "error" not in meta:
        return Done(task, seconds, kind, Shard.from_parquet(data)[0])
    known: type[GraphBanditsError] = getattr(errors, meta["kind"], GraphBanditsError)
    error = known(meta["error"] if meta["kind"] else f"a worker failed: {meta['error']}")
    error.add_note(f"In the worker:\n{meta['trace']}")
    return Done(task, seconds, kind, error=error)


class Studies:
    """The plans that a worker was told, and their plug-ins; threads may share it.

    Copies of plug-ins are put into ``folder()``, which is another's to remove: workers are killed.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._latest: Latest[_Study] = Latest()
        self._plugins = _Plugins(folder)
        self._lock = Lock()

    def answer(
        self, asked: Mapping[str, Any], data: bytes, advance: Callable[[int], None]
    ) -> Message | None:
        """Run what is asked for; ``data`` is the packed plan, or empty if it was told before.

        None if it was not, or if that was forgotten. ``advance`` is called with rounds.
        """
        with self._lock:
            study = self._latest.get(asked["plan"])
            if study is None:
                if not data:
                    return None
                study = _Study(*from_npz(data))
                self._latest.put(asked["plan"], study)
        start, policy = time.perf_counter(), None
        try:
            # classes are found by name, so nobody may exchange the plug-ins meanwhile
            with self._lock:
                self._plugins.exchange(study.meta["plugins"], study.arrays, asked["sources"])
                policy = study.prepared(asked["policy"])
                check_sources(asked["sources"])
            start = time.perf_counter()
            shard = study.run(policy, asked["first"], asked["trials"], advance)
            spent = time.perf_counter() - start  # packing is not the kernels' own time
            check_sources(asked["sources"])  # it may have imported more on the way
        except InterruptedError:
            raise
        except BaseException as raised:  # also what is made to pass by all others
            spent, error = time.perf_counter() - start, _blamed(raised, asked["policy"], policy)
            ours = isinstance(error, GraphBanditsError)
            said = str(error) if ours else f"{type(error).__name__}: {error}".rstrip(": ")
            told = {"error": said, "kind": type(error).__name__ if ours else ""}
            answer: Message = told | {"trace": traceback.format_exc()}, b""
        else:
            answer = {}, shard.to_parquet({})
        answer[0].update(seconds=spent, cpu=cpu())
        return answer


def _blamed(error: BaseException, name: str, policy: Policy | None) -> BaseException:
    """An error that all others let pass is the policy's: nobody presses Ctrl-C in a worker."""
    if policy is None or isinstance(error, Exception | SystemExit):
        return error
    reason = blame(error, source_file(type(policy)))
    return PolicyError(f"policy '{name}' failed: {reason}")


class _Plugins:
    """The plug-in files that are loaded here: those of the plan that is asked for, no others."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._loaded: dict[tuple[str, str], Path] = {}

    def exchange(
        self,
        wanted: list[tuple[str, str]],
        arrays: Mapping[str, NDArray[Any]],
        sources: Collection[str],
    ) -> None:
        """Load what is wanted and not there, forget what is there and not wanted.

        One that cannot be loaded is an error if it is among the sources of what is asked for.
        """
        for key in self._loaded.keys() - {(path, source) for path, source in wanted}:
            unload_plugin(self._loaded.pop(key))
        for path, source in wanted:
            if (path, source) in self._loaded:
                continue
            try:
                place = self._place(path, source, arrays[f"plugin/{source}"].tobytes())
                load_plugin(place)
            except InputError:
                if plugin_name(source) in sources:
                    raise
                continue
            self._loaded[path, source] = place

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


class _Study:
    """A plan as it was told; its parts are made when they are needed, with its plug-ins there."""

    def __init__(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.meta, self.arrays = meta, arrays
        kept = meta["recording"]
        self._recording = Recording(**kept | {"rounds": tuple(kept["rounds"])})
        prior = BetaBernoulli(arrays["prior/a"], arrays["prior/b"], meta["accuracy"])
        self._world = Bernoulli(prior, arrays.get("fixed"))

    @cached_property
    def _process(self) -> Any:
        return unpack_process(self.meta["graph"], self.arrays)

    def prepared(self, policy: str) -> Policy:
        """The policy; all that is found by name is found now."""
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

    def run(self, policy: Policy, first: int, trials: int, advance: Callable[[int], None]) -> Shard:
        keys = Keys(self.meta["seed"], first, trials)
        horizon = self.meta["horizon"]
        return run_recorded(
            policy, self._world, self._process, horizon, keys, self._recording, advance
        )
