"""Cliques, colourings and clique covers of a graph, by resumable branch and bound.

Tomita and Seki (2003) and San Segundo, Rodriguez-Losada and Jimenez (2011) for the colouring bound
on bit sets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphbandits._jit import kernel
from graphbandits._types import Ints

Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]
#: One row per depth: candidates, their order and colours, position in the order, chosen vertex.
Stack = tuple[Words, NDArray[np.int32], Ints, Ints, Ints]

_0 = np.uint64(0)
_1 = np.uint64(1)
_2 = np.uint64(2)
_4 = np.uint64(4)
_56 = np.uint64(56)
_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_EIGHTS = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUMS = np.uint64(0x0101010101010101)
#: Indices in ``state``.
DEPTH, BEST, SIZE = 0, 1, 2


@kernel(inline=True)
def bits(word: np.uint64) -> int:
    """Count the ones of a word; compiled to one instruction if the machine supports it."""
    word = word - ((word >> _1) & _PAIRS)
    word = (word & _FOURS) + ((word >> _2) & _FOURS)
    word = (word + (word >> _4)) & _EIGHTS
    return int((word * _SUMS) >> _56)


@kernel(inline=True)
def first(word: np.uint64) -> int:
    """Return the position of the lowest one of a nonzero word."""
    return bits((word & (~word + _1)) - _1)


@kernel()
def bit_sets(matrix: Flags) -> Words:
    words = np.zeros((matrix.shape[0], (matrix.shape[1] + 63) >> 6), np.uint64)
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            if matrix[i, j]:
                words[i, j >> 6] |= _1 << np.uint64(j & 63)
    return words


@kernel()
def colour_order(
    adjacent: Words,
    members: Words,
    need: int,
    order: NDArray[np.int32],
    bound: Ints,
    left: Words,
    free: Words,
) -> int:
    """Bound cliques of ``members``: within order[:k+1] and the unlisted they have <= bound[k].

    A colour class has no edges, and a clique has at most one vertex of it. Vertices with a bound of
    at most ``need`` are not listed. Returns the number of listed vertices.
    """
    words = adjacent.shape[1]
    left[:] = members
    count, colour, lowest = 0, 0, 0
    while True:
        while lowest < words and left[lowest] == _0:
            lowest += 1
        if lowest == words:
            return count
        for w in range(lowest, words):
            free[w] = left[w]
        colour += 1
        for w in range(lowest, words):
            while free[w] != _0:
                place = first(free[w])
                v = (w << 6) + place
                free[w] &= ~(_1 << np.uint64(place))
                left[w] &= ~(_1 << np.uint64(place))
                for x in range(w, words):
                    free[x] &= ~adjacent[v, x]
                if colour > need:
                    order[count] = v
                    bound[count] = colour
                    count += 1


@kernel()
def new_stack(adjacent: Words, depths: int, known: int) -> Stack:
    """Return the search at its root, for cliques of more than ``known`` vertices."""
    count, words = adjacent.shape
    candidates = np.zeros((depths, words), np.uint64)
    order = np.zeros((depths, count), np.int32)
    bound = np.zeros((depths, count), np.int64)
    place, chosen = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    left, free = np.empty(words, np.uint64), np.empty(words, np.uint64)
    for v in range(count):
        candidates[0, v >> 6] |= _1 << np.uint64(v & 63)
    listed = colour_order(adjacent, candidates[0], known, order[0], bound[0], left, free)
    place[0] = listed - 1
    return candidates, order, bound, place, chosen


@kernel()
def clique_search(adjacent: Words, stack: Stack, best: Ints, state: Ints, budget: int) -> bool:
    """Visit ``budget`` more nodes of the tree; return whether the search is complete.

    ``state`` has the depth, the size of the largest known clique and the size of the largest clique
    found here, whose vertices are ``best[:size]``.
    """
    candidates, order, bound, place, chosen = stack
    words = adjacent.shape[1]
    left, free = np.empty(words, np.uint64), np.empty(words, np.uint64)
    depth = state[DEPTH]
    while depth >= 0 and budget > 0:
        k = place[depth]
        if k < 0 or depth + bound[depth, k] <= state[BEST]:
            place[depth] = -1
            depth -= 1
            continue
        budget -= 1
        v = order[depth, k]
        place[depth] = k - 1
        chosen[depth] = v
        candidates[depth, v >> 6] &= ~(_1 << np.uint64(v & 63))
        some = False
        for w in range(words):
            word = candidates[depth, w] & adjacent[v, w]
            candidates[depth + 1, w] = word
            some |= word != _0
        if depth + 1 > state[BEST]:
            state[BEST] = state[SIZE] = depth + 1
            best[: depth + 1] = chosen[: depth + 1]
        if some:
            depth += 1
            need = state[BEST] - depth
            listed = colour_order(
                adjacent, candidates[depth], need, order[depth], bound[depth], left, free
            )
            place[depth] = listed - 1
    state[DEPTH] = depth
    return bool(depth < 0)


@kernel()
def upper_bound(stack: Stack, state: Ints) -> int:
    """Return an upper bound on the size of all cliques, valid at any time of the search."""
    k = stack[3][0] + (1 if state[DEPTH] > 0 else 0)  # the current branch is not complete
    if state[DEPTH] < 0 or k < 0:
        return int(state[BEST])
    return int(max(state[BEST], stack[2][0, k]))


@kernel()
def complement(edges: Flags) -> Flags:
    """Return the complement, with vertices in decreasing order of degree."""
    count = len(edges)
    degree = np.zeros(count, np.int64)
    for i in range(count):
        for j in range(count):
            if i != j and not edges[i, j]:
                degree[i] += 1
    order = np.argsort(-degree, kind="mergesort")
    out = np.zeros((count, count), np.bool_)
    for i in range(count):
        for j in range(count):
            out[i, j] = i != j and not edges[order[i], order[j]]
    return out


@kernel()
def largest_clique(edges: Flags, nodes: int, best: Ints) -> tuple[int, int]:
    """Return the size of the largest clique found, stored in ``best``, and an upper bound."""
    adjacent = bit_sets(edges)
    stack, state = new_stack(adjacent, len(edges) + 2, 0), np.zeros(3, np.int64)
    clique_search(adjacent, stack, best, state, nodes)
    return state[BEST], upper_bound(stack, state)


@kernel()
def independence_bound(edges: Flags, nodes: int) -> int:
    """Return the independence number, or an upper bound if ``nodes`` nodes do not suffice."""
    return largest_clique(complement(edges), nodes, np.zeros(len(edges) + 2, np.int64))[1]


Small = NDArray[np.int32]
#: Neighbours as rows of a sparse matrix: start, column.
Rows = tuple[Ints, Small]
#: Colour of each vertex, near, saturation; vertex, colour tried and colours used at each depth.
ColourStack = tuple[Ints, Small, Ints, Ints, Ints, Ints]
#: Indices in ``state`` of the exact search.
COLOUR_DEPTH, COLOUR_BEST, TRYING = 0, 1, 2
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
def new_colour_stack(rows: Rows, clique: Ints, colours: int) -> ColourStack:
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
    rows: Rows, stack: ColourStack, best: Ints, state: Ints, fixed: int, enough: int, budget: int
) -> bool:
    """Visit ``budget`` more nodes; return whether ``state[BEST]`` colours are proved minimal.

    Also stops and returns True if ``enough`` colours suffice. The first ``fixed`` vertices of the
    stack are a clique and keep their colours. ``near[v, c]`` is the number of neighbours of v with
    colour c, ``used[d]`` the number of colours before depth d. The best colouring is in ``best``.
    Among equally saturated vertices, the first one is next.
    """
    colour, near, saturation, vertex, tried, used = stack
    count = len(colour)
    depth = state[COLOUR_DEPTH]
    trying = state[TRYING] == 1
    while budget > 0 and state[COLOUR_BEST] > enough:
        if not trying:
            if depth == count:
                if used[depth] < state[COLOUR_BEST]:  # the tabu search may have found a better one
                    state[COLOUR_BEST] = used[depth]
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
        limit = min(used[depth], state[COLOUR_BEST] - 2)
        if used[depth] >= state[COLOUR_BEST]:
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
    state[COLOUR_DEPTH] = depth
    state[TRYING] = 1 if trying else 0
    return bool(depth < fixed or state[COLOUR_BEST] <= enough)


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
        root = new_colour_stack(rows, members[:size], count + 1)
        # the first colouring needs at most count + 1 nodes
        dsatur(rows, root, best, state, size, size, max(nodes, count + 1))
        out[b] = state[COLOUR_BEST]
