"""Plug-ins by name, and their text form: ``cliques(size=3)`` is ``Cliques(size=3)``.

A plug-in is a frozen dataclass of parameters with a docstring whose first line says what it is.
``@register("policy", "ids-n")`` is all it takes to be known to the command line, the listings and
the contract tests. The modules of a kind are found by walking its package, so a new file enrols
itself; an installed package enrols the module that its entry point in the group
``graphbandits.plugins`` names; and :func:`graphbandits.plugins.load_plugin` enrols a scratch file.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, TypeVar

from graphbandits.errors import InputError, nearest

T = TypeVar("T")

#: Where the plug-ins of a kind live.
PACKAGES = {
    "policy": "graphbandits.policies",
    "graph": "graphbandits.graphs",
    "posterior": "graphbandits.posteriors",
}
#: The group of entry points by which an installed package names its plug-in modules.
ENTRY_POINTS = "graphbandits.plugins"

_REGISTERED: dict[str, dict[str, type]] = {kind: {} for kind in PACKAGES}
_NAMES: dict[type, str] = {}
_FORM = re.compile(r"\s*([A-Za-z0-9_.\-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def register(kind: str, name: str) -> Callable[[type[T]], type[T]]:
    """Enrol a frozen dataclass under a name of its kind."""
    if kind not in PACKAGES:
        raise InputError(f"no kind of plug-in '{kind}': {nearest(kind, PACKAGES)}")
    if not re.fullmatch(r"[A-Za-z0-9_.\-]+", name):
        raise InputError(f"{kind} '{name}': a name has letters, digits, '-', '_' and '.' only")

    def enrol(cls: type[T]) -> type[T]:
        if not (dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen):  # type: ignore[attr-defined]
            raise InputError(
                f"{cls.__name__}: a {kind} is a frozen dataclass of its parameters: write "
                "@dataclass(frozen=True) below @register(...)"
            )
        known = _REGISTERED[kind].get(name)
        if known is not None and _home(known) != _home(cls):
            raise InputError(
                f"two classes call themselves {kind} '{name}': {_home(known)} and {_home(cls)}; "
                "choose another name"
            )
        if _NAMES.get(cls, name) != name:
            raise InputError(
                f"{cls.__name__} is enrolled as '{_NAMES[cls]}' already: a class has one name; "
                f"derive another from it for {kind} '{name}'"
            )
        _REGISTERED[kind][name] = cls
        _NAMES[cls] = name
        return cls

    return enrol


def registered(kind: str) -> dict[str, type]:
    """All plug-ins of a kind, by name, in alphabetical order.

    >>> "ids-n" in registered("policy")
    True
    """
    _import_all()
    return dict(sorted(_REGISTERED[kind].items()))


def enrolled_by(module: str) -> dict[tuple[str, str], type]:
    """What a module has registered, by (kind, name).

    >>> list(enrolled_by("graphbandits.policies.ids_n"))
    [('policy', 'ids-n')]
    """
    return {
        (kind, name): cls
        for kind, plugins in _REGISTERED.items()
        for name, cls in plugins.items()
        if cls.__module__ == module
    }


def exchange(module: str, plugins: dict[tuple[str, str], type]) -> None:
    """Forget what a module has registered, and enrol ``plugins`` in its place."""
    for (kind, name), cls in enrolled_by(module).items():
        del _REGISTERED[kind][name], _NAMES[cls]
    for (kind, name), cls in plugins.items():
        _REGISTERED[kind][name] = cls
        _NAMES[cls] = name


@cache
def _import_all() -> None:
    """Everything that comes with the package, then what other packages have installed."""
    for name in PACKAGES.values():
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # one broken package must not take the others down
            exchange(entry.module, {})
            owner = entry.dist.name if entry.dist is not None else entry.value
            warnings.warn(
                f"the plug-in '{entry.name}' of the package {owner} is left out: "
                f"{type(error).__name__}: {error}",
                stacklevel=3,
            )


def _home(cls: type) -> str:
    """Where a class is defined: its file, if it has one, and its name there."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return f"{cls.__qualname__} of {file or cls.__module__}"


def name_of(plugin: object) -> str:
    """The name under which the class of ``plugin`` (or the class itself) is enrolled."""
    cls = plugin if isinstance(plugin, type) else type(plugin)
    return _NAMES.get(cls, cls.__name__)


