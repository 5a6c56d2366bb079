"""Drop the rights of root, for which every file can be read and written."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_VERSION_3 = 0x20080522
#: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
_WRITE_EVERYWHERE, _READ_EVERYWHERE = 1 << 1, 1 << 2


@contextmanager
def unprivileged(*, read: bool = False) -> Iterator[None]:
    """Respect the permissions of files in this thread, also as root; ``read`` ignores some.

    The user stays the same: another one may not be able to enter the directory of the clone.
    """
    if os.geteuid():
        yield
        return
    if not sys.platform.startswith("linux"):
        pytest.skip("the rights of root are dropped on Linux only")
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    # effective, permitted and inheritable ones, of the lower and the upper 32 bits
    before = (ctypes.c_uint32 * 6)()
    if libc.capget(header, before):
        raise OSError(ctypes.get_errno(), "capget")
    reduced = (ctypes.c_uint32 * 6)(*before)
    reduced[0] &= ~(_WRITE_EVERYWHERE | (0 if read else _READ_EVERYWHERE))
    if libc.capset(header, reduced):
        raise OSError(ctypes.get_errno(), "capset")
    try:
        yield
    finally:
        libc.capset(header, before)
