"""Graphs of many arms: reductions that lose nothing, and bounds in nearly linear time.

A graph here is undirected, without loops: the neighbours of v, in increasing order, are
``column[start[v]:start[v+1]]``.
"""

from __future__ import annotations

import numpy as np

from graphbandits.jit import kernel
from graphbandits.types import Ints


@kernel()
def joined(start: Ints, column: Ints, u: int, v: int) -> bool:
    """Whether u and v have an edge, by bisection."""
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
    """Take every vertex whose remaining neighbours, at most ``most``, are a clique.

    Some largest independent set holds it, and some least clique cover has it with all its
    neighbours: they form clique number k, and ``taken[k]`` is the vertex. ``clique`` is -1 for the
    vertices that remain, and ``degree`` counts their neighbours that remain. Gives how many.
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
def peel(start: Ints, column: Ints, inside: Ints) -> int:
    """A large independent set, ``inside`` = 1; gives how many vertices were left out at a venture.

    Vertices of degree 0 and 1, and of degree 2 in a triangle, are taken, which loses nothing; where
    there is none, the one of largest degree is dropped, which loses at most one: the largest
    independent set has at most so many more. Chang, Li and Zhang (2017).
    """
    count = len(start) - 1
    degree, bucket = np.empty(count, np.int64), np.empty(count, np.int64)
    alive = np.ones(count, np.bool_)
    stack, height = np.empty(4 * count, np.int64), 0  # each comes at most at the start and thrice
    largest = 0
    for v in range(count):
        degree[v] = start[v + 1] - start[v]
        largest = max(largest, degree[v])
        if degree[v] <= 2:
            stack[height] = v
            height += 1
        inside[v] = 0
    head = np.full(largest + 1, -1, np.int64)
    for v in range(count):  # a list for each degree; who has less by now goes to its own when met
        bucket[v] = head[degree[v]]
        head[degree[v]] = v
    ventured = 0
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
            while largest > 0:
                v = head[largest]
                if v < 0:
                    largest -= 1
                    continue
                head[largest] = bucket[v]
                if not alive[v]:
                    continue
                if degree[v] == largest:
                    gone[0] = v
                    removed = 1
                    ventured += 1
                    break
                bucket[v] = head[degree[v]]
                head[degree[v]] = v
            if removed == 0:
                break
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
    for v in range(count):
        if inside[v] == 0:
            free = True
            for e in range(start[v], start[v + 1]):
                if inside[column[e]] == 1:
                    free = False
                    break
            if free:  # dropped, but nothing stands against it in the end
                inside[v] = 1
                ventured -= 1
    return ventured


@kernel()
def greedy_cliques(start: Ints, column: Ints, clique: Ints) -> int:
    """Part the vertices into cliques, from a vertex of least degree each time; gives how many."""
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
        while some > 0:  # the neighbour of least degree that goes with all members
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
def induce(
    start: Ints, column: Ints, vertices: Ints, number: Ints, own_start: Ints, own_column: Ints
) -> int:
    """The graph among ``vertices``, numbered in their order; ``number`` is -1 before and after."""
    for k in range(len(vertices)):
        number[vertices[k]] = k
    edges = 0
    own_start[0] = 0
    for k in range(len(vertices)):
        for e in range(start[vertices[k]], start[vertices[k] + 1]):
            u = number[column[e]]
            if u >= 0:
                own_column[edges] = u
                edges += 1
        own_start[k + 1] = edges
    for k in range(len(vertices)):
        number[vertices[k]] = -1
    return edges
