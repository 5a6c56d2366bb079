"""Colourings with few colours: exact by DSATUR with backtracking, good ones by tabu search.

Brelaz (1979) for the choice of the next vertex; Hertz and de Werra (1987) for the tabu search.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphbandits.jit import kernel
from graphbandits.types import Ints

Small = NDArray[np.int32]
#: Places in ``state`` of the exact search.
DEPTH, BEST, TRYING = 0, 1, 2
#: Places in ``state`` of the tabu search.
CONFLICTS, STEP, SEED, LEAST = 0, 1, 2, 3


@kernel()
def paint(start: Ints, column: Small, v: int, c: int, near: Small, saturation: Ints) -> None:
    """The neighbours of v learn that it has colour c."""
    for e in range(start[v], start[v + 1]):
        u = column[e]
        if near[u, c] == 0:
            saturation[u] += 1
        near[u, c] += 1


@kernel()
def unpaint(start: Ints, column: Small, v: int, c: int, near: Small, saturation: Ints) -> None:
    """And that it has it no more."""
    for e in range(start[v], start[v + 1]):
        u = column[e]
        near[u, c] -= 1
        if near[u, c] == 0:
            saturation[u] -= 1


@kernel()
def dsatur(
    start: Ints,
    column: Small,
    colour: Ints,
    near: Small,
    saturation: Ints,
    vertex: Ints,
    tried: Ints,
    used: Ints,
    best: Ints,
    state: Ints,
    fixed: int,
    enough: int,
    budget: int,
) -> bool:
    """Look at ``budget`` more nodes; whether no colouring has fewer colours than ``state[BEST]``.

    It stops as well where ``enough`` colours suffice. The first ``fixed`` vertices of the stack
    keep their colours 0, 1, ...: they are a clique. ``near[v, c]`` counts the neighbours of v of
    colour c, ``used[d]`` the colours before depth d; the best colouring is in ``best``. Of equally
    saturated vertices the first comes next.
    """
    count = len(colour)
    depth = state[DEPTH]
    trying = state[TRYING] == 1
    while budget > 0 and state[BEST] > enough:
        if not trying:
            if depth == count:
                if used[depth] < state[BEST]:  # a better one may have come from elsewhere meanwhile
                    state[BEST] = used[depth]
                    best[:] = colour
                trying = True
                depth -= 1
                if depth < fixed:
                    break
                unpaint(start, column, vertex[depth], colour[vertex[depth]], near, saturation)
                colour[vertex[depth]] = -1
                continue
            most, v = -1, -1
            for u in range(count):
                if colour[u] < 0 and saturation[u] > most:
                    most, v = saturation[u], u
            vertex[depth] = v
            tried[depth] = -1
            trying = True
            budget -= 1
        v = vertex[depth]
        c = tried[depth] + 1
        limit = min(used[depth], state[BEST] - 2)
        if used[depth] >= state[BEST]:
            limit = -1
        while c <= limit and near[v, c] > 0:
            c += 1
        if c <= limit:
            tried[depth] = c
            colour[v] = c
            paint(start, column, v, c, near, saturation)
            used[depth + 1] = max(used[depth], c + 1)
            depth += 1
            trying = False
        else:
            depth -= 1
            if depth < fixed:
                break
            unpaint(start, column, vertex[depth], colour[vertex[depth]], near, saturation)
            colour[vertex[depth]] = -1
    state[DEPTH] = depth
    state[TRYING] = 1 if trying else 0
    return bool(depth < fixed or state[BEST] <= enough)


@kernel()
def conflicts_of(start: Ints, column: Small, colour: Ints, near: Small) -> int:
    """Count in ``near`` the neighbours of each colour; gives how many edges have one colour."""
    twice = 0
    for v in range(len(colour)):
        for e in range(start[v], start[v + 1]):
            near[v, colour[column[e]]] += 1
        twice += near[v, colour[v]]
    return twice // 2


@kernel()
def tabu(
    start: Ints, column: Small, colour: Ints, near: Small, barred: Ints, state: Ints, budget: int
) -> bool:
    """``budget`` more moves towards a colouring without conflicts; whether there is one.

    ``colour`` and ``near`` go together; ``barred[v, c]`` is the step up to which v may not go back
    to c. ``state`` has the conflicts, the step, a seed and the least conflicts so far.
    """
    count, colours = near.shape
    seed = np.uint64(state[SEED])
    while state[CONFLICTS] > 0 and budget > 0:
        budget -= 1
        state[STEP] += 1
        least, v, c, ties, critical = np.int64(1 << 30), -1, -1, 0, 0
        for u in range(count):
            here = near[u, colour[u]]
            if here == 0:
                continue
            critical += 1
            for k in range(colours):
                if k == colour[u]:
                    continue
                change = near[u, k] - here
                if change > least:
                    continue
                if barred[u, k] >= state[STEP] and state[CONFLICTS] + change >= state[LEAST]:
                    continue
                if change < least:
                    least, v, c, ties = change, u, k, 1
                else:
                    ties += 1
                    seed ^= seed << np.uint64(13)
                    seed ^= seed >> np.uint64(7)
                    seed ^= seed << np.uint64(17)
                    if seed % np.uint64(ties) == np.uint64(0):
                        v, c = u, k
        if v < 0:
            continue
        seed ^= seed << np.uint64(13)
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        old = colour[v]
        barred[v, old] = state[STEP] + (6 * critical) // 10 + np.int64(seed % np.uint64(10))
        for e in range(start[v], start[v + 1]):
            near[column[e], old] -= 1
            near[column[e], c] += 1
        colour[v] = c
        state[CONFLICTS] += least
        state[LEAST] = min(state[LEAST], state[CONFLICTS])
    state[SEED] = np.int64(seed)
    return bool(state[CONFLICTS] == 0)
