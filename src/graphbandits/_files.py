"""Atomic writes, checked npz files, JSON, and versions."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import platform
import secrets
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from graphbandits import __version__
from graphbandits.errors import InputError


@cache
def versions() -> dict[str, str]:
    """Return the versions with which results were computed."""
    return {
        "graphbandits": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "numba")},
        "machine": f"{platform.system()} {platform.machine()}",
    }


#: Upper limit of the unpacked size of a compressed file: a few kilobytes can unpack to gigabytes.
MOST_UNPACKED = 2**30
_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def readable_errors(target: Path) -> Iterator[None]:
    """Turn operating system errors of a write into an InputError with a hint."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in _FULL:
            why = f"the disk is full ({why}): no data is lost; free space and run the command again"
        else:
            why += "; make it writable, or choose another path"
        raise InputError(f"cannot write {target}: {why}") from None


def read_bytes(path: Path, what: str) -> bytes:
    try:
        return read_regular(path)
    except MemoryError:
        raise InputError(f"cannot read the {what} {path}: it does not fit into memory") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read the {what} {path}: {reason}") from None


def read_regular(path: Path) -> bytes:
    """Read a whole regular file.

    A pipe or a device, which may not end, raises InputError with the reason only. A file that
    cannot be opened raises OSError.
    """
    # without waiting for the writer of a pipe
    flags = getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InputError("it is not a regular file")
        return file.read()


def make_directory(path: Path) -> Path:
    """Create a directory and its parents, and check that it is writable."""
    with readable_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    return path


def check_name(target: Path) -> None:
    """Raise InputError before a long computation if a name, or its temporary name, is invalid."""
    try:
        _temporary_path(target).lstat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:  # ValueError: a NUL, or an empty name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"cannot write '{target}': {reason}; choose a shorter name of plain characters"
        ) from None


def write_bytes(target: Path, data: bytes) -> None:
    """Write a file atomically: readers see the old content or the new content.

    The data is flushed to disk before the rename; the rename itself is not. After a power failure
    there is the old file, no file or the new file, but never a part of it.
    """
    with replace_file(target) as stream:
        stream.write(data)


def write_new(target: Path, data: bytes) -> bool:
    """Write a file unless it exists; return whether it was written (atomic across processes)."""
    with readable_errors(target), _temporary(target) as (temporary, stream):
        stream.write(data)
        _finish(stream)
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if os.path.lexists(target):
                return False
            os.replace(temporary, target)
    return True


@contextmanager
def replace_file(target: Path) -> Iterator[BinaryIO]:
    """Open a stream whose content replaces a file atomically when the block succeeds."""
    with readable_errors(target), _temporary(target) as (temporary, stream):
        yield stream
        _finish(stream)
        os.replace(temporary, target)


@contextmanager
def _temporary(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Yield the path and stream of a temporary file beside the target; remove it after."""
    if target.exists() and not (target.is_file() or target.is_dir()):
        # a rename would replace a device or a pipe by a file
        raise InputError(f"cannot write {target}: it is not a regular file; choose another path")
    temporary = _temporary_path(target)
    # os.open applies the umask of the user
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield temporary, stream
    finally:
        with suppress(OSError):  # an error inside the block is more informative
            temporary.unlink(missing_ok=True)


def _finish(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())
    stream.close()


def write_text(target: Path, text: str) -> None:
    write_bytes(target, text.encode("utf-8"))


def to_npz(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Pack named arrays and a JSON object into one NumPy archive, without pickle."""
    described = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **{**arrays, "meta": described})  # type: ignore[arg-type]
    return buffer.getvalue()


def from_npz(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Unpack an archive of :func:`to_npz`; other data raises InputError or an error of NumPy."""
    check_npz(data)
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        # to_npz does not compress: a larger unpacked size means other data
        if sum(member.file_size for member in file.zip.infolist()) > len(data):
            raise InputError("it is compressed, or damaged")
        arrays = dict(file)
    meta: dict[str, Any] = json.loads(arrays.pop("meta").tobytes())
    return meta, arrays


def check_npz(data: bytes) -> list[str]:
    """Return the names in an archive of arrays; raise InputError if it would fill the memory."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        unpacked = sum(entry.file_size for entry in entries)
        if unpacked > max(len(data), MOST_UNPACKED):
            raise InputError(f"it unpacks to more than {MOST_UNPACKED >> 20} MiB")
        for entry in entries:
            if entry.filename.endswith(".npy"):
                with archive.open(entry) as stream:
                    check_array_header(stream, entry.file_size)
    return [entry.filename for entry in entries]


def check_array_header(stream: IO[bytes], size: int) -> None:
    """Raise InputError if an array is larger than its file: NumPy allocates before it reads."""
    version = np.lib.format.read_magic(stream)
    first = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    if not dtype.hasobject and math.prod(shape) * dtype.itemsize > size:
        raise InputError(f"it is truncated: an array of the shape {shape} is larger than the file")


def _temporary_path(target: Path) -> Path:
    """Return a unique temporary path in the same directory."""
    return target.with_name(f".{target.name}-{secrets.token_hex(12)}")


def json_text(value: Any, indent: int | None = 2) -> str:
    """Format a value as JSON in ASCII, with null for numbers that are not finite."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
