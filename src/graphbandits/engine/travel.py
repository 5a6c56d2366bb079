"""A plan as plain texts and numbers, for the processes of :mod:`graphbandits.engine.workers`."""

from __future__ import annotations

from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from graphbandits.errors import InputError
from graphbandits.graphs import Process, as_process
from graphbandits.graphs.storage import Arrays, pack_process
from graphbandits.plugins import file_of, loaded_plugins
from graphbandits.policies import as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import parse, registered
from graphbandits.worlds import Bernoulli

if TYPE_CHECKING:
    from graphbandits.engine.simulation import Plan


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
        pack_process(plan.process, _graph_text(plan), {})
    except InputError as error:
        return str(error)
    return ""


def as_message(plan: Plan) -> tuple[dict[str, Any], Arrays]:
    """All that a worker process has to know."""
    prior = plan.world.prior
    assert isinstance(prior, BetaBernoulli)
    arrays: Arrays = {"prior/a": prior.a, "prior/b": prior.b}
    fixed = getattr(plan.world, "fixed", None)
    if fixed is not None:
        arrays["fixed"] = fixed
    graph = pack_process(plan.process, _graph_text(plan), arrays)
    plugins = [type(policy) for policy in plan.policies.values()]
    if "text" in graph:
        plugins.append(recipe_of(graph["text"]))
    needed = {file_of(cls) for cls in plugins}
    meta = {
        # all of them, for one may use another; but those not named here may have gone since
        "plugins": [
            [str(plugin.path), plugin.source, plugin.path in needed] for plugin in loaded_plugins()
        ],
        "modules": sorted({cls.__module__ for cls in plugins if file_of(cls) is None}),
        "accuracy": prior.accuracy,
        "horizon": plan.horizon,
        "seed": plan.seed,
        "recording": asdict(plan.recording),
        "graph": graph,
    }
    return meta, arrays


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


def recipe_of(text: str) -> type:
    """The class of the recipe that a graph's text names."""
    return registered("graph")[parse(text)[0]]


def _found_elsewhere(cls: type) -> bool:
    """Whether another process can load a class: from its plug-in file, or by importing it."""
    if file_of(cls) is not None:
        return True
    try:
        return cls.__module__ != "__main__" and find_spec(cls.__module__) is not None
    except (ImportError, ValueError):  # made by hand, without a file
        return False
