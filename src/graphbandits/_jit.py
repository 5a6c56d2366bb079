"""The one way this package compiles a function: Numba, cached on disk, GIL released.

Kernels live in modules whose file name contains ``kernel``; a test holds this. Numba decides
whether a cached binary is fresh by looking at the file of the compiled function alone, so an edit
to a *callee* in another file leaves stale machine code behind. The cache directory is therefore
named by a hash of all kernel sources together.

Every kernel calls its own copies of its callees, so that its bits do not depend on what else the
process has compiled or loaded (:class:`_OwnCopies`).
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

#: Numba fills its settings in at run time, where no type checker sees them.
numba_config: Any = config
P = ParamSpec("P")
R = TypeVar("R")

#: Sums may be reordered and fused, so that reductions use vector units. Nothing that relies on
#: the order of rounding may be compiled with it (see :mod:`graphbandits.posteriors._math_kernels`).
REDUCTIONS = {"reassoc", "contract", "nsz"}


class _OwnCopies(JITCodeLibrary):
    """Machine code that calls its own copies of its callees, and no others.

    Numba puts a copy of each callee into the code of its caller and optimises it once more there,
    which may order a sum differently. It leaves the copies replaceable: by name, a process calls
    the first that it has met, which is another one where the callee was compiled or called before.
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
        # replaceable again for the callers, who need one copy of what several callees call
        module = super()._get_module_for_linking()  # type: ignore[no-untyped-call]
        for name in self._copies:
            module.get_function(name).linkage = "linkonce_odr"
        return module


class _Compiler(Compiler):
    """Numba's compiler, but for the kind of library that the machine code goes to."""

    def define_pipelines(self) -> Any:
        codegen, name = self.state.targetctx.codegen(), self.state.func_id.func_qualname
        self.state.library = _OwnCopies(codegen, name)  # type: ignore[no-untyped-call]
        self.state.library.enable_object_caching()
        return super().define_pipelines()  # type: ignore[no-untyped-call]


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


class _Compiling(event.Listener, local):
    """How long this thread has compiled; a compiled function may wait for its callees."""

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
    """Seconds that this thread has had for itself: it stands still while functions compile."""
    return time.monotonic() - _COMPILING.seconds


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
            "pipeline_class": _Compiler,
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
