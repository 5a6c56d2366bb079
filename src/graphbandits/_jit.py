"""Compilation of kernels with Numba: cached on disk, GIL released.

Kernels are in modules whose file name contains ``kernel``; a test checks this. Numba decides from
the file of the compiled function alone whether a cached binary is up to date, so an edit of a
*callee* in another file would leave stale machine code. The name of the cache directory is
therefore a hash of all kernel sources.

A kernel is compiled as a whole with private copies of its callees (:class:`_Whole`), so its results
do not depend on what else the process has compiled or loaded. The callees are not compiled
separately before (:class:`_Part`): optimising them at every level of calls takes twice as long.
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import local
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

from numba._dynfunc import make_function
from numba.core import config, event, ir, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import InlineOverloads, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes

from graphbandits.errors import InputWarning

#: Numba sets its attributes at run time, invisible to type checkers.
numba_config: Any = config
P = ParamSpec("P")
R = TypeVar("R")

#: Machine code of another version is removed if it has not been used for 30 days.
UNUSED = 30 * 24 * 3600.0
#: Names of directories with machine code.
_DIRECTORY = re.compile("kernels-[0-9a-f]{16}")

#: Allow reordered and fused sums, which lets reductions use vector units. Code that relies on the
#: order of rounding must not use it (see :mod:`graphbandits.posteriors._quadrature_kernels`).
REDUCTIONS = {"reassoc", "contract", "nsz"}


#: Numba's passes for closures, expressions of whole arrays and inlining in Python: kernels are
#: loops over numbers, and LLVM inlines.
UNUSED_PASSES = (InlineClosureLikes, InlineOverloads, NopythonRewrites)

#: New objects per run of the garbage collector during a compilation, which creates millions.
RARE_COLLECTION = 50_000
#: Size of a Python frame, in pointers. CPython maps memory for small pieces of the stack, and
#: unmaps it, whenever a call crosses their boundary, which can be in an inner loop. A frame of this
#: size gets a piece of 1 MB, in which there is space for the frames of all calls of the compiler.
FRAME_SIZE = 70_000


class _Part(JITCodeLibrary):
    """Code of a kernel as a part of its callers: it is optimised with each of them, not alone."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _Whole(JITCodeLibrary):
    """Machine code of a kernel with private copies of its callees.

    By default the copies can be replaced: a process calls the first copy of a name that it has
    loaded, which may be that of another caller, optimised differently. They are made private before
    they are optimised: LLVM then merges a callee with its only caller, and drops unused arguments.
    Their names change, too: functions of the user find code by name, and would call a copy without
    these arguments.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "linkonce_odr":
                function.linkage = "internal"
                function.name += ".private"
        super()._optimize_final_module()  # type: ignore[no-untyped-call]


@register_pass(mutates_CFG=False, analysis_only=False)  # type: ignore[no-untyped-call]
class _Borrow(FunctionPass):
    """Do not count references in a kernel that makes no arrays, except views, and returns none.

    Its callers hold all arrays that it uses. A count is an atomic operation: with few arms, the
    counts took a quarter of the time of the statistics.
    """

    _name = "borrow"

    def __init__(self) -> None:  # (abstract in Numba)
        super().__init__()  # type: ignore[no-untyped-call]

    def run_pass(self, state: Any) -> bool:
        def counted(kind: Any) -> bool:
            return bool(state.targetctx.data_model_manager[kind].contains_nrt_meminfo())

        def makes_array(expression: Any, signature: Any) -> bool:
            if signature is None:
                return False
            if isinstance(expression, ir.SetItem | ir.StaticSetItem):
                return any(map(counted, signature.args[1:]))  # a temporary copy
            if not counted(signature.return_type):
                return False
            view = getattr(expression, "op", None) in ("getitem", "static_getitem")
            return not view or counted(signature.args[1])

        held = [kind for kind in state.typemap.values() if counted(kind)]
        if (
            not counted(state.return_type)
            and all(isinstance(kind, types.Array | types.BaseTuple) for kind in held)
            and not any(makes_array(*each) for each in state.calltypes.items())
        ):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


def _is_builtin(kind: Any) -> bool:
    return isinstance(kind, types.Function)


class _Calls:
    """Numba's typing context, which remembers the types of calls of its own functions.

    A kernel has few different operators and types, but many calls. Numba tries all implementations
    of a function for each call, which takes a quarter of the time of a compilation.
    """

    _known: ClassVar[dict[Any, dict[Any, Any]]] = {}

    def __init__(self, context: Any, flags: Any) -> None:
        self._context = context
        # what an implementation inherits from its caller
        inherited = flags.nrt, flags.error_model, flags.forceinline, *sorted(flags.fastmath.flags)
        self._found = self._known.setdefault(inherited, {})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        kind: Any = function
        if not isinstance(function, types.Type):
            kind = self._context._lookup_global(function)
        if kws or not _is_builtin(kind):
            return self._context.resolve_function_type(function, args, kws)
        if (kind, args) not in self._found:
            signature = self._context.resolve_function_type(function, args, kws)
            if signature is None or signature.args not in kind._impl_keys:
                return signature
            self._found[kind, args] = signature, kind._impl_keys[signature.args]
        # the calls of a callee with other flags may have selected another implementation
        signature, kind._impl_keys[signature.args] = self._found[kind, args]
        return signature


class _Compiler(Compiler):
    """Numba's compiler with :class:`_Whole` as the code library and with :class:`_Calls`."""

    library: type[JITCodeLibrary] = _Whole

    def compile_extra(self, func: Any) -> Any:
        self.state.typingctx = _Calls(self.state.typingctx, self.state.flags)
        return super().compile_extra(func)  # type: ignore[no-untyped-call]

    def define_pipelines(self) -> Any:
        codegen, name = self.state.targetctx.codegen(), self.state.func_id.func_qualname
        self.state.library = self.library(codegen, name)
        self.state.library.enable_object_caching()
        managers = super().define_pipelines()  # type: ignore[no-untyped-call]
        for manager in managers:
            manager.passes = [step for step in manager.passes if step[0] not in UNUSED_PASSES]
        return managers


