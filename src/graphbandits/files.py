"""Writing so that nothing is lost and nothing half-written: a temporary name, then a rename."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphbandits.errors import InputError


@contextmanager
def _readable_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror or error}; choose another place"
        ) from None


def make_directory(path: Path) -> Path:
    """Create a directory (and its parents) that can be written, or say why not."""
    with _readable_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    return path


def write_bytes(target: Path, data: bytes) -> None:
    """Replace a file at once: whoever reads it sees the old one or the new one."""
    with _readable_errors(target):
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def write_text(target: Path, text: str) -> None:
    """The same for text, in UTF-8."""
    write_bytes(target, text.encode("utf-8"))


@contextmanager
def replace_directory(target: Path) -> Iterator[Path]:
    """Fill a temporary directory, which then takes the place of ``target``."""
    with _readable_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
        try:
            os.chmod(temporary, 0o777 & ~_umask())
            yield temporary
            if target.exists():
                before = temporary.with_name(temporary.name + "-before")
                os.replace(target, before)
                os.replace(temporary, target)
                shutil.rmtree(before)
            else:
                os.replace(temporary, target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
