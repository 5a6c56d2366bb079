"""A largest matching of any graph, by augmenting paths through blossoms. Edmonds (1965).

In ``match`` everyone has its partner, or -1. A search tree without an augmenting path is left out
of all later searches, so that all of those together take one pass over the graph.
"""

from __future__ import annotations

import numpy as np

from graphbandits.graphs.invariants.sparse_kernels import joined
from graphbandits.jit import kernel
from graphbandits.types import Ints

#: Kinds of vertices of a tree: reached by an even, an odd number of edges; given up.
NEW, EVEN, ODD, DEAD = 0, 1, 2, 3


@kernel(inline=True)
def _base(base: Ints, v: int) -> int:
    """The vertex that its blossom has shrunk to."""
    while base[v] != v:
        base[v] = base[base[v]]
        v = base[v]
    return v


@kernel()
def _meeting(x: int, y: int, match: Ints, before: Ints, base: Ints, stamp: Ints, now: int) -> int:
    """Where the paths of two even vertices to the root meet first."""
    while True:
        if x >= 0:
            x = _base(base, x)
            if stamp[x] == now:
                return x
            stamp[x] = now
            x = before[match[x]] if match[x] >= 0 else -1
        x, y = y, x


@kernel()
def augment(
    start: Ints,
    column: Ints,
    match: Ints,
    kind: Ints,
    before: Ints,
    base: Ints,
    stamp: Ints,
    queue: Ints,
    seen: Ints,
    state: Ints,
    budget: int,
) -> bool:
    """Search from the next vertices without a partner; whether all have been.

    ``state`` has the next vertex and a stamp; ``kind`` is NEW, ``base[v]`` is v and ``stamp`` 0 at
    the start. It ends after the search in which ``budget`` visits of neighbours are used up.
    """
    count = len(match)
    while state[0] < count and budget > 0:
        root = state[0]
        state[0] += 1
        if match[root] >= 0 or kind[root] == DEAD:
            continue
        kind[root] = EVEN
        queue[0] = seen[0] = root
        head, tail, reached, end = 0, 1, 1, -1
        while head < tail and end < 0:
            u = queue[head]
            head += 1
            budget -= start[u + 1] - start[u]
            for e in range(start[u], start[u + 1]):
                v = column[e]
                if kind[v] == DEAD or kind[v] == ODD or _base(base, u) == _base(base, v):
                    continue
                if kind[v] == NEW:
                    kind[v] = ODD
                    before[v] = u
                    seen[reached] = v
                    reached += 1
                    if match[v] < 0:
                        end = v
                        break
                    kind[match[v]] = EVEN
                    seen[reached] = queue[tail] = match[v]
                    reached += 1
                    tail += 1
                else:
                    state[1] += 1
                    top = _meeting(u, v, match, before, base, stamp, state[1])
                    for side in range(2):
                        x, y = (u, v) if side == 0 else (v, u)
                        while _base(base, x) != top:
                            before[x] = y
                            y = match[x]
                            if kind[y] == ODD:
                                kind[y] = EVEN
                                queue[tail] = y
                                tail += 1
                            if base[x] == x:
                                base[x] = top
                            if base[y] == y:
                                base[y] = top
                            x = before[y]
        while end >= 0:
            partner = before[end]
            following = match[partner]
            match[end] = partner
            match[partner] = end
            end = following
            if end < 0:
                head = -1
        for k in range(reached):
            v = seen[k]
            kind[v] = NEW if head < 0 else DEAD
            base[v] = v
    return bool(state[0] >= count)


@kernel()
def pairs_within(clique: Ints, match: Ints) -> None:
    """Partners within each clique of a cover, in the order of the vertices."""
    single = np.full(len(clique), -1, np.int64)
    for v in range(len(clique)):
        match[v] = -1
        u = single[clique[v]]
        if u < 0:
            single[clique[v]] = v
        else:
            match[v], match[u] = u, v
            single[clique[v]] = -1


@kernel()
def cover_of_pairs(start: Ints, column: Ints, match: Ints, clique: Ints) -> int:
    """The cover by pairs; who has no partner joins a pair where that is a triangle."""
    count, found = len(match), 0
    for v in range(count):
        clique[v] = -1
    for v in range(count):
        if match[v] > v:
            clique[v] = clique[match[v]] = found
            found += 1
    third = np.zeros(count, np.bool_)
    for v in range(count):
        if match[v] >= 0:
            continue
        for e in range(start[v], start[v + 1]):
            u = column[e]
            if match[u] >= 0 and not third[clique[u]] and joined(start, column, v, match[u]):
                clique[v] = clique[u]
                third[clique[u]] = True
                break
        if clique[v] < 0:
            clique[v] = found
            found += 1
    return found