class _PartCompiler(_Compiler):
    """The same with :class:`_Part`: without machine code and without wrappers for Python."""

    library = _Part

    def define_pipelines(self) -> Any:
        (pipeline,) = super().define_pipelines()
        pipeline.add_pass_after(_Borrow, NopythonTypeInference)
        pipeline.finalize()
        return [pipeline]

    def compile_extra(self, func: Any) -> Any:
        self.state.flags.no_compile = True
        found = super().compile_extra(func)
        # Numba finds the code by a function object, which is never called
        name, environment = found.fndesc.qualname, found.environment
        key = make_function(found.fndesc.lookup_module(), name, name, 0, environment, ())
        self.state.targetctx.insert_user_function(key, found.fndesc, [found.library])
        return found._replace(entry_point=key)


class _Callee(CPUDispatcher):
    """A kernel that other kernels call; a constant argument does not need code of its own."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        general: Callable[[Any], Any] = types.unliteral
        args = tuple(general(arg) for arg in args)
        kws = {name: general(arg) for name, arg in kws.items()}
        return super().get_call_template(args, kws)


class _Kernel(CPUDispatcher):
    """A kernel that Python calls; its callers among the kernels include ``part``."""

    part: Any

    def compile(self, sig: Any) -> Any:
        before = gc.get_threshold()
        # switched off, rare enough, or another thread compiles, too
        if before[0] == 0 or before[0] >= RARE_COLLECTION:
            return super().compile(sig)
        gc.set_threshold(RARE_COLLECTION, *before[1:])
        try:
            return super().compile(sig)
        finally:
            gc.set_threshold(*before)

    compile.__code__ = compile.__code__.replace(co_stacksize=FRAME_SIZE)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.part)


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
    """Create the directory if necessary; return whether files can be written to it."""
    try:
        new = not directory.exists()
        directory.mkdir(parents=True, exist_ok=True)
        os.utime(directory)
    except OSError:
        return False
    if new:
        _remove_old_caches(directory)
    return os.access(directory, os.W_OK)


def _remove_old_caches(directory: Path) -> None:
    """Remove the machine code of other versions that no process has used for UNUSED seconds."""
    for other in directory.parent.glob("kernels-*"):
        with suppress(OSError):  # another process may remove it, too
            own = _DIRECTORY.fullmatch(other.name) is not None and not other.is_symlink()
            if own and time.time() - other.stat().st_mtime > UNUSED:
                shutil.rmtree(other, ignore_errors=True)


class _ReadOnlyLocator(UserProvidedCacheLocator):
    """Numba's directory of a cached function, without the check that it can be written."""

    def ensure_cache_path(self) -> None:
        pass


