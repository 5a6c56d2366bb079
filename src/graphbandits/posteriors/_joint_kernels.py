"""Information of arms observed together about the best arm: I(A*; Y_N), Beta-Bernoulli arms.

An outcome changes one factor of the integrand. With r = g/F on the logit axis, an arm with the
outcome 1 becomes Beta(a+1, b), and

    F(a+1, b) / F(a, b) = 1 - r/a,       f(a+1, b) / f(a, b) = 1 + n (x - m) / a,

and for the outcome 0 replace a by -b. So with q = -r, or q = n (x - m) for the best arm itself,
alpha_j after the outcomes y of the set N is a polynomial in c = 1/a or c = -1/b:

    alpha_j(y) = sum over M in N of I_j(M) prod_{k in M} c_k(y_k),
    I_j(M) = int r_j P prod_{k in M} q_k du.

Without I_j({}) = alpha_j the sum is the change u_j = alpha_j(y)/alpha_j - 1, so nothing cancels in
I(A*; Y_N) = sum_y P(y) sum_j alpha_j phi(u_j), phi(u) = (1 + u) log(1 + u) - u. For j outside of M,
I_j(M) = (-1)^|M| int P prod_{k in M and j} r_k is shared. sum_j I_j(M) = 0 gives the change of the
own probability if M has one arm, otherwise it is a check.

A row of a feedback matrix reveals some arms with certainty and others with given probabilities.
Arms that cannot be best are omitted; rows of arms with the same posteriors share the work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphbandits._jit import REDUCTIONS, kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._beta_kernels import (
    ALPHA,
    CONVERGED,
    GOOD_ENOUGH,
    JOINT,
    NODE_TABLE,
    REFINEMENTS,
    Space,
    choose_arms,
    enlarge,
    has_room,
    integrate_adaptively,
    make_space,
    with_reach,
)
from graphbandits.posteriors._pair_kernels import INSIDE, TINY, group_arms, inner
from graphbandits.posteriors._quadrature_kernels import (
    CENTRE,
    COUNT,
    NODES,
    PLACE,
    SIZE,
    A,
    B,
    Setting,
    level_at,
    phi,
)

#: Upper limit of entries of the table of integrals; a larger table is computed in pieces.
MOST_ENTRIES = 2**20
_MIX = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)


@kernel()
def fill_own(arms: Floats, k: int, place: Floats, own: Floats) -> None:
    """Compute n (x - m) of an arm at the nodes: the slope of its level."""
    a, b, centre = arms[A, k], arms[B, k], arms[CENTRE, k]
    for i in range(place.size):
        _, own[i], _ = level_at(a, b, centre, place[i])


@kernel(fastmath=REDUCTIONS)
def _times(one: Floats, other: Floats, product: Floats) -> float:
    """Fill the product of two functions; return its sum."""
    total = 0.0
    for i in range(product.size):
        product[i] = one[i] * other[i]
        total += product[i]
    return total


@kernel()
def _tabulate(
    seen: Ints,
    columns: Ints,
    chosen: Ints,
    r: Floats,
    own: Floats,
    joint: Floats,
    ends: Ints,
    lone: Floats,
    z: Floats,
    together: Floats,
    table: Floats,
) -> None:
    """Set table[i, M] = I_j(M) for the i-th of the ``chosen`` columns, and 0 for M = {}."""
    # Arm ``seen[p]`` is bit p of M, and column p; the other columns are arms not observed.
    # ``lone[p]`` is I_p({p}); ``ends`` are the nodes after which r of an arm is 0
    size = seen.size
    length = np.empty(size + 1, np.int64)
    length[0] = joint.size
    for i in range(joint.size):
        z[0, i] = joint[i]
    for subset in range(1, 1 << size):
        lowest = 0
        while not subset >> lowest & 1:
            lowest += 1
        count = 0
        for p in range(size):
            count += subset >> p & 1
        # the last set visited with one arm less is this one without its lowest bit
        n = min(length[count - 1], ends[seen[lowest]])
        length[count] = n
        product = z[count, :n]
        together[subset] = _times(z[count - 1, :n], r[seen[lowest], :n], product)
        sign = 1.0 - 2.0 * (count % 2)
        for i in range(chosen.size):
            c = chosen[i]
            if c >= size:
                table[i, subset] = sign * inner(r[columns[c], :n], product)
            elif subset == 1 << c:
                table[i, subset] = lone[c]
            elif subset >> c & 1:
                table[i, subset] = -sign * inner(own[c, :n], product)
    for i in range(chosen.size):
        c = chosen[i]
        table[i, 0] = 0.0
        if c < size:
            for subset in range(1, 1 << size):
                if not subset >> c & 1:
                    odd = 0
                    for p in range(size):
                        odd ^= subset >> p & 1
                    whole = together[subset | 1 << c]
                    table[i, subset] = -whole if odd else whole


@kernel(fastmath=REDUCTIONS)
def _to_outcomes(
    arms: Floats, seen: Ints, subset: int, subsets: Ints, row: Floats, change: Floats
) -> int:
    """Transform I_j(M) of all M into changes of alpha_j by each outcome; return their number."""
    count = 1
    subsets[0] = 0
    for p in range(seen.size):
        if subset >> p & 1:
            for y in range(count):
                subsets[count + y] = subsets[y] | 1 << p
            count *= 2
    for y in range(count):
        change[y] = row[subsets[y]]
    half = 1
    for p in range(seen.size):
        if subset >> p & 1:
            after_one, after_none = 1.0 / arms[A, seen[p]], -1.0 / arms[B, seen[p]]
            for block in range(0, count, 2 * half):
                without = change[block : block + half]
                within = change[block + half : block + 2 * half]
                for y in range(half):
                    before, step = without[y], within[y]
                    without[y] = before + after_none * step
                    within[y] = before + after_one * step
            half *= 2
    return count


@kernel()
def _fill_chances(arms: Floats, seen: Ints, subset: int, chance: Floats) -> None:
    """Compute P(y) for the outcomes y of a subset of the observed arms."""
    chance[0] = 1.0
    count = 1
    for p in range(seen.size):
        if subset >> p & 1:
            one = arms[A, seen[p]] / arms[SIZE, seen[p]]
            none = arms[B, seen[p]] / arms[SIZE, seen[p]]
            for y in range(count):
                chance[count + y] = chance[y] * one
                chance[y] *= none
            count *= 2


@kernel(fastmath=REDUCTIONS)
def _divergence(change: Floats, chance: Floats, per_alpha: float) -> float:
    """Compute sum_y P(y) phi(u(y))."""
    total = 0.0
    for y in range(change.size):
        total += chance[y] * phi(max(-INSIDE, change[y] * per_alpha))
    return total


@kernel(fastmath=REDUCTIONS)
def _size(change: Floats, chance: Floats) -> float:
    """Compute sum_y P(y) |u(y)|."""
    total = 0.0
    for y in range(change.size):
        total += chance[y] * abs(change[y])
    return total


@kernel()
def _separate_columns(arms: Floats, active: int, seen: Ints) -> tuple[Ints, Floats, int]:
    """List the observed arms one by one, then the other arms by their columns."""
    # return the column and the number of arms of each entry, and the number of entries
    size = seen.size
    rest = np.empty(active)
    for k in range(active):
        rest[k] = arms[COUNT, k]
    for p in range(size):
        rest[seen[p]] -= 1.0
    columns = np.empty(size + active, np.int64)
    number = np.empty(size + active)
    for p in range(size):
        columns[p] = seen[p]
        number[p] = 1.0
    count = size
    for k in range(active):
        if rest[k] > 0.0:
            columns[count] = k
            number[count] = rest[k]
            count += 1
    return columns, number, count


@kernel()
def fill_information(
    arms: Floats,
    active: int,
    seen: Ints,
    unsure: int,
    alpha: Floats,
    r: Floats,
    panels_of: Ints,
    panels: int,
    line: Floats,
    information: Floats,
) -> float:
    """Compute information[i] = I(A*; Y_N) for the set N of the index i; return the defect."""
    # N has all arms of ``seen`` except the first ``unsure``; of those it has the arms in the bits
    # of i. ``seen`` are columns of the table of arms, each repeated for equal arms
    size = seen.size
    n = panels * NODES
    joint = line[JOINT, :n]
    place = line[NODE_TABLE + PLACE, :n]
    columns, number, count = _separate_columns(arms, active, seen)
    ends = panels_of * NODES
    own = np.empty((size, n))
    z = np.empty((size + 1, n))
    lone = np.zeros(size)
    for p in range(size):
        fill_own(arms, seen[p], place, own[p])
        end = ends[seen[p]]
        _times(joint[:end], r[seen[p], :end], z[0, :end])
        for c in range(count):
            if c != p:
                lone[p] += number[c] * inner(r[columns[c], :end], z[0, :end])
    subsets = np.empty(1 << size, np.int64)
    space = np.empty((4, 1 << size))
    together, change, chance, total = space[0], space[1], space[2], space[3]
    for y in range(1 << size):
        total[y] = 0.0
    # the likeliest arm comes last: the sum over all arms, which must be 0, corrects its integrals
    order = np.arange(count)
    leader = 0
    for c in range(count):
        leader = c if alpha[columns[c]] > alpha[columns[leader]] else leader
    order[leader] = count - 1
    order[count - 1] = leader
    for i in range(1 << unsure):
        information[i] = 0.0
    sure = (1 << size) - (1 << unsure)
    width = max(1, min(count, MOST_ENTRIES >> size))
    table = np.empty((width, 1 << size))
    defect = 0.0
    for begin in range(0, count, width):
        chosen = order[begin : begin + width]
        _tabulate(seen, columns, chosen, r, own, joint, ends, lone, z, together, table)
        for i in range(chosen.size):
            for subset in range(1 << size):
                total[subset] += number[chosen[i]] * table[i, subset]
        if begin + width >= count:
            every = (1 << size) - 1
            outcomes = _to_outcomes(arms, seen, every, subsets, total, change)
            _fill_chances(arms, seen, every, chance)
            defect = _size(change[:outcomes], chance[:outcomes])
            if leader < size:
                for subset in range(1 << size):
                    if subset >> leader & 1:
                        table[chosen.size - 1, subset] -= total[subset]
        for i in range(1 << unsure):
            _fill_chances(arms, seen, sure | i, chance)
            for k in range(chosen.size):
                c = chosen[k]
                outcomes = _to_outcomes(arms, seen, sure | i, subsets, table[k], change)
                per_alpha = 1.0 / max(alpha[columns[c]], TINY)
                divergence = _divergence(change[:outcomes], chance[:outcomes], per_alpha)
                information[i] += number[c] * alpha[columns[c]] * divergence
    return defect


@kernel()
def _read_row(group: Ints, place: Ints, arm: Ints, chance: Floats, seen: Ints, odds: Floats) -> int:
    """Fill the posteriors of a row, sorted, with their probabilities; return their number."""
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
    """Return the first row with the same posteriors, which can be this row."""
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
    """Compute the mean over the random set of observed arms; ``unsure`` indexes ``odds``."""
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
    """Fill all rows with the same posteriors as row ``first``; return the defect."""
    # one table serves all of them, unless one table per row (``separate``) needs fewer outcomes
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
    """Compute the information (B, rows) of :meth:`BetaBernoulli.information`."""
    # ``defect`` (B,): error of the sum of probabilities of being best, before and after outcomes
    trials, count = a.shape
    rows = found.shape[1]
    setting = with_reach(setting, count)
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
        distinct = group_arms(a[t], b[t], space.group, space.first)
        if not has_room(space, distinct):
            space = enlarge(space, distinct, 0, 0)
        active, lead, padded, low = choose_arms(a[t], b[t], distinct, setting, count, space)
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
            panels = -1
            while panels < 0:
                panels, _, total, off, found_scale = integrate_adaptively(
                    active, lead, padded, low, setting, strict, scale, space
                )
                if panels < 0:
                    space = enlarge(space, distinct, active, -panels)
            scale = found_scale
            if off >= 1.0:
                defect[t] = off
                break
            worst = off
            for i in range(rows):
                if separate[i] > 0.0 and length[i] > 0:  # the first row with these posteriors
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
            if worst <= CONVERGED or 0.5 * before < worst < GOOD_ENOUGH:
                break
            before = worst
            scale *= 0.5
