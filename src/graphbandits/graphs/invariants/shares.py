"""A lower bound on the cliques of a cover that takes no linear program: how large they can be."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.clique_search import CliqueSearch, degeneracy_order
from graphbandits.graphs.invariants.vertex_kernels import cliques_with_each
from graphbandits.types import Ints

#: Nodes of the search of each vertex.
NODES = 8192
#: Of so many vertices half must be searched to the end, else the others will not be either.
SAMPLE = 8


def shares_bound(sizes: Ints) -> int:
    """A lower bound on the cliques of a cover: v is in none of more than ``sizes[v]`` members.

    A clique of k members is the sum of 1/k over them: there are at least sum 1 / sizes[v].

    >>> shares_bound(np.array([3, 3, 3, 2, 2, 2]))
    3
    """
    many = enumerate(np.bincount(sizes).tolist())
    return math.ceil(sum((Fraction(n, size) for size, n in many if n), Fraction(0)))


def cliques_with(
    edges: NDArray[np.bool_], allowance: Allowance, told: Callable[[Ints], None]
) -> bool:
    """Tell of ever better upper bounds on the size of the largest clique with each vertex.

    Where the searches of a sample do not come to their end, it stops there and gives False.
    """
    order = degeneracy_order(edges)
    own = np.ascontiguousarray(edges[np.ix_(order, order)])
    low, high = np.ones(len(own), np.int64), own.sum(axis=1) + 1

    def tell() -> None:
        by_vertex = np.empty_like(high)
        by_vertex[order] = high
        told(by_vertex)

    sample = np.linspace(0, len(own) - 1, SAMPLE).astype(np.int64)
    for v in sample.tolist():
        cliques_with_each(own, low, high, v, v + 1, NODES)
        allowance.spend(1)
    if 2 * int((low < high)[sample].sum()) > SAMPLE or allowance.over:
        return False
    search = CliqueSearch(own)
    search.run(allowance.part(0.8))
    high = np.minimum(high, search.upper)
    tell()
    for v in range(len(own)):
        if allowance.over:
            break
        cliques_with_each(own, low, high, v, v + 1, NODES)
        allowance.spend(1)
    tell()
    return True