class _ReadOnlyFiles(CompileResultCacheImpl):
    _locator_classes = [_ReadOnlyLocator]


class _ReadOnlyCache(FunctionCache):
    """Machine code that was compiled beforehand, in a directory that cannot be written."""

    _impl_class = _ReadOnlyFiles

    def save_overload(self, sig: Any, data: Any) -> None:
        pass


class _Compiling(event.Listener, local):
    """Time that this thread has spent on compilation, nested compilations included once."""

    seconds = 0.0
    _depth = 0
    _since = 0.0

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._since = time.monotonic()
            if isinstance((event.data or {}).get("dispatcher"), _Kernel):
                announce()
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
_WRITABLE = _writable(_CACHE)


def compiled_before() -> bool:
    """Return whether the cache has machine code, so that no long compilation follows."""
    return any(_CACHE.rglob("*.nbi"))


def cache_is_writable() -> bool:
    """Return whether machine code that is compiled now is kept for later processes."""
    return _WRITABLE


_CACHED = _WRITABLE or compiled_before()
_announced = False


def announce(duration: str = "") -> None:
    """Print a note on a terminal, once, that kernels are compiled; warn if they are not kept."""
    global _announced
    if _announced:
        return
    _announced = True
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"Compiling for this machine, once{duration} ...", file=sys.stderr)
    if not _WRITABLE:
        warnings.warn(
            f"machine code is compiled again in every process, because {_CACHE} cannot be "
            "written: set NUMBA_CACHE_DIR to a directory that can be written, or fill one with "
            "'graphbandits precompile'",
            InputWarning,
            stacklevel=2,
        )


def kernel(
    *, fastmath: bool | set[str] = False, inline: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function that releases the GIL, with its Python signature for type checkers."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if numba_config.DISABLE_JIT:
            return function
        # Python's check for a division by zero is a branch that keeps loops scalar
        options: dict[str, Any] = {
            "nopython": True,
            "boundscheck": None,
            "nogil": True,
            "error_model": "numpy",
            "fastmath": fastmath,
        }
        if inline:
            options["forceinline"] = True
        compiled: Any = _Kernel(function, targetoptions=options, pipeline_class=_Compiler)
        alone = options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        compiled.part = _Callee(function, targetoptions=alone, pipeline_class=_PartCompiler)
        if _CACHED:
            # Numba reads this setting when caching is enabled. Set it for these kernels only: the
            # cached functions of the user stay in their directory.
            before = numba_config.CACHE_DIR
            numba_config.CACHE_DIR = str(_CACHE)
            try:
                if _WRITABLE:
                    compiled.enable_caching()
                else:
                    compiled._cache = _ReadOnlyCache(function)  # type: ignore[no-untyped-call]
            finally:
                numba_config.CACHE_DIR = before
        return cast(Callable[P, R], compiled)

    return decorate
