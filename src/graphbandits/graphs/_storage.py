"""Graph processes as JSON and named arrays, and back: how an agent keeps its graph."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._old_words import PARAMETERS, translate_keys, translate_text
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

#: Classes by their names in files, which stay the same when a class is renamed.
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
    """JSON for a process; its arrays are added to ``arrays`` under their path.

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
            # so that what is kept, and its hash, are those of earlier versions
            if "later" not in field.metadata or getattr(value, field.name) != field.default
        }
        return {"kind": _KIND_NAMES[type(value)], "fields": fields}
    if isinstance(value, tuple):
        return [pack(item, arrays, f"{path}/{i}") for i, item in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(f"a graph of {type(value).__name__} cannot be saved")


def unpack(config: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """What :func:`pack` packed."""
    if isinstance(config, dict) and "array" in config:
        return arrays[config["array"]]
    if isinstance(config, dict):
        stored = translate_keys(config["fields"])
        fields = {name: unpack(value, arrays) for name, value in stored.items()}
        return _KINDS[config["kind"]](**fields)
    if isinstance(config, list):
        return tuple(unpack(item, arrays) for item in config)
    return config


def pack_process(process: Process, text: str | None, arrays: Arrays) -> Any:
    """JSON for a process; one of a plug-in's own class goes by the text that it was made from."""
    try:
        return pack(process, arrays)
    except InputError:
        if text is None:
            raise
        return {"text": text, "arms": process.arms}


def unpack_process(config: Any, arrays: Mapping[str, NDArray[Any]]) -> Process:
    """What :func:`pack_process` packed.

    >>> unpack_process({"text": "star", "arms": 4}, {}).arms
    4
    """
    if "text" in config:
        return as_process(translate_text(config["text"]), config["arms"])
    process: Process = unpack(config, arrays)
    return process


def fingerprint(process: Process) -> str | None:
    """A sha256 of all that a process is, its names included; None for a plug-in's own class.

    >>> from graphbandits.graphs import as_process
    >>> same = as_process("star", 3), as_process("path", 3)
    >>> fingerprint(same[0]) == fingerprint(same[1])
    False
    """
    arrays: Arrays = {}
    try:
        config = pack(process, arrays)
    except InputError:
        return None
    fields = config["fields"]
    for old, new in PARAMETERS.items():
        if new in fields:  # the hash of a graph is the same in all versions
            fields[old] = fields.pop(new)
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.ravel().data)  # read in place, for it may be large
    return digest.hexdigest()
