"""Conversion of posteriors and worlds to JSON and named arrays, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.registry import class_of, kind_of, name_of, parameters_given

Arrays = dict[str, NDArray[Any]]


def pack_plugin(plugin: object, arrays: Arrays, path: str) -> dict[str, Any]:
    """Convert a registered plug-in to JSON; add its arrays to ``arrays``, below ``path``.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> arrays: Arrays = {}
    >>> pack_plugin(BetaBernoulli.of(2), arrays, "prior")["name"], list(arrays)
    ('beta-bernoulli', ['prior/a', 'prior/b'])
    """
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


def unpack_plugin(config: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
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
    """Return a parameter as a JSON value; ``where`` is its name in messages.

    >>> plain_value((1, (2.5, float("inf"))), "limits")
    [1, [2.5, {'number': 'inf'}]]
    """
    if isinstance(value, tuple | list):
        return [plain_value(one, where) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}  # JSON has no such number
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(
        f"{where} of type {type(value).__name__} cannot be stored: use numbers, strings, lists of "
        "them, or NumPy arrays"
    )


def restored_value(value: Any) -> Any:
    """Restore a parameter from the result of :func:`plain_value`; lists are returned as tuples.

    >>> restored_value([1, [2.5, {"number": "inf"}]])
    (1, (2.5, inf))
    """
    if isinstance(value, list):
        return tuple(map(restored_value, value))
    return float(value["number"]) if isinstance(value, Mapping) else value
