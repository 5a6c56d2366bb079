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
import math
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from threading import RLock
from typing import Any, TypeVar

from graphbandits._old_words import PARAMETERS
from graphbandits.errors import GraphBanditsError, InputError, nearest

T = TypeVar("T")

#: Where the plug-ins of a kind live.
PACKAGES = {
    "policy": "graphbandits.policies",
    "graph": "graphbandits.graphs",
    "posterior": "graphbandits.posteriors",
}
#: The group of entry points by which an installed package names its plug-in modules.
ENTRY_POINTS = "graphbandits.plugins"

#: Held by whoever parses Python: up to 3.12 threads share a counter of the depth of syntax trees,
#: and one that is interrupted by another raises SystemError.
PARSING = RLock()
#: What :func:`parse` calls the value of a parameter whose key was left out.
KEYLESS = ""

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
        # its own decorator counts, not one that it inherits
        if not getattr(cls.__dict__.get("__dataclass_params__"), "frozen", False):
            raise InputError(
                f"{cls.__name__}: a {kind} is a frozen dataclass of its parameters: write "
                "@dataclass(frozen=True) below @register(...)"
            )
        if not cls.__module__.startswith("graphbandits."):
            _import_own()  # so that a name that is taken is noticed here
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


def registered_by(module: str) -> dict[tuple[str, str], type]:
    """What a module has registered, by (kind, name).

    >>> list(registered_by("graphbandits.policies.ids_n"))
    [('policy', 'ids-n')]
    """
    return {
        (kind, name): cls
        for kind, plugins in _REGISTERED.items()
        for name, cls in plugins.items()
        if cls.__module__ == module
    }


def replace_registrations(module: str, plugins: dict[tuple[str, str], type]) -> None:
    """Forget what a module has registered, and enrol ``plugins`` in its place."""
    for (kind, name), cls in registered_by(module).items():
        del _REGISTERED[kind][name], _NAMES[cls]
    for (kind, name), cls in plugins.items():
        _REGISTERED[kind][name] = cls
        _NAMES[cls] = name


@cache
def _import_own() -> None:
    """Everything that comes with the package."""
    for name in PACKAGES.values():
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")


@cache
def _import_all() -> None:
    """The same, and what other packages have installed."""
    _import_own()
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # one broken package must not take the others down
            replace_registrations(entry.module, {})
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
        if not _same(getattr(plugin, name), default)
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


def parameters_given(plugin: object) -> dict[str, Any]:
    """Parameter names and values of a plug-in.

    >>> parameters_given(build("graph", "cliques(size=3)"))
    {'size': 3}
    """
    return {name: getattr(plugin, name) for name, _ in _fields(type(plugin))}


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
    [IDSN(gain='bound'), IDSN(gain='joint')]
    """
    examples: Callable[[], Sequence[Any]] | None = getattr(cls, "examples", None)
    if examples is not None:
        try:
            given = list(examples())
        except TypeError as error:
            raise InputError(
                f"{name_of(cls)}: examples is a @classmethod that returns a list ({error})"
            ) from error
        if not given or any(type(example) is not cls for example in given):
            raise InputError(f"{name_of(cls)}: examples() returns one or more of {cls.__name__}")
        return given
    required = [name for name, default in _fields(cls) if default is dataclasses.MISSING]
    if required:
        raise InputError(
            f"{name_of(cls)} has no default for {', '.join(required)}: give the class a "
            "@classmethod examples(cls) that returns a list of it"
        )
    return [cls()]


def build(kind: str, text: str) -> Any:
    """The plug-in that a text names: ``name`` or ``name(key=value, ...)``.

    Where there is but one parameter, its key may be left out.

    >>> build("graph", "random(r=0.25)")
    Random(r=0.25, low=0.0, high=1.0, shared=False, graph_known='before')
    >>> build("graph", "cliques(3)")
    Cliques(size=3)
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
    if KEYLESS in arguments:
        if len(allowed) != 1:
            keys = f": it has {', '.join(allowed)}" if allowed else ": it takes none"
            raise InputError(f"cannot read the parameter of {kind} '{text}': write key=value{keys}")
        arguments = dict(zip(allowed, arguments.values(), strict=True))
    for key in arguments:
        if key not in allowed:
            if PARAMETERS.get(key) in allowed:
                raise InputError(f"{kind} '{name}': '{key}' is now called '{PARAMETERS[key]}'")
            hint = nearest(key, allowed) if allowed else "it takes none"
            raise InputError(f"{kind} '{name}' has no parameter '{key}': {hint}")
    try:
        return cls(**arguments)
    except GraphBanditsError:
        raise
    except TypeError as error:
        missing = [
            field
            for field, default in _fields(cls)
            if default is dataclasses.MISSING and field not in arguments
        ]
        if not missing:
            raise InputError(f"{kind} '{text}' cannot be made: TypeError: {error}") from error
        raise InputError(
            f"{kind} '{name}' needs {', '.join(missing)}: write {name}({missing[0]}=...)"
        ) from None
    except Exception as error:  # what the plug-in says of its parameters
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{kind} '{text}' cannot be made: {reason}") from error


