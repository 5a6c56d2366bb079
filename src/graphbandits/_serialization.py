"""Conversion of posteriors and worlds to JSON and named arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits.errors import InputError
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
            parameters[key] = _plain(value, f"{name_of(plugin)}: {key}")
    return {"kind": kind, "name": name_of(plugin), "parameters": parameters}


def unpack_plugin(config: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Restore a plug-in from the result of :func:`pack_plugin`."""
    parameters = {}
    for key, value in config["parameters"].items():
        if isinstance(value, Mapping) and "array" in value:
            value = arrays[value["array"]]
        elif isinstance(value, Mapping):
            value = unpack_plugin(value["plugin"], arrays)
        parameters[key] = tuple(value) if isinstance(value, list) else value
    return class_of(config["kind"], config["name"])(**parameters)


def _plain(value: object, where: str) -> Any:
    """Return a parameter as a JSON value."""
    if isinstance(value, tuple | list):
        return [_plain(one, where) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(
        f"{where} of type {type(value).__name__} cannot be stored: use numbers, strings, lists of "
        "them, or NumPy arrays"
    )
