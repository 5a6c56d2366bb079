"""The Python sources that determine a result: a module and all of the project that it imports."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from graphbandits.plugins import file_of, source_hash

#: The package whose modules count; of others the version does.
PACKAGE = __name__.split(".")[0]


def sources_of(classes: Iterable[type], modules: Iterable[str] = ()) -> dict[str, str]:
    """The sha256 of every source that the classes and modules rest on, by its name.

    Of the package: what is imported, directly or not. A plug-in is one file, by its name, and what
    it imports from outside the installed packages. Installed packages have versions.

    >>> from graphbandits.policies.ts_n import TSN
    >>> found = sources_of([TSN])
    >>> "graphbandits.posteriors.beta_kernels" in found, "graphbandits.policies.ucb_n" in found
    (True, False)
    """
    found: dict[str, str] = {}
    waiting = list(modules)
    for cls in classes:
        file = file_of(cls)
        if file is None:
            waiting.append(cls.__module__)
        else:
            # as it was loaded: the file may have been changed since
            found[file.name] = source_hash(cls) or ""
            waiting += _imports(file.name, file)
    while waiting:
        name = waiting.pop()
        file = _file(name)
        if name not in found and file is not None:
            found[name] = _digest(file)
            waiting += _imports(name, file)
    return dict(sorted(found.items()))


@cache
def _file(name: str) -> Path | None:
    """The source of a module, if it is of the package or lies beside a plug-in."""
    if name.split(".")[0] in sys.stdlib_module_names or name == "__main__":
        return None
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):  # an attribute of a module, or nothing
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    file = Path(spec.origin)
    if name.split(".")[0] != PACKAGE and any(file.is_relative_to(place) for place in _installed()):
        return None
    return file


@cache
def _installed() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return tuple(Path(paths[key]) for key in ("stdlib", "platstdlib", "purelib", "platlib"))


@cache
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@cache
def _imports(name: str, file: Path) -> tuple[str, ...]:
    """The modules that a source names in its import statements, wherever they stand."""
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:
        return ()
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found: list[str] = []
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
        waiting += ast.iter_child_nodes(node)
    return tuple(dict.fromkeys(found))


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