def parse(text: str, *, what: str = "text") -> tuple[str, dict[str, Any]]:
    """Split ``name(key=value, ...)``; bare words are strings, the rest Python literals.

    What stands there without any key is one value, under the key ``KEYLESS``.

    >>> parse("random(r=uniform, low=0.2)"), parse("edges(1-2 2-3)")
    (('random', {'r': 'uniform', 'low': 0.2}), ('edges', {'': '1-2 2-3'}))
    """
    match = _FORM.fullmatch(text)
    if match is None:
        several = "; for several, repeat the option" if "," in text else ""
        raise InputError(
            f"cannot read {what} '{text}': write name or name(key=value, ...){several}"
        )
    name, inside = match.group(1), match.group(2)
    arguments: dict[str, Any] = {}
    parts = _split(inside or "", text)
    if parts and inside is not None and "=" not in inside:
        return name, {KEYLESS: _literal(inside.strip())}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or not key.strip().isidentifier() or not value.strip():
            raise InputError(f"cannot read '{part.strip()}' in '{text}': write key=value")
        if key.strip() in arguments:
            raise InputError(f"'{key.strip()}' is given twice in '{text}'")
        arguments[key.strip()] = _literal(value.strip())
    return name, arguments


def _split(inside: str, text: str) -> list[str]:
    """Split at commas outside brackets and quotes."""
    parts, depth, start, quote, escaped = [], 0, 0, "", False
    for i, char in enumerate(inside):
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(inside[start:i])
            start = i + 1
        if depth < 0:
            break
    if depth or quote:
        raise InputError(f"cannot read '{text}': a bracket or a quote is not closed")
    parts.append(inside[start:])
    return [part for part in parts if part.strip()]


_WORDS = {"true": True, "false": False, "none": None, "inf": math.inf, "nan": math.nan}


def _literal(value: str) -> Any:
    """A number, text, truth value or (nested) list of these; a bare word is a text.

    >>> _literal("0.5"), _literal("up"), _literal("[1, [up, -inf]]")
    (0.5, 'up', (1, ('up', -inf)))
    """
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    try:
        with PARSING:
            tree = ast.parse(value, mode="eval")
        return _value_of(tree.body)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        if re.fullmatch(r"\{\w*\}", value):
            raise InputError(
                f"{value} is a placeholder, which only a sweep of an experiment file fills: write "
                "a value in its place"
            ) from None
        if value[:1] in "([{" and value[-1:] in ")]}":
            raise InputError(
                f"cannot read the list '{value}': write texts in quotes, as in ['ids-n', 'ts-n']"
            ) from None
        return value


def _value_of(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() | str() | None):
            return node.value
        case ast.Name():
            return _WORDS.get(node.id.lower(), node.id)
        case ast.List() | ast.Tuple():
            return tuple(_value_of(item) for item in node.elts)
        case ast.Dict() if None not in node.keys:
            pairs = zip(node.keys, node.values, strict=True)
            return {_value_of(key): _value_of(item) for key, item in pairs if key is not None}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value_of(operand)
    raise ValueError("not a plain value")


def _value_text(value: object, inside: bool = False) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_value_text(item, True) for item in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{_value_text(k, True)}: {_value_text(v, True)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, str):
        bare = not inside and re.fullmatch(r"[\w.:/-]+", value) and _literal(value) == value
        return value if bare else repr(value)  # bare, it might be read back as something else
    return str(value)


def _same(one: object, other: object) -> bool:
    """Equality also for what answers with an array."""
    try:
        return bool(one == other)
    except ValueError:
        return False
