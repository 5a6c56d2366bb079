"""Registry of plug-ins by name, and their text form: ``cliques(size=3)`` is ``Cliques(size=3)``.

Plug-ins are in the modules of the package of their kind, in modules named by entry points of the
group ``graphbandits.plugins``, or in files loaded by :func:`graphbandits.plugins.load_plugin`.
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from functools import cache
from importlib.metadata import entry_points
from threading import RLock
from typing import Any, TypeVar

from graphbandits.errors import GraphBanditsError, InputError, nearest

T = TypeVar("T")

#: Package of each kind of plug-in.
PACKAGES = {
    "policy": "graphbandits.policies",
    "graph": "graphbandits.graphs",
    "posterior": "graphbandits.posteriors",
    "world": "graphbandits.worlds",
}
#: Group of entry points of installed packages with plug-ins.
ENTRY_POINTS = "graphbandits.plugins"

#: Lock around parsing of Python code: up to Python 3.12 threads share a counter of the depth of
#: syntax trees, and concurrent parsing can raise SystemError.
PARSING = RLock()
#: Key that :func:`parse` uses for a value without a key.
KEYLESS = ""
#: Metadata of fields that the text form always has, even at their defaults.
ALWAYS = {"always": True}

_REGISTERED: dict[str, dict[str, type]] = {kind: {} for kind in PACKAGES}
_NAMES: dict[type, str] = {}
_FORM = re.compile(r"\s*([A-Za-z0-9_.\-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def register(kind: str, name: str) -> Callable[[type[T]], type[T]]:
    """Register a plug-in: a class decorator for frozen dataclasses.

    The first sentence of the docstring of the class is its description.

    Parameters
    ----------
    kind : {"policy", "graph", "posterior", "world"}
        The kind of plug-in.
    name : str
        The name, unique in its kind: letters, digits, "-", "_" and ".".

    Returns
    -------
    callable
        The decorator, which returns the class unchanged.

    Examples
    --------
    Write the decorator above ``@dataclass(frozen=True)``::

        @register("policy", "my-policy")
        @dataclass(frozen=True)
        class MyPolicy(IndexPolicy):
            "Largest mean so far."
    """
    if kind not in PACKAGES:
        raise InputError(f"unknown kind of plug-in '{kind}': {nearest(kind, PACKAGES)}")
    if not re.fullmatch(r"[A-Za-z0-9_.\-]+", name):
        raise InputError(
            f"{kind} '{name}': a name may contain only letters, digits, '-', '_' and '.'"
        )

    def add(cls: type[T]) -> type[T]:
        # an inherited decorator does not make the class a dataclass
        if not getattr(cls.__dict__.get("__dataclass_params__"), "frozen", False):
            raise InputError(
                f"{cls.__name__}: a {kind} must be a frozen dataclass: write "
                "@dataclass(frozen=True) below @register(...)"
            )
        if not cls.__module__.startswith("graphbandits."):
            _import_own()  # so that duplicate names are detected
        known = _REGISTERED[kind].get(name)
        if known is not None and _location(known) != _location(cls):
            raise InputError(
                f"two classes are registered as {kind} '{name}': {_location(known)} and "
                f"{_location(cls)}; choose another name"
            )
        if _NAMES.get(cls, name) != name:
            raise InputError(
                f"{cls.__name__} is already registered as '{_NAMES[cls]}', and a class has one "
                f"name: define a subclass for {kind} '{name}'"
            )
        _REGISTERED[kind][name] = cls
        _NAMES[cls] = name
        return cls

    return add


def registered(kind: str) -> dict[str, type]:
    """Return all plug-ins of a kind, by name, in alphabetical order."""
    _import_all()
    return dict(sorted(_REGISTERED[kind].items()))


def registered_by(module: str) -> dict[tuple[str, str], type]:
    """Return the plug-ins that a module has registered, by (kind, name)."""
    return {
        (kind, name): cls
        for kind, plugins in _REGISTERED.items()
        for name, cls in plugins.items()
        if cls.__module__ == module
    }


def replace_registrations(module: str, plugins: dict[tuple[str, str], type]) -> None:
    for (kind, name), cls in registered_by(module).items():
        del _REGISTERED[kind][name], _NAMES[cls]
    for (kind, name), cls in plugins.items():
        _REGISTERED[kind][name] = cls
        _NAMES[cls] = name


@cache
def _import_own() -> None:
    for name in PACKAGES.values():
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")


@cache
def _import_all() -> None:
    """Import all plug-ins of this package and of installed packages."""
    _import_own()
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # one broken package must not affect the others
            replace_registrations(entry.module, {})
            owner = entry.dist.name if entry.dist is not None else entry.value
            warnings.warn(
                f"the plug-in '{entry.name}' of the package {owner} is ignored: "
                f"{type(error).__name__}: {error}",
                stacklevel=3,
            )


def _location(cls: type) -> str:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return f"{cls.__qualname__} of {file or cls.__module__}"


def name_of(plugin: object) -> str:
    """Return the registered name of a plug-in or its class, else the name of the class."""
    cls = plugin if isinstance(plugin, type) else type(plugin)
    return _NAMES.get(cls, cls.__name__)


def kind_of(plugin: object) -> str | None:
    """Return the kind of a plug-in; None if its class is not registered."""
    _import_all()
    cls = type(plugin)
    return next((kind for kind in PACKAGES if cls in _REGISTERED[kind].values()), None)


def text_of(plugin: object) -> str:
    """Return the text form of a plug-in, with the parameters that differ from their defaults.

    An array with one value for all arms is written as this value. The parameters of a class with a
    class method ``of`` are those of this method; an array of them may be a field with the name of
    the parameter in the plural.

    >>> text_of(build("graph", "cliques(size=3)"))
    'cliques(size=3)'
    >>> text_of(build("posterior", "beta-bernoulli(a=2, b=[1, 3])", arms=2))
    'beta-bernoulli(a=2.0, b=[1.0, 3.0])'
    """
    changed = []
    if dataclasses.is_dataclass(plugin):
        cls: Any = type(plugin)
        always = {field.name for field in dataclasses.fields(cls) if "always" in field.metadata}
        defaults = _defaults(cls)
        for name, value in text_parameters(plugin).items():
            short = _short_value(value)
            if name in always or (name in defaults and not _same(short, defaults[name])):
                changed.append(f"{name}={_value_text(short)}")
    return name_of(plugin) + (f"({', '.join(changed)})" if changed else "")


def summary_of(cls: type) -> str:
    """Return the first paragraph of the docstring of a class, in one line."""
    doc = inspect.getdoc(cls) or ""
    return doc.split("\n\n")[0].replace("\n", " ").replace("``", "")


def parameters_of(cls: type) -> dict[str, Any]:
    """Return the names of the parameters and their defaults; None if there is no default.

    Posteriors and worlds with a class method ``of(arms, ...)`` have the parameters of that method.

    >>> parameters_of(registered("posterior")["beta-bernoulli"])
    {'a': 1.0, 'b': 1.0, 'accuracy': 'simulation', 'discount': 1.0, 'half_life': None}
    """
    return {name: None if one is MISSING else one for name, one in _defaults(cls).items()}


def _defaults(cls: Any, of: bool = True) -> dict[str, Any]:
    """Return the parameters with their defaults; MISSING if there is no default.

    They are the fields of the class, or the arguments of its class method ``of`` except ``arms``.
    """
    if of and hasattr(cls, "of"):
        return {
            one.name: MISSING if one.default is inspect.Parameter.empty else one.default
            for one in inspect.signature(cls.of).parameters.values()
            if one.name != "arms" and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        }
    return {
        one.name: one.default if one.default_factory is MISSING else one.default_factory()
        for one in dataclasses.fields(cls)
        if one.init
    }


def parameters_given(plugin: object) -> dict[str, Any]:
    """Return the names and values of the parameters of a plug-in."""
    cls: Any = type(plugin)
    return {
        field.name: getattr(plugin, field.name) for field in dataclasses.fields(cls) if field.init
    }


def text_parameters(plugin: object) -> dict[str, Any]:
    """Return the values of :func:`parameters_given` by their names in the text form.

    The names are those of the class method ``of``, if there is one: the array of all ``sd`` may be
    the field ``sds``.
    """
    known, found = parameters_of(type(plugin)), {}
    for name, value in parameters_given(plugin).items():
        short = name.removesuffix("s")
        found[name if name in known or short not in known else short] = value
    return found


def examples_of(cls: type) -> list[Any]:
    """Return the instances used by the contract tests: ``examples()``, else the defaults."""
    examples: Callable[[], Sequence[Any]] = getattr(cls, "examples", lambda: [cls()])
    try:
        instances = list(examples())
    except TypeError as error:
        raise InputError(
            f"{name_of(cls)}: add a @classmethod examples(cls) that returns a list of instances "
            f"({error})"
        ) from error
    if not instances or any(type(example) is not cls for example in instances):
        raise InputError(
            f"{name_of(cls)}: examples() must return one or more instances of {cls.__name__}"
        )
    return instances


def class_of(kind: str, name: str) -> Any:
    plugins = registered(kind)
    if name not in plugins:
        raise InputError(
            f"unknown {kind} '{name}': {nearest(name, plugins)}; load your own with --plugin FILE "
            "or load_plugin(FILE)"
        )
    return plugins[name]


def build(kind: str, text: str, arms: int | None = None, **more: Any) -> Any:
    """Create a plug-in from its text form, ``name`` or ``name(key=value, ...)``.

    The key can be omitted if there is only one parameter, or only one that is not keyword-only.
    ``more`` are further parameters; they override those of the text.

    If the number of arms is given, a class with a class method ``of(arms, ...)`` is created by this
    method; any other class with a parameter ``arms`` gets the number unless the text has it.

    >>> build("graph", "random(r=0.25)")
    Random(r=0.25, low=0.0, high=1.0, shared=False, graph_known='before')
    >>> build("graph", "cliques(3)")
    Cliques(size=3)
    >>> build("posterior", "beta-bernoulli(a=2)", arms=3).a
    array([2., 2., 2.])
    """
    name, arguments = parse(text, what=kind)
    cls = class_of(kind, name)
    by_arms = arms is not None and hasattr(cls, "of")
    allowed = _defaults(cls, of=by_arms)
    if KEYLESS in arguments:
        keyless = list(allowed)
        if len(allowed) > 1 and not by_arms:
            keyless = [f.name for f in dataclasses.fields(cls) if f.init and not f.kw_only]
        if len(keyless) != 1:
            keys = f"parameters: {', '.join(allowed)}" if allowed else "it has no parameters"
            raise InputError(
                f"cannot read the parameter of {kind} '{text}': write key=value; {keys}"
            )
        arguments = dict(zip(keyless, arguments.values(), strict=True))
    arguments |= more
    for key in arguments:
        if key not in allowed:
            hint = nearest(key, allowed) if allowed else "it has no parameters"
            raise InputError(f"{kind} '{name}' has no parameter '{key}': {hint}")
    if arms is not None and not by_arms and "arms" in allowed:
        arguments = {"arms": arms} | arguments
    required = [key for key, default in allowed.items() if default is MISSING]
    missing = [key for key in required if key not in arguments]
    if missing:
        raise InputError(
            f"{kind} '{name}' needs {', '.join(missing)}: write {name}({missing[0]}=...)"
        )
    try:
        return cls.of(arms, **arguments) if by_arms else cls(**arguments)
    except GraphBanditsError:
        raise
    except Exception as error:  # the plug-in rejects its parameters
        raise InputError(
            f"cannot create {kind} '{text}': {type(error).__name__}: {error}"
        ) from error


def parse(text: str, *, what: str = "text") -> tuple[str, dict[str, Any]]:
    """Split ``name(key=value, ...)``; values are Python literals, bare words are strings.

    A text without any key is one value, with the key ``KEYLESS``.

    >>> parse("random(r=uniform, low=0.2)"), parse("edges(1-2 2-3)")
    (('random', {'r': 'uniform', 'low': 0.2}), ('edges', {'': '1-2 2-3'}))
    """
    match = _FORM.fullmatch(text)
    if match is None:
        several = "; repeat the option for several" if "," in text else ""
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
    """Read a number, string, bool or (nested) list of these; a bare word is a string.

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
                f"{value} is a placeholder, which is allowed only in a sweep of an experiment "
                "file: write a value instead"
            ) from None
        if value[:1] in "([{" and value[-1:] in ")]}":
            raise InputError(
                f"cannot read the list '{value}': write strings in quotes, as in ['ids-n', 'ts-n']"
            ) from None
        return value


