"""A graph file: read, decompressed and decoded, with the places of its errors."""

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
    """The path of a graph and its bytes, decompressed.

    >>> GraphFile(Path("edges.txt.gz"), b"ann bob").where(3), GraphFile(Path("a.CSV"), b"").ending
    ('edges.txt.gz, line 3', '.csv')
    """

    path: Path
    data: bytes

    @classmethod
    def read(cls, path: object) -> GraphFile:
        """Read a regular file; its first bytes tell whether it is compressed, not its ending.

        ``~`` at the beginning of a path is the home directory. A file that has been read is
        returned as it is.
        """
        if isinstance(path, GraphFile):
            return path
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"a graph file is given by its path, not by {path!r}")
        place = Path(path)
        if str(place).startswith("~"):
            with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: no home to expand
                place = place if place.exists() else place.expanduser()
        data = read_bytes(place, "graph file")
        if data.startswith(b"\x1f\x8b"):
            try:
                with gzip.open(io.BytesIO(data)) as stream:
                    data = stream.read(MOST_UNPACKED + 1)
            except (EOFError, OSError, zlib.error) as error:
                raise InputError(
                    f"the graph file {place} is gz-compressed, but cut off or damaged: {error}"
                ) from None
            if len(data) > MOST_UNPACKED:
                raise InputError(
                    f"the graph file {place} unpacks to more than {MOST_UNPACKED >> 20} MiB, the "
                    "most that is unpacked: unpack it yourself, and give the unpacked file"
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
        """``.csv`` of ``edges.CSV.gz``."""
        return Path(self.path.name.lower().removesuffix(".gz")).suffix

    def where(self, line: int) -> str:
        """Name a line in an error."""
        return f"{self.path}, line {line}"

    def place(self, line: int) -> str:
        """Begin an error about a line."""
        return f"{self.where(line)}: "

    def text(self) -> str:
        """Decode the text, which is UTF-8, with or without a byte order mark."""
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
            reason = f"line {line} holds the byte 0x{self.data[at]:02x}"
        raise InputError(
            f"the graph file {self.path} is not text in UTF-8 ({reason}): save it as UTF-8"
        )
