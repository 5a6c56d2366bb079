"""Table of arms for families whose means have one-dimensional densities.

The arms of one problem are the columns of a table. Its first rows are common to all families; the
rows from PARAMETERS on belong to the family. Places are on the axis of the family, relative to the
mean of the leader (the arm with the largest mean), so that narrow posteriors far from 0 keep their
digits.
"""

from __future__ import annotations

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints

#: Rows of a table of arms: the mean; on the axis the place of the mean, the scale of the density
#: there, and the ends of both tails; the constant of the log density, the number of arms with this
#: posterior, the mass below the interval of integration, the scale after one observation relative
#: to that before, and the standard deviation or scale in units of the mean.
MEAN, CENTRE, SPREAD, START, END, TOP, COUNT, BELOW, NARROW, DEVIATION = range(10)
#: The first row of the parameters of the family; ROOM is the number of rows of a family with three
#: parameters or fewer.
PARAMETERS = 10
ROOM = PARAMETERS + 10
_MIX = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)


@kernel()
def _same(one: Floats, other: Floats) -> bool:
    i = 0
    while i < one.size and one[i] == other[i]:
        i += 1
    return i == one.size


@kernel()
def group_rows(rows: Floats, group: Ints, first: Ints) -> int:
    """Number the distinct rows in the order of their first occurrence; return their count.

    ``group[k]`` is the number of row k; ``first[d]`` is the first row with number d.
    """
    slots = 8
    while slots < 2 * rows.shape[0]:
        slots *= 2
    table = np.full(slots, -1)
    distinct = 0
    for k in range(rows.shape[0]):
        mixed = np.uint64(1)
        for i in range(rows.shape[1]):
            # (adding 0.0 turns -0.0 into 0.0, which is equal)
            mixed = (mixed ^ np.float64(rows[k, i] + 0.0).view(np.uint64)) * _MIX
            mixed ^= mixed >> _32
        at = np.int64(mixed & np.uint64(slots - 1))
        while table[at] >= 0 and not _same(rows[first[table[at]]], rows[k]):
            at = (at + 1) & (slots - 1)
        if table[at] < 0:
            table[at] = distinct
            first[distinct] = k
            distinct += 1
        group[k] = table[at]
    return distinct
