"""The heaviest clique of a graph, by branch and bound on bit sets, in steps that can be resumed.

Tomita and Seki (2003) and San Segundo, Rodriguez-Losada and Jimenez (2011) for the colouring bound
on bit sets; weights are split over several colour classes as in Babel (1994).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphbandits.graphs.invariants.bit_kernels import Words, first
from graphbandits.jit import kernel
from graphbandits.types import Ints

_0 = np.uint64(0)
_1 = np.uint64(1)
#: Places in ``state``.
DEPTH, BEST, SIZE = 0, 1, 2


@kernel()
def colour_order(
    adjacent: Words,
    weight: Ints,
    members: Words,
    need: int,
    order: NDArray[np.int32],
    bound: Ints,
    left: Words,
    free: Words,
    rest: Ints,
    group: Ints,
) -> int:
    """Bound the cliques among ``members``: those of order[:k+1] and the unlisted weigh <= bound[k].

    A colour class holds no edge, so a clique has at most one member in it. Arms with a bound of at
    most ``need`` are not listed. Gives how many are.
    """
    words = adjacent.shape[1]
    for w in range(words):
        word = members[w]
        left[w] = word
        while word != _0:
            v = (w << 6) + first(word)
            word &= word - _1
            rest[v] = weight[v]
    total = 0
    count = 0
    lowest = 0
    while True:
        while lowest < words and left[lowest] == _0:
            lowest += 1
        if lowest == words:
            return count
        for w in range(lowest, words):
            free[w] = left[w]
        size = 0
        least = 0
        for w in range(lowest, words):
            while free[w] != _0:
                place = first(free[w])
                v = (w << 6) + place
                free[w] &= ~(_1 << np.uint64(place))
                for x in range(w, words):
                    free[x] &= ~adjacent[v, x]
                if size == 0 or rest[v] < least:
                    least = rest[v]
                group[size] = v
                size += 1
        total += least
        for k in range(size):
            v = group[k]
            rest[v] -= least
            if rest[v] == 0:
                left[v >> 6] &= ~(_1 << np.uint64(v & 63))
                if total > need:
                    order[count] = v
                    bound[count] = total
                    count += 1


@kernel()
def clique_search(
    adjacent: Words,
    weight: Ints,
    candidates: Words,
    order: NDArray[np.int32],
    bound: Ints,
    place: Ints,
    chosen: Ints,
    held: Ints,
    best: Ints,
    state: Ints,
    budget: int,
) -> bool:
    """Look at ``budget`` more nodes of the tree; whether it is finished.

    ``state`` has the depth, the weight of the heaviest clique so far and its size; its members are
    ``best[:size]``. A row of the stack is a depth: candidates, their order and bounds, the place in
    it. To start, row 0 is filled and the depth is 0.
    """
    arms, words = adjacent.shape
    left, free = np.empty(words, np.uint64), np.empty(words, np.uint64)
    rest, group = np.empty(arms, np.int64), np.empty(arms, np.int64)
    depth = state[DEPTH]
    while depth >= 0 and budget > 0:
        k = place[depth]
        if k < 0 or held[depth] + bound[depth, k] <= state[BEST]:
            place[depth] = -1
            depth -= 1
            continue
        budget -= 1
        v = order[depth, k]
        place[depth] = k - 1
        chosen[depth] = v
        candidates[depth, v >> 6] &= ~(_1 << np.uint64(v & 63))
        weight_here = held[depth] + weight[v]
        some = False
        for w in range(words):
            word = candidates[depth, w] & adjacent[v, w]
            candidates[depth + 1, w] = word
            some |= word != _0
        if weight_here > state[BEST]:
            state[BEST] = weight_here
            state[SIZE] = depth + 1
            best[: depth + 1] = chosen[: depth + 1]
        if some:
            held[depth + 1] = weight_here
            listed = colour_order(
                adjacent,
                weight,
                candidates[depth + 1],
                state[BEST] - weight_here,
                order[depth + 1],
                bound[depth + 1],
                left,
                free,
                rest,
                group,
            )
            place[depth + 1] = listed - 1
            depth += 1
    state[DEPTH] = depth
    return bool(depth < 0)


@kernel()
def grow(edges: NDArray[np.bool_], clique: Ints) -> Ints:
    """The clique and each vertex that goes with all so far; in increasing order."""
    count = len(edges)
    inside = np.zeros(count, np.bool_)
    inside[clique] = True
    for v in range(count):
        if not inside[v]:
            fits = True
            for u in range(count):
                if inside[u] and not edges[v, u]:
                    fits = False
                    break
            inside[v] = fits
    return np.flatnonzero(inside)


@kernel()
def greedy_heavy(edges: NDArray[np.bool_], weight: Ints) -> tuple[Ints, Ints]:
    """From every vertex a clique by the heaviest that fits: rows of vertices, and their sizes."""
    count = len(edges)
    order = np.argsort(-weight)
    cliques, sizes = np.zeros((count, count), np.int64), np.zeros(count, np.int64)
    for v in range(count):
        cliques[v, 0] = v
        size = 1
        for u in order:
            fits = u != v
            for k in range(size):
                if not edges[u, cliques[v, k]]:
                    fits = False
                    break
            if fits:
                cliques[v, size] = u
                size += 1
        sizes[v] = size
    return cliques, sizes