def _value_of(node: ast.expr) -> Any:
    """Evaluate a syntax tree of plain values; raise ValueError for anything else."""
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
    """Format a value such that :func:`_literal` reads it back."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_value_text(item, True) for item in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{_value_text(k, True)}: {_value_text(v, True)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, str):
        bare = not inside and re.fullmatch(r"[\w.:/-]+", value) and _literal(value) == value
        # without quotes it might be read back as another value
        return value if bare else repr(value)
    return str(value)


def _short_value(value: Any) -> Any:
    """Return an array as a list, or as its first entry if all entries are equal."""
    if not hasattr(value, "tolist") or not getattr(value, "ndim", 0):
        return value.item() if hasattr(value, "item") else value
    listed = value.tolist()
    return listed[0] if listed and all(one == listed[0] for one in listed) else listed


def _same(one: object, other: object) -> bool:
    """Return whether two values are equal; False if the comparison gives an array."""
    try:
        return bool(one == other)
    except ValueError:
        return False


Arrays = dict[str, Any]


def pack_plugin(plugin: object, arrays: Arrays, path: str) -> dict[str, Any]:
    """Convert a registered plug-in to JSON; add its arrays to ``arrays``, below ``path``."""
    import numpy as np  # commands such as --help do not need it

    kind = kind_of(plugin)
    if kind is None:
        raise InputError(
            f"{type(plugin).__name__} is not registered, or its file was loaded again: decorate "
            "the class with @register(kind, 'its-name')"
        )
    parameters: dict[str, Any] = {}
    for key, value in parameters_given(plugin).items():
        if isinstance(value, np.ndarray):
            arrays[f"{path}/{key}"] = value
            parameters[key] = {"array": f"{path}/{key}"}
        elif kind_of(value) is not None:
            parameters[key] = {"plugin": pack_plugin(value, arrays, f"{path}/{key}")}
        else:
            parameters[key] = plain_value(value, f"{name_of(plugin)}: {key}")
    return {"kind": kind, "name": name_of(plugin), "parameters": parameters}


def unpack_plugin(config: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    """Restore a plug-in from the result of :func:`pack_plugin`."""
    parameters = {}
    for key, value in config["parameters"].items():
        if isinstance(value, Mapping) and "array" in value:
            parameters[key] = arrays[value["array"]]
        elif isinstance(value, Mapping) and "plugin" in value:
            parameters[key] = unpack_plugin(value["plugin"], arrays)
        else:
            parameters[key] = restored_value(value)
    cls = class_of(config["kind"], config["name"])
    try:
        return cls(**parameters)
    except GraphBanditsError:
        raise
    except Exception as error:  # the file of the plug-in was changed
        raise InputError(
            f"cannot restore the {config['kind']} '{config['name']}' from its parameters: "
            f"{type(error).__name__}: {error}"
        ) from error


def plain_value(value: object, where: str) -> Any:
    """Return a parameter as a JSON value; ``where`` is its name in messages."""
    if isinstance(value, tuple | list):
        return [plain_value(one, where) for one in value]
    if getattr(value, "ndim", None) == 0:  # a scalar of NumPy
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}  # JSON has no such number
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(
        f"{where} of type {type(value).__name__} cannot be stored: use numbers, strings, lists of "
        "them, or NumPy arrays"
    )


def restored_value(value: Any) -> Any:
    """Restore a parameter from the result of :func:`plain_value`; lists are returned as tuples."""
    if isinstance(value, list):
        return tuple(map(restored_value, value))
    return float(value["number"]) if isinstance(value, Mapping) else value
