"""Clique covers of graphs with many vertices and few triangles: nearly a largest matching."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from graphbandits.graphs.invariants import matching_kernels as kernels
from graphbandits.graphs.invariants.adjacency import Adjacency
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.shares import shares_bound
from graphbandits.graphs.invariants.vertex_kernels import small_cliques
from graphbandits.types import Ints

#: Visits of neighbours in a step.
VISITS = 1_000_000
#: A vertex with more neighbours is not looked at for triangles.
FEW = 64


def largest_matching(graph: Adjacency, match: Ints, allowance: Allowance) -> bool:
    """Make a matching larger, in place; whether it is the largest.

    >>> path = Adjacency(np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2]))
    >>> match = np.array([-1, 2, 1, -1])
    >>> largest_matching(path, match, Allowance()), match
    (True, array([1, 0, 3, 2]))
    """
    count = graph.count
    kind, before, stamp, queue, seen = (np.zeros(count, np.int64) for _ in range(5))
    base, state, done = np.arange(count), np.zeros(2, np.int64), False
    while not done and not allowance.over:
        done = kernels.augment(
            graph.start,
            graph.column,
            match,
            kind,
            before,
            base,
            stamp,
            queue,
            seen,
            state,
            VISITS,
        )
        allowance.spend(1)
    return done


def cover_by_pairs(graph: Adjacency, cover: Ints, allowance: Allowance) -> tuple[Ints, int]:
    """From the pairs of a cover to more of them: the number of its clique for each vertex.

    And at least as many pairs as a matching can have.
    """
    match, clique = np.empty(graph.count, np.int64), np.empty(graph.count, np.int64)
    kernels.pairs_within(cover, match)
    largest = largest_matching(graph, match, allowance)
    kernels.cover_of_pairs(graph.start, graph.column, match, clique)
    return clique, int((match >= 0).sum()) // 2 if largest else graph.count // 2


def pairs_bound(graph: Adjacency, pairs: int) -> int:
    """A lower bound on the cliques of a cover where no matching has more than ``pairs`` pairs.

    A clique of s members saves s - 1 = floor(s/2) + ceil(s/2) - 1 of as many cliques as there are
    vertices. The first terms sum up to a matching; of the rest, a vertex in cliques of at most k
    members has at most max (ceil(s/2) - 1) / s over s <= k, which is 0 for k = 2.
    """
    sizes = np.empty(graph.count, np.int64)
    small_cliques(graph.start, graph.column, FEW, sizes)
    many = np.bincount(sizes)
    rest, share = Fraction(0), Fraction(0)
    for size in range(1, len(many)):
        share = max(share, Fraction((size + 1) // 2 - 1, size))
        rest += int(many[size]) * share
    return max(shares_bound(sizes), graph.count - pairs - math.floor(rest))
