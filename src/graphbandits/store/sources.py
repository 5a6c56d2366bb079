"""The Python sources that determine a result: a module and all of the project that it imports."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path

from graphbandits.errors import InputError
from graphbandits.files import read_bytes
from graphbandits.plugins import file_of, loaded_plugins, source_hash
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
        file = file_of(base)
        if file is None:
            waiting.append(base.__module__)
        else:
            waiting += _add_plugin(found, file, source_hash(base) or "")
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        if name.split(".")[0] == PACKAGE:
            for own, file in _own(name).items():
                found[own] = _digest(file, _began())
            continue
        outside = _file(name)
        if outside is not None and _is_installed(outside):
            found |= _versions(name)
        elif outside is not None:
            found[name] = _digest(outside)
            waiting += _outside(found, name, outside)
    return dict(sorted(found.items()))


@cache
def _own(name: str) -> dict[str, Path]:
    """The modules of the package that one of them rests on, and itself."""
    found: dict[str, Path] = {}
    waiting = [name]
    while waiting:
        name = waiting.pop()
        place = _ROOT.parent.joinpath(*name.split("."))
        files = (place / "__init__.py", place.with_suffix(".py"))
        file = next((file for file in files if file.is_file()), None)
        if file is not None and name not in found:  # else it is an attribute of a module
            found[name] = file
            named, _ = _imports(name, file)
            waiting += [other for other in named if other.split(".")[0] == PACKAGE]
    return found


def _add_plugin(found: dict[str, str], file: Path, source: str) -> list[str]:
    """Count a plug-in; the modules that it leads to."""
    if _sha256(file) != source:
        raise InputError(f"{file} was changed after it was loaded: load it again")
    key = f"plugin {source[:16]}"
    if key in found:
        return []
    found[key] = source
    return _outside(found, file.stem, file)


def _outside(found: dict[str, str], name: str, file: Path) -> list[str]:
    """The modules that a file from outside the package leads to."""
    named, anything = _imports(name, file)
    waiting = [part for module in named for part in _with_parents(module)]
    if anything:
        found |= {own: _digest(path, _began()) for own, path in _whole_package().items()}
        for plugin in loaded_plugins():
            waiting += _add_plugin(found, plugin.path, plugin.source)
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


def _digest(file: Path, since: float | None = None) -> str:
    """The sha256 of a source, which must not change while a process runs by it."""
    status = file.stat()
    found = _hashed(file, status.st_mtime_ns, status.st_size)
    late = since is not None and status.st_mtime > since + 1.0  # clocks are not that exact
    if late or _FIRST.setdefault(file, found) != found:
        raise InputError(
            f"{file} was changed while this process ran, which may go by what it was before: "
            "start Python again"
        )
    return found


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
    return _parsed_imports(name, file, file.stat().st_mtime_ns)


@cache
def _parsed_imports(name: str, file: Path, changed: int) -> tuple[tuple[str, ...], bool]:
    if file.suffix != ".py":
        return (), False
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return (), True
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
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
