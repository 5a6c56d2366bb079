"""Conversion of graph processes to JSON and named arrays, and back."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits.errors import InputError
from graphbandits.graphs.feedback import DenseFeedback, SparseFeedback, UniformFeedback
from graphbandits.graphs.loaders import as_process
from graphbandits.graphs.processes import (
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
)

Arrays = dict[str, NDArray[Any]]

#: Classes by their names in files; these names do not change when a class is renamed.
_KINDS: dict[str, type] = {
    "Dense": DenseFeedback,
    "Sparse": SparseFeedback,
    "Uniform": UniformFeedback,
    "Fixed": Fixed,
    "GivenSequence": GivenSequence,
    "RandomFeedback": RandomFeedback,
    "RevealedErdosRenyi": RevealedErdosRenyi,
}
_KIND_NAMES = {cls: name for name, cls in _KINDS.items()}


def pack(value: object, arrays: Arrays, path: str = "graph") -> Any:
    """Convert a process to JSON; add its arrays to ``arrays``, with their paths as keys.

    >>> from graphbandits.graphs import as_process
    >>> arrays: Arrays = {}
    >>> pack(as_process("paper"), arrays)["kind"], list(arrays)
    ('Fixed', ['graph/feedback/matrix'])
    """
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return {"array": path}
    if type(value) in _KIND_NAMES and dataclasses.is_dataclass(value):
        fields = {
            field.name: pack(getattr(value, field.name), arrays, f"{path}/{field.name}")
            for field in dataclasses.fields(value)
        }
        return {"kind": _KIND_NAMES[type(value)], "fields": fields}
    if isinstance(value, tuple):
        return [pack(item, arrays, f"{path}/{i}") for i, item in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(f"cannot save a graph of type {type(value).__name__}")


def unpack(config: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Restore a value from the result of :func:`pack`."""
    if isinstance(config, dict) and "array" in config:
        return arrays[config["array"]]
    if isinstance(config, dict):
        fields = {name: unpack(value, arrays) for name, value in config["fields"].items()}
        return _KINDS[config["kind"]](**fields)
    if isinstance(config, list):
        return tuple(unpack(item, arrays) for item in config)
    return config


def pack_process(process: Process, text: str | None, arrays: Arrays) -> Any:
    """Convert a process to JSON; a process class of a plug-in is stored as its text."""
    try:
        return pack(process, arrays)
    except InputError:
        if text is None:
            raise
        return {"text": text, "arms": process.arms}


def unpack_process(config: Any, arrays: Mapping[str, NDArray[Any]]) -> Process:
    """Restore a process from the result of :func:`pack_process`.

    >>> unpack_process({"text": "star", "arms": 4}, {}).arms
    4
    """
    if "text" in config:
        return as_process(config["text"], config["arms"])
    process: Process = unpack(config, arrays)
    return process


def fingerprint(process: Process) -> str | None:
    """Return the sha256 hash of a process, including names; None for classes of plug-ins.

    >>> from graphbandits.graphs import as_process
    >>> star, path = as_process("star", 3), as_process("path", 3)
    >>> fingerprint(star) == fingerprint(path)
    False
    """
    arrays: Arrays = {}
    try:
        config = pack(process, arrays)
    except InputError:
        return None
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.ravel().data)  # no copy: the array may be large
    return digest.hexdigest()
