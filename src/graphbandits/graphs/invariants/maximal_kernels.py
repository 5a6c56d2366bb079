"""All maximal cliques of at least some weight, by Bron and Kerbosch (1973) with a pivot."""

from __future__ import annotations

import numpy as np

from graphbandits.graphs.invariants.bit_kernels import Words, bits, first
from graphbandits.graphs.invariants.clique_kernels import colour_order
from graphbandits.jit import kernel
from graphbandits.types import Ints

_0 = np.uint64(0)
_1 = np.uint64(1)


@kernel()
def heavy_maximal(adjacent: Words, weight: Ints, least: int, nodes: int, out: Words) -> int:
    """Fill ``out`` with the maximal cliques that weigh ``least`` or more; gives how many.

    -1 if they are more than ``out`` has rows, or are not all found within ``nodes`` nodes.
    """
    count, words = adjacent.shape
    order, bound = np.empty(count, np.int32), np.empty(count, np.int64)
    left, free = np.empty(words, np.uint64), np.empty(words, np.uint64)
    rest, group = np.empty(count, np.int64), np.empty(count, np.int64)
    inside = np.zeros((count + 2, words), np.uint64)
    done = np.zeros((count + 2, words), np.uint64)
    todo = np.zeros((count + 2, words), np.uint64)
    chosen, held = np.zeros(count + 2, np.int64), np.zeros(count + 2, np.int64)
    clique = np.zeros(words, np.uint64)
    for v in range(count):
        inside[0, v >> 6] |= _1 << np.uint64(v & 63)
    depth, found, entering = 0, 0, True
    while depth >= 0:
        if entering:
            entering = False
            nodes -= 1
            if nodes < 0:
                return -1
            todo[depth] = _0
            some, before = False, False
            for w in range(words):
                some |= inside[depth, w] != _0
                before |= done[depth, w] != _0
            if not some:
                if not before and held[depth] >= least:
                    if found == len(out):
                        return -1
                    out[found] = clique
                    found += 1
            elif (
                colour_order(
                    adjacent,
                    weight,
                    inside[depth],
                    least - held[depth] - 1,
                    order,
                    bound,
                    left,
                    free,
                    rest,
                    group,
                )
                > 0
            ):
                most, pivot = -1, -1
                for w in range(words):
                    word = inside[depth, w] | done[depth, w]
                    while word != _0:
                        u = (w << 6) + first(word)
                        word &= word - _1
                        near = 0
                        for x in range(words):
                            near += bits(inside[depth, x] & adjacent[u, x])
                        if near > most:
                            most, pivot = near, u
                for w in range(words):
                    todo[depth, w] = inside[depth, w] & ~adjacent[pivot, w]
        v = -1
        for w in range(words):
            if todo[depth, w] != _0:
                v = (w << 6) + first(todo[depth, w])
                break
        if v < 0:
            depth -= 1
            if depth >= 0:
                u = chosen[depth]
                clique[u >> 6] &= ~(_1 << np.uint64(u & 63))
            continue
        itself = _1 << np.uint64(v & 63)
        todo[depth, v >> 6] &= ~itself
        inside[depth, v >> 6] &= ~itself
        for w in range(words):
            inside[depth + 1, w] = inside[depth, w] & adjacent[v, w]
            done[depth + 1, w] = done[depth, w] & adjacent[v, w]
        done[depth, v >> 6] |= itself
        clique[v >> 6] |= itself
        chosen[depth] = v
        held[depth + 1] = held[depth] + weight[v]
        depth += 1
        entering = True
    return found
