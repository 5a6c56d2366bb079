"""Writing so that nothing is lost and nothing half-written: a temporary name, then a rename."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from graphbandits._process_info import is_alive, machine_id
from graphbandits.errors import InputError

#: A temporary name: what the file is to be called, where and by which process it is written.
_TEMPORARY = re.compile(r"\.(.+)-([0-9a-f]{8})([0-9a-f]{8})[0-9a-f]{8}", re.DOTALL)
#: The most that is unpacked of a compressed file: a few kilobytes can hold gigabytes.
MOST_UNPACKED = 2**30
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def readable_errors(target: Path) -> Iterator[None]:
    """What the system says when writing fails becomes a sentence with what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in _FULL:
            why = f"the disk is full ({why}): nothing is lost; free space and run the same again"
        elif error.errno == errno.EISDIR:
            why = "a directory has this name; move it elsewhere, or choose another place"
        elif error.errno in _FORBIDDEN:
            why += "; make it writable, or choose another place"
        else:
            why += "; choose another place"
        raise InputError(f"cannot write {target}: {why}") from None


def read_bytes(path: Path, what: str) -> bytes:
    """All of a file, or an error that says what it was to be and why it cannot be read."""
    try:
        return read_regular(path)
    except MemoryError:
        raise InputError(f"cannot read the {what} {path}: it does not fit into memory") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read the {what} {path}: {reason}") from None


def read_regular(path: Path, most: int | None = None) -> bytes:
    """All of a file of at most ``most`` bytes; a pipe or a device, which may not end, is refused.

    Raises OSError where it cannot be opened, and InputError with the reason alone.
    """
    with opened(path) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise InputError("it is no regular file")
        if most is not None and status.st_size > most:
            raise InputError(f"it has {status.st_size:,} bytes, and at most {most:,} are read")
        return file.read()


def opened(path: Path) -> BinaryIO:
    """A file to read, without waiting for a writer at the other end of a pipe."""
    flags = getattr(os, "O_NONBLOCK", 0)
    return open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags))


def make_directory(path: Path) -> Path:
    """Create a directory (and its parents) that can be written, or say why not."""
    with readable_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    return path


def check_name(target: Path) -> None:
    """Notice before the work that a name is too long, also for the temporary one beside it."""
    try:
        _beside(target).lstat()
    except FileNotFoundError:
        return
    except ValueError as error:  # a NUL, or no name at all
        raise InputError(f"cannot write '{target}': {error}; choose another name") from None
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror or error}; choose a shorter name"
        ) from None


def write_bytes(target: Path, data: bytes) -> None:
    """Replace a file at once: whoever reads it sees the old one or the new one.

    The bytes are on the disk before they get the name. The name itself is not waited for: a power
    cut may leave the old file, or none, but never half of the new one.
    """
    with replace_file(target) as stream:
        stream.write(data)


def write_new(target: Path, data: bytes) -> bool:
    """Write a file unless there is one: of several that try at once one does, and is told so."""
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
    """A stream whose content takes the place of a file at once, and of nothing if it fails."""
    with readable_errors(target), _temporary(target) as (temporary, stream):
        yield stream
        _finish(stream)
        os.replace(temporary, target)


@contextmanager
def _temporary(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file under a temporary name, which is gone afterwards, and its open stream."""
    if target.exists() and not (target.is_file() or target.is_dir()):
        # a rename would replace a device or a pipe by a file
        raise InputError(f"cannot write {target}: it is no regular file; choose another place")
    temporary = _beside(target)
    # opened by its number, so that the kernel applies the user's mask of permissions
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield temporary, stream
    finally:
        with suppress(OSError):  # an error on the way says more
            temporary.unlink(missing_ok=True)


def _finish(stream: BinaryIO) -> None:
    """All bytes on the disk, and the file closed."""
    stream.flush()
    os.fsync(stream.fileno())
    stream.close()


def write_text(target: Path, text: str) -> None:
    """The same for text, in UTF-8."""
    write_bytes(target, text.encode("utf-8"))


def to_npz(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Named arrays and a JSON object as one archive of NumPy's, without pickle.

    >>> meta, arrays = from_npz(to_npz({"t": 3}, {"a": np.arange(2)}))
    >>> meta, arrays["a"].tolist()
    ({'t': 3}, [0, 1])
    """
    described = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **{**arrays, "meta": described})  # type: ignore[arg-type]
    return buffer.getvalue()


def from_npz(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What :func:`to_npz` packed; whatever NumPy raises if it is something else."""
    check_npz(data)
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        # never compressed, so that a small file cannot unpack to a large one
        if sum(member.file_size for member in file.zip.infolist()) > len(data):
            raise InputError("it is compressed, or damaged")
        arrays = dict(file)
    meta: dict[str, Any] = json.loads(arrays.pop("meta").tobytes())
    return meta, arrays


def check_npz(data: bytes) -> list[str]:
    """Return the names in an archive of arrays; refuse one that would fill the memory.

    >>> check_npz(to_npz({}, {"a": np.arange(2)}))
    ['a.npy', 'meta.npy']
    """
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
    """Refuse an array that is larger than its file: NumPy would allocate it before it reads."""
    version = np.lib.format.read_magic(stream)
    first = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    if not dtype.hasobject and math.prod(shape) * dtype.itemsize > size:
        raise InputError(f"it is cut off: an array of the shape {shape} is larger than the file")


@contextmanager
def replace_directory(target: Path) -> Iterator[Path]:
    """Fill a temporary directory, which then takes the place of ``target``."""
    with readable_errors(target):
        target = target.resolve()  # a link stays a link, to the new directory
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary, before = _beside(target), _beside(target)
        temporary.mkdir()
        try:
            yield temporary
            if target.exists():
                os.replace(target, before)
            try:
                os.replace(temporary, target)
            except OSError:
                if before.exists():
                    os.replace(before, target)
                raise
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        shutil.rmtree(before, ignore_errors=True)


def _beside(target: Path) -> Path:
    """A unique name in the same directory that identifies the writing process."""
    return target.with_name(f".{target.name}-{machine_id()}{os.getpid():08x}{secrets.token_hex(4)}")


def temporary_for(name: str) -> str | None:
    """What a file of a temporary name was to be called; None for any other name.

    >>> temporary_for(_beside(Path("figure.png")).name), temporary_for(".figure.png-draft")
    ('figure.png', None)
    """
    match = _TEMPORARY.fullmatch(name)
    return match[1] if match else None


def is_abandoned(name: str) -> bool:
    """Whether the process that was writing a temporary file has ended; False if unknown.

    >>> is_abandoned(_beside(Path("figure.png")).name)  # we are still here
    False
    """
    match = _TEMPORARY.fullmatch(name)
    return match is not None and match[2] == machine_id() and not is_alive(int(match[3], 16))


def json_text(value: Any) -> str:
    """JSON in ASCII, so that every terminal and pipe can carry it.

    >>> print(json_text({"interval": [1.0, float("nan")]}))
    {
      "interval": [
        1.0,
        null
      ]
    }
    """
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
