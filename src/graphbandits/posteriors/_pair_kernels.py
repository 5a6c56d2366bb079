"""alpha, Delta, h and v from densities and distribution functions.

With r_i = g_i / F_i and the product P of all distribution functions, on the logit axis,

    alpha_i = int r_i P du,    W_ij = int r_i r_j P du,    Delta_L = int F_L (1 - P / F_L) dx.

F has a positive lower limit, and F_i in r_i is the same number as in P, so the quotients are exact
up to rounding for any error of F_i. All results follow from W and survivals, never from differences
of means. A column of the table represents ``count`` arms with the same posterior, per arm.
"""

from __future__ import annotations

import numpy as np

from graphbandits._jit import REDUCTIONS, kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._quadrature_kernels import (
    COUNT,
    LANES,
    NODES,
    SIZE,
    A,
    B,
    bernoulli_kl,
    expm1_lane,
    log_lane,
)

#: Up to this number, equal arms are multiplied one by one; more by a logarithm and an exponential.
FEW_EQUALS = 8.0
#: Up to this number of distinct arms all pairs are computed one by one; above, in blocks.
FEW_DISTINCT = 12
#: Approximate number of divergences per loop.
AT_ONCE = 64
#: Keeps conditional means inside (0, 1) in spite of rounding.
INSIDE = 1.0 - 2.0**-50
#: Replaces 0 in a denominator.
TINY = 1e-300


@kernel(inline=True)
def _log_f(big_f: float, survival: float) -> float:
    """Compute log F from F, or from S if F > 1/2."""
    # it relies on the order of rounding: with REDUCTIONS it would lose S
    by_survival = big_f > 0.5
    z = 1.0 - survival if by_survival else big_f
    lost = (-survival - (z - 1.0)) / z if by_survival else 0.0
    return log_lane(z, lost)


@kernel(fastmath=REDUCTIONS)
def fold_equals(
    big_f: Floats, survival: Floats, count: float, product: Floats, some: Floats
) -> None:
    """Add ``count`` more arms with the same F and S."""
    # product *= F^count, and some = 1 - (1 - some) F^count, the probability that an arm lies above
    if count <= FEW_EQUALS:
        for _ in range(int(count)):
            for i in range(big_f.size):
                product[i] *= big_f[i]
                some[i] += (1.0 - some[i]) * survival[i]
        return
    for i in range(big_f.size):
        minus, power = expm1_lane(count * _log_f(big_f[i], survival[i]))
        product[i] *= power
        some[i] -= (1.0 - some[i]) * minus


@kernel(fastmath=REDUCTIONS)
def inner(u: Floats, v: Floats) -> float:
    """Compute the inner product u.v."""
    s = 0.0
    for i in range(u.size):
        s += u[i] * v[i]
    return s


@kernel(fastmath=REDUCTIONS)
def _few_pairs(
    r: Floats, distinct: int, panels_of: Ints, joint: Floats, one: Floats, w: Floats
) -> None:
    """Set w[i, j] = W_ij for all pairs of few arms; ``one`` is work space for r_i P du."""
    for i in range(distinct):
        n = panels_of[i] * NODES
        row, weight, first = r[i, :n], joint[:n], one[:n]
        for x in range(n):
            first[x] = row[x] * weight[x]
        for j in range(i + 1):
            s = inner(first, r[j, :n])
            w[i, j] = s
            w[j, i] = s


@kernel(fastmath=REDUCTIONS)
def fill_two_rows(
    r: Floats,
    i: int,
    k: int,
    distinct: int,
    panels_of: Ints,
    joint: Floats,
    one: Floats,
    two: Floats,
    w: Floats,
) -> None:
    """Set w[0, j] = W_ij and w[1, j] = W_kj for all j, four at a time, with sums in registers."""
    both = max(panels_of[i], panels_of[k]) * NODES
    row_i, row_k, weight = r[i, :both], r[k, :both], joint[:both]
    first, second = one[:both], two[:both]
    for x in range(both):
        first[x] = row_i[x] * weight[x]
        second[x] = row_k[x] * weight[x]
    last = distinct - 1
    for j in range(0, last + 1, 4):
        # (the last one may be computed more than once)
        j1 = min(j + 1, last)
        j2 = min(j + 2, last)
        j3 = min(j + 3, last)
        most = max(max(panels_of[j], panels_of[j1]), max(panels_of[j2], panels_of[j3]))
        n = min(both, most * NODES)
        r0 = r[j, :n]
        r1 = r[j1, :n]
        r2 = r[j2, :n]
        r3 = r[j3, :n]
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        t0 = 0.0
        t1 = 0.0
        t2 = 0.0
        t3 = 0.0
        for x in range(n):
            s0 += first[x] * r0[x]
            s1 += first[x] * r1[x]
            s2 += first[x] * r2[x]
            s3 += first[x] * r3[x]
            t0 += second[x] * r0[x]
            t1 += second[x] * r1[x]
            t2 += second[x] * r2[x]
            t3 += second[x] * r3[x]
        w[0, j] = s0
        w[0, j1] = s1
        w[0, j2] = s2
        w[0, j3] = s3
        w[1, j] = t0
        w[1, j1] = t1
        w[1, j2] = t2
        w[1, j3] = t3


