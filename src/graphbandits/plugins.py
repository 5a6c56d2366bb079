"""Plug-in files: ``load_plugin("my_policy.py")`` runs a file and registers its plug-ins.

Worker processes receive the text of the loaded file and load it again.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib.abc import SourceLoader
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec, module_from_spec, resolve_name, spec_from_file_location
from pathlib import Path
from types import CodeType

from graphbandits._files import read_bytes
from graphbandits.errors import InputError
from graphbandits.registry import PACKAGES, registered, registered_by, replace_registrations


@dataclass(frozen=True)
class Plugin:
    path: Path
    names: dict[str, tuple[str, ...]]
    source: str
    text: bytes = field(repr=False)
    code: frozenset[str] = field(repr=False, default=frozenset())
    looks_up: bool = field(repr=False, default=False)


PACKAGE = __name__.partition(".")[0]
#: Functions of this package with which a plug-in can use other plug-ins.
LOOKUPS = {"as_policy", "as_posterior", "as_process", "as_world", "build", "class_of"}
LOOKUPS |= {"load_plugin", "new_policy", "registered"}
#: Directories of installed packages.
INSTALLED = {"site-packages", "dist-packages"}

_LOADED: dict[str, Plugin] = {}
#: Hashes of modules; a module that is imported again has another spec.
_TEXTS: dict[str, tuple[ModuleSpec, str]] = {}


def load_plugin(path: str | Path) -> Plugin:
    """Run a Python file and register its policies, graphs, worlds and posteriors.

    A changed file can be loaded again; it replaces its earlier registrations. If it cannot be
    loaded, the registrations stay unchanged.

    Parameters
    ----------
    path : str or Path
        A Python file that uses :func:`graphbandits.register`.

    Returns
    -------
    Plugin
        The file and the names that it registered.
    """
    file = Path(path)
    source = read_bytes(file, "plug-in")
    resolved = file.resolve()
    registered("policy")  # loads all plug-ins, so that duplicate names are detected
    name = _module_name(resolved)
    module_before, plugins_before = sys.modules.get(name), registered_by(name)
    spec = spec_from_file_location(name, resolved)
    if spec is None:
        raise InputError(f"cannot load the plug-in {file}: it must be a Python file, *.py")
    module = module_from_spec(spec)
    replace_registrations(name, {})
    sys.modules[name] = module  # dataclasses resolve annotations there
    modules_before = set(sys.modules)
    try:
        program = compile(source, str(resolved), "exec", dont_inherit=True)
        exec(program, module.__dict__)
        plugins = registered_by(name)
        if not plugins:
            raise InputError("it registers nothing: decorate a class with @register(kind, name)")
    except BaseException as error:
        replace_registrations(name, plugins_before)
        if module_before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = module_before
        if not isinstance(error, Exception | SystemExit):
            raise
        hint = (
            "; a plug-in is one file: install the modules it imports, or add them to PYTHONPATH"
            if isinstance(error, ModuleNotFoundError)
            else ""
        )
        raise InputError(
            f"cannot load the plug-in {locate_error(error, resolved, file)}{hint}"
        ) from error
    names = {
        kind: tuple(name for of, name in plugins if of == kind)
        for kind in PACKAGES
        if any(of == kind for of, _ in plugins)
    }
    digest = hashlib.sha256(source).hexdigest()
    added = [one for one in sys.modules.keys() - modules_before if not _is_installed(one)]
    code, looks_up = _code_used(added, program)
    plugin = Plugin(resolved, names, digest, source, code | {f"plug-in {digest}"}, looks_up)
    _LOADED[name] = plugin
    return plugin


def unload_plugin(path: str | Path) -> None:
    name = _module_name(Path(path).resolve())
    replace_registrations(name, {})
    sys.modules.pop(name, None)
    _LOADED.pop(name, None)


def loaded_plugins() -> list[Plugin]:
    return list(_LOADED.values())


def code_of(classes: Iterable[type]) -> list[str]:
    """Return the code from outside this package on which classes depend, as sorted lines.

    A line is "plug-in SHA256", "module NAME SHA256" or "package NAME VERSION".
    """
    found: set[str] = set()
    for module in {base.__module__ for cls in classes for base in cls.__mro__}:
        plugin = _LOADED.get(module)
        if plugin is None:
            found |= _code_used([module])[0]
        elif plugin.looks_up:
            found = found.union(*(other.code for other in loaded_plugins()))
        else:
            found |= plugin.code
    return sorted(found)


def _code_used(
    modules: Iterable[str], program: CodeType | None = None
) -> tuple[frozenset[str], bool]:
    """Return the lines of :func:`code_of` for modules and for the imports of a program.

    Import statements are followed through all files outside of installed packages, also those of
    functions and of modules that were imported before: the result does not depend on what this
    process did earlier. The second value is whether other plug-ins may be used by their names.
    """
    found: set[str] = set()
    looks_up = False
    waiting, seen = list(modules), {"__main__", PACKAGE, *sys.stdlib_module_names}

    def follow(code: CodeType, package: str) -> None:
        nonlocal looks_up
        for base, names in _imports(code, package):
            waiting.extend([base, *(f"{base}.{name}" for name in names)])
            if base.partition(".")[0] == PACKAGE:
                looks_up |= not names or not LOOKUPS.isdisjoint(names)

    if program is not None:
        follow(program, "")
    while waiting:
        name = waiting.pop()
        top = name.partition(".")[0]
        if name in seen or top in seen:
            continue
        seen.add(name)
        if name in _LOADED:
            found |= _LOADED[name].code
            continue
        if _is_installed(name):
            found.add(f"package {top} {_version(top)}")
            continue
        spec = _spec(name)
        if "." in name:  # Python executes parent packages first
            waiting.append(name.rpartition(".")[0])
        if spec is not None and spec.has_location:
            found.add(f"module {name} {_text_hash(spec)}")
            with suppress(SyntaxError):
                if isinstance(spec.loader, SourceLoader) and (code := spec.loader.get_code(name)):
                    follow(code, spec.parent or "")
    return frozenset(found), looks_up


def _imports(code: CodeType, package: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the import statements of a program and of its functions: the module, and the names."""
    from modulefinder import ModuleFinder  # rarely needed

    for kind, given in ModuleFinder().scan_opcodes(code):
        if kind == "absolute_import":
            yield given[1], given[0] or ()
        elif kind == "relative_import":
            level, names, base = given
            with suppress(ImportError):  # beyond the outermost package
                yield resolve_name("." * level + base, package), names or ()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imports(constant, package)


