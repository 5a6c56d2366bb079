"""Writing so that nothing is lost and nothing half-written: a temporary name, then a rename."""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from graphbandits.errors import InputError


@contextmanager
def _readable_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror or error}; choose another place"
        ) from None


def read_bytes(path: Path, what: str) -> bytes:
    """All of a file, or an error that says what it was to be and why it cannot be read."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read the {what} {path}: {reason}") from None


def make_directory(path: Path) -> Path:
    """Create a directory (and its parents) that can be written, or say why not."""
    with _readable_errors(path):
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
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror or error}; choose a shorter name"
        ) from None


@contextmanager
def replace_file(target: Path) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of a file at once, and of nothing if it fails."""
    with _readable_errors(target):
        temporary = _beside(target)
        # opened by its number, so that the kernel applies the user's mask of permissions
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_bytes(target: Path, data: bytes) -> None:
    """Replace a file at once: whoever reads it sees the old one or the new one."""
    with replace_file(target) as stream:
        stream.write(data)


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
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = dict(file)
    meta: dict[str, Any] = json.loads(arrays.pop("meta").tobytes())
    return meta, arrays


@contextmanager
def replace_directory(target: Path) -> Iterator[Path]:
    """Fill a temporary directory, which then takes the place of ``target``."""
    with _readable_errors(target):
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
    """A name in the same directory that nobody else has."""
    return target.with_name(f".{target.name}-{secrets.token_hex(6)}")
