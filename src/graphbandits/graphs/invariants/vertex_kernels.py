"""The largest clique with each vertex: a vertex in cliques of at most k members is 1/k of one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphbandits.graphs.invariants.small_kernels import largest_clique
from graphbandits.graphs.invariants.sparse_kernels import joined
from graphbandits.jit import kernel
from graphbandits.types import Ints


@kernel()
def cliques_with_each(
    edges: NDArray[np.bool_], low: Ints, high: Ints, begin: int, end: int, nodes: int
) -> None:
    """Better bounds on the size of the largest clique with v, of each v from begin to end.

    ``low`` is the size of a clique with v that was found, ``high`` is proved by colouring the
    neighbours and searching ``nodes`` nodes of the tree.
    """
    best = np.zeros(len(edges) + 2, np.int64)
    for v in range(begin, end):
        if low[v] >= high[v]:
            continue
        near = np.flatnonzero(edges[v])
        inner = np.empty((len(near), len(near)), np.bool_)
        for i in range(len(near)):
            for j in range(len(near)):
                inner[i, j] = edges[near[i], near[j]]
        known = low[v] - 1
        size, most = largest_clique(inner, nodes, best, known)
        low[v], high[v] = size + 1, min(high[v], most + 1)
        if size > known:
            for k in range(size):
                low[near[best[k]]] = max(low[near[best[k]]], low[v])


@kernel()
def small_cliques(start: Ints, column: Ints, most: int, high: Ints) -> None:
    """At least the size of the largest clique with each vertex; exact up to three members.

    Vertices of more than ``most`` neighbours get their degree + 1.
    """
    for v in range(len(start) - 1):
        degree = start[v + 1] - start[v]
        high[v] = degree + 1
        if degree > most:
            continue
        largest = 0  # common neighbours of v and one neighbour
        for e in range(start[v], start[v + 1]):
            common = 0
            for f in range(start[v], start[v + 1]):
                if f != e and joined(start, column, column[e], column[f]):
                    common += 1
            largest = max(largest, common)
        if degree > 0:
            high[v] = min(high[v], 2 + largest)
