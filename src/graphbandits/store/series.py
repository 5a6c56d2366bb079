"""What determines the numbers of a policy in a simulation, and its name: a hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphbandits.engine import Plan
from graphbandits.engine.crews.travel import as_message, recipe_of, why_not
from graphbandits.engine.settings import versions
from graphbandits.errors import InputError
from graphbandits.store.sources import sources_of

#: The modules of the loop, which imports nothing of the policy that it plays.
LOOP = ("graphbandits.engine.loop", "graphbandits.engine.recorder")
#: What of a message between processes says where things lie and not what they are.
PLACES = frozenset({"plugins", "modules"})


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
    if why := why_not(plan):
        raise InputError(f"{why}, nor kept in a store")
    meta, arrays = as_message(plan)
    problem = {key: value for key, value in meta.items() if key not in PLACES}
    classes = [type(plan.policies[policy]), type(plan.world), type(plan.process)]
    if "text" in problem["graph"]:  # of a plug-in's own class
        classes.append(recipe_of(problem["graph"]["text"]))
    known = versions()
    facts = {
        "policy": policy,
        "problem": problem
        | {
            "arrays": {
                name: _digest(array)
                for name, array in arrays.items()
                if not name.startswith("plugin/")  # those of the pieces are among the sources
            }
        },
        "sources": sources_of([*classes, type(plan.world.prior)], LOOP),
        "versions": {
            "python": ".".join(known["python"].split(".")[:2]),
            **{package: known[package] for package in ("numpy", "scipy", "numba")},
        },
    }
    return Series(name_of(facts), facts)


def name_of(facts: dict[str, Any]) -> str:
    """The sha256 of facts, as JSON with sorted keys and without spaces."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(array: Any) -> str:
    array = np.ascontiguousarray(array)
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}\n".encode())
    digest.update(array.ravel().data)
    return digest.hexdigest()
