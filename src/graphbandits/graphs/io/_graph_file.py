"""Graph files: reading, decompression, decoding, and locations for error messages."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from graphbandits._io import MOST_UNPACKED, read_bytes
from graphbandits.errors import InputError

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class GraphFile:
    """Path and decompressed bytes of a graph file.

    >>> GraphFile(Path("edges.txt.gz"), b"ann bob").where(3), GraphFile(Path("a.CSV"), b"").ending
    ('edges.txt.gz, line 3', '.csv')
    """

    path: Path
    data: bytes

    @classmethod
    def read(cls, path: object) -> GraphFile:
        """Read a regular file; gz compression is detected by the first bytes.

        A leading ``~`` is the home directory. A GraphFile is returned unchanged.
        """
        if isinstance(path, GraphFile):
            return path
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"the path of a graph file must be a text or a path, not {path!r}")
        place = Path(path)
        if str(place).startswith("~"):
            with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: no home directory
                place = place if place.exists() else place.expanduser()
        data = read_bytes(place, "graph file")
        if data.startswith(b"\x1f\x8b"):
            try:
                with gzip.open(io.BytesIO(data)) as stream:
                    data = stream.read(MOST_UNPACKED + 1)
            except (EOFError, OSError, zlib.error) as error:
                raise InputError(
                    f"the graph file {place} is gz-compressed, but truncated or damaged: {error}"
                ) from None
            if len(data) > MOST_UNPACKED:
                raise InputError(
                    f"the graph file {place} has more than {MOST_UNPACKED >> 20} MiB of "
                    "decompressed data, which is the limit: decompress it and give the "
                    "decompressed file"
                )
        file = cls(place, data)
        if data.startswith(b"PK\x03\x04") and file.ending != ".npz":
            raise InputError(
                f"{place} is a zip archive or an Excel file: export a table as CSV, or save one "
                "array with np.save"
            )
        return file

    @property
    def ending(self) -> str:
        """File extension in lower case, without ``.gz``: ``.csv`` for ``edges.CSV.gz``."""
        return Path(self.path.name.lower().removesuffix(".gz")).suffix

    def where(self, line: int) -> str:
        """Return the location of a line for error messages."""
        return f"{self.path}, line {line}"

    def place(self, line: int) -> str:
        """Return the start of an error message about a line."""
        return f"{self.where(line)}: "

    def text(self) -> str:
        """Decode the text as UTF-8, with or without a byte order mark."""
        try:
            text = self.data.decode("utf-8-sig")
            at = self.data.find(b"\0")
        except UnicodeDecodeError as error:
            at = error.start
        if at < 0:
            return text
        if self.data.startswith(_UTF_16):
            reason = "it looks like UTF-16"
        else:
            line = self.data.count(b"\n", 0, at) + 1
            reason = f"line {line} has the byte 0x{self.data[at]:02x}"
        raise InputError(
            f"the graph file {self.path} is not text in UTF-8 ({reason}): save it as UTF-8"
        )
