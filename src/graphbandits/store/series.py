"""What determines the numbers of a policy in a simulation, and its name: a hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba.core import config

from graphbandits.engine import Plan
from graphbandits.engine.executors.serialization import as_message, rests_on, why_not
from graphbandits.engine.settings import versions
from graphbandits.errors import InputError
from graphbandits.plugins import data_files
from graphbandits.registry import build

#: What of a message between processes says where things lie and not what they are.
PLACES = frozenset({"plugins", "modules"})
#: Numba's settings, which users may change, by which kernels come out differently.
COMPILER = ("DISABLE_JIT", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE")

#: What plans say, so that a large graph is looked at once and not for each policy.
_PROBLEMS: WeakKeyDictionary[Plan, dict[str, Any]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Series:
    """All trials that one policy may have in one simulation; ``facts`` determine the numbers.

    >>> plan = Plan.of("ts-n", graph="paper", horizon=10, trials=5)
    >>> series = series_of(plan, "ts-n")
    >>> len(series.name), series.facts["policy"], series.facts["problem"]["horizon"]
    (64, 'ts-n', 10)
    """

    name: str
    facts: dict[str, Any]


def series_of(plan: Plan, policy: str) -> Series:
    """The series of a policy of a plan: the same for every number of trials."""
    if plan not in _PROBLEMS:
        _PROBLEMS[plan] = _problem(plan)
    problem = _PROBLEMS[plan]
    pieces: list[object] = [plan.policies[policy], plan.world, plan.process, plan.world.prior]
    if "text" in problem["graph"]:  # of a plug-in's own class, whose parameters may name files
        pieces.append(build("graph", problem["graph"]["text"]))
    facts = {
        "policy": policy,
        "problem": problem,
        "files": {name: digest for piece in pieces for name, digest in data_files(piece).items()},
        "sources": rests_on(plan, policy),
        "versions": dict(_versions()),
        "compiler": {name: int(getattr(config, name)) for name in COMPILER},
    }
    return Series(name_of(facts), facts)


@cache
def _versions() -> dict[str, str]:
    """Of what the numbers may depend on besides the sources."""
    known = versions()
    return {
        "python": ".".join(known["python"].split(".")[:2]),
        **{package: known[package] for package in ("numpy", "scipy", "numba")},
        "llvmlite": version("llvmlite"),
    }


def _problem(plan: Plan) -> dict[str, Any]:
    """What all policies of a plan meet."""
    if why := why_not(plan):
        raise InputError(f"{why}, nor kept in a store")
    meta, arrays = as_message(plan)
    # the plug-ins that are loaded travel along; those that matter are among the sources
    needed = {name: array for name, array in arrays.items() if not name.startswith("plugin/")}
    digests = {name: _digest(array) for name, array in needed.items()}
    return {key: meta[key] for key in meta if key not in PLACES} | {"arrays": digests}


def name_of(facts: dict[str, Any]) -> str:
    """The sha256 of facts, as JSON with sorted keys and without spaces."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(array: Any) -> str:
    array = np.ascontiguousarray(array)
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}\n".encode())
    digest.update(array.ravel().data)
    return digest.hexdigest()
