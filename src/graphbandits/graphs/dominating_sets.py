"""Minimum covers by HiGHS, the fractional dominating set of a graph, and a greedy one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy
from numpy.typing import NDArray

from graphbandits._types import Floats
from graphbandits.errors import InputError, NumericalError
from graphbandits.graphs.feedback import (
    Feedback,
    SparseFeedback,
    UniformFeedback,
    cached_by_graph,
    matrices,
)

#: HiGHS shares its threads between all calls of a process: one call at a time.
_SOLVER_LOCK = Lock()
#: Smaller values of a solution are rounding errors and are set to 0.
ROUNDING = 1e-9
#: Cached solutions of small graphs; there are 1024 undirected graphs of five arms.
CACHE_SIZE = 2**16

#: An arm belongs to the arms that a dominating set reveals from this probability on.
LIKELY = 0.5

_BY_GRAPH: WeakKeyDictionary[Feedback, Floats] = WeakKeyDictionary()
_GREEDY: WeakKeyDictionary[Feedback, NDArray[np.bool_]] = WeakKeyDictionary()


@contextmanager
def _solver(seconds: float) -> Iterator[float]:
    """Acquire the solver; yield the remaining seconds, 0 if it was not acquired in time."""
    start = time.perf_counter()
    acquired = _SOLVER_LOCK.acquire(timeout=seconds if seconds < math.inf else -1)
    try:
        yield max(0.0, seconds - (time.perf_counter() - start)) if acquired else 0.0
    finally:
        if acquired:
            _SOLVER_LOCK.release()


def fractional_cover(matrix: Any, seconds: float = math.inf) -> tuple[Floats, Floats] | None:
    """Solve min sum(z), matrix z >= 1, z >= 0; return a vertex z and the duals y, or None."""
    from scipy.optimize import linprog  # slow to import, rarely needed

    rows, columns = matrix.shape
    with _solver(seconds) as remaining:
        if remaining <= 0.0:
            return None
        options: Any = {"time_limit": remaining} if remaining < math.inf else {}
        found: Any = linprog(
            np.ones(columns), A_ub=-matrix, b_ub=-np.ones(rows), method="highs-ds", options=options
        )
    if not found.success:
        return None
    z, y = (np.where(x < ROUNDING, 0.0, x) for x in (found.x, -found.ineqlin.marginals))
    return z, y


def integer_cover(matrix: Any, seconds: float) -> tuple[Floats | None, float]:
    """Solve min sum(x), matrix x >= 1, x in {0, 1}; return the best x or None, and a bound."""
    x, bound = _solve_integer(1.0, matrix, (1.0, np.inf), seconds)
    return x, max(bound, 0.0)


def integer_packing(matrix: Any, seconds: float) -> tuple[Floats | None, float]:
    """Solve max sum(x), matrix x <= 1, x in {0, 1}; return the best x, or None, and a bound."""
    x, bound = _solve_integer(-1.0, matrix, (-np.inf, 1.0), seconds)
    return x, -bound


def _solve_integer(
    cost: float, matrix: Any, between: tuple[float, float], seconds: float
) -> tuple[Floats | None, float]:
    from scipy.optimize import Bounds, LinearConstraint, milp

    columns = matrix.shape[1]
    with _solver(seconds) as remaining:
        if remaining <= 0.0:
            return None, -math.inf
        found: Any = milp(
            np.full(columns, cost),
            integrality=np.ones(columns),
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(matrix, *between),
            options={"time_limit": remaining},
        )
    least = found.mip_dual_bound
    bound = -math.inf if least is None or math.isnan(least) else float(least)
    return (None if found.x is None else np.round(found.x)), bound


def fractional_dominating_set(graph: Feedback) -> Floats:
    """Return z*: min sum_j z_j such that sum of z_j over the arms j that reveal i >= 1, for all i.

    The result has one row for all trials (1, K), or one per trial (B, K). It is an optimal vertex
    found by HiGHS, cached for each graph. Buccapatnam, Eryilmaz and Shroff (2014).

    >>> from graphbandits.graphs import as_process
    >>> fractional_dominating_set(as_process("paper").feedback)  # arm 3 reveals all
    array([[0., 0., 1., 0., 0.]])
    """
    return cached_by_graph(_BY_GRAPH, graph, _dominating_weights)


def check_deterministic(graph: Feedback) -> None:
    if not graph.deterministic:
        raise InputError(
            "this number is defined for graphs of entries 0 and 1; the given graph has other "
            "probabilities"
        )


def _dominating_weights(graph: Feedback) -> Floats:
    check_deterministic(graph)
    if isinstance(graph, UniformFeedback):
        return _one_or_all(graph, graph.r > 0.0).astype(np.float64)
    if isinstance(graph, SparseFeedback):
        return _solve(_sparse_rows(graph))[None]
    packed = np.packbits(matrices(graph, 1) > 0.0, axis=-1)
    return np.stack([_solve_packed(graph.arms, matrix.tobytes()) for matrix in packed])


def _one_or_all(graph: UniformFeedback, one_suffices: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the first arm for the trials in which one suffices, all arms for the others."""
    arms: NDArray[np.bool_] = (np.arange(graph.arms) == 0) | ~one_suffices[:, None]
    return arms


