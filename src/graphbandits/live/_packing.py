"""Parts of the state of an agent as bytes: graphs, arrays, probabilities, JSON."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphbandits._io import from_npz, to_npz
from graphbandits._types import Floats, Ints
from graphbandits.graphs import Process
from graphbandits.graphs._storage import Arrays, pack_process, unpack_process

#: Types of packed numbers.
_I4, _F8 = np.dtype("<i4"), np.dtype("<f8")


def pack_graph(process: Process, text: str | None) -> bytes:
    """Convert a graph to bytes."""
    arrays: Arrays = {}
    return pack_npz({"graph": pack_process(process, text, arrays), "text": text}, arrays)


def unpack_graph(data: bytes) -> tuple[Process, str | None]:
    """Restore a graph and its text form from the result of :func:`pack_graph`."""
    meta, arrays = unpack_npz(data)
    return unpack_process(meta["graph"], arrays), meta["text"]


def pack_sparse(row: Floats) -> bytes:
    """Convert the positive entries of a row of probabilities to bytes.

    >>> unpack_sparse(pack_sparse(np.array([0.25, 0.0, 0.75])))
    (array([0, 2]), array([0.25, 0.75]))
    """
    (index,) = row.nonzero()
    raw = index.astype(_I4).tobytes() + row[index].astype(_F8, copy=False).tobytes()
    # many arms have few different probabilities, which compress well
    return b"r" + raw if len(raw) <= 1000 else b"z" + zlib.compress(raw, 1)


def unpack_sparse(data: bytes) -> tuple[Ints, Floats]:
    """Return the indices and values of the result of :func:`pack_sparse`."""
    raw = data[1:] if data[:1] == b"r" else zlib.decompress(data[1:])
    count = len(raw) // 12
    index = np.frombuffer(raw, _I4, count).astype(np.int64)
    return index, np.frombuffer(raw, _F8, count, 4 * count).astype(np.float64)


def pack_json(value: Any) -> bytes:
    return zlib.compress(json.dumps(value).encode(), 1)


def unpack_json(data: bytes) -> Any:
    return json.loads(zlib.decompress(data))


def pack_npz(meta: Mapping[str, Any], arrays: Arrays) -> bytes:
    return zlib.compress(to_npz(meta, arrays), 1)


def unpack_npz(data: bytes) -> tuple[dict[str, Any], Arrays]:
    return from_npz(zlib.decompress(data))
