"""Reductions, bounds and dominating sets of sparse graphs.

Graphs are undirected, without self-loops. ``column[start[v]:start[v+1]]`` are the neighbours of v,
in increasing order.
"""

from __future__ import annotations

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints
from graphbandits.graphs._clique_kernels import Flags, Words, bits, first


@kernel()
def joined(start: Ints, column: Ints, u: int, v: int) -> bool:
    """Return whether there is an edge between u and v, by bisection."""
    low, high = start[u], start[u + 1]
    while low < high:
        middle = (low + high) >> 1
        if column[middle] < v:
            low = middle + 1
        else:
            high = middle
    return bool(low < start[u + 1] and column[low] == v)


@kernel()
def simplicial(
    start: Ints, column: Ints, most: int, clique: Ints, degree: Ints, queue: Ints, taken: Ints
) -> int:
    """Remove simplicial vertices of at most ``most`` neighbours repeatedly; return their number.

    A vertex is simplicial if its remaining neighbours are a clique. It is in some largest
    independent set, and with its neighbours it is a clique of some minimum clique cover.
    ``taken[k]`` is the k-th such vertex, and k is the label in ``clique`` of it and its neighbours.
    ``clique`` is -1 for the remaining vertices; ``degree`` has their number of remaining
    neighbours.
    """
    count = len(start) - 1
    waiting = np.ones(count, np.bool_)
    near = np.empty(max(most, 1), np.int64)
    for v in range(count):
        clique[v] = -1
        degree[v] = start[v + 1] - start[v]
        queue[v] = v
    head, length, found = 0, count, 0
    while length > 0:
        v = queue[head]
        head = head + 1 if head + 1 < count else 0
        length -= 1
        waiting[v] = False
        if clique[v] >= 0 or degree[v] > most:
            continue
        size = 0
        for e in range(start[v], start[v + 1]):
            if clique[column[e]] < 0:
                near[size] = column[e]
                size += 1
        whole = True
        for i in range(size):
            for j in range(i):
                if not joined(start, column, near[i], near[j]):
                    whole = False
                    break
            if not whole:
                break
        if not whole:
            continue
        clique[v] = found
        for i in range(size):
            clique[near[i]] = found
        taken[found] = v
        found += 1
        for i in range(size):
            for e in range(start[near[i]], start[near[i] + 1]):
                u = column[e]
                if clique[u] < 0:
                    degree[u] -= 1
                    if not waiting[u]:
                        waiting[u] = True
                        queue[(head + length) % count] = u
                        length += 1
    return found


@kernel()
def pop_largest(
    head: Ints, bucket: Ints, degree: Ints, alive: Flags, largest: int
) -> tuple[int, int]:
    """Pop a vertex of largest degree from the lists by degree; return it, or -1, and its degree.

    A vertex whose degree has decreased moves to the list of its degree when it is found.
    """
    while largest > 0:
        v = head[largest]
        if v < 0:
            largest -= 1
            continue
        head[largest] = bucket[v]
        if not alive[v]:
            continue
        if degree[v] == largest:
            return v, largest
        bucket[v] = head[degree[v]]
        head[degree[v]] = v
    return -1, largest


@kernel()
def add_free(start: Ints, column: Ints, inside: Ints) -> int:
    """Add the vertices without neighbours in the set ``inside`` = 1; return their number."""
    added = 0
    for v in range(len(start) - 1):
        if inside[v] == 0:
            free = True
            for e in range(start[v], start[v + 1]):
                if inside[column[e]] == 1:
                    free = False
                    break
            if free:
                inside[v] = 1
                added += 1
    return added


@kernel()
def peel(start: Ints, column: Ints, inside: Ints) -> int:
    """Find a large independent set, ``inside`` = 1; return how much larger the largest set can be.

    Vertices of degree 0 and 1, and of degree 2 in a triangle, are added to the set; this is
    optimal. If there are none, the vertex of largest degree is dropped, which loses at most one.
    Chang, Li and Zhang (2017).
    """
    count = len(start) - 1
    degree, bucket = np.empty(count, np.int64), np.empty(count, np.int64)
    alive = np.ones(count, np.bool_)
    stack, height = np.empty(4 * count, np.int64), 0  # each vertex at most four times
    largest = 0
    for v in range(count):
        degree[v] = start[v + 1] - start[v]
        largest = max(largest, degree[v])
        if degree[v] <= 2:
            stack[height] = v
            height += 1
        inside[v] = 0
    head = np.full(largest + 1, -1, np.int64)
    for v in range(count):  # a linked list of vertices for each degree
        bucket[v] = head[degree[v]]
        head[degree[v]] = v
    dropped = 0
    gone = np.empty(3, np.int64)
    while True:
        removed = 0
        if height > 0:
            height -= 1
            v = stack[height]
            if not alive[v] or degree[v] > 2:
                continue
            near = 0
            for e in range(start[v], start[v + 1]):
                if alive[column[e]]:
                    gone[1 + near] = column[e]
                    near += 1
            if near == 2 and not joined(start, column, gone[1], gone[2]):
                continue
            gone[0] = v
            removed = 1 + near
            inside[v] = 1
        else:
            v, largest = pop_largest(head, bucket, degree, alive, largest)
            if v < 0:
                break
            gone[0] = v
            removed = 1
            dropped += 1
        for i in range(removed):
            alive[gone[i]] = False
        for i in range(removed):
            for e in range(start[gone[i]], start[gone[i] + 1]):
                u = column[e]
                if alive[u]:
                    degree[u] -= 1
                    if degree[u] <= 2:
                        stack[height] = u
                        height += 1
    return dropped - add_free(start, column, inside)


