"""The Python sources that determine a result: a module and all of the project that it imports."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from graphbandits.errors import InputError, SourceError
from graphbandits.files import read_bytes
from graphbandits.plugins import Plugin, loaded_plugins, plugin_of
from graphbandits.processes import began

#: The package whose modules count; of others the version does.
PACKAGE = __name__.split(".")[0]
#: What may bring in code that no import statement names: then all there is counts.
ANYTHING = frozenset(
    {
        "registered",
        "build",
        "as_policy",
        "as_process",
        "load_plugin",
        "import_module",
        "__import__",
        "exec",
        "eval",
    }
)

_ROOT = Path(__file__).parents[1]
#: The sources as they were when they first counted, by their files.
_FIRST: dict[Path, str] = {}
#: Those of modules that had been imported when they were looked at: what this process goes by.
_IMPORTED: dict[Path, str] = {}


def sources_of(classes: Iterable[type], modules: Iterable[str] = ()) -> dict[str, str]:
    """The sha256 of every source that the classes and modules rest on, by its name.

    Of the package: what is imported, directly or not. A plug-in is one file, known by its content,
    and what it imports from outside the installed packages; of these it is the version. One that
    looks others up by their names may rest on all of the package and on all plug-ins.

    >>> from graphbandits.policies.ts_n import TSN
    >>> found = sources_of([TSN])
    >>> "graphbandits.posteriors.beta_kernels" in found, "graphbandits.policies.ucb_n" in found
    (True, False)
    """
    found: dict[str, str] = {}
    waiting = list(modules)
    for base in dict.fromkeys(base for cls in classes for base in cls.__mro__):
        plugin = plugin_of(base)
        if plugin is None:
            waiting.append(base.__module__)
        else:
            waiting += _add_plugin(found, plugin)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        if name.split(".")[0] == PACKAGE:
            for own, file in _own(name).items():
                found[own] = _digest(own, file, _began())
            continue
        outside = _file(name)
        if outside is not None and _is_installed(outside):
            found |= _versions(name)
        elif outside is not None:
            found[name] = _digest(name, outside)
            waiting += _outside(found, _imports(name, outside))
    return dict(sorted(found.items()))


def plugin_name(source: str) -> str:
    """What a plug-in is called among sources, by the sha256 of its file."""
    return f"plugin {source[:16]}"


def check_sources(wanted: Mapping[str, str]) -> None:
    """Refuse to go on unless this process has imported what is wanted, or would do so now.

    A module that is imported counts as it was when it was first looked at, so that nobody who
    goes by the old one is disturbed by an edit. Plug-ins are left out: they are sent along.

    >>> from graphbandits.policies.ts_n import TSN
    >>> check_sources(sources_of([TSN]))
    >>> check_sources({"graphbandits.rng": "of another day"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphbandits.errors.SourceError: ...rng.py was changed after the run began: start the run again
    """
    if not wanted:
        return
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        if (file := _own_file(name)) is not None:
            _imported(name, file, _began())
    for name, digest in wanted.items():
        kind, _, rest = name.partition(" ")
        if kind == "plugin":
            continue
        if kind == "package":
            if (here := _version(rest)) != digest:
                raise SourceError(f"{rest} is {here} here, and {digest} where the run began")
            continue
        own = name.split(".")[0] == PACKAGE
        file = _own_file(name) if own else _file(name)
        if file is None or _imported(name, file, _began() if own else None) != digest:
            raise SourceError(
                f"{file or name} was changed after the run began: start the run again"
            )


def _imported(name: str, file: Path, since: float | None) -> str:
    """The sha256 of a module as this process has it; empty if nobody knows."""
    if file not in _IMPORTED:
        try:
            status = file.stat()
            found = _hashed(file, status.st_mtime_ns, status.st_size)
        except (OSError, InputError):
            return ""
        if name not in sys.modules:
            return found
        _IMPORTED[file] = "" if _is_late(status.st_mtime, since) else found
    return _IMPORTED[file]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def _own(name: str) -> dict[str, Path]:
    """The modules of the package that one of them rests on, and itself."""
    found: dict[str, Path] = {}
    waiting = [name]
    while waiting:
        name = waiting.pop()
        file = _own_file(name)
        if file is not None and name not in found:  # else it is an attribute of a module
            found[name] = file
            named, _ = _imports(name, file)
            waiting += [other for other in named if other.split(".")[0] == PACKAGE]
    return found


@cache
def _own_file(name: str) -> Path | None:
    """The file of a module of the package; None if it is an attribute of one."""
    place = _ROOT.parent.joinpath(*name.split("."))
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)


def _add_plugin(found: dict[str, str], plugin: Plugin) -> list[str]:
    """Count a plug-in as it was loaded; the modules that it leads to."""
    key = plugin_name(plugin.source)
    if key in found:
        return []
    found[key] = plugin.source
    return _outside(found, _parsed("", plugin.text))


def _outside(found: dict[str, str], imports: tuple[tuple[str, ...], bool]) -> list[str]:
    """The modules that a source from outside the package leads to by its imports."""
    named, anything = imports
    waiting = [part for module in named for part in _with_parents(module)]
    if anything:
        found |= {own: _digest(own, path, _began()) for own, path in _whole_package().items()}
        for plugin in loaded_plugins():
            waiting += _add_plugin(found, plugin)
    return waiting


def _with_parents(name: str) -> Iterator[str]:
    """A module and the packages that it is in, which are run before it."""
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


@cache
def _whole_package() -> dict[str, Path]:
    found = {}
    for path in sorted(_ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(_ROOT.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def _file(name: str) -> Path | None:
    """The file of a module that is neither Python's own nor typed in."""
    if not name or name.split(".")[0] in sys.stdlib_module_names or name == "__main__":
        return None
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):  # an attribute of a module, or nothing
        return None
    if spec is None or spec.origin is None or not os.path.isfile(spec.origin):
        return None
    return Path(spec.origin)


def _is_installed(file: Path) -> bool:
    return any(file.is_relative_to(place) for place in _installed())


@cache
def _installed() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return tuple(Path(paths[key]) for key in ("stdlib", "platstdlib", "purelib", "platlib"))


@cache
def _versions(module: str) -> dict[str, str]:
    """The versions of the installed packages that a module may come from."""
    names = _distributions().get(module.split(".")[0], [])
    return {f"package {name}": version(name) for name in sorted(set(names))}


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(packages_distributions())


def _digest(name: str, file: Path, since: float | None = None) -> str:
    """The sha256 of a source, which must not change while a process runs by it."""
    status = file.stat()
    found = _hashed(file, status.st_mtime_ns, status.st_size)
    if _is_late(status.st_mtime, since) or _FIRST.setdefault(file, found) != found:
        raise InputError(
            f"{file} was changed while this process ran, which may go by what it was before: "
            "start Python again"
        )
    if name in sys.modules:
        _IMPORTED.setdefault(file, found)
    return found


def _is_late(changed: float, since: float | None) -> bool:
    return since is not None and changed > since + 1.0  # clocks are not that exact


@cache
def _began() -> float | None:
    return began()


@cache
def _hashed(file: Path, changed: int, size: int) -> str:
    return _sha256(file)


def _sha256(file: Path) -> str:
    return hashlib.sha256(read_bytes(file, "source")).hexdigest()


def _imports(name: str, file: Path) -> tuple[tuple[str, ...], bool]:
    """The modules that a source names in its import statements, wherever they stand.

    And whether it may lead to others besides, as far as its words tell.
    """
    return _imports_at(name, file, file.stat().st_mtime_ns)


@cache
def _imports_at(name: str, file: Path, changed: int) -> tuple[tuple[str, ...], bool]:
    if file.suffix != ".py":
        return (), False
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    return _parsed(package, file.read_bytes())


def _parsed(package: str, source: bytes) -> tuple[tuple[str, ...], bool]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return (), True
    found: list[str] = []
    words: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parts, base]).rstrip(".")
            found.append(base)
            found += [f"{base}.{alias.name}" for alias in node.names]
            words |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Attribute):
            words.add(node.attr)
        waiting += ast.iter_child_nodes(node)
    return tuple(dict.fromkeys(found)), not ANYTHING.isdisjoint(words)


def _is_type_checking(test: ast.expr) -> bool:
    named = test.id if isinstance(test, ast.Name) else getattr(test, "attr", "")
    return named == "TYPE_CHECKING"