def _sparse_rows(graph: SparseFeedback) -> Any:
    rows = graph.weight, graph.column, graph.start
    return scipy.sparse.csr_array(rows, shape=(graph.arms, graph.arms))


@lru_cache(maxsize=CACHE_SIZE)
def _solve_packed(arms: int, bits: bytes) -> Floats:
    rows = np.frombuffer(bits, np.uint8).reshape(arms, -1)
    return _solve(
        scipy.sparse.csr_array(np.unpackbits(rows, axis=1, count=arms).astype(np.float64))
    )


def _solve(matrix: Any) -> Floats:
    found = fractional_cover(matrix.T)
    if found is None:
        raise NumericalError(f"HiGHS found no dominating set of {matrix.shape[0]} arms")
    return found[0]


def dominating_set(graph: Feedback) -> NDArray[np.bool_]:
    """Return a small set of arms that reveal every arm, by the greedy algorithm.

    Each arm is in the set, or an arm of the set reveals it with a probability of at least 1/2.
    """
    return cached_by_graph(_GREEDY, graph, _greedy_sets)


def _greedy_sets(graph: Feedback) -> NDArray[np.bool_]:
    if isinstance(graph, UniformFeedback):  # an arm reveals itself with probability 1
        return _one_or_all(graph, graph.r >= LIKELY)
    if isinstance(graph, SparseFeedback):
        return _greedy_set(_sparse_rows(graph))[None]
    return np.stack([_greedy_set(scipy.sparse.csr_array(matrix)) for matrix in matrices(graph, 1)])


def _greedy_set(matrix: Any) -> NDArray[np.bool_]:
    """Choose the arm that reveals most new arms repeatedly, then remove redundant arms.

    In Python, because it runs once per graph, and compiling would take longer.
    """
    likely = matrix.data >= LIKELY
    rows = [
        matrix.indices[start:stop][likely[start:stop]]
        for start, stop in pairwise(matrix.indptr.tolist())
    ]
    times = np.zeros(matrix.shape[0], np.int64)  # how often each arm is revealed
    chosen = np.zeros(matrix.shape[0], np.bool_)
    heap = [(-len(row), arm) for arm, row in enumerate(rows)]
    heapify(heap)
    while heap:
        gain, arm = heappop(heap)
        new = int((times[rows[arm]] == 0).sum())
        if new < -gain:  # others have revealed some of its arms since
            if new:
                heappush(heap, (-new, arm))
            continue
        chosen[arm] = True
        times[rows[arm]] += 1
    for arm in np.flatnonzero(chosen).tolist():
        if (times[rows[arm]] > 1).all():
            chosen[arm] = False
            times[rows[arm]] -= 1
    return chosen
