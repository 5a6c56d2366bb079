"""Dominating sets: exact by branch and bound on bit sets, greedy for many arms.

A graph is (start, column, back, by): ``column[start[j]:start[j+1]]`` are the arms that arm j
reveals, ``by[back[i]:back[i+1]]`` the arms that reveal arm i.
"""

from __future__ import annotations

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints
from graphbandits.graphs._clique_kernels import Words, bits, first

Graph = tuple[Ints, Ints, Ints, Ints]
#: One row per depth: unrevealed arms, allowed arms, order of the tried arms, position in it, their
#: number, chosen arm.
Stack = tuple[Words, Words, Ints, Ints, Ints, Ints]

_0 = np.uint64(0)
_1 = np.uint64(1)
#: Indices in ``state``.
DEPTH, BEST, ENTERING = 0, 1, 2


@kernel()
def dominating_search(
    reveals: Words,
    revealed_by: Words,
    stack: Stack,
    best: Ints,
    state: Ints,
    enough: int,
    budget: int,
) -> bool:
    """Visit ``budget`` more nodes; return whether ``state[BEST]`` arms are proved minimal.

    A node branches on the arm that the fewest allowed arms reveal. Each of these is added to the
    set in turn, in decreasing order of the arms it reveals, and is not allowed afterwards. The
    number of arms that the best remaining arms can reveal bounds the number needed. The best set is
    ``best[:state[BEST]]``.
    """
    unseen, allowed, order, place, listed, chosen = stack
    arms, words = reveals.shape
    gain = np.zeros(arms, np.int64)
    tally = np.zeros(arms + 1, np.int64)
    depth = state[DEPTH]
    entering = state[ENTERING] == 1
    while depth >= 0 and budget > 0 and state[BEST] > enough:
        if entering:
            budget -= 1
            entering = False
            place[depth] = 0
            listed[depth] = 0
            missing = 0
            for w in range(words):
                missing += bits(unseen[depth, w])
            if missing == 0:
                state[BEST] = depth
                best[:depth] = chosen[:depth]
                depth -= 1
                continue
            steps = state[BEST] - 1 - depth  # most arms that may be added for an improvement
            if steps <= 0:
                depth -= 1
                continue
            tally[:] = 0
            for w in range(words):
                word = allowed[depth, w]
                while word != _0:
                    j = (w << 6) + first(word)
                    word &= word - _1
                    count = 0
                    for x in range(words):
                        count += bits(reveals[j, x] & unseen[depth, x])
                    gain[j] = count
                    tally[count] += 1
            hoped, more, size = 0, steps, arms
            while more > 0 and size > 0 and hoped < missing:
                here = min(tally[size], more)
                hoped += here * size
                more -= here
                size -= 1
            if hoped < missing:
                depth -= 1
                continue
            fewest, arm = arms + 1, -1
            for w in range(words):
                word = unseen[depth, w]
                while word != _0:
                    i = (w << 6) + first(word)
                    word &= word - _1
                    count = 0
                    for x in range(words):
                        count += bits(revealed_by[i, x] & allowed[depth, x])
                    if count < fewest:
                        fewest, arm = count, i
            count = 0
            for w in range(words):
                word = revealed_by[arm, w] & allowed[depth, w]
                while word != _0:
                    j = (w << 6) + first(word)
                    word &= word - _1
                    k = count
                    while k > 0 and gain[order[depth, k - 1]] < gain[j]:
                        order[depth, k] = order[depth, k - 1]
                        k -= 1
                    order[depth, k] = j
                    count += 1
            listed[depth] = count
        if place[depth] >= listed[depth] or depth + 1 >= state[BEST]:
            depth -= 1
            continue
        j = order[depth, place[depth]]
        place[depth] += 1
        chosen[depth] = j
        allowed[depth, j >> 6] &= ~(_1 << np.uint64(j & 63))
        for w in range(words):
            unseen[depth + 1, w] = unseen[depth, w] & ~reveals[j, w]
            allowed[depth + 1, w] = allowed[depth, w]
        depth += 1
        entering = True
    state[DEPTH] = depth
    state[ENTERING] = 1 if entering else 0
    return bool(depth < 0 or state[BEST] <= enough)


@kernel()
def choose(graph: Graph, j: int, times: Ints, gain: Ints) -> None:
    """Count the arms that arm j reveals, and reduce the gain of their in-neighbours."""
    start, column, back, by = graph
    for e in range(start[j], start[j + 1]):
        i = column[e]
        times[i] += 1
        if times[i] == 1:
            for f in range(back[i], back[i + 1]):
                gain[by[f]] -= 1


@kernel()
def greedy_dominating(graph: Graph, before: Ints, chosen: Ints) -> int:
    """Choose the arm that reveals most new arms repeatedly, then remove redundant arms.

    The arms of ``before`` are chosen first, unless they reveal no new arm. Returns the size of the
    dominating set ``chosen``.
    """
    start, column = graph[0], graph[1]
    arms = len(start) - 1
    gain = start[1:] - start[:-1]
    times = np.zeros(arms, np.int64)
    largest = gain.max()
    count = 0
    for j in before:
        if gain[j] > 0:
            chosen[count] = j
            count += 1
            choose(graph, j, times, gain)
    head, link = np.full(largest + 1, -1, np.int64), np.empty(arms, np.int64)
    for j in range(arms):
        link[j] = head[gain[j]]
        head[gain[j]] = j
    while largest > 0:
        j = head[largest]
        if j < 0:
            largest -= 1
            continue
        head[largest] = link[j]
        if gain[j] < largest:
            link[j] = head[gain[j]]
            head[gain[j]] = j
            continue
        chosen[count] = j
        count += 1
        choose(graph, j, times, gain)
    kept = 0
    for k in range(count):  # later arms may make earlier ones redundant
        j = chosen[k]
        needed = False
        for e in range(start[j], start[j + 1]):
            needed |= times[column[e]] == 1
        if needed:
            chosen[kept] = j
            kept += 1
        else:
            for e in range(start[j], start[j + 1]):
                times[column[e]] -= 1
    return kept


@kernel()
def raise_duals(graph: Graph, order: Ints, y: Floats) -> None:
    """Increase y, one arm at a time, while every arm reveals at most 1 of y in sum.

    The sum of such y is a lower bound on the fractional domination number.
    """
    start, column, back, by = graph
    load = np.zeros(len(start) - 1)
    for j in range(len(load)):
        for e in range(start[j], start[j + 1]):
            load[j] += y[column[e]]
    for i in order:
        slack = 1.0
        for f in range(back[i], back[i + 1]):
            slack = min(slack, 1.0 - load[by[f]])
        if slack > 0.0:
            y[i] += slack
            for f in range(back[i], back[i + 1]):
                load[by[f]] += slack


@kernel()
def lower_primals(graph: Graph, order: Ints, z: Floats) -> None:
    """Reduce z, one arm at a time, while every arm is revealed at least once in sum."""
    start, column, back, by = graph
    seen = np.zeros(len(start) - 1)
    for i in range(len(seen)):
        for f in range(back[i], back[i + 1]):
            seen[i] += z[by[f]]
    for j in order:
        surplus = z[j]
        for e in range(start[j], start[j + 1]):
            surplus = min(surplus, seen[column[e]] - 1.0)
        if surplus > 0.0:
            z[j] -= surplus
            for e in range(start[j], start[j + 1]):
                seen[column[e]] -= surplus
