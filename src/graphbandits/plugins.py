"""Plug-in files: ``load_plugin("my_policy.py")`` runs a file and registers its plug-ins.

Worker processes receive the text of the loaded file and load it again.
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
    """A loaded plug-in file.

    Parameters
    ----------
    path : Path
        The file.
    names : dict of str to tuple of str
        The registered names, by kind.
    source : str
        The sha256 of the text.
    text : bytes
        The text of the file when it was loaded.
    """

    path: Path
    names: dict[str, tuple[str, ...]]
    source: str
    text: bytes = field(repr=False)


_LOADED: dict[str, Plugin] = {}


def load_plugin(path: str | Path) -> Plugin:
    """Run a Python file and register its policies, graphs and posteriors.

    A changed file can be loaded again; it replaces its earlier registrations.

    Parameters
    ----------
    path : str or Path
        A Python file that uses :func:`graphbandits.register`.

    Returns
    -------
    Plugin
        The file and the names that it registered.

    Raises
    ------
    InputError
        If the file cannot be loaded, with the line of the error. The registrations stay unchanged.

    Examples
    --------
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
    ...     "Thompson sampling under another name."
    ... ''')
    >>> load_plugin(file).names
    {'policy': ('lazy',)}
    >>> unload_plugin(file); folder.cleanup()
    """
    file = Path(path)
    source = read_bytes(file, "plug-in")
    resolved = file.resolve()
    registered("policy")  # loads all plug-ins, so that duplicate names are detected
    name = _module_name(resolved)
    module_before, plugins_before = sys.modules.get(name), registered_by(name)
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None:
        raise InputError(f"cannot load the plug-in {file}: it must be a Python file, *.py")
    module = importlib.util.module_from_spec(spec)
    replace_registrations(name, {})
    sys.modules[name] = module  # dataclasses resolve annotations there
    try:
        exec(compile(source, str(resolved), "exec", dont_inherit=True), module.__dict__)
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
    plugin = Plugin(resolved, names, hashlib.sha256(source).hexdigest(), source)
    _LOADED[name] = plugin
    return plugin


def unload_plugin(path: str | Path) -> None:
    """Remove a loaded file and its registrations.

    Parameters
    ----------
    path : str or Path
        The file.
    """
    name = _module_name(Path(path).resolve())
    replace_registrations(name, {})
    sys.modules.pop(name, None)
    _LOADED.pop(name, None)


def loaded_plugins() -> list[Plugin]:
    """Return all loaded files, in the order of loading."""
    return list(_LOADED.values())


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
    loaded = plugin_of(plugin if isinstance(plugin, type) else type(plugin))
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


def plugin_of(cls: type) -> Plugin | None:
    """Return the loaded plug-in file of a class; None for any other class."""
    return _LOADED.get(cls.__module__)


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
