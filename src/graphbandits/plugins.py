"""A scratch file as a plug-in: ``load_plugin("my_policy.py")`` enrols what it registers.

To another process a plug-in travels as the text that was loaded, and is loaded there again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path

from graphbandits._io import read_bytes
from graphbandits.errors import InputError
from graphbandits.registry import PACKAGES, registered, registered_by, replace_registrations


@dataclass(frozen=True)
class Plugin:
    """A loaded file, the names that it registered by kind, and what was loaded, with its sha256."""

    path: Path
    names: dict[str, tuple[str, ...]]
    source: str
    text: bytes = field(repr=False)


_LOADED: dict[str, Plugin] = {}


def load_plugin(path: str | Path) -> Plugin:
    """Run a Python file and enrol the policies, graphs and posteriors that it registers.

    A file that was changed may be loaded again, and replaces what it registered before. If it
    cannot be loaded, nothing is enrolled and the error names its line.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name, "lazy.py")
    >>> _ = file.write_text('''
    ... from dataclasses import dataclass
    ... from graphbandits.registry import register
    ... from graphbandits.policies.ts_n import TSN
    ...
    ... @register("policy", "lazy")
    ... @dataclass(frozen=True)
    ... class Lazy(TSN):
    ...     "As Thompson sampling."
    ... ''')
    >>> load_plugin(file).names
    {'policy': ('lazy',)}
    >>> unload_plugin(file); folder.cleanup()
    """
    file = Path(path)
    source = read_bytes(file, "plug-in")
    resolved = file.resolve()
    registered("policy")  # so that a name that is taken is noticed here
    name = _module_name(resolved)
    module_before, plugins_before = sys.modules.get(name), registered_by(name)
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None:
        raise InputError(f"cannot load the plug-in {file}: a plug-in is a Python file, *.py")
    module = importlib.util.module_from_spec(spec)
    replace_registrations(name, {})
    sys.modules[name] = module  # where dataclasses look for the names in annotations
    try:
        exec(compile(source, str(resolved), "exec", dont_inherit=True), module.__dict__)
        enrolled = registered_by(name)
        if not enrolled:
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
            "; a plug-in is one file: install what it imports, or put it on PYTHONPATH"
            if isinstance(error, ModuleNotFoundError)
            else ""
        )
        raise InputError(f"cannot load the plug-in {blame(error, resolved, file)}{hint}") from error
    names = {
        kind: tuple(name for of, name in enrolled if of == kind)
        for kind in PACKAGES
        if any(of == kind for of, _ in enrolled)
    }
    plugin = Plugin(resolved, names, hashlib.sha256(source).hexdigest(), source)
    _LOADED[name] = plugin
    return plugin


def unload_plugin(path: str | Path) -> None:
    """Forget a loaded file and what it registered."""
    name = _module_name(Path(path).resolve())
    replace_registrations(name, {})
    sys.modules.pop(name, None)
    _LOADED.pop(name, None)


def loaded_plugins() -> list[Plugin]:
    """All files that are loaded, in the order in which they were."""
    return list(_LOADED.values())


def source_file(cls: type) -> Path | None:
    """The Python file of a class; None for one that was typed in."""
    try:
        file = inspect.getsourcefile(cls)
    except (OSError, TypeError):
        return None
    return None if file is None else Path(file)


def source_hash(cls: type) -> str | None:
    """The sha256 of the source that a class was made from: of a plug-in, as it was loaded."""
    if cls.__module__ in _LOADED:
        return _LOADED[cls.__module__].source
    file = source_file(cls)
    try:
        return None if file is None else hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None


def file_of(plugin: object) -> Path | None:
    """The scratch file that a plug-in (or its class) was loaded from, None for any other."""
    loaded = plugin_of(plugin if isinstance(plugin, type) else type(plugin))
    return None if loaded is None else loaded.path


def data_files(plugin: object) -> dict[str, str]:
    """The sha256 of the files that the parameters of a plug-in name, by these parameters."""
    if not is_dataclass(plugin):
        return {}
    given = {one.name: getattr(plugin, one.name, None) for one in fields(plugin)}
    return {
        f"{type(plugin).__name__}.{name}": hashlib.sha256(read_bytes(path, "file")).hexdigest()
        for name, value in given.items()
        if isinstance(value, str | Path) and (path := Path(value)).is_file()
    }


def plugin_of(cls: type) -> Plugin | None:
    """The loaded file that a class comes from, None for any other class."""
    return _LOADED.get(cls.__module__)


def blame(error: BaseException, file: Path | None, shown: Path | None = None) -> str:
    """``file, line n: what went wrong``: the last line of ``file`` that the error went through."""
    where = str(shown or file or "typed in")
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
