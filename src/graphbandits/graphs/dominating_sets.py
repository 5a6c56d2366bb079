"""The fractional dominating set: how to spread plays so that every arm is observed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array

from graphbandits.errors import InputError, NumericalError
from graphbandits.graphs.cache import remembered
from graphbandits.graphs.feedback import Feedback, Sparse, Uniform
from graphbandits.graphs.highs import fractional_cover
from graphbandits.graphs.in_neighbours import matrices
from graphbandits.types import Floats

#: Solutions of small graphs that are kept; there are 1024 undirected graphs of five arms.
KEPT = 2**16

_BY_GRAPH: WeakKeyDictionary[Feedback, Floats] = WeakKeyDictionary()


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
    if isinstance(graph, Uniform):  # all reveal all: one will do; or each reveals itself
        alone = np.eye(1, arms)
        return np.where(graph.r[:, None] > 0.0, alone, np.ones((1, arms)))
    if isinstance(graph, Sparse):
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
