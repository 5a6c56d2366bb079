"""Facts that determine the numbers of a stored series; the name of a series is their hash.

The facts of one policy in one simulation are

- the settings: text form of the policy, horizon, seed, recording, accuracy, and digests of the
  prior, of fixed means, of the arrays of the graph and of files that parameters name;
- the sources that can change numbers: those modules of :data:`NUMERIC` that define or are imported
  by the policy, the world, the graph and the loop. Comments and docstrings are ignored;
- plug-ins, by the sha256 of their text, and their imports: the version of installed packages, the
  text of other modules, and all modules of this package, including those outside :data:`NUMERIC`.
  A plug-in that may look up others by name (:data:`DYNAMIC_NAMES`) depends on all modules that
  names can refer to;
- the versions of Python, NumPy, SciPy, Numba and llvmlite, and the settings of Numba.

File readers are not facts, because the arrays that they read are among the settings. Modules that
store, report, plot or communicate with workers are not facts either. The same holds for searches
for graph invariants, although policies read their values from ``problem.graphs``: the values that
the sources of a policy mention (:data:`GRAPH_VALUES`) are facts instead. These searches have no
time limit, and therefore the values are the same on every machine. If only some arms are eligible
in a round, the values are those of many restricted graphs, and the searches are facts. Linear
programs are facts of the policies that use their solutions.

``tests/engine/test_provenance.py`` checks :data:`NUMERIC` against imports and a traced run.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import sys
import sysconfig
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from llvmlite.binding import get_host_cpu_name
from numpy.typing import NDArray

from graphbandits._io import read_bytes
from graphbandits._jit import numba_config
from graphbandits._process_info import process_fields
from graphbandits._version import __version__
from graphbandits.engine.eligible import describe_eligible
from graphbandits.errors import InputError, SourceError
from graphbandits.graphs import as_process
from graphbandits.graphs._storage import Arrays, pack_process
from graphbandits.graphs.graph_info import GraphInfo
from graphbandits.plugins import Plugin, data_files, loaded_plugins, plugin_of
from graphbandits.policies import as_policy
from graphbandits.policies.base import with_inner
from graphbandits.registry import PARSING, build, parse, registered
from graphbandits.worlds._storage import models_of, pack_models

if TYPE_CHECKING:
    from graphbandits.engine.plan import Plan

Sources = dict[str, str]

PACKAGE = __name__.split(".")[0]
#: Modules and subpackages whose code can change the numbers of a series.
NUMERIC = (
    *("rng", "_rng_kernels", "_jit", "posteriors", "rules", "gains", "policies", "worlds"),
    *("graphs.feedback", "graphs._feedback_kernels", "graphs.processes", "graphs.graph_info"),
    *("graphs._outcome_space", "graphs.dominating_sets"),
    *("engine.loop", "engine._proposal_kernels", "engine.answers", "engine.eligible"),
)
#: Modules that change no numbers, even if a plug-in imports them.
NEUTRAL = (
    "_io",
    "_process_info",
    "_serialization",
    "_types",
    "_version",
    "errors",
    "plugins",
    "registry",
)
#: Modules that names can refer to: policies, posteriors, and graphs by name and from files.
LOOKUP_MODULES = (*NUMERIC, "graphs")
#: Names in a plug-in that may load code without an import statement, or that may compute the values
#: of graph searches.
DYNAMIC_NAMES = {
    "registered",
    "build",
    "as_policy",
    "as_process",
    "load_plugin",
    GraphInfo.__name__,
}
DYNAMIC_NAMES |= {"import_module", "__import__", "exec", "eval"}
#: Values of ``problem.graphs`` that are computed by sources outside :data:`NUMERIC`.
GRAPH_VALUES = ("independence", "independence_number")
#: Module that computes these values.
GRAPH_SEARCHES = "graphbandits.graphs.numbers"
#: Modules of the loop. The loop does not import the policy that it runs.
LOOP = ("graphbandits.engine.loop",)
#: Module that restores a plan from a message in a worker.
WORKER = "graphbandits.engine.executors.worker_runtime"
#: Numba settings that users may change and that change the compiled kernels.
COMPILER = ("DISABLE_JIT", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE")

#: Series and sources of the plans that were used so far.
_SERIES: WeakKeyDictionary[Plan, dict[str, Series]] = WeakKeyDictionary()
_SOURCES: WeakKeyDictionary[Plan, dict[str, tuple[Sources, set[str]]]] = WeakKeyDictionary()
_LOCK = Lock()
#: Digest of each source file when it was first used.
_FIRST_DIGESTS: dict[Path, str] = {}
#: Digest of each source file that had been imported when it was first read.
_IMPORTED_DIGESTS: dict[Path, str] = {}


# Series ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    """All possible trials of one policy in one simulation; ``facts`` determine the numbers.

    >>> from graphbandits.engine import Plan
    >>> plan = Plan.of("ts-n", graph="paper", horizon=10, trials=5)
    >>> series = series_of(plan, "ts-n")
    >>> len(series.name), series.facts["policy"], series.facts["problem"]["horizon"]
    (64, 'ts-n', 10)
    """

    name: str
    facts: dict[str, Any]


def series_of(plan: Plan, policy: str) -> Series:
    """Return the series of a policy of a plan; it does not depend on the number of trials."""
    if plan not in _SERIES:  # large graphs are hashed once, and later changes of files are ignored
        problem, graphs = _problem(plan), GraphInfo(plan.process)
        _SERIES[plan] = {name: _series(plan, name, problem, graphs) for name in plan.policies}
    return _SERIES[plan][policy]


def _series(plan: Plan, policy: str, problem: dict[str, Any], graphs: GraphInfo) -> Series:
    sources, words = _sources_and_words(plan, policy)
    pieces: list[object] = [plan.policies[policy], plan.process, *models_of(plan)]
    if "text" in problem["graph"]:  # a class of a plug-in, whose parameters may name files
        pieces.append(build("graph", problem["graph"]["text"]))
    known = required_versions() | {"llvmlite": _version("llvmlite")}
    facts = {
        "policy": policy,
        "problem": problem,
        "files": {name: digest for piece in pieces for name, digest in data_files(piece).items()},
        "sources": sources,
        "versions": {
            name: known[name] for name in ("python", "numpy", "scipy", "numba", "llvmlite")
        },
        "compiler": {name: int(getattr(numba_config, name)) for name in COMPILER},
    }
    if read := {name: getattr(graphs, name) for name in GRAPH_VALUES if name in words}:
        facts["graph_values"] = {
            name: value(plan.horizon) if callable(value) else value for name, value in read.items()
        }
    return Series(facts_hash(facts), facts)


def facts_hash(facts: Mapping[str, Any]) -> str:
    """Return the sha256 of facts as JSON with sorted keys and without spaces."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def same_settings(facts: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Return whether two series have the same settings; sources and versions may differ.

    The facts may also be those of an earlier version, read from JSON.

    >>> from graphbandits.engine import Plan
    >>> facts = [series_of(Plan.of("ts-n", horizon=t, trials=5), "ts-n").facts for t in (10, 11)]
    >>> same_settings(facts[0], facts[0] | {"sources": {}}), same_settings(*facts)
    (True, False)
    """
    return all(facts.get(key) == others.get(key) for key in ("policy", "problem", "files"))


def versions() -> dict[str, str]:
    """Return the versions on which the last digits of the numbers may depend.

    >>> sorted(versions())
    ['graphbandits', 'machine', 'numba', 'numpy', 'python', 'scipy']
    """
    return {
        "graphbandits": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "scipy", "numba")},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def required_versions() -> dict[str, str]:
    """Return the versions that must be the same in all workers.

    >>> required_versions()["python"].count(".")
    1
    """
    return versions() | {"python": ".".join(platform.python_version_tuple()[:2])}


@cache
def cpu_name() -> str:
    """Return the CPU type that Numba compiles for; results have the same bits on one type.

    >>> cpu_name() != ""
    True
    """
    return str(numba_config.CPU_NAME or get_host_cpu_name())


def _problem(plan: Plan) -> dict[str, Any]:
    """Return the settings that all policies of a plan share, as JSON values."""
    if reason := unserializable_reason(plan):
        raise InputError(f"the results cannot be stored: {reason}")
    models, graph, arrays = models_and_graph(plan)
    facts = models | {
        "horizon": plan.horizon,
        "seed": plan.seed,
        "recording": plan.recording.facts(),
        "graph": graph,
        "arrays": {name: _array_digest(array) for name, array in arrays.items()},
    }
    if plan.eligible is not None:  # earlier versions had no eligible arms
        facts["eligible"] = describe_eligible(plan.eligible)
    if plan.answers is not None:  # nor delayed and missing answers
        facts["answers"] = plan.answers.settings()
    return facts


def models_and_graph(plan: Plan) -> tuple[dict[str, Any], Any, Arrays]:
    """Return world and posterior of a plan as JSON, its graph as JSON, and the arrays of both."""
    arrays: Arrays = {}
    models = pack_models(plan.world, plan.posterior, arrays)
    return models, pack_process(plan.process, plan.graph_spec, arrays), arrays


def unserializable_reason(plan: Plan) -> str:
    """Return why a plan cannot be sent to another process; empty if it can."""
    try:
        pack_models(plan.world, plan.posterior, {})
    except InputError as error:
        return f"the world or its posterior cannot be sent to another process: {error}"
    for model in models_of(plan):
        if not _is_importable(type(model)):
            return (
                f"{type(model).__name__} cannot be sent to another process: register it in a file "
                "and load the file with load_plugin"
            )
    for text, policy in plan.policies.items():
        try:
            same = as_policy(text) == policy
        except InputError:
            same = False
        if not same or not all(_is_importable(type(one)) for one in with_inner(policy)):
            return (
                f"policy '{text}' cannot be sent to another process: register it in a file and "
                "load the file with load_plugin"
            )
    try:
        pack_process(plan.process, None, {})
    except InputError as error:  # a class of a plug-in is sent as its text form
        if not _graph_spec_suffices(plan):
            return f"the graph cannot be sent to another process: {error}"
    return ""


def _graph_spec_suffices(plan: Plan) -> bool:
    """Return whether another process can create the graph from its text form."""
    if plan.graph_spec is None:
        return False
    try:
        again = as_process(plan.graph_spec, plan.process.arms)
        return type(again) is type(plan.process) and _is_importable(graph_class_of(plan.graph_spec))
    except (InputError, KeyError):
        return False


def _is_importable(cls: type) -> bool:
    """Return whether another process can load a class from its plug-in file or by importing it."""
    if plugin_of(cls) is not None:
        return True
    try:
        return cls.__module__ != "__main__" and find_spec(cls.__module__) is not None
    except (ImportError, ValueError):  # a module without a file
        return False


def _array_digest(array: NDArray[Any]) -> str:
    array = np.ascontiguousarray(array)
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}\n".encode())
    digest.update(array.ravel().data)  # without a copy, because it may be large
    return digest.hexdigest()


def cached_sources(plan: Plan, policy: str) -> Sources:
    """Return the sources of a series if they were determined before; else an empty dict."""
    return _SOURCES[plan][policy][0] if plan in _SOURCES else {}


def worker_sources(plan: Plan, policy: str) -> Sources:
    """Return the sources that a worker needs: those of a series, and those that read the task."""
    return _runtime_sources() | _sources_and_words(plan, policy)[0]


_runtime_sources = cache(lambda: sources_of((), [WORKER], include_neutral=True)[0])


def graph_class_of(text: str) -> type:
    """Return the class that the text form of a graph names."""
    return registered("graph")[parse(text)[0]]


def _sources_and_words(plan: Plan, policy: str) -> tuple[Sources, set[str]]:
    """Return the result of :func:`sources_of` for a policy of a plan, determined once per plan."""
    with _LOCK:
        if plan not in _SOURCES:  # all policies, in their current state
            shared = [type(plan.process), *map(type, models_of(plan))]
            text = plan.graph_spec
            if text is not None and "text" in pack_process(plan.process, text, {}):
                shared.append(graph_class_of(text))
            _SOURCES[plan] = {
                name: sources_of([*map(type, with_inner(one)), *shared], LOOP)
                for name, one in plan.policies.items()
            }
            if plan.eligible is not None:  # each set of arms has its own values
                for found, words in _SOURCES[plan].values():
                    if not words.isdisjoint(GRAPH_VALUES):
                        found |= sources_of((), [GRAPH_SEARCHES])[0]
        return _SOURCES[plan][policy]


# Sources -----------------------------------------------------------------------------------------


def sources_of(
    classes: Iterable[type], modules: Iterable[str] = (), include_neutral: bool = False
) -> tuple[Sources, set[str]]:
    """Return the digests of all sources that can change what classes and modules compute.

    The second value is the set of names in those sources that may read values of the graphs. With
    ``include_neutral``, sources of this package that change no numbers are included.

    >>> from graphbandits.policies.ts_n import TSN
    >>> found, _ = sources_of([TSN])
    >>> "graphbandits.rules.ts_n" in found, "graphbandits.rules.ids_n" in found
    (True, False)
    """
    found: Sources = {}
    words: set[str] = set()
    waiting: list[str | Plugin] = list(modules)
    for base in dict.fromkeys(base for cls in classes for base in cls.__mro__):
        waiting.append(plugin_of(base) or base.__module__)
    while waiting:
        one = waiting.pop()
        name = one if isinstance(one, str) else plugin_name(one.source)
        if name in found or (_is_within(name, NEUTRAL) and not include_neutral):
            continue
        if isinstance(one, Plugin):  # its text when it was loaded
            source, found[name] = _analyse(one.text, ""), one.source
        elif (file := _file(one)) is None:
            continue
        elif not _is_own(one) and _is_installed(file):
            found |= _installed_versions(one)
            continue
        else:
            source, found[name] = _read(one, file), _digest(one, file)
        named = _imported_modules(source.imports)
        numeric = _is_within(name, NUMERIC)
        waiting += [
            other for other in named if include_neutral or not numeric or _is_within(other, NUMERIC)
        ]
        if not numeric or _is_within(name, ("policies",)):
            words |= source.words
        is_dynamic = PACKAGE in named or not DYNAMIC_NAMES.isdisjoint(source.words)
        if is_dynamic and not numeric and not include_neutral:
            waiting += [*_modules(LOOKUP_MODULES), *loaded_plugins()]
    return dict(sorted(found.items())), words


def plugin_name(source: str) -> str:
    """Return the name of a plug-in among the sources, from the sha256 of its file."""
    return f"plugin {source[:16]}"


def _is_own(name: str) -> bool:
    return name.split(".")[0] == PACKAGE


@cache
def _is_within(name: str, places: tuple[str, ...]) -> bool:
    """Return whether a module is one of the given modules or subpackages, or inside one."""
    return f"{name}.".startswith(tuple(f"{PACKAGE}.{place}." for place in places))


@cache
def _modules(places: tuple[str, ...]) -> list[str]:
    """Return all modules of the given modules and subpackages."""
    root = Path(__file__).parents[1]
    paths = (file.relative_to(root.parent).with_suffix("") for file in sorted(root.rglob("*.py")))
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return [name for name in names if _is_within(name, places)]


@cache
def _imported_modules(imports: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the modules that import statements load."""
    found: list[str] = []
    for module, name in imports:
        if _is_own(module):
            found.append(_defining_module(module, name))
        else:  # Python executes parent packages first
            parts = f"{module}.{name}".rstrip(".").split(".")
            found += [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return list(dict.fromkeys(found))


def _defining_module(module: str, name: str) -> str:
    """Return the module of this package that defines ``name`` in ``from module import name``.

    >>> _defining_module("graphbandits.graphs", "DenseFeedback")
    'graphbandits.graphs.feedback'
    >>> _defining_module("graphbandits.rules", "ids_n")
    'graphbandits.rules.ids_n'
    """
    if name and _file(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    file = _file(module) if name else None
    if file is not None and file.name == "__init__.py":  # a package may re-export names
        for other, known in _read(module, file).imports:
            if known == name:
                return _defining_module(other, name)
    return module


def check_sources(expected: Mapping[str, str]) -> None:
    """Raise SourceError if this process uses or would import other sources than those expected.

    An imported module is compared by its state when it was first read: a later edit does not
    affect a process that has already imported it. Plug-ins are not compared, because they are sent
    with the task.

    >>> from graphbandits.policies.ts_n import TSN
    >>> check_sources(sources_of([TSN])[0])
    >>> check_sources({"graphbandits.rng": "another digest"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphbandits.errors.SourceError: ...rng.py was changed after the run started: ...
    """
    if not expected:
        return
    for name in [name for name in list(sys.modules) if _is_own(name)]:
        _imported_digest(name, _file(name))
    for name, digest in expected.items():
        kind, _, rest = name.partition(" ")
        if kind == "package" and (here := _version(rest)) != digest:
            raise SourceError(
                f"{rest} has version {here} here and {digest} on the machine that started the run"
            )
        if kind not in ("package", "plugin") and _imported_digest(name, _file(name)) != digest:
            raise SourceError(
                f"{_file(name) or name} was changed after the run started: start the run again"
            )


def _imported_digest(name: str, file: Path | None) -> str:
    """Return the digest of a module as imported by this process; empty if unknown."""
    if file is None:
        return ""
    if file not in _IMPORTED_DIGESTS:
        with suppress(OSError, InputError):
            found = _read(name, file).digest
            if name not in sys.modules:
                return found
            _IMPORTED_DIGESTS[file] = "" if _changed_after_start(name, file) else found
    return _IMPORTED_DIGESTS.get(file, "")


def _digest(name: str, file: Path) -> str:
    """Return the digest of a source; raise InputError if it changed while this process ran."""
    found = _read(name, file).digest
    if _changed_after_start(name, file) or _FIRST_DIGESTS.setdefault(file, found) != found:
        raise InputError(
            f"{file} was changed while this process ran, which may still use the old version: "
            "restart Python"
        )
    if name in sys.modules:
        _IMPORTED_DIGESTS.setdefault(file, found)
    return found


@cache
def _process_start() -> float | None:
    """Return the start time of this process in seconds since 1970; None if unavailable."""
    fields = process_fields(os.getpid())
    try:
        up = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, LookupError, ValueError):
        return None
    ticks = os.sysconf("SC_CLK_TCK")
    return None if fields is None else time.time() - up + int(fields[19]) / ticks


def _changed_after_start(name: str, file: Path) -> bool:
    """Return whether a module of this package was changed after this process started."""
    since = _process_start() if _is_own(name) else None
    return since is not None and file.stat().st_mtime > since + 1.0  # tolerance for the clocks


def _file(name: str) -> Path | None:
    """Return the file of a module; None for the standard library, __main__ and non-modules."""
    if not name or name.split(".")[0] in sys.stdlib_module_names or name == "__main__":
        return None
    try:
        spec = find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    origin = None if spec is None else spec.origin
    return Path(origin) if origin and os.path.isfile(origin) else None


def _is_installed(file: Path) -> bool:
    paths = sysconfig.get_paths()
    places = (paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))
    return any(file.is_relative_to(place) for place in places)


