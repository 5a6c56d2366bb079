"""The one way this package compiles a function: Numba, cached on disk, GIL released.

Kernels live in modules whose file name contains ``kernel``; a test holds this. Numba decides
whether a cached binary is fresh by looking at the file of the compiled function alone, so an edit
to a *callee* in another file leaves stale machine code behind. The cache directory is therefore
named by a hash of all kernel sources together.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import config

#: Numba fills its settings in at run time, where no type checker sees them.
numba_config: Any = config
P = ParamSpec("P")
R = TypeVar("R")

#: Sums may be reordered and fused, so that reductions use vector units. Nothing that relies on
#: the order of rounding may be compiled with it (see :mod:`graphbandits.posteriors.math_kernels`).
REDUCTIONS = {"reassoc", "contract", "nsz"}


def kernel_sources() -> list[Path]:
    """Every file that holds compiled code, and this one, in a stable order."""
    root = Path(__file__).parent
    return sorted([Path(__file__), *root.rglob("*kernel*.py")])


def cache_directory() -> Path:
    """Where the machine code goes: ``$NUMBA_CACHE_DIR`` or the user's cache, then a hash."""
    digest = hashlib.blake2b(digest_size=8)
    for path in kernel_sources():
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    if numba_config.CACHE_DIR:
        base = Path(numba_config.CACHE_DIR)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home())) / "graphbandits"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "graphbandits"
    return base / f"kernels-{digest.hexdigest()}"


def _writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK)


_CACHE = cache_directory()
_CACHED = _writable(_CACHE)


def compiled_before() -> bool:
    """Whether the cache holds machine code already, so that nothing long is to come."""
    return _CACHED and any(_CACHE.rglob("*.nbi"))


def kernel(
    *, fastmath: bool | set[str] = False, inline: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function without the GIL; its types stay those of the Python source."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        # Python's check for a division by zero is a branch that keeps loops scalar
        options: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",
            "fastmath": fastmath,
            "cache": _CACHED,
        }
        if inline:
            options["forceinline"] = True
        # Numba reads the directory while it decorates: set for our kernels only, so that the
        # caller's own cached functions stay where they were.
        before = numba_config.CACHE_DIR
        numba_config.CACHE_DIR = str(_CACHE) if _CACHED else before
        try:
            compiled: Callable[P, R] = numba.njit(**options)(function)
        finally:
            numba_config.CACHE_DIR = before
        return compiled

    return decorate
