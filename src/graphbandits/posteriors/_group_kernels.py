"""Grouping of arms with the same posterior, which have the same statistics."""

from __future__ import annotations

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints

#: Up to this number of arms, arms are compared one by one; above, by a hash table.
FEW_ARMS = 16
_MIX = np.uint64(0x9E3779B97F4A7C15)
_29 = np.uint64(29)
_32 = np.uint64(32)


@kernel()
def _hash(a: float, b: float) -> np.uint64:
    """Compute a hash of the bits of both numbers."""
    u = np.float64(a).view(np.uint64) * _MIX
    u = ((u ^ (u >> _32)) + np.float64(b).view(np.uint64)) * _MIX
    u = (u ^ (u >> _29)) * _MIX
    return u ^ (u >> _32)


@kernel()
def _empty_table(slots: int) -> Ints:
    table = np.empty(slots, np.int64)
    for k in range(slots):
        table[k] = -1
    return table


@kernel()
def group_arms(a: Floats, b: Floats, group: Ints, first: Ints) -> int:
    """Number the distinct pairs (a, b) in the order of their first arms; return their count.

    ``group[k]`` is the number of the pair of arm k; ``first[d]`` is the first arm of pair d.
    """
    distinct = 0
    if a.size <= FEW_ARMS:
        for k in range(a.size):
            d = 0
            while d < distinct and not (a[first[d]] == a[k] and b[first[d]] == b[k]):
                d += 1
            if d == distinct:
                first[d] = k
                distinct += 1
            group[k] = d
        return distinct
    return _group_by_hash(a, b, group, first)


@kernel()
def _group_by_hash(a: Floats, b: Floats, group: Ints, first: Ints) -> int:
    """Do the same with a hash table."""
    distinct = 0
    slots = 64
    table = _empty_table(slots)
    for k in range(a.size):
        place = np.int64(_hash(a[k], b[k]) & np.uint64(slots - 1))
        while True:
            d = table[place]
            if d < 0:
                table[place] = distinct
                first[distinct] = k
                group[k] = distinct
                distinct += 1
                break
            if a[first[d]] == a[k] and b[first[d]] == b[k]:
                group[k] = d
                break
            place = (place + 1) & (slots - 1)
        if 2 * distinct > slots:  # more than half full is slow: enlarge the table
            slots *= 4
            table = _empty_table(slots)
            for d in range(distinct):
                place = np.int64(_hash(a[first[d]], b[first[d]]) & np.uint64(slots - 1))
                while table[place] >= 0:
                    place = (place + 1) & (slots - 1)
                table[place] = d
    return distinct