_distributions = cache(packages_distributions)


def _installed_versions(module: str) -> Sources:
    """Return the versions of the installed packages that may provide a module."""
    names = _distributions().get(module.split(".")[0], [])
    return {f"package {name}": _version(name) for name in sorted(set(names))}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


class _Source(NamedTuple):
    """Digest of a source, its import statements as (module, name), and the names in it."""

    digest: str
    imports: tuple[tuple[str, str], ...] = ()
    words: frozenset[str] = frozenset()


def _read(name: str, file: Path) -> _Source:
    status = file.stat()
    return _read_version(name, file, status.st_mtime_ns, status.st_size)


@cache
def _read_version(name: str, file: Path, changed: int, size: int) -> _Source:
    text = read_bytes(file, "source")
    if file.suffix != ".py":
        return _Source(hashlib.sha256(text).hexdigest())
    return _analyse(text, name if file.name == "__init__.py" else name.rpartition(".")[0])


def _analyse(text: bytes, package: str) -> _Source:
    """Analyse a source.

    The digest of a module of this package ignores comments and docstrings; that of any other
    source is the digest of its text.
    """
    try:
        with PARSING:
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return _Source(hashlib.sha256(text).hexdigest(), words=frozenset(DYNAMIC_NAMES))
    imports: list[tuple[str, str]] = []
    words: set[str] = set()
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            imports += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(parts if node.level else ()), node.module or ""]).rstrip(".")
            imports += [(base, alias.name) for alias in node.names]
        elif isinstance(node, documented) and ast.get_docstring(node) is not None:
            del node.body[0]
        # names, attributes, imported names and, for getattr, texts
        word = [getattr(node, key, None) for key in ("id", "attr", "name", "value")]
        words |= {one for one in word if isinstance(one, str)}
        waiting += ast.iter_child_nodes(node)
    text = ast.dump(tree).encode() if _is_own(package) else text
    return _Source(hashlib.sha256(text).hexdigest(), tuple(imports), frozenset(words))
