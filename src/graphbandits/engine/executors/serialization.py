"""A plan as plain texts and arrays, for workers that are another process.

:mod:`graphbandits.engine.executors.worker_runtime` makes a plan of them again.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from graphbandits.engine.provenance import recipe_of, wanted_of_worker
from graphbandits.errors import InputError
from graphbandits.files import to_npz
from graphbandits.graphs import Process, as_process
from graphbandits.graphs.storage import Arrays, pack_process
from graphbandits.plugins import file_of, loaded_plugins
from graphbandits.policies import as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.worlds import Bernoulli

if TYPE_CHECKING:
    from graphbandits.engine.plan import Plan
    from graphbandits.engine.tasks import Task

#: Number of plans that are kept at either end: there may be thousands, each with a large graph.
LATEST = 8


def pack(plan: Plan) -> tuple[str, bytes]:
    """A plan as bytes, behind their sha256, by which workers know it."""
    data = to_npz(*as_message(plan))
    return hashlib.sha256(data).hexdigest(), data


def request_of(task: Task) -> dict[str, Any]:
    """What a worker needs besides the plan to run a task."""
    return {
        "policy": task.policy,
        "first": task.first,
        "trials": task.trials,
        "sources": wanted_of_worker(task.plan, task.policy),
    }


def why_not(plan: Plan) -> str:
    """Why a plan cannot be told to another process; empty if it can."""
    if not (type(plan.world) is Bernoulli and type(plan.world.prior) is BetaBernoulli):
        return f"a world of {type(plan.world).__name__} cannot be sent to another process"
    for text, policy in plan.policies.items():
        try:
            same = as_policy(text) == policy
        except InputError:
            same = False
        if not same or not _found_elsewhere(type(policy)):
            return (
                f"policy '{text}' cannot be sent to another process: register it in a file "
                "and load that with load_plugin"
            )
    try:
        _pack_graph(plan, {})
    except InputError as error:
        return str(error)
    return ""


def as_message(plan: Plan) -> tuple[dict[str, Any], Arrays]:
    """All that a worker has to know; plug-ins with their sources, for it may be far away."""
    prior = plan.world.prior
    assert isinstance(prior, BetaBernoulli)
    arrays: Arrays = {"prior/a": prior.a, "prior/b": prior.b}
    fixed = getattr(plan.world, "fixed", None)
    if fixed is not None:
        arrays["fixed"] = fixed
    graph = _pack_graph(plan, arrays)
    pieces = [type(policy) for policy in plan.policies.values()]
    if "text" in graph:
        pieces.append(recipe_of(graph["text"]))
    plugins = loaded_plugins()  # all of them, for one may use another
    for plugin in plugins:  # as they were loaded: their files may have been edited since
        arrays[f"plugin/{plugin.source}"] = np.frombuffer(plugin.text, np.uint8)
    meta = {
        "plugins": [[str(plugin.path), plugin.source] for plugin in plugins],
        "modules": sorted({cls.__module__ for cls in pieces if file_of(cls) is None}),
        "accuracy": prior.accuracy,
        "horizon": plan.horizon,
        "seed": plan.seed,
        "recording": asdict(plan.recording),
        "graph": graph,
    }
    return meta, arrays


def _pack_graph(plan: Plan, arrays: Arrays) -> Any:
    """The arrays of the graph, or the text that it was made from if it is of a plug-in's class."""
    try:
        return pack_process(plan.process, None, arrays)
    except InputError:
        return pack_process(plan.process, _graph_text(plan), arrays)


def _graph_text(plan: Plan) -> str | None:
    """The text from which another process can make the graph; None if there is none."""
    text = plan.given_text
    if text is None:
        return None
    try:
        again: Process = as_process(text, plan.process.arms)
        found = _found_elsewhere(recipe_of(text))
    except (InputError, KeyError):
        return None
    return text if found and type(again) is type(plan.process) else None


def _found_elsewhere(cls: type) -> bool:
    """Whether another process can load a class: from its plug-in file, or by importing it."""
    if file_of(cls) is not None:
        return True
    try:
        return cls.__module__ != "__main__" and find_spec(cls.__module__) is not None
    except (ImportError, ValueError):  # made by hand, without a file
        return False
