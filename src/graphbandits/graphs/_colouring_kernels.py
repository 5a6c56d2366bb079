"""Colourings with few colours: exact by DSATUR with backtracking, heuristic by tabu search.

Brelaz (1979) for the choice of the next vertex; Hertz and de Werra (1987) for the tabu search.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphbandits._jit import kernel
from graphbandits._types import Ints
from graphbandits.graphs._clique_kernels import complement, largest_clique

Small = NDArray[np.int32]
#: Neighbours as rows of a sparse matrix: start, column.
Rows = tuple[Ints, Small]
#: Colour of each vertex, near, saturation; vertex, colour tried and colours used at each depth.
Stack = tuple[Ints, Small, Ints, Ints, Ints, Ints]
#: Indices in ``state`` of the exact search.
DEPTH, BEST, TRYING = 0, 1, 2
#: Indices in ``state`` of the tabu search.
CONFLICTS, STEP, SEED, LEAST = 0, 1, 2, 3


@kernel()
def paint(rows: Rows, v: int, c: int, change: int, near: Small, saturation: Ints) -> None:
    """Update the counts of v's neighbours after v gains (change = 1) or loses (-1) colour c."""
    start, column = rows
    some = 1 if change > 0 else 0
    for e in range(start[v], start[v + 1]):
        u = column[e]
        near[u, c] += change
        if near[u, c] == some:
            saturation[u] += change


@kernel()
def new_stack(rows: Rows, clique: Ints, colours: int) -> Stack:
    """Return the stack at the root, in which the vertices of a clique have colours 0, 1, ..."""
    count, size = len(rows[0]) - 1, len(clique)
    colour, near = np.full(count, -1, np.int64), np.zeros((count, colours), np.int32)
    saturation, vertex = np.zeros(count, np.int64), np.zeros(count, np.int64)
    used = np.full(count + 1, size, np.int64)
    for k in range(size):
        vertex[k] = clique[k]
        colour[clique[k]] = k
        paint(rows, clique[k], k, 1, near, saturation)
    return colour, near, saturation, vertex, np.zeros(count, np.int64), used


@kernel()
def dsatur(
    rows: Rows, stack: Stack, best: Ints, state: Ints, fixed: int, enough: int, budget: int
) -> bool:
    """Visit ``budget`` more nodes; return whether ``state[BEST]`` colours are proved minimal.

    Also stops and returns True if ``enough`` colours suffice. The first ``fixed`` vertices of the
    stack are a clique and keep their colours. ``near[v, c]`` is the number of neighbours of v with
    colour c, ``used[d]`` the number of colours before depth d. The best colouring is in ``best``.
    Among equally saturated vertices, the first one is next.
    """
    colour, near, saturation, vertex, tried, used = stack
    count = len(colour)
    depth = state[DEPTH]
    trying = state[TRYING] == 1
    while budget > 0 and state[BEST] > enough:
        if not trying:
            if depth == count:
                if used[depth] < state[BEST]:  # the tabu search may have found a better one
                    state[BEST] = used[depth]
                    best[:] = colour
                trying = True
                depth -= 1
                if depth < fixed:
                    break
                paint(rows, vertex[depth], colour[vertex[depth]], -1, near, saturation)
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
            paint(rows, v, c, 1, near, saturation)
            used[depth + 1] = max(used[depth], c + 1)
            depth += 1
            trying = False
        else:
            depth -= 1
            if depth < fixed:
                break
            paint(rows, vertex[depth], colour[vertex[depth]], -1, near, saturation)
            colour[vertex[depth]] = -1
    state[DEPTH] = depth
    state[TRYING] = 1 if trying else 0
    return bool(depth < fixed or state[BEST] <= enough)


@kernel()
def count_conflicts(rows: Rows, colour: Ints, near: Small) -> int:
    """Fill ``near``; return the number of edges whose ends have the same colour."""
    start, column = rows
    twice = 0
    for v in range(len(colour)):
        for e in range(start[v], start[v + 1]):
            near[v, colour[column[e]]] += 1
        twice += near[v, colour[v]]
    return twice // 2


@kernel(inline=True)
def next_random(seed: np.uint64) -> np.uint64:
    """Return the next state of an xorshift generator."""
    seed ^= seed << np.uint64(13)
    seed ^= seed >> np.uint64(7)
    seed ^= seed << np.uint64(17)
    return seed


@kernel()
def tabu(rows: Rows, colour: Ints, near: Small, barred: Ints, state: Ints, budget: int) -> bool:
    """Make ``budget`` more moves to reduce conflicts; return whether there are none left.

    ``barred[v, c]`` is the step until which v may not return to colour c. ``state`` has the number
    of conflicts, the step, the seed and the least number of conflicts so far.
    """
    start, column = rows
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
                    seed = next_random(seed)
                    if seed % np.uint64(ties) == np.uint64(0):
                        v, c = u, k
        if v < 0:
            continue
        seed = next_random(seed)
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


@kernel()
def cover_numbers(stack: NDArray[np.bool_], nodes: int, out: Ints) -> None:
    """Compute the clique cover number of each graph (B, K, K); a bound after ``nodes`` nodes."""
    count = stack.shape[1]
    members, best = np.zeros(count + 2, np.int64), np.zeros(count, np.int64)
    start, column = np.zeros(count + 1, np.int64), np.empty(count * count, np.int32)
    for b in range(len(stack)):
        others = complement(stack[b])
        size, _ = largest_clique(others, nodes, members)
        entries = 0
        for i in range(count):
            for j in range(count):
                if others[i, j]:
                    column[entries] = j
                    entries += 1
            start[i + 1] = entries
        rows = start, column
        state = np.array([size, count + 1, 0])
        root = new_stack(rows, members[:size], count + 1)
        # the first colouring needs at most count + 1 nodes
        dsatur(rows, root, best, state, size, size, max(nodes, count + 1))
        out[b] = state[BEST]