@kernel(fastmath=REDUCTIONS, inline=True)
def fill_row(
    arms: Floats,
    distinct: int,
    i: int,
    per_alpha: Floats,
    alpha: Floats,
    w: Floats,
    shift: Floats,
    weight: Floats,
) -> None:
    """Compute the shifts of the mean of arm i and their probabilities from its row of W."""
    number = arms[COUNT]
    per_size = 1.0 / arms[SIZE, i]
    most_down = arms[A, i] * per_size * INSIDE
    most_up = arms[B, i] * per_size * INSIDE
    others = number[i] - 1.0  # other arms with the same posterior
    own = others * w[i]
    among_equals = -min(most_down, w[i] * per_size * per_alpha[i])
    w[i] = 0.0
    for j in range(distinct):
        own += number[j] * w[j]
        shift[j] = -min(most_down, w[j] * per_size * per_alpha[j])
        weight[j] = number[j] * alpha[j]
    shift[i] = min(most_up, own * per_size * per_alpha[i])
    weight[i] = alpha[i]
    if distinct < shift.size:
        shift[distinct] = among_equals
        weight[distinct] = others * alpha[i]


@kernel(fastmath=REDUCTIONS)
def fill_gains(
    arms: Floats,
    distinct: int,
    panels_of: Ints,
    r: Floats,
    joint: Floats,
    alpha: Floats,
    one: Floats,
    two: Floats,
    few: Floats,
    work: Floats,
    h: Floats,
    v: Floats,
) -> None:
    """Compute h_i = sum_j alpha_j KL(M_ji || m_i) and v_i = sum_j alpha_j (M_ji - m_i)^2."""
    # M_ji - m_i follows from W without cancellation: it is -W_ij / (n_i alpha_j) for j != i, and
    # sum_{j != i} W_ij / (n_i alpha_i) for j = i; an empty ``v`` is not filled
    equals = False
    w, shift, weight, mean, rest = work[:2], work[2], work[3], work[4], work[5]
    per_alpha = work[6]
    for i in range(distinct):
        # an arm that is never best has alpha = W = 0: 0/tiny is 0, so it contributes nothing
        per_alpha[i] = 1.0 / max(alpha[i], TINY)
        equals = equals or arms[COUNT, i] > 1.0
    if distinct <= FEW_DISTINCT:
        _few_pairs(r, distinct, panels_of, joint, one, few)
    width = distinct + 1 if equals else distinct
    together = max(2, AT_ONCE // width)
    for first in range(0, distinct, together):
        rows = min(together, distinct - first)
        for k in range(rows):
            i = first + k
            here = slice(k * width, (k + 1) * width)
            if distinct <= FEW_DISTINCT:
                for j in range(distinct):
                    w[k % 2, j] = few[i, j]
            elif k % 2 == 0:
                k_next = min(i + 1, distinct - 1)
                fill_two_rows(r, i, k_next, distinct, panels_of, joint, one, two, w)
            fill_row(arms, distinct, i, per_alpha, alpha, w[k % 2], shift[here], weight[here])
            mean[here] = arms[A, i] / arms[SIZE, i]
            rest[here] = arms[B, i] / arms[SIZE, i]
        if v.size > 0:
            for k in range(rows):
                total = 0.0
                for x in range(k * width, (k + 1) * width):
                    total += weight[x] * (shift[x] * shift[x])
                v[first + k] = total
        # one loop for several rows, without a rest: a row of few arms is too short for vector units
        n = rows * width
        end = n + (-n) % LANES
        shift[n:end] = 0.0
        weight[n:end] = 0.0
        mean[n:end] = 0.5
        rest[n:end] = 0.5
        for x in range(end):
            shift[x] = weight[x] * bernoulli_kl(mean[x], rest[x], shift[x])
        for k in range(rows):
            total = 0.0
            for x in range(k * width, (k + 1) * width):
                total += shift[x]
            h[first + k] = total


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
    """Number the distinct pairs (a, b) in the order of their first arms; return their count."""
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
