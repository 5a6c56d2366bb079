"""Large independent sets by local search: a vertex comes in for the one that stands against it.

Plateau search with vertices that are barred for some steps, as Battiti and Protasi (2001) and
Pullan and Hoos (2006) do for cliques; how many members stand against a vertex is kept, as by
Andrade, Resende and Werneck (2012).
"""

from __future__ import annotations

import numpy as np

from graphbandits.jit import kernel
from graphbandits.types import Ints

#: Places in ``state``: members, members of the best set, step, seed, step of the last gain; then
#: how many vertices outside have no member, and one member, against them.
SIZE, BEST, STEP, SEED, GAIN, LISTED = 0, 1, 2, 3, 4, 5
#: Vertices looked at for the next swap.
LOOKS = 24


@kernel(inline=True)
def _list(v: int, k: int, lists: Ints, place: Ints, state: Ints) -> None:
    place[v] = state[LISTED + k]
    lists[k, place[v]] = v
    state[LISTED + k] += 1


@kernel(inline=True)
def _unlist(v: int, k: int, lists: Ints, place: Ints, state: Ints) -> None:
    state[LISTED + k] -= 1
    last = lists[k, state[LISTED + k]]
    lists[k, place[v]] = last
    place[last] = place[v]


@kernel()
def put_in(
    start: Ints,
    column: Ints,
    v: int,
    inside: Ints,
    against: Ints,
    lists: Ints,
    place: Ints,
    state: Ints,
) -> None:
    """A vertex that nothing stands against becomes a member."""
    _unlist(v, 0, lists, place, state)
    inside[v] = 1
    state[SIZE] += 1
    for e in range(start[v], start[v + 1]):
        u = column[e]
        if against[u] < 2:
            _unlist(u, against[u], lists, place, state)
        against[u] += 1
        if against[u] == 1:
            _list(u, 1, lists, place, state)


@kernel()
def take_out(
    start: Ints,
    column: Ints,
    v: int,
    inside: Ints,
    against: Ints,
    lists: Ints,
    place: Ints,
    state: Ints,
) -> None:
    """A member is none any more."""
    inside[v] = 0
    state[SIZE] -= 1
    _list(v, 0, lists, place, state)
    for e in range(start[v], start[v + 1]):
        u = column[e]
        if against[u] == 1:
            _unlist(u, 1, lists, place, state)
        against[u] -= 1
        if against[u] < 2:
            _list(u, against[u], lists, place, state)


@kernel(inline=True)
def _drawn(state: Ints, below: int) -> np.int64:
    seed = np.uint64(state[SEED])
    seed ^= seed << np.uint64(13)
    seed ^= seed >> np.uint64(7)
    seed ^= seed << np.uint64(17)
    state[SEED] = np.int64(seed)
    return np.int64((seed >> np.uint64(11)) % np.uint64(below))


@kernel()
def begin_swaps(
    start: Ints, column: Ints, inside: Ints, against: Ints, lists: Ints, place: Ints, state: Ints
) -> None:
    """Count what stands against whom in the independent set ``inside``."""
    state[SIZE] = 0
    state[LISTED], state[LISTED + 1] = 0, 0
    for v in range(len(inside)):
        against[v] = 0
        for e in range(start[v], start[v + 1]):
            against[v] += inside[column[e]]
        if inside[v] == 1:
            state[SIZE] += 1
        elif against[v] < 2:
            _list(v, against[v], lists, place, state)


@kernel()
def swaps(
    start: Ints,
    column: Ints,
    inside: Ints,
    against: Ints,
    lists: Ints,
    place: Ints,
    barred: Ints,
    best: Ints,
    state: Ints,
    patience: int,
    budget: int,
) -> None:
    """Go on for ``budget`` visits of neighbours; the largest set so far is in ``best``.

    A vertex with nothing against it comes in; else one with one member against it comes in for
    that one, which is barred for some steps; else, or after ``patience`` steps without a gain, any
    vertex for all its neighbours. ``barred`` has the step until which a vertex stays outside.
    """
    count = len(inside)
    while budget > 0:
        budget -= LOOKS
        state[STEP] += 1
        if state[LISTED] > 0:
            v = lists[0, _drawn(state, state[LISTED])]
            budget -= start[v + 1] - start[v]
            put_in(start, column, v, inside, against, lists, place, state)
            if state[SIZE] > state[BEST]:
                state[GAIN] = state[STEP]
            continue
        v, oldest = -1, state[STEP]
        if state[STEP] - state[GAIN] < patience and state[LISTED + 1] > 0:
            for _ in range(min(LOOKS, 2 * state[LISTED + 1])):
                u = lists[1, _drawn(state, state[LISTED + 1])]
                if barred[u] < oldest:
                    v, oldest = u, barred[u]
        if v < 0:
            if state[SIZE] > state[BEST]:
                state[BEST] = state[SIZE]
                best[:] = inside
            state[GAIN] = state[STEP]
            v = _drawn(state, count)
            if inside[v] == 1:
                continue
        for e in range(start[v], start[v + 1]):
            u = column[e]
            if inside[u] == 1:
                budget -= start[u + 1] - start[u]
                take_out(start, column, u, inside, against, lists, place, state)
                barred[u] = state[STEP] + 7 + _drawn(state, 10)
        budget -= 2 * (start[v + 1] - start[v])
        put_in(start, column, v, inside, against, lists, place, state)
    if state[SIZE] > state[BEST]:
        state[BEST] = state[SIZE]
        best[:] = inside