@kernel()
def greedy_cliques(start: Ints, column: Ints, clique: Ints) -> int:
    """Partition the vertices into cliques, each from a vertex of least degree; return how many."""
    count = len(start) - 1
    degree = np.empty(count, np.int64)
    largest = 0
    for v in range(count):
        degree[v] = start[v + 1] - start[v]
        largest = max(largest, degree[v])
        clique[v] = -1
    head = np.full(largest + 1, -1, np.int64)
    link = np.full(count + len(column), -1, np.int64)
    who = np.empty(count + len(column), np.int64)
    entries = 0
    for v in range(count):
        who[entries] = v
        link[entries] = head[degree[v]]
        head[degree[v]] = entries
        entries += 1
    members = np.empty(largest + 1, np.int64)
    near = np.empty(largest + 1, np.int64)
    cliques, least = 0, 0
    while least <= largest:
        entry = head[least]
        if entry < 0:
            least += 1
            continue
        head[least] = link[entry]
        v = who[entry]
        if clique[v] >= 0 or degree[v] != least:
            continue
        members[0] = v
        size, some = 1, 0
        for e in range(start[v], start[v + 1]):
            if clique[column[e]] < 0:
                near[some] = column[e]
                some += 1
        while some > 0:  # add the common neighbour of least degree
            pick = 0
            for i in range(some):
                if degree[near[i]] < degree[near[pick]]:
                    pick = i
            u = near[pick]
            members[size] = u
            size += 1
            kept = 0
            for i in range(some):
                if i != pick and joined(start, column, near[i], u):
                    near[kept] = near[i]
                    kept += 1
            some = kept
        for i in range(size):
            clique[members[i]] = cliques
        cliques += 1
        for i in range(size):
            for e in range(start[members[i]], start[members[i] + 1]):
                u = column[e]
                if clique[u] < 0:
                    degree[u] -= 1
                    who[entries] = u
                    link[entries] = head[degree[u]]
                    head[degree[u]] = entries
                    entries += 1
                    least = min(least, degree[u])
    return cliques


@kernel()
def clique_sizes(start: Ints, column: Ints, most: int, high: Ints) -> None:
    """Compute upper bounds on the largest clique of each vertex; exact up to three vertices.

    The bound is the degree + 1 for vertices of more than ``most`` neighbours.
    """
    for v in range(len(start) - 1):
        degree = start[v + 1] - start[v]
        high[v] = degree + 1
        if degree > most or degree == 0:
            continue
        largest = 0  # common neighbours of v and one neighbour
        for e in range(start[v], start[v + 1]):
            common = 0
            for f in range(start[v], start[v + 1]):
                if f != e and joined(start, column, column[e], column[f]):
                    common += 1
            largest = max(largest, common)
        high[v] = min(high[v], 2 + largest)


@kernel()
def swap(start: Ints, column: Ints, inside: Ints, barred: Ints, state: Ints, visits: int) -> int:
    """Enlarge an independent set, ``inside`` = 1, by local search; return the number added.

    A vertex without neighbours in the set is added. A vertex with one neighbour in the set replaces
    it, and the neighbour is excluded for some steps. The set never shrinks. ``barred`` has the step
    until which a vertex is excluded, ``state`` the step and the seed. Stops after ``visits``
    visits. Andrade, Resende and Werneck (2012) for the swaps.
    """
    count, gained = len(inside), 0
    against = np.zeros(count, np.int64)  # neighbours in the set
    for u in range(count):
        for e in range(start[u], start[u + 1]):
            against[u] += inside[column[e]]
    seed = np.uint64(state[1])
    while visits > 0:
        visits -= 1
        state[0] += 1
        seed ^= seed << np.uint64(13)
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        v = np.int64((seed >> np.uint64(11)) % np.uint64(count))
        if inside[v] == 1 or against[v] > 1 or barred[v] > state[0]:
            continue
        out = -1
        for e in range(start[v], start[v + 1]):
            against[column[e]] += 1
            if inside[column[e]] == 1:
                out = int(column[e])
        inside[v] = 1
        gained += 1
        visits -= start[v + 1] - start[v]
        if out < 0:
            continue
        inside[out] = 0
        gained -= 1
        visits -= start[out + 1] - start[out]
        barred[out] = state[0] + count // 4 + np.int64(seed % np.uint64(count))
        for e in range(start[out], start[out + 1]):
            against[column[e]] -= 1
        for e in range(start[out], start[out + 1]):
            u = column[e]
            if against[u] == 0 and inside[u] == 0:
                inside[u] = 1
                gained += 1
                for f in range(start[u], start[u + 1]):
                    against[column[f]] += 1
    state[1] = np.int64(seed)
    return gained


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
