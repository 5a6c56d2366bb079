"""The expected information of rows of a feedback matrix, a trial at a time.

A row shows some arms surely and others with given chances. What it tells hangs on the posteriors of
these arms only: arms that cannot be the best tell nothing and are left out, and rows that may show
arms with the same posteriors share the work, whatever the arms are called.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from graphbandits.jit import kernel
from graphbandits.posteriors.beta_kernels import (
    ALPHA,
    GOOD_ENOUGH,
    REFINEMENTS,
    SETTLED,
    Space,
    choose_arms,
    make_space,
    settle,
)
from graphbandits.posteriors.joint_kernels import fill_information
from graphbandits.posteriors.shape_kernels import COUNT, Setting
from graphbandits.types import Floats, Ints

_MIX = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)


@kernel()
def _read_row(group: Ints, place: Ints, arm: Ints, chance: Floats, seen: Ints, odds: Floats) -> int:
    """The posteriors that a row may show, in order, with their chances; return how many."""
    count = 0
    for i in range(arm.size):
        which = place[group[arm[i]]]
        if which < 0 or chance[i] == 0.0:
            continue
        at = count
        while at > 0 and (
            seen[at - 1] > which or (seen[at - 1] == which and odds[at - 1] < chance[i])
        ):
            seen[at] = seen[at - 1]
            odds[at] = odds[at - 1]
            at -= 1
        seen[at] = which
        odds[at] = chance[i]
        count += 1
    return count


@kernel()
def _same_as_before(row: int, begin: Ints, length: Ints, seen: Ints, table: Ints) -> int:
    """The first row that may show the same posteriors, which may be this one."""
    mixed = np.uint64(length[row])
    for i in range(begin[row], begin[row] + length[row]):
        mixed = (mixed ^ np.uint64(seen[i] + 1)) * _MIX
        mixed ^= mixed >> _32
    at = np.int64(mixed & np.uint64(table.size - 1))
    while table[at] >= 0:
        other = table[at]
        same = length[other] == length[row]
        i = 0
        while same and i < length[row]:
            same = seen[begin[other] + i] == seen[begin[row] + i]
            i += 1
        if same:
            return int(other)
        at = (at + 1) & (table.size - 1)
    table[at] = row
    return row


@kernel()
def _expected(information: Floats, unsure: Ints, odds: Floats, work: Floats) -> float:
    """The mean over which of the unsure arms are seen; ``unsure`` are their places in ``odds``."""
    size = 1 << unsure.size
    for i in range(size):
        work[i] = information[i]
    for p in range(unsure.size - 1, -1, -1):
        size //= 2
        seen = odds[unsure[p]]
        for i in range(size):
            work[i] += seen * (work[size + i] - work[i])
    return float(work[0])


@kernel()
def _outcomes(sure: int, unsure: int) -> float:
    return 2.0**sure * 3.0**unsure


@kernel()
def _fill_rows(
    first: int,
    begin: Ints,
    length: Ints,
    follower: Ints,
    separate: float,
    seen: Ints,
    odds: Floats,
    sure: NDArray[np.bool_],
    active: int,
    panels: int,
    total: float,
    space: Space,
    found: Floats,
) -> float:
    """Fill in all rows that may show the same posteriors, ``first`` and those that follow it;
    return by how much the chances of being best miss 1 afterwards.

    One table for all of them serves each set of arms, as long as that takes no more outcomes than
    one table for each row, ``separate``.
    """
    size = length[first]
    here = slice(begin[first], begin[first] + size)
    certain = 0
    for p in range(size):
        certain += sure[begin[first] + p]
    shared = _outcomes(certain, size - certain) <= separate
    order = np.empty(size, np.int64)
    information, work = np.empty((2, 1))
    unsure = 0
    worst = 0.0
    row = first
    while row >= 0:
        chances = odds[begin[row] : begin[row] + size]
        if row == first or not shared:
            unsure = 0
            last = size
            for p in range(size):
                if sure[begin[first] + p] if shared else chances[p] == 1.0:
                    last -= 1
                    order[last] = p
                else:
                    order[unsure] = p
                    unsure += 1
            information, work = np.empty((2, 1 << unsure))
            off = fill_information(
                space.arms,
                active,
                seen[here][order],
                unsure,
                space.work[ALPHA],
                space.r,
                space.panels_of,
                panels,
                space.line,
                information,
            )
            worst = max(worst, off)
        found[row] = _expected(information, order[:unsure], chances, work) / total
        row = follower[row]
    return worst


@kernel()
def information_kernel(
    a: Floats,
    b: Floats,
    setting: Setting,
    strict: bool,
    start: Ints,
    arm: Ints,
    chance: Floats,
    found: Floats,
    defect: Floats,
) -> None:
    """Fill the expected information of each row of each trial (B, rows), and the defect of the
    chances of being best, before and after the outcomes (B,).

    Row i of trial t shows ``arm[start[t, i]:start[t, i + 1]]`` with these chances; if ``start`` has
    one line, it is that of all trials.
    """
    trials, count = a.shape
    rows = found.shape[1]
    setting = Setting(
        setting.reach + math.log(count), setting.panel, setting.change, setting.relief
    )
    space = make_space(count)
    entries = 0
    for line in start:
        entries = max(entries, line[rows] - line[0])
    seen = np.empty(entries, np.int64)
    odds = np.empty(entries)
    sure = np.empty(entries, np.bool_)
    begin, length, follower, last = np.empty((4, rows), np.int64)
    separate = np.empty(rows)
    slots = 2
    while slots < 2 * rows:
        slots *= 2
    table = np.empty(slots, np.int64)
    for t in range(trials):
        space, active, lead, padded, low = choose_arms(a[t], b[t], setting, count, space)
        for i in range(rows):
            found[t, i] = 0.0
        defect[t] = 0.0
        if active == 1 and space.arms[COUNT, 0] == 1.0:
            continue
        line = start[t if start.shape[0] > 1 else 0]
        table[:] = -1
        at = 0
        for i in range(rows):
            here = slice(line[i], line[i + 1])
            begin[i] = at
            length[i] = _read_row(
                space.group, space.place, arm[here], chance[here], seen[at:], odds[at:]
            )
            at += length[i]
            other = _same_as_before(i, begin, length, seen, table)
            separate[i] = 0.0
            follower[i] = -1
            if other != i:
                follower[last[other]] = i
            last[other] = i
            certain = 0
            for k in range(length[i]):
                mine, its = begin[i] + k, begin[other] + k
                sure[mine] = odds[mine] == 1.0
                certain += sure[mine]
                sure[its] &= sure[mine]
            separate[other] += _outcomes(certain, length[i] - certain)
        before = np.inf
        scale = 1.0
        for _ in range(REFINEMENTS):
            space, panels, _, total, off, scale = settle(
                active, lead, padded, low, setting, strict, scale, space
            )
            if off >= 1.0:
                defect[t] = off
                break
            worst = off
            for i in range(rows):
                if separate[i] > 0.0 and length[i] > 0:  # the first of its kind
                    off = _fill_rows(
                        i,
                        begin,
                        length,
                        follower,
                        separate[i],
                        seen,
                        odds,
                        sure,
                        active,
                        panels,
                        total,
                        space,
                        found[t],
                    )
                    worst = max(worst, off)
            defect[t] = worst
            if worst <= SETTLED or 0.5 * before < worst < GOOD_ENOUGH:
                break
            before = worst
            scale *= 0.5
