"""Identity of a series: the facts that determine the numbers of a policy, and their hash."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from llvmlite.binding import get_host_cpu_name

from graphbandits._jit import numba_config
from graphbandits.errors import InputError, SourceError
from graphbandits.graphs import as_process
from graphbandits.graphs.loaders import pack_process
from graphbandits.plugins import code_of, data_files, file_of
from graphbandits.policies import as_policy
from graphbandits.policies.base import with_inner
from graphbandits.registry import build

if TYPE_CHECKING:
    from graphbandits.simulation.plan import Plan

ROOT = Path(__file__).parents[1]
#: Modules and packages that compute numbers.
NUMERIC = (
    *("rng.py", "_rng_kernels.py", "_jit.py"),
    *("graphs", "posteriors", "rules", "policies", "worlds"),
    *("simulation/loop.py", "simulation/conditions.py", "simulation/shard.py"),
)
#: Packages whose versions may change numbers.
PACKAGES = ("numpy", "scipy", "numba", "llvmlite")
#: Numba settings that users may change and that change the compiled kernels.
COMPILER = ("DISABLE_JIT", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE")


def _hash_sources() -> str:
    digest = hashlib.sha256()
    for name in NUMERIC:
        place = ROOT / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            text = file.read_bytes()
            digest.update(f"{file.relative_to(ROOT).as_posix()} {len(text)}\n".encode())
            digest.update(text)
    return digest.hexdigest()


#: Hash of the sources that compute numbers, when this module was imported: later edits have no
#: effect on a process that runs.
SOURCES = _hash_sources()


@dataclass(frozen=True)
class Series:
    """All possible trials of one policy in one simulation; ``facts`` determine the numbers."""

    name: str
    facts: dict[str, Any]


#: Series of the plans that were used so far; later changes of data files are ignored.
_SERIES: WeakKeyDictionary[Plan, dict[str, Series]] = WeakKeyDictionary()


def series_of(plan: Plan, policy: str) -> Series:
    """Return the series of a policy of a plan; it does not depend on the number of trials."""
    if plan not in _SERIES:
        if reason := unserializable_reason(plan):
            raise InputError(f"the results cannot be stored: {reason}")
        _SERIES[plan] = {name: _series(plan, name) for name in plan.policies}
    return _SERIES[plan][policy]


def _series(plan: Plan, policy: str) -> Series:
    facts = {
        "policy": policy,
        "problem": plan.problem,
        "horizon": plan.horizon,
        "seed": plan.seed,
        "recording": plan.recording.facts(),
        **environment(),
        **code_facts(plan, policy),
    }
    return Series(facts_hash(facts), facts)


def facts_hash(facts: Mapping[str, Any]) -> str:
    """Return the sha256 of facts as JSON with sorted keys and without spaces."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def environment() -> dict[str, Any]:
    """Return the sources, the versions and the settings of the compiler of this process."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {
        "sources": SOURCES,
        "versions": {"python": python} | {name: version(name) for name in PACKAGES},
        "compiler": {name: int(getattr(numba_config, name)) for name in COMPILER},
    }


def code_facts(plan: Plan, policy: str) -> dict[str, Any]:
    """Return the code from outside this package and the data files that a policy of a plan uses."""
    pieces = pieces_of(plan, policy)
    files = {name: digest for piece in pieces for name, digest in data_files(piece).items()}
    return {"code": code_of(map(type, pieces)), "files": files}


def pieces_of(plan: Plan, policy: str) -> list[object]:
    """Return the objects whose classes may be plug-ins: policies, models, process and graph."""
    pieces = [*with_inner(plan.policies[policy]), *plan.models, plan.process]
    graph = pack_process(plan.process, plan.graph_spec, {}).get("text")
    return pieces if graph is None else [*pieces, build("graph", graph)]


def check_facts(expected: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise SourceError if a worker has other facts than the process that started the run."""
    started = "the process that started the run"
    same = "use the same on both, and start the run again"
    for name, known in here.items():
        wanted = expected[name]
        if known == wanted:
            continue
        if name == "sources":
            difference = f"a worker has other sources of graphbandits than {started}"
        elif name == "code":
            changed = min(set(known) ^ set(wanted)).rpartition(" ")[0]
            difference = f"the {changed} on a worker differs from that of {started}"
        else:
            mine, its = ({name: one} if isinstance(one, str) else one for one in (known, wanted))
            keys = [key for key in {**its, **mine} if its.get(key) != mine.get(key)]
            values = (f"{key} is {mine.get(key)} and not {its.get(key)}" for key in keys)
            difference = f"on a worker {', '.join(values)} as in {started}"
        raise SourceError(f"{difference}: {same}")


def unserializable_reason(plan: Plan) -> str:
    """Return why a plan cannot be sent to another process; empty if it can."""
    remedy = (
        "cannot be sent to another process: register it in a file and load the file with "
        "load_plugin"
    )
    try:
        plan.problem  # noqa: B018
    except InputError as error:
        return f"the world or the graph cannot be sent to another process: {error}"
    for model in plan.models:
        if not _is_importable(type(model)):
            return f"{type(model).__name__} {remedy}"
    for text, policy in plan.policies.items():
        try:
            same = as_policy(text) == policy
        except InputError:
            same = False
        if not same or not all(_is_importable(type(one)) for one in with_inner(policy)):
            return f"policy '{text}' {remedy}"
    try:
        graph = pack_process(plan.process, plan.graph_spec, {}).get("text")
        same = graph is None or (
            _is_importable(type(build("graph", graph)))
            and type(as_process(graph, plan.process.arms)) is type(plan.process)
        )
    except InputError:
        same = False
    return "" if same else f"the graph '{plan.graph_text}' {remedy}"


def _is_importable(cls: type) -> bool:
    if file_of(cls) is not None:
        return True
    try:
        return cls.__module__ != "__main__" and find_spec(cls.__module__) is not None
    except (ImportError, ValueError):  # a module without a file
        return False


@cache
def cpu_name() -> str:
    """Return the CPU type that Numba compiles for; results have the same bits on one type."""
    return str(numba_config.CPU_NAME or get_host_cpu_name())
