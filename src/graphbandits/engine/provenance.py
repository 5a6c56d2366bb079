"""What determines the numbers of a stored series, and the series' name: a hash of these facts.

The facts of one policy in one simulation are

- the settings: the text of the policy, the horizon, the seed, what is recorded, the accuracy, and
  digests of the prior, of fixed means, of the graph's arrays and of files that parameters name;
- the sources that can change numbers: of :data:`NUMERIC` what the policy, the world, the graph and
  the loop are and import. Comments and docstrings do not count;
- plug-ins by the sha256 of their text, and what they import: of installed packages the version, of
  other modules the text, of this package also modules outside :data:`NUMERIC`. A plug-in that may
  look others up by name (:data:`ANYTHING`) rests on all that names lead to;
- the versions of Python, NumPy, SciPy, Numba and llvmlite, and Numba's settings.

File readers do not count, for the arrays that they read are among the settings; nor do modules that
store, report, draw or send to workers. Searches for graph invariants do not either, although
policies get their values from ``problem.graphs``: the values that a policy's sources mention
(:data:`GRAPH_VALUES`) are facts instead. No clock ends these searches, so that the values are the
same everywhere. Linear programs count for the policies that play their solutions.

``tests/engine/test_provenance.py`` checks :data:`NUMERIC` against import statements and a traced run.
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
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
from llvmlite.binding import get_host_cpu_name
from numpy.typing import NDArray

from graphbandits._io import read_bytes
from graphbandits._jit import numba_config
from graphbandits._process_info import process_fields
from graphbandits._version import __version__
from graphbandits.errors import InputError, SourceError
from graphbandits.graphs import as_process
from graphbandits.graphs._storage import Arrays, pack_process
from graphbandits.graphs.graph_info import GraphInfo
from graphbandits.plugins import Plugin, data_files, loaded_plugins, plugin_of
from graphbandits.policies import as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import PARSING, build, parse, registered
from graphbandits.worlds import Bernoulli

if TYPE_CHECKING:
    from graphbandits.engine.plan import Plan

Sources = dict[str, str]

PACKAGE = __name__.split(".")[0]
#: Modules and packages of this one whose code can change the numbers of a series.
NUMERIC = (
    *("rng", "_rng_kernels", "_jit", "posteriors", "rules", "gains", "policies", "worlds"),
    *("graphs.feedback", "graphs._feedback_kernels", "graphs.processes", "graphs.graph_info"),
    *("graphs._outcome_space", "graphs.dominating_sets"),
    "engine.loop",
)
#: Modules that change no numbers even where a plug-in imports them.
NEUTRAL = (
    "_io",
    "_old_words",
    "_process_info",
    "_types",
    "_version",
    "errors",
    "plugins",
    "registry",
)
#: Where names lead to: policies, posteriors, and graphs by recipes and from files.
NAMED = (*NUMERIC, "graphs")
#: Words of a plug-in that may bring in code which no import statement mentions, or which computes
#: the values that stand for searches of graphs.
ANYTHING = {"registered", "build", "as_policy", "as_process", "load_plugin", GraphInfo.__name__}
ANYTHING |= {"import_module", "__import__", "exec", "eval"}
#: What ``problem.graphs`` computes by sources that do not count.
GRAPH_VALUES = ("independence", "independence_number")
#: The modules of the loop, which imports nothing of the policy that it plays.
LOOP = ("graphbandits.engine.loop",)
#: What makes a plan of a message again, in a worker.
WORKER = "graphbandits.engine.executors.worker_runtime"
#: Numba's settings, which users may change, by which kernels come out differently.
COMPILER = ("DISABLE_JIT", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE")

#: What is known of plans.
_SERIES: WeakKeyDictionary[Plan, dict[str, Series]] = WeakKeyDictionary()
_SOURCES: WeakKeyDictionary[Plan, dict[str, tuple[Sources, set[str]]]] = WeakKeyDictionary()
_LOCK = Lock()
#: Digests of sources as they were when they first counted, by their files.
_FIRST: dict[Path, str] = {}
#: Those of modules that had been imported when they were looked at: what this process goes by.
_IMPORTED: dict[Path, str] = {}


# Series ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    """All trials that one policy may have in one simulation; ``facts`` determine the numbers.

    >>> from graphbandits.engine import Plan
    >>> plan = Plan.of("ts-n", graph="paper", horizon=10, trials=5)
    >>> series = series_of(plan, "ts-n")
    >>> len(series.name), series.facts["policy"], series.facts["problem"]["horizon"]
    (64, 'ts-n', 10)
    """

    name: str
    facts: dict[str, Any]


def series_of(plan: Plan, policy: str) -> Series:
    """The series of a policy of a plan: the same for every number of trials."""
    if plan not in _SERIES:  # large graphs are hashed once, and all counts as it was at first
        problem, graphs = _problem(plan), GraphInfo(plan.process)
        _SERIES[plan] = {name: _series(plan, name, problem, graphs) for name in plan.policies}
    return _SERIES[plan][policy]


def _series(plan: Plan, policy: str, problem: dict[str, Any], graphs: GraphInfo) -> Series:
    sources, words = _looked_up(plan, policy)
    pieces: list[object] = [plan.policies[policy], plan.world, plan.process, plan.world.prior]
    if "text" in problem["graph"]:  # of a plug-in's own class, whose parameters may name files
        pieces.append(build("graph", problem["graph"]["text"]))
    known = identity() | {"llvmlite": _version("llvmlite")}
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
    return Series(name_of(facts), facts)


def name_of(facts: Mapping[str, Any]) -> str:
    """The sha256 of facts, as JSON with sorted keys and without spaces."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def same_settings(facts: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether two series differ in sources and versions at most, not in what was asked for.

    Also for the facts of a series of an earlier version, as JSON has them.

    >>> from graphbandits.engine import Plan
    >>> facts = [series_of(Plan.of("ts-n", horizon=t, trials=5), "ts-n").facts for t in (10, 11)]
    >>> same_settings(facts[0], facts[0] | {"sources": {}}), same_settings(*facts)
    (True, False)
    """
    return all(facts.get(key) == others.get(key) for key in ("policy", "problem", "files"))


def versions() -> dict[str, str]:
    """Of everything that the numbers may depend on in their last digit.

    >>> sorted(versions())
    ['graphbandits', 'machine', 'numba', 'numpy', 'python', 'scipy']
    """
    return {
        "graphbandits": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "scipy", "numba")},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def identity() -> dict[str, str]:
    """The versions that must be the same in all workers, besides the sources of each task.

    >>> identity()["python"].count(".")
    1
    """
    return versions() | {"python": ".".join(platform.python_version_tuple()[:2])}


@cache
def cpu() -> str:
    """The kind of processor that Numba compiles for: bits are the same on one kind.

    >>> cpu() != ""
    True
    """
    return str(numba_config.CPU_NAME or get_host_cpu_name())


def _problem(plan: Plan) -> dict[str, Any]:
    """The settings that all policies of a plan share, as JSON."""
    if why := why_not(plan):
        raise InputError(f"{why}, nor kept in a store")
    graph, arrays = arrays_of(plan)
    return {
        "accuracy": cast(BetaBernoulli, plan.world.prior).accuracy,
        "horizon": plan.horizon,
        "seed": plan.seed,
        "recording": asdict(plan.recording) | {"rounds": list(plan.recording.rounds)},
        "graph": graph,
        "arrays": {name: _array_digest(array) for name, array in arrays.items()},
    }


def arrays_of(plan: Plan) -> tuple[Any, Arrays]:
    """The graph of a plan as JSON, and the arrays of its prior, its fixed means and the graph."""
    world = cast(Bernoulli, plan.world)
    arrays: Arrays = {"prior/a": world.prior.a, "prior/b": world.prior.b}
    if world.fixed is not None:
        arrays["fixed"] = world.fixed
    return pack_process(plan.process, plan.given_text, arrays), arrays


def why_not(plan: Plan) -> str:
    """Why texts and arrays cannot describe a plan to another process; empty if they can."""
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
        pack_process(plan.process, None, {})
    except InputError as error:  # of a plug-in's class: it goes by its text
        return "" if _has_text(plan) else str(error)
    return ""


def _has_text(plan: Plan) -> bool:
    """Whether another process can make the graph from the text that it was made from."""
    if plan.given_text is None:
        return False
    try:
        again = as_process(plan.given_text, plan.process.arms)
        return type(again) is type(plan.process) and _found_elsewhere(recipe_of(plan.given_text))
    except (InputError, KeyError):
        return False


def _found_elsewhere(cls: type) -> bool:
    """Whether another process can load a class: from its plug-in file, or by importing it."""
    if plugin_of(cls) is not None:
        return True
    try:
        return cls.__module__ != "__main__" and find_spec(cls.__module__) is not None
    except (ImportError, ValueError):  # made by hand, without a file
        return False


def _array_digest(array: NDArray[Any]) -> str:
    array = np.ascontiguousarray(array)
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}\n".encode())
    digest.update(array.ravel().data)  # read in place, for it may be large
    return digest.hexdigest()


def noted(plan: Plan, policy: str) -> Sources:
    """The sources of a series of a plan; empty if none was asked for."""
    return _SOURCES[plan][policy][0] if plan in _SOURCES else {}


def wanted_of_worker(plan: Plan, policy: str) -> Sources:
    """The sources of a series, and those by which another process understands what it is told."""
    return _worker_sources() | _looked_up(plan, policy)[0]


_worker_sources = cache(lambda: sources_of((), [WORKER], whole=True)[0])


def recipe_of(text: str) -> type:
    """The class of the recipe that a graph's text names."""
    return registered("graph")[parse(text)[0]]


