"""Tests of _jit.py: the cache of machine code."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphbandits import _jit

PROGRAM = """
import hashlib, sys
import numpy as np
from graphbandits.posteriors._beta_kernels import NODE_TABLE, _integrate
from graphbandits.posteriors._quadrature_kernels import accumulate
from graphbandits.posteriors._quadrature_kernels import NODE_ROWS, NODES
from graphbandits.posteriors._quadrature_kernels import (
    A, B, CENTRE, COUNT, ROWS, SIMULATION, set_places, set_shapes
)

ARMS, PANELS, LOW = 5, 6, -2.0
if "callee" in sys.argv:
    accumulate(np.ones(NODES), np.array([0.0, 1.0]), 1, np.empty(2), np.empty(NODES))
digest = hashlib.sha256()
for seed in range(100):
    rng = np.random.default_rng(seed)
    arms = np.empty((ROWS, 8))
    arms[A], arms[B] = 0.5 + rng.gamma(2.0, 8.0, (2, 8))
    arms[COUNT] = 1.0
    padded = set_shapes(arms, ARMS, SIMULATION.reach)
    leader = int(arms[CENTRE, :ARMS].argmax())
    set_places(arms, padded, arms[CENTRE, leader], LOW)
    line = np.zeros((NODE_TABLE + NODE_ROWS, PANELS * NODES))
    ratios, alpha = np.zeros((ARMS, PANELS * NODES)), np.zeros(ARMS)
    ends, edges = np.array([4, 5, 6, 6, 5]), np.linspace(LOW, 4.0, PANELS + 1)
    found = _integrate(
        arms, ARMS, leader, SIMULATION, False, PANELS, edges, ends, line, ratios, alpha
    )
    digest.update(np.array([*found, *alpha]).tobytes())
print(len(_integrate.stats.cache_hits), digest.hexdigest())
"""


def run(program: str, folder: Path, *words: str) -> str:
    """Return the output of a program with its own cache of machine code."""
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.nightly
def test_bits_do_not_depend_on_what_was_compiled_or_called_before(tmp_path: Path) -> None:
    compiled, cold = run(PROGRAM, tmp_path).split()
    loaded, warm = run(PROGRAM, tmp_path).split()
    _, after_callee = run(PROGRAM, tmp_path, "callee").split()
    assert (compiled, loaded) == ("0", "1")
    assert cold == warm == after_callee


#: Statistics and joint gains in work space that is enlarged; blocks of memory that remain.
MEMORY = """
import numpy as np
from numba.core.runtime import _nrt_python, rtsys
from graphbandits import BetaBernoulli

_nrt_python.memsys_enable_stats()
before = rtsys.get_allocation_stats()
for arms, scale in ((5, 1.0), (300, 1.0), (3, 1e6)):
    rng = np.random.default_rng(0)
    prior = BetaBernoulli(*(0.5 + scale * rng.gamma(2.0, 8.0, (2, arms))))
    for accuracy in ("simulation", "strict"):
        prior.beliefs(prior.init(trials=3), accuracy=accuracy)
after = rtsys.get_allocation_stats()
assert after.alloc > before.alloc
print(after.alloc - before.alloc - after.free + before.free)
print(after.mi_alloc - before.mi_alloc - after.mi_free + before.mi_free)
"""


def test_kernels_without_reference_counts_release_all_arrays() -> None:
    run = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["0", "0"]


def test_edited_kernel_gets_a_new_cache_directory(tmp_path, monkeypatch) -> None:
    edited = tmp_path / "some_kernels.py"
    edited.write_text("a = 1\n")
    monkeypatch.setattr(_jit, "kernel_sources", lambda: [edited])
    before = _jit.cache_directory()
    assert _jit.cache_directory() == before
    edited.write_text("a = 2\n")
    assert _jit.cache_directory() != before


#: Compile one small kernel, or load it, as if no file could be written if "read-only" is given.
SMALL = """
import os, sys, warnings
if "read-only" in sys.argv:
    os.access = lambda *given: False
import numpy as np
from graphbandits._rng_kernels import within
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert within(np.ones((1, 2)), np.ones((1, 2)), 0.5, 2.0)
print(len(within.stats.cache_hits), len(caught))
print(*(str(warning.message) for warning in caught))
"""


def test_a_cache_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    assert run(SMALL, tmp_path).splitlines()[0] == "0 0"
    before = sorted(tmp_path.rglob("*"))
    assert run(SMALL, tmp_path, "read-only").splitlines()[0] == "1 0"
    assert sorted(tmp_path.rglob("*")) == before


def test_machine_code_that_is_not_kept_gives_a_warning(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    numbers, message = run(SMALL, blocked / "cache").splitlines()
    assert numbers == "0 1"
    assert "compiled again in every process" in message
    assert f"{blocked / 'cache'}" in message
    assert "NUMBA_CACHE_DIR" in message


def test_caches_that_are_not_used_any_more_are_removed(tmp_path: Path) -> None:
    old, recent, new = (tmp_path / f"kernels-{digit * 16}" for digit in "123")
    others = [tmp_path / name for name in ("my-files", "kernels-of-mine")]
    for folder in (old, recent, *others):
        folder.mkdir()
        (folder / "code.nbi").write_text("")
    long_ago = time.time() - _jit.UNUSED - 60.0
    for folder in (old, *others):
        os.utime(folder, (long_ago, long_ago))
    assert _jit._writable(new)
    assert set(tmp_path.iterdir()) == {recent, new, *others}


#: A user's function calls a kernel that this process has compiled for Python before. The copies of
#: its callees must not be mistaken for those of the kernel, which LLVM has changed.
USER_CODE = """
import numba, numpy as np
from graphbandits.rules._hull_kernels import least_ratio_kernel, sort_many, work_space

rng = np.random.default_rng(0)
delta, gain = rng.random((2, 3, 4))
given = delta, gain, sort_many(delta, gain), work_space(4)
expected, found = np.zeros((2, 3, 4))
least_ratio_kernel(*given, expected)

@numba.njit
def user(delta, gain, order, space, pi):
    least_ratio_kernel(delta, gain, order, space, pi)

user(*given, found)
assert (found == expected).all() and expected.sum() > 2.9
print("equal")
"""


def test_functions_of_the_user_can_call_compiled_kernels(tmp_path: Path) -> None:
    assert run(USER_CODE, tmp_path) == "equal\n"
