"""Both numbers of one small graph in one call: simulations may ask for thousands of graphs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphbandits.graphs.invariants import clique_kernels, colour_kernels
from graphbandits.graphs.invariants.bit_kernels import pack
from graphbandits.graphs.invariants.clique_kernels import clique_search, colour_order
from graphbandits.graphs.invariants.colour_kernels import dsatur, paint
from graphbandits.jit import kernel
from graphbandits.types import Ints

#: Places in the states of the two searches.
DEPTH, BEST, COLOURS = clique_kernels.DEPTH, clique_kernels.BEST, colour_kernels.BEST


@kernel()
def apart(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The complement, vertices with many neighbours in it first."""
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
def largest_clique(
    edges: NDArray[np.bool_], nodes: int, best: Ints, known: int = 0
) -> tuple[int, int]:
    """The size of the largest clique found, which is in ``best``, and an upper bound.

    Only cliques of more than ``known`` members are looked for.
    """
    count = len(edges)
    words = (count + 63) >> 6
    adjacent, everyone = np.empty((count, words), np.uint64), np.empty((1, words), np.uint64)
    pack(edges, adjacent)
    pack(np.ones((1, count), np.bool_), everyone)
    weight = np.ones(count, np.int64)
    candidates = np.empty((count + 2, words), np.uint64)
    order, bound = np.empty((count + 2, count), np.int32), np.empty((count + 2, count), np.int64)
    place, chosen = np.zeros(count + 2, np.int64), np.zeros(count + 2, np.int64)
    held, state = np.zeros(count + 2, np.int64), np.zeros(3, np.int64)
    left, free = np.empty(words, np.uint64), np.empty(words, np.uint64)
    rest, group = np.empty(count, np.int64), np.empty(count, np.int64)
    candidates[0] = everyone[0]
    listed = colour_order(
        adjacent, weight, candidates[0], known, order[0], bound[0], left, free, rest, group
    )
    place[0] = listed - 1
    state[BEST] = known
    if listed == 0 or clique_search(
        adjacent, weight, candidates, order, bound, place, chosen, held, best, state, nodes
    ):
        return state[BEST], state[BEST]
    k = place[0] + (1 if state[DEPTH] > 0 else 0)
    return state[BEST], max(state[BEST], bound[0, max(k, 0)])


@kernel()
def independence_bound(edges: NDArray[np.bool_], nodes: int) -> int:
    """The independence number, or an upper bound where ``nodes`` nodes do not do."""
    others = apart(edges)
    return largest_clique(others, nodes, np.zeros(len(edges) + 2, np.int64))[1]


@kernel()
def cover_number(edges: NDArray[np.bool_], nodes: int) -> int:
    """The clique cover number, or an upper bound where ``nodes`` nodes do not do."""
    others = apart(edges)
    count = len(edges)
    members = np.zeros(count + 2, np.int64)
    size, _ = largest_clique(others, nodes, members)
    start, column = np.zeros(count + 1, np.int64), np.empty(count * count, np.int32)
    entries = 0
    for i in range(count):
        for j in range(count):
            if others[i, j]:
                column[entries] = j
                entries += 1
        start[i + 1] = entries
    colour, best = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    near, saturation = np.zeros((count, count + 1), np.int32), np.zeros(count, np.int64)
    vertex, tried = np.zeros(count, np.int64), np.zeros(count, np.int64)
    used = np.full(count + 1, size, np.int64)
    for k in range(size):
        vertex[k] = members[k]
        colour[members[k]] = k
        paint(start, column, members[k], k, near, saturation)
    state = np.array([size, count + 1, 0])
    dsatur(
        start,
        column,
        colour,
        near,
        saturation,
        vertex,
        tried,
        used,
        best,
        state,
        size,
        size,
        max(nodes, count + 1),  # the first colouring needs no more
    )
    return int(state[COLOURS])


@kernel()
def cover_numbers(stack: NDArray[np.bool_], nodes: int, out: Ints) -> None:
    """The same for each of many graphs (B, K, K)."""
    for b in range(len(stack)):
        out[b] = cover_number(stack[b], nodes)
