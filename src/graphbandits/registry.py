"""Plug-ins by name, and their text form: ``cliques(size=3)`` is ``Cliques(size=3)``.

A plug-in is a frozen dataclass of parameters with a docstring whose first line says what it is.
``@register("policy", "ids-n")`` is all it takes to be known to the command line, the listings and
the contract tests. The modules of a kind are found by walking its package, so a new file enrols
itself.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from typing import Any, TypeVar

from graphbandits.errors import InputError, nearest

T = TypeVar("T")

#: Where the plug-ins of a kind live.
PACKAGES = {"policy": "graphbandits.policies", "graph": "graphbandits.graphs"}

_REGISTERED: dict[str, dict[str, type]] = {kind: {} for kind in PACKAGES}
_NAMES: dict[type, str] = {}


def register(kind: str, name: str) -> Callable[[type[T]], type[T]]:
    """Enrol a frozen dataclass under a name of its kind."""

    def enrol(cls: type[T]) -> type[T]:
        if not (dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen):  # type: ignore[attr-defined]
            raise TypeError(f"{cls.__name__}: a {kind} is a frozen dataclass of its parameters")
        known = _REGISTERED[kind].get(name)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise TypeError(f"two classes call themselves {kind} '{name}': {known} and {cls}")
        _REGISTERED[kind][name] = cls
        _NAMES[cls] = name
        return cls

    return enrol


def registered(kind: str) -> dict[str, type]:
    """All plug-ins of a kind, by name, in alphabetical order.

    >>> "ids-n" in registered("policy")
    True
    """
    package = importlib.import_module(PACKAGES[kind])
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_REGISTERED[kind].items()))


def name_of(plugin: object) -> str:
    """The name under which the class of ``plugin`` (or the class itself) is enrolled."""
    cls = plugin if isinstance(plugin, type) else type(plugin)
    return _NAMES.get(cls, cls.__name__)


def text_of(plugin: object) -> str:
    """The text form of a plug-in, with the parameters that differ from their defaults.

    >>> text_of(build("graph", "cliques(size=3)"))
    'cliques(size=3)'
    """
    fields = dataclasses.fields(plugin) if dataclasses.is_dataclass(plugin) else ()
    given = [
        f"{field.name}={_value_text(getattr(plugin, field.name))}"
        for field in fields
        if field.init and getattr(plugin, field.name) != field.default
    ]
    return name_of(plugin) + (f"({', '.join(given)})" if given else "")


def summary_of(cls: type) -> str:
    """The first sentence of the docstring."""
    doc = inspect.getdoc(cls) or ""
    return doc.split("\n\n")[0].replace("\n", " ").replace("``", "")


def parameters_of(cls: type) -> dict[str, Any]:
    """Parameter names and their defaults (None where there is none)."""
    return {
        field.name: None if field.default is dataclasses.MISSING else field.default
        for field in dataclasses.fields(cls)
        if field.init
    }


def build(kind: str, text: str) -> Any:
    """The plug-in that a text names: ``name`` or ``name(key=value, ...)``.

    >>> build("graph", "random(r=0.25)")
    Random(r=0.25, low=0.0, high=1.0, shared=False)
    """
    name, arguments = parse(text, what=kind)
    plugins = registered(kind)
    if name not in plugins:
        raise InputError(f"unknown {kind} '{name}': {nearest(name, plugins)}")
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
            field.name
            for field in dataclasses.fields(cls)
            if field.init and field.default is dataclasses.MISSING and field.name not in arguments
        ]
        if not missing:
            raise
        raise InputError(
            f"{kind} '{name}' needs {', '.join(missing)}: write {name}({missing[0]}=...)"
        ) from None


_FORM = re.compile(r"\s*([A-Za-z0-9_.\-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


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
