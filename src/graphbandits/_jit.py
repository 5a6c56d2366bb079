"""Compilation of kernels with Numba: cached on disk, GIL released.

Kernels are in modules whose file name contains ``kernel``; a test checks this. Numba decides from
the file of the compiled function alone whether a cached binary is up to date, so an edit of a
*callee* in another file would leave stale machine code. The name of the cache directory is
therefore a hash of all kernel sources.

Every kernel calls private copies of its callees, so its results do not depend on what else the
process has compiled or loaded (:class:`_PrivateCallees`).
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import local
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import config, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

#: Numba sets its attributes at run time, invisible to type checkers.
numba_config: Any = config
P = ParamSpec("P")
R = TypeVar("R")

#: Allow reordered and fused sums, which lets reductions use vector units. Code that relies on the
#: order of rounding must not use it (see :mod:`graphbandits.posteriors._math_kernels`).
REDUCTIONS = {"reassoc", "contract", "nsz"}


class _PrivateCallees(JITCodeLibrary):
    """Machine code that calls private copies of its callees.

    Numba puts a copy of each callee into the code of its caller and optimises it again, which may
    reorder a sum. By default the copies can be replaced: a process calls the first copy of a name
    that it has loaded, which may be that of another caller.
    """

    _copies: tuple[str, ...] = ()

    def _finalize_final_module(self) -> None:
        copies = [
            function
            for function in self._final_module.functions
            if not function.is_declaration and function.linkage.name == "linkonce_odr"
        ]
        for function in copies:
            function.linkage = "internal"
        self._copies = tuple(function.name for function in copies)
        super()._finalize_final_module()  # type: ignore[no-untyped-call]

    def _get_module_for_linking(self) -> Any:
        # replaceable again for callers: several callees may share one callee
        module = super()._get_module_for_linking()  # type: ignore[no-untyped-call]
        for name in self._copies:
            module.get_function(name).linkage = "linkonce_odr"
        return module


class _Compiler(Compiler):
    """Numba's compiler with :class:`_PrivateCallees` as the code library."""

    def define_pipelines(self) -> Any:
        codegen, name = self.state.targetctx.codegen(), self.state.func_id.func_qualname
        self.state.library = _PrivateCallees(codegen, name)  # type: ignore[no-untyped-call]
        self.state.library.enable_object_caching()
        return super().define_pipelines()  # type: ignore[no-untyped-call]


def kernel_sources() -> list[Path]:
    """Return all files with kernels, and this file, sorted."""
    root = Path(__file__).parent
    return sorted([Path(__file__), *root.rglob("*kernel*.py")])


def cache_directory() -> Path:
    """Return the directory of the machine code, in ``$NUMBA_CACHE_DIR`` or the user's cache."""
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


class _Compiling(event.Listener, local):
    """Time that this thread has spent on compilation, nested compilations included once."""

    seconds = 0.0
    _depth = 0
    _since = 0.0

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._since = time.monotonic()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.monotonic() - self._since


_COMPILING = _Compiling()
event.register("numba:compile", _COMPILING)  # type: ignore[no-untyped-call]


def clock() -> float:
    """Return a time in seconds that excludes the compilations of this thread."""
    return time.monotonic() - _COMPILING.seconds


_CACHE = cache_directory()
_CACHED = _writable(_CACHE)


def compiled_before() -> bool:
    """Return whether the cache has machine code, so that no long compilation follows."""
    return _CACHED and any(_CACHE.rglob("*.nbi"))


def kernel(
    *, fastmath: bool | set[str] = False, inline: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function that releases the GIL, with its Python signature for type checkers."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        # Python's check for a division by zero is a branch that keeps loops scalar
        options: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",
            "fastmath": fastmath,
            "cache": _CACHED,
            "pipeline_class": _Compiler,
        }
        if inline:
            options["forceinline"] = True
        # Numba reads this setting while it decorates. Set it for these kernels only: the cached
        # functions of the user stay in their directory.
        before = numba_config.CACHE_DIR
        numba_config.CACHE_DIR = str(_CACHE) if _CACHED else before
        try:
            compiled: Callable[P, R] = numba.njit(**options)(function)
        finally:
            numba_config.CACHE_DIR = before
        return compiled

    return decorate
