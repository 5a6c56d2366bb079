"""Writing so that nothing is lost and nothing half-written: a temporary name, then a rename."""

from __future__ import annotations

import os
import secrets
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
        temporary = _beside(target)
        # opened by its number, so that the kernel applies the user's mask of permissions
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_text(target: Path, text: str) -> None:
    """The same for text, in UTF-8."""
    write_bytes(target, text.encode("utf-8"))


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
