"""Covers of least weight by HiGHS, and the fractional dominating set of a graph."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array

from graphbandits._types import Floats
from graphbandits.errors import InputError, NumericalError
from graphbandits.graphs.feedback import (
    Feedback,
    SparseFeedback,
    UniformFeedback,
    matrices,
    remembered,
)

#: HiGHS shares its threads between all calls of a process.
_ONE_AT_A_TIME = Lock()
#: Smaller values of a solution are rounding, and count as 0.
NOTHING = 1e-9
#: Solutions of small graphs that are kept; there are 1024 undirected graphs of five arms.
KEPT = 2**16

_BY_GRAPH: WeakKeyDictionary[Feedback, Floats] = WeakKeyDictionary()


@contextmanager
def _turn(seconds: float) -> Iterator[float]:
    """The time that is left when the turn has come; 0 if it has not."""
    start = time.perf_counter()
    mine = _ONE_AT_A_TIME.acquire(timeout=seconds if seconds < math.inf else -1)
    try:
        yield max(0.0, seconds - (time.perf_counter() - start)) if mine else 0.0
    finally:
        if mine:
            _ONE_AT_A_TIME.release()


def fractional_cover(matrix: Any, seconds: float = math.inf) -> tuple[Floats, Floats] | None:
    """min sum(z), matrix z >= 1, z >= 0: a vertex z and the duals y; None if there was no time."""
    from scipy.optimize import linprog  # slow to import, and few need it

    rows, columns = matrix.shape
    with _turn(seconds) as left:
        if left <= 0.0:
            return None
        options: Any = {"time_limit": left} if left < math.inf else {}
        found: Any = linprog(
            np.ones(columns), A_ub=-matrix, b_ub=-np.ones(rows), method="highs-ds", options=options
        )
    if not found.success:
        return None
    z, y = (np.where(x < NOTHING, 0.0, x) for x in (found.x, -found.ineqlin.marginals))
    return z, y


def whole_cover(matrix: Any, seconds: float) -> tuple[Floats | None, float]:
    """min sum(x), matrix x >= 1, x in {0, 1}: the best x, or None, and a lower bound."""
    x, bound = _whole(1.0, matrix, (1.0, np.inf), seconds)
    return x, max(bound, 0.0)


def whole_packing(matrix: Any, seconds: float) -> tuple[Floats | None, float]:
    """max sum(x), matrix x <= 1, x in {0, 1}: the best x, or None, and an upper bound."""
    x, bound = _whole(-1.0, matrix, (-np.inf, 1.0), seconds)
    return x, -bound


def _whole(
    cost: float, matrix: Any, between: tuple[float, float], seconds: float
) -> tuple[Floats | None, float]:
    from scipy.optimize import Bounds, LinearConstraint, milp

    columns = matrix.shape[1]
    with _turn(seconds) as left:
        if left <= 0.0:
            return None, -math.inf
        found: Any = milp(
            np.full(columns, cost),
            integrality=np.ones(columns),
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(matrix, *between),
            options={"time_limit": left},
        )
    least = found.mip_dual_bound
    bound = -math.inf if least is None or math.isnan(least) else float(least)
    return (None if found.x is None else np.round(found.x)), bound


def fractional_dominating_set(graph: Feedback) -> Floats:
    """z*: min sum_j z_j subject to sum of z_j over the arms j that reveal i >= 1, for every arm i.

    One row for all trials (1, K), or one for each (B, K); some optimal vertex, by HiGHS. Solved
    once for each graph. Buccapatnam, Eryilmaz and Shroff (2014).

    >>> from graphbandits.graphs import as_process
    >>> fractional_dominating_set(as_process("paper").feedback)  # arm 3 reveals all
    array([[0., 0., 1., 0., 0.]])
    """
    return remembered(_BY_GRAPH, graph, _solved)


def _solved(graph: Feedback) -> Floats:
    if not graph.deterministic:
        raise InputError(
            "a dominating set is one of a graph of entries 0 and 1, and this one has probabilities"
        )
    arms = graph.arms
    if isinstance(graph, UniformFeedback):  # all reveal all: one will do; or each reveals itself
        alone = np.eye(1, arms)
        return np.where(graph.r[:, None] > 0.0, alone, np.ones((1, arms)))
    if isinstance(graph, SparseFeedback):
        rows = graph.weight, graph.column, graph.start
        return _solve(csr_array(rows, shape=(arms, arms)))[None]
    packed = np.packbits(matrices(graph, 1) > 0.0, axis=-1)
    return np.stack([_solve_packed(arms, matrix.tobytes()) for matrix in packed])


@lru_cache(maxsize=KEPT)
def _solve_packed(arms: int, bits: bytes) -> Floats:
    rows = np.frombuffer(bits, np.uint8).reshape(arms, -1)
    return _solve(csr_array(np.unpackbits(rows, axis=1, count=arms).astype(np.float64)))


def _solve(matrix: Any) -> Floats:
    found = fractional_cover(matrix.T)
    if found is None:
        raise NumericalError(f"HiGHS found no dominating set of {matrix.shape[0]} arms")
    return found[0]
