"""From densities and distribution functions to alpha, Delta and h.

With r_i = g_i / F_i and the product P of all distribution functions, on the logit axis,

    alpha_i = int r_i P du,    W_ij = int r_i r_j P du,    Delta_L = int F_L (1 - P / F_L) dx.

F has a positive floor, and the F_i in r_i is the very number in P, so the quotients are exact to
rounding whatever the error of F_i. Conditional means, regrets and divergences come from W and
from survivals, never from differences of means.

A column of the table stands for ``count`` arms with one posterior; all its numbers are per arm.
"""

from __future__ import annotations

from graphbandits.jit import REDUCTIONS, kernel
from graphbandits.posteriors.math_kernels import bernoulli_kl, exp_lane, expm1_lane, log_lane
from graphbandits.posteriors.panel_kernels import NODES
from graphbandits.posteriors.shape_kernels import COUNT, LANES, SIZE, A, B
from graphbandits.types import Floats, Ints

#: Up to this number of equal arms their joint distribution function is a product of factors,
#: above it an exponential: a rounding of F would be multiplied by the number of arms.
FEW_EQUAL = 32
#: A conditional mean stays this far inside [0, 1], where rounding might push it out.
INSIDE = 1.0 - 2.0**-50
#: Stands for 0 in a denominator.
TINY = 1e-300


@kernel(inline=True)
def _log_f(big_f: float, survival: float) -> float:
    """log F, from F where it is small and from S where that is."""
    lost = (1.0 - big_f) - survival if big_f > 0.5 else 0.0
    return log_lane(big_f, lost / big_f)


@kernel(fastmath=REDUCTIONS)
def multiply(big_f: Floats, survival: Floats, count: int, product: Floats) -> None:
    """product *= F^count."""
    if count > FEW_EQUAL:
        for i in range(product.size):
            product[i] *= exp_lane(count * _log_f(big_f[i], survival[i]))
        return
    for _ in range(count):
        for i in range(product.size):
            product[i] *= big_f[i]


@kernel(fastmath=REDUCTIONS)
def unite(big_f: Floats, survival: Floats, count: int, some: Floats) -> None:
    """some = 1 - (1 - some) F^count: the chance that an arm lies above, with these arms too."""
    if count == 1:
        for i in range(some.size):
            some[i] += (1.0 - some[i]) * survival[i]
    elif count > 1:
        for i in range(some.size):
            minus, _ = expm1_lane(count * _log_f(big_f[i], survival[i]))
            some[i] -= (1.0 - some[i]) * minus


@kernel(fastmath=REDUCTIONS)
def divide(r: Floats, big_f: Floats) -> None:
    """r /= F."""
    for i in range(r.size):
        r[i] /= big_f[i]


@kernel(fastmath=REDUCTIONS)
def inner(u: Floats, v: Floats) -> float:
    """u.v"""
    s = 0.0
    for i in range(u.size):
        s += u[i] * v[i]
    return s


@kernel(fastmath=REDUCTIONS)
def _row_of_pairs(r: Floats, i: int, ends: Ints, joint: Floats, one: Floats, w: Floats) -> None:
    """w[j] = W_ij for all j; ``one`` is work space for r_i P du."""
    end = ends[i]
    row = r[i, :end]
    for x in range(end):
        one[x] = row[x] * joint[x]
    arms = ends.size
    whole = arms - arms % 4
    for j in range(0, whole, 4):
        n = min(end, max(max(ends[j], ends[j + 1]), max(ends[j + 2], ends[j + 3])))
        r0 = r[j, :n]
        r1 = r[j + 1, :n]
        r2 = r[j + 2, :n]
        r3 = r[j + 3, :n]
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        for x in range(n):
            t = one[x]
            s0 += t * r0[x]
            s1 += t * r1[x]
            s2 += t * r2[x]
            s3 += t * r3[x]
        w[j] = s0
        w[j + 1] = s1
        w[j + 2] = s2
        w[j + 3] = s3
    for j in range(whole, arms):
        n = min(end, ends[j])
        r0 = r[j, :n]
        s0 = 0.0
        for x in range(n):
            s0 += one[x] * r0[x]
        w[j] = s0


@kernel(fastmath=REDUCTIONS)
def _divergence(mean: float, rest: float, shift: Floats, weight: Floats) -> float:
    """sum_j weight_j KL(Bernoulli(m + shift_j) || Bernoulli(m))."""
    s = 0.0
    for j in range(shift.size):
        s += weight[j] * bernoulli_kl(mean, rest, shift[j])
    return s


@kernel(fastmath=REDUCTIONS)
def fill_gains(
    arms: Floats,
    distinct: int,
    panels_of: Ints,
    r: Floats,
    joint: Floats,
    alpha: Floats,
    one: Floats,
    w: Floats,
    shift: Floats,
    weight: Floats,
    h: Floats,
) -> None:
    """h_i = sum_j alpha_j KL(M_ji || m_i), where M_ji - m_i comes from W without cancellation:
    -W_ij / (n_i alpha_j) for j != i, and sum_{j != i} W_ij / (n_i alpha_i) for j = i.

    ``one``, ``w``, ``shift`` and ``weight`` are work space.
    """
    number = arms[COUNT]
    ends = panels_of[:distinct] * NODES
    for i in range(distinct):
        _row_of_pairs(r, i, ends, joint, one, w)
        size = arms[SIZE, i]
        mean = arms[A, i] / size
        rest = arms[B, i] / size
        most_down = mean * INSIDE
        others = number[i] - 1.0  # equal ones
        own = others * w[i]
        w_here = w[i]
        w[i] = 0.0
        for j in range(distinct):
            own += number[j] * w[j]
            # an arm that is never best has alpha = W = 0: 0/tiny is 0, and it counts for nothing
            shift[j] = -min(most_down, w[j] / max(size * alpha[j], TINY))
            weight[j] = number[j] * alpha[j]
        terms = distinct
        if others > 0.0:
            shift[terms] = -min(most_down, w_here / max(size * alpha[i], TINY))
            weight[terms] = others * alpha[i]
            terms += 1
        shift[i] = min(rest * INSIDE, own / max(size * alpha[i], TINY))
        weight[i] = alpha[i]
        while terms % LANES:
            shift[terms] = 0.0
            weight[terms] = 0.0
            terms += 1
        h[i] = _divergence(mean, rest, shift[:terms], weight[:terms])
