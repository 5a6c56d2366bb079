"""Parts of the state of an agent as bytes: graphs, arrays, probabilities, JSON."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphbandits._io import from_npz, to_npz
from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, short_repr
from graphbandits.graphs import Process
from graphbandits.graphs._storage import Arrays, pack_process, unpack_process

#: Maximum size of an unpacked object; larger ones compress at most by the factor MOST_RATIO.
MOST_UNPACKED = 2**25
MOST_RATIO = 20
#: Types of packed numbers.
_I4, _F8 = np.dtype("<i4"), np.dtype("<f8")


def pack_graph(process: Process, text: str | None) -> bytes:
    """Convert a graph to bytes."""
    arrays: Arrays = {}
    return pack_npz({"graph": pack_process(process, text, arrays), "text": text}, arrays)


def unpack_graph(data: bytes, arms: int) -> tuple[Process, str | None]:
    """Restore a graph and its text form from the result of :func:`pack_graph`.

    A graph of more than ``arms`` arms is damaged.
    """
    meta, arrays = unpack_npz(data)
    check_sizes(meta["graph"], arms)
    return unpack_process(meta["graph"], arrays), meta["text"]


def check_sizes(graph: Any, arms: int) -> None:
    """Raise InputError if a packed graph has too many arms, before it allocates memory."""
    if isinstance(graph, dict):
        for name in ("arms", "count"):
            if not graph.get(name, arms) <= arms:
                given = short_repr(graph[name])
                raise InputError(
                    f"it is damaged: its graph has {given} arms, but its prior has {arms}"
                )
        graph = list(graph.values())
    if isinstance(graph, list):
        for part in graph:
            check_sizes(part, arms)


def pack_sparse(row: Floats) -> bytes:
    """Convert the positive entries of a row of probabilities to bytes.

    >>> unpack_sparse(pack_sparse(np.array([0.25, 0.0, 0.75])))
    (array([0, 2]), array([0.25, 0.75]))
    """
    (index,) = row.nonzero()
    raw = index.astype(_I4).tobytes() + row[index].astype(_F8, copy=False).tobytes()
    # many arms have few different probabilities, which compress well
    return b"r" + raw if len(raw) <= 1000 else b"z" + _compress(raw)


def unpack_sparse(data: bytes) -> tuple[Ints, Floats]:
    """Return the indices and values of the result of :func:`pack_sparse`."""
    raw = data[1:] if data[:1] == b"r" else _decompress(data[1:])
    count = len(raw) // 12
    index = np.frombuffer(raw, _I4, count).astype(np.int64)
    return index, np.frombuffer(raw, _F8, count, 4 * count).astype(np.float64)


def pack_json(value: Any) -> bytes:
    return _compress(json.dumps(value).encode())


def unpack_json(data: bytes) -> Any:
    return json.loads(_decompress(data))


def pack_npz(meta: Mapping[str, Any], arrays: Arrays) -> bytes:
    return _compress(to_npz(meta, arrays))


def unpack_npz(data: bytes) -> tuple[dict[str, Any], Arrays]:
    return from_npz(_decompress(data))


def _compress(raw: bytes) -> bytes:
    data = zlib.compress(raw, 1)
    # what would not be unpacked is stored as it is
    return data if len(raw) <= _most_unpacked(data) else zlib.compress(raw, 0)


def _decompress(data: bytes) -> bytes:
    """Return the result of :func:`_compress` as it was; a small object cannot fill the memory."""
    unpacker, most = zlib.decompressobj(), _most_unpacked(data)
    raw = unpacker.decompress(data, most + 1)
    if len(raw) > most:
        raise InputError(f"it is damaged: {len(data):,} bytes unpack to more than {most:,}")
    if not unpacker.eof or unpacker.unused_data:
        raise InputError("it is damaged: a compressed part has the wrong length")
    return raw


def _most_unpacked(data: bytes) -> int:
    return max(MOST_UNPACKED, MOST_RATIO * len(data))
