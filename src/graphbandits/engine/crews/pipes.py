"""Messages over pipes: a JSON object and some bytes, behind their lengths."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

Message = tuple[dict[str, Any], bytes]


def send(stream: IO[bytes], meta: Mapping[str, Any], data: bytes = b"") -> None:
    """Write one message.

    >>> import io
    >>> stream = io.BytesIO()
    >>> send(stream, {"first": 250}, b"numbers")
    >>> _ = stream.seek(0)
    >>> receive(stream), receive(stream)
    (({'first': 250}, b'numbers'), None)
    """
    head = json.dumps(meta).encode()
    stream.write(len(head).to_bytes(8, "little") + len(data).to_bytes(8, "little") + head)
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Message | None:
    """Read one message; None where the stream ends, be it in the middle of one."""
    lengths = stream.read(16)
    if len(lengths) < 16:
        return None
    head, data = int.from_bytes(lengths[:8], "little"), int.from_bytes(lengths[8:], "little")
    read = stream.read(head + data)
    if len(read) < head + data:
        return None
    return json.loads(read[:head]), read[head:]