def _looked_up(plan: Plan, policy: str) -> tuple[Sources, set[str]]:
    with _LOCK:
        if plan not in _SOURCES:  # all of its policies, as they are now
            shared = [type(plan.world), type(plan.process), type(plan.world.prior)]
            text = plan.given_text
            if text is not None and "text" in pack_process(plan.process, text, {}):
                shared.append(recipe_of(text))
            _SOURCES[plan] = {
                name: sources_of([type(one), *shared], LOOP) for name, one in plan.policies.items()
            }
        return _SOURCES[plan][policy]


# Sources -----------------------------------------------------------------------------------------


def sources_of(
    classes: Iterable[type], modules: Iterable[str] = (), whole: bool = False
) -> tuple[Sources, set[str]]:
    """The digests of all sources that can change what classes and modules compute, by name.

    And the words of those among them that may ask for values of the graphs. ``whole``: also
    sources of this package that change no numbers.

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
        if name in found or (_is_in(name, NEUTRAL) and not whole):
            continue
        if isinstance(one, Plugin):  # as it was loaded
            source, found[name] = _analysed(one.text, ""), one.source
        elif (file := _file(one)) is None:
            continue
        elif not _is_own(one) and _is_installed(file):
            found |= _installed_versions(one)
            continue
        else:
            source, found[name] = _read(one, file), _digest(one, file)
        named = _imported_by(source.imports)
        numeric = _is_in(name, NUMERIC)
        waiting += [other for other in named if whole or not numeric or _is_in(other, NUMERIC)]
        if not numeric or _is_in(name, ("policies",)):
            words |= source.words
        may_find = PACKAGE in named or not ANYTHING.isdisjoint(source.words)
        if may_find and not numeric and not whole:
            waiting += [*_modules(NAMED), *loaded_plugins()]
    return dict(sorted(found.items())), words


def plugin_name(source: str) -> str:
    """What a plug-in is called among sources, by the sha256 of its file."""
    return f"plugin {source[:16]}"


def _is_own(name: str) -> bool:
    return name.split(".")[0] == PACKAGE


@cache
def _is_in(name: str, places: tuple[str, ...]) -> bool:
    """Whether a module is one of those of the package that are named, or in one of them."""
    return f"{name}.".startswith(tuple(f"{PACKAGE}.{place}." for place in places))


@cache
def _modules(places: tuple[str, ...]) -> list[str]:
    """All modules of the package that are in these places."""
    root = Path(__file__).parents[1]
    paths = (file.relative_to(root.parent).with_suffix("") for file in sorted(root.rglob("*.py")))
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return [name for name in names if _is_in(name, places)]


@cache
def _imported_by(imports: tuple[tuple[str, str], ...]) -> list[str]:
    """The modules that import statements lead to."""
    found: list[str] = []
    for module, name in imports:
        if _is_own(module):
            found.append(_home(module, name))
        else:  # packages are run before their modules
            parts = f"{module}.{name}".rstrip(".").split(".")
            found += [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return list(dict.fromkeys(found))


def _home(module: str, name: str) -> str:
    """The module of the package that ``from module import name`` gets it from.

    >>> _home("graphbandits.rules", "ids_n"), _home("graphbandits.graphs", "Dense")
    ('graphbandits.rules.ids_n', 'graphbandits.graphs.feedback')
    """
    if name and _file(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    file = _file(module) if name else None
    if file is not None and file.name == "__init__.py":  # a package that hands names on
        for other, known in _read(module, file).imports:
            if known == name:
                return _home(other, name)
    return module


def check_sources(wanted: Mapping[str, str]) -> None:
    """Refuse to go on unless this process has imported what is wanted, or would do so now.

    A module that is imported counts as it was when it was first looked at, so that an edit does
    not disturb a process that goes by the old one. Plug-ins are left out: they are sent along.

    >>> from graphbandits.policies.ts_n import TSN
    >>> check_sources(sources_of([TSN])[0])
    >>> check_sources({"graphbandits.rng": "of another day"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphbandits.errors.SourceError: ...rng.py was changed after the run began: start the run again
    """
    if not wanted:
        return
    for name in [name for name in list(sys.modules) if _is_own(name)]:
        _as_imported(name, _file(name))
    for name, digest in wanted.items():
        kind, _, rest = name.partition(" ")
        if kind == "package" and (here := _version(rest)) != digest:
            raise SourceError(f"{rest} is {here} here, and {digest} where the run began")
        if kind not in ("package", "plugin") and _as_imported(name, _file(name)) != digest:
            raise SourceError(
                f"{_file(name) or name} was changed after the run began: start the run again"
            )


def _as_imported(name: str, file: Path | None) -> str:
    """The digest of a module as this process has it; empty if that is unknown."""
    if file is None:
        return ""
    if file not in _IMPORTED:
        with suppress(OSError, InputError):
            found = _read(name, file).digest
            if name not in sys.modules:
                return found
            _IMPORTED[file] = "" if _is_late(name, file) else found
    return _IMPORTED.get(file, "")


def _digest(name: str, file: Path) -> str:
    """The digest of a source, which must not change while a process runs by it."""
    found = _read(name, file).digest
    if _is_late(name, file) or _FIRST.setdefault(file, found) != found:
        raise InputError(
            f"{file} was changed while this process ran, which may go by what it was before: "
            "start Python again"
        )
    if name in sys.modules:
        _IMPORTED.setdefault(file, found)
    return found


@cache
def _began() -> float | None:
    """When this process began, as a time of files; None if unavailable."""
    fields = process_fields(os.getpid())
    try:
        up = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, LookupError, ValueError):
        return None
    ticks = os.sysconf("SC_CLK_TCK")
    return None if fields is None else time.time() - up + int(fields[19]) / ticks


def _is_late(name: str, file: Path) -> bool:
    """Whether a module of the package was changed when this process may have imported it."""
    since = _began() if _is_own(name) else None
    return since is not None and file.stat().st_mtime > since + 1.0  # clocks are not that exact


def _file(name: str) -> Path | None:
    """The file of a module; None if it is Python's own, typed in, or no module but an attribute."""
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
    """The versions of the installed packages that a module may come from."""
    names = _distributions().get(module.split(".")[0], [])
    return {f"package {name}": _version(name) for name in sorted(set(names))}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


class _Source(NamedTuple):
    """A digest, import statements as (module, name), and the names that occur."""

    digest: str
    imports: tuple[tuple[str, str], ...] = ()
    words: frozenset[str] = frozenset()


def _read(name: str, file: Path) -> _Source:
    status = file.stat()
    return _read_at(name, file, status.st_mtime_ns, status.st_size)


@cache
def _read_at(name: str, file: Path, changed: int, size: int) -> _Source:
    text = read_bytes(file, "source")
    if file.suffix != ".py":
        return _Source(hashlib.sha256(text).hexdigest())
    return _analysed(text, name if file.name == "__init__.py" else name.rpartition(".")[0])


def _analysed(text: bytes, package: str) -> _Source:
    """Of this package what a source does counts, of any other source the text."""
    try:
        with PARSING:
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return _Source(hashlib.sha256(text).hexdigest(), words=frozenset(ANYTHING))
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