def text_of(plugin: object) -> str:
    """The text form of a plug-in, with the parameters that differ from their defaults.

    >>> text_of(build("graph", "cliques(size=3)"))
    'cliques(size=3)'
    """
    fields = _fields(type(plugin)) if dataclasses.is_dataclass(plugin) else []
    given = [
        f"{name}={_value_text(getattr(plugin, name))}"
        for name, default in fields
        if getattr(plugin, name) != default
    ]
    return name_of(plugin) + (f"({', '.join(given)})" if given else "")


def summary_of(cls: type) -> str:
    """The first sentence of the docstring."""
    doc = inspect.getdoc(cls) or ""
    return doc.split("\n\n")[0].replace("\n", " ").replace("``", "")


def parameters_of(cls: type) -> dict[str, Any]:
    """Parameter names and their defaults (None where there is none)."""
    return {
        name: None if default is dataclasses.MISSING else default for name, default in _fields(cls)
    }


def _fields(cls: type) -> list[tuple[str, Any]]:
    """Parameters with their defaults, MISSING where there is none."""
    missing = dataclasses.MISSING
    return [
        (
            field.name,
            field.default if field.default_factory is missing else field.default_factory(),
        )
        for field in dataclasses.fields(cls)
        if field.init
    ]


def examples_of(cls: type) -> list[Any]:
    """Plug-ins of a class that its contract is tried on: its ``examples()``, else its defaults.

    >>> examples_of(registered("policy")["ids-n"])
    [IDSN()]
    """
    examples: Callable[[], Sequence[Any]] | None = getattr(cls, "examples", None)
    if examples is not None:
        return list(examples())
    required = [name for name, default in _fields(cls) if default is dataclasses.MISSING]
    if required:
        raise InputError(
            f"{name_of(cls)} has no default for {', '.join(required)}: give the class a "
            "@classmethod examples(cls) that returns a list of it"
        )
    return [cls()]


def build(kind: str, text: str) -> Any:
    """The plug-in that a text names: ``name`` or ``name(key=value, ...)``.

    >>> build("graph", "random(r=0.25)")
    Random(r=0.25, low=0.0, high=1.0, shared=False)
    """
    name, arguments = parse(text, what=kind)
    plugins = registered(kind)
    if name not in plugins:
        raise InputError(
            f"unknown {kind} '{name}': {nearest(name, plugins)}; one of your own is loaded with "
            "--plugin FILE or load_plugin(FILE)"
        )
    cls = plugins[name]
    allowed = parameters_of(cls)
    for key in arguments:
        if key not in allowed:
            hint = nearest(key, allowed) if allowed else "it takes none"
            raise InputError(f"{kind} '{name}' has no parameter '{key}': {hint}")
    try:
        return cls(**arguments)
    except TypeError:
        missing = [
            field
            for field, default in _fields(cls)
            if default is dataclasses.MISSING and field not in arguments
        ]
        if not missing:
            raise
        raise InputError(
            f"{kind} '{name}' needs {', '.join(missing)}: write {name}({missing[0]}=...)"
        ) from None


def parse(text: str, *, what: str = "text") -> tuple[str, dict[str, Any]]:
    """Split ``name(key=value, ...)``; bare words are strings, the rest Python literals.

    >>> parse("random(r=uniform, low=0.2)")
    ('random', {'r': 'uniform', 'low': 0.2})
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise InputError(f"cannot read {what} '{text}': write name or name(key=value, ...)")
    name, inside = match.group(1), match.group(2)
    arguments: dict[str, Any] = {}
    for part in _split(inside or ""):
        key, equals, value = part.partition("=")
        if not equals or not key.strip().isidentifier() or not value.strip():
            raise InputError(f"cannot read '{part.strip()}' in '{text}': write key=value")
        if key.strip() in arguments:
            raise InputError(f"'{key.strip()}' is given twice in '{text}'")
        arguments[key.strip()] = _literal(value.strip())
    return name, arguments


def _split(inside: str) -> list[str]:
    """Split at commas outside brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for i, char in enumerate(inside):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(inside[start:i])
            start = i + 1
    parts.append(inside[start:])
    return [part for part in parts if part.strip()]


def _literal(value: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return words[value.lower()]
    try:
        literal = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError):
        return value
    return tuple(literal) if isinstance(literal, list) else literal


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(_value_text(v) for v in value) + "]"
    if isinstance(value, str) and not (
        re.fullmatch(r"[\w.:/-]+", value) and _literal(value) == value
    ):
        return repr(value)  # bare, it would be read back as something else
    return str(value)