def _is_installed(module: str) -> bool:
    spec = _spec(module.partition(".")[0])
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
    return any(not INSTALLED.isdisjoint(Path(place).parts) for place in places if place)


def _spec(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except Exception:  # it imports the parent packages, which may raise anything
        return None


def _text_hash(spec: ModuleSpec) -> str:
    """Return the sha256 of the file of a module, as it was when first read after its import."""
    known = _TEXTS.get(spec.name)
    if known is None or known[0] is not spec:
        text = read_bytes(Path(str(spec.origin)), "module")
        _TEXTS[spec.name] = known = spec, hashlib.sha256(text).hexdigest()
    return known[1]


@cache
def _version(module: str) -> str:
    """Return the version of the installed package that provides a module."""
    try:
        return version(module)
    except PackageNotFoundError:
        names = packages_distributions().get(module, [])
        return ", ".join(f"{name} {version(name)}" for name in sorted(set(names)))


def source_file(cls: type) -> Path | None:
    """Return the Python file of a class; None for a class of an interactive session."""
    try:
        file = inspect.getsourcefile(cls)
    except (OSError, TypeError):
        return None
    return None if file is None else Path(file)


def source_hash(cls: type) -> str | None:
    """Return the sha256 of the source file of a class; for a plug-in, of the loaded text."""
    if cls.__module__ in _LOADED:
        return _LOADED[cls.__module__].source
    file = source_file(cls)
    try:
        return None if file is None else hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None


def file_of(plugin: object) -> Path | None:
    """Return the plug-in file of an object or class; None if it is not from a plug-in file."""
    cls = plugin if isinstance(plugin, type) else type(plugin)
    loaded = _LOADED.get(cls.__module__)
    return None if loaded is None else loaded.path


def data_files(plugin: object) -> dict[str, str]:
    """Return the sha256 of every file that a parameter of a plug-in names, by parameter."""
    if not is_dataclass(plugin):
        return {}
    parameters = {one.name: getattr(plugin, one.name, None) for one in fields(plugin)}
    return {
        f"{type(plugin).__name__}.{name}": hashlib.sha256(read_bytes(path, "file")).hexdigest()
        for name, value in parameters.items()
        if isinstance(value, str | Path) and (path := Path(value)).is_file()
    }


def locate_error(error: BaseException, file: Path | None, shown: Path | None = None) -> str:
    """Describe an error as ``file, line n: message``, with its innermost line in ``file``."""
    where = str(shown or file or "interactive session")
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f"{where}, line {error.lineno}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    if lines:
        where += f", line {lines[-1]}"
    if isinstance(error, InputError):
        return f"{where}: {error}"
    return f"{where}: {type(error).__name__}: {error}".rstrip(": ")


def _module_name(resolved: Path) -> str:
    digest = hashlib.sha256(str(resolved).encode()).hexdigest()[:12]
    return f"graphbandits_plugin_{digest}_{resolved.stem}"
