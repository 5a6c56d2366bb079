"""The largest set of arms without an edge between two of them, by branching on bit sets."""

from __future__ import annotations

import numpy as np

from graphbandits.jit import kernel
from graphbandits.types import Floats

_0 = np.uint64(0)
_1 = np.uint64(1)


@kernel()
def _bits(members: np.uint64) -> int:
    count = 0
    while members != _0:
        members &= members - _1
        count += 1
    return count


@kernel()
def independence_kernel(matrix: Floats) -> int:
    """The independence number of a 0/1 matrix (K, K) of at most 64 arms; an edge counts either way.

    An arm without a neighbour among those left is taken. Else the one with most neighbours is
    taken, and its neighbours dropped, or dropped itself, whichever leads further.
    """
    arms = matrix.shape[0]
    neighbours = np.zeros(arms, np.uint64)
    for i in range(arms):
        for j in range(arms):
            if i != j and (matrix[i, j] > 0.0 or matrix[j, i] > 0.0):
                neighbours[i] |= _1 << np.uint64(j)
    left = np.zeros(2 * arms + 2, np.uint64)  # a stack of the sets still to be looked at
    taken = np.zeros(2 * arms + 2, np.int64)
    for i in range(arms):
        left[0] |= _1 << np.uint64(i)
    depth = 1
    most = 0
    while depth > 0:
        depth -= 1
        here = left[depth]
        count = taken[depth]
        while True:
            if count + _bits(here) <= most:
                break
            if here == _0:
                most = count
                break
            arm = -1
            degree = 0
            for i in range(arms):
                if here & (_1 << np.uint64(i)):
                    near = _bits(neighbours[i] & here)
                    if near <= 1:  # alone, or a leaf: some largest set holds it
                        arm = i
                        degree = near
                        break
                    if near > degree:
                        arm = i
                        degree = near
            itself = _1 << np.uint64(arm)
            if degree > 1:  # without it, later
                left[depth] = here & ~itself
                taken[depth] = count
                depth += 1
            here &= ~(neighbours[arm] | itself)
            count += 1
    return most
