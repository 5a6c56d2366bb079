"""h and v of very many distinct posteriors, without a loop over all pairs of arms.

Given that arm j is best, the mean of arm i is lower by q_ij / n_i with q_ij = W_ij / alpha_j (see
:mod:`graphbandits.posteriors._pair_kernels`), and

    h_i = alpha_i KL(own shift) + sum_{j != i} alpha_j f_i(q_ij),
    f_i(q) = (a_i phi(-q / a_i) + b_i phi(q / b_i)) / n_i,    phi(u) = (1 + u) log(1 + u) - u.

With many arms, the q_ij of one arm are close to their mean c_i. A Taylor series at c_i needs only
the moments sum_j alpha_j (q_ij - c_i)^k, k = 2, 3 and 4. The functions r_i are nearly linear
combinations of a few of them, chosen by a pivoted Gram-Schmidt process: q_ij - c_i = y_i . d_j with
short vectors. A moment is a form in y_i, whose coefficients, sums over j, are the same for all i.

The error of every arm is estimated from above: the rest of the series (phi differs from
u^2/2 - u^3/6 + u^4/12 by at most u^4/4 for u >= -1), and the parts of r_i and r_j outside of the
chosen functions (Cauchy and Schwarz). An arm whose estimate is too large is computed from all its
pairs: few, except if most arms have a parameter a of about 1/K to 30/K.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import REDUCTIONS, kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._beta_kernels import (
    ALPHA,
    GAIN,
    JOINT,
    MANY_DISTINCT,
    VARIANCE,
    choose_arms,
    copy_to_arms,
    enlarge,
    has_room,
    integrate_adaptively,
    make_space,
    with_reach,
)
from graphbandits.posteriors._pair_kernels import (
    INSIDE,
    TINY,
    fill_row,
    fill_two_rows,
    group_arms,
    inner,
)
from graphbandits.posteriors._quadrature_kernels import (
    COUNT,
    NODES,
    SIZE,
    A,
    B,
    Setting,
    bernoulli_kl,
)

#: Largest number of chosen functions.
MOST_RANK = 12
#: Largest accepted bound of an error of h.
ACCEPTED_BOUND = 1e-11
#: Upper limit of pairs of arms in a trial: they take minutes.
MOST_PAIRS = 10**10
#: Total probability of being best of the arms j that may be omitted.
OMITTED = 1e-13
#: Arms that are best with a larger probability are computed from all pairs: the sums over the
#: other arms are differences with their own terms.
LEADING = 0.01
#: Arms whose mean would become smaller than this share of it are computed from all pairs.
LEAST_MEAN = 1e-3
#: Relative rounding error of a squared norm.
NORM_ROUNDING = 1e-15
#: No more functions are chosen if sqrt(f'' rest spread) is smaller; see ``_choose_functions``.
SMALL_REST = 1e-10
#: Rows of work space: int r^2 P du, the mean c of q, f''(c) or 0 if the arm is computed from all
#: pairs, and the square norm of the part of r outside of the chosen functions.
SQUARE, MEAN_Q, BEND, REST = range(3, 7)


@kernel(fastmath=REDUCTIONS)
def _square(row: Floats, weight: Floats) -> float:
    """Compute the sum of row^2 weight."""
    s = 0.0
    for x in range(row.size):
        s += row[x] * row[x] * weight[x]
    return s


@kernel(fastmath=REDUCTIONS)
def _sum_rows(r: Floats, number: Floats, distinct: int, panels_of: Ints, total: Floats) -> None:
    """Compute the sum of r over all arms."""
    for x in range(total.size):
        total[x] = 0.0
    for i in range(distinct):
        n = panels_of[i] * NODES
        row, sums = r[i, :n], total[:n]
        for x in range(n):
            sums[x] += number[i] * row[x]


@kernel(fastmath=REDUCTIONS)
def _fill_means(
    arms: Floats,
    distinct: int,
    panels_of: Ints,
    r: Floats,
    joint: Floats,
    alpha: Floats,
    least: float,
    total: Floats,
    weighted_total: Floats,
    work: Floats,
) -> tuple[float, float]:
    """Fill the rows SQUARE, MEAN_Q, BEND and REST; return the sum of alpha and the spread."""
    # the spread is sum_j alpha_j |d_j|^2, d_j = r_j / alpha_j - total
    mass = 0.0
    spread = 0.0
    square_total = inner(total, weighted_total)
    for i in range(distinct):
        n = panels_of[i] * NODES
        a, b, number = arms[A, i], arms[B, i], arms[COUNT, i]
        square = _square(r[i, :n], joint[:n])
        c = inner(r[i, :n], weighted_total[:n])
        work[SQUARE, i] = square
        work[MEAN_Q, i] = c
        work[REST, i] = square
        series = alpha[i] <= LEADING and a - c > LEAST_MEAN * a
        work[BEND, i] = (1.0 / (a - c) + 1.0 / (b + c)) / arms[SIZE, i] if series else 0.0
        mass += number * alpha[i]
        if alpha[i] >= least:
            spread += number * (square / alpha[i] - 2.0 * c + alpha[i] * square_total)
    return mass, spread


@kernel(fastmath=REDUCTIONS)
def _orthonormalise(
    row: Floats, joint: Floats, basis: Floats, weighted: Floats, rank: int
) -> float:
    """Set ``basis[rank]`` to the part of a row outside of the basis; return its square norm."""
    n = joint.size
    new, new_weighted = basis[rank, :n], weighted[rank, :n]
    for x in range(n):
        new[x] = row[x]
    for _ in range(2):  # the second time removes what rounding has left
        for k in range(rank):
            share = inner(new, weighted[k, :n])
            for x in range(n):
                new[x] -= share * basis[k, x]
    square = _square(new, joint)
    scale = 1.0 / math.sqrt(max(square, TINY))
    for x in range(n):
        new[x] *= scale
        new_weighted[x] = new[x] * joint[x]
    return square


@kernel(fastmath=REDUCTIONS)
def _choose_functions(
    number: Floats,
    distinct: int,
    panels_of: Ints,
    r: Floats,
    joint: Floats,
    alpha: Floats,
    least: float,
    total: Floats,
    spread: float,
    work: Floats,
    y: Floats,
    mean: Floats,
) -> tuple[int, float]:
    """Choose the functions whose rest has the largest effect on h, one after the other."""
    # Return their number and the spread outside of them; this times the rest of an arm bounds the
    # error. ``y`` are the components of all arms, ``mean`` those of the total
    square, bend, rest = work[SQUARE], work[BEND], work[REST]
    nodes = joint.size
    bases = np.empty((2 * MOST_RANK, nodes))
    basis, weighted = bases[:MOST_RANK], bases[MOST_RANK:]
    floor = NORM_ROUNDING * spread
    rank = 0
    while rank < MOST_RANK:
        pivot = 0
        for i in range(distinct):
            if bend[i] * rest[i] > bend[pivot] * rest[pivot]:
                pivot = i
        if bend[pivot] * rest[pivot] * max(spread, floor) <= SMALL_REST * SMALL_REST:
            break
        found = _orthonormalise(r[pivot, :nodes], joint, basis, weighted, rank)
        if found <= NORM_ROUNDING * square[pivot]:
            break
        mean[rank] = inner(total, weighted[rank])
        for i in range(distinct):
            n = panels_of[i] * NODES
            share = inner(r[i, :n], weighted[rank, :n])
            y[i, rank] = share
            rest[i] = max(rest[i] - share * share, NORM_ROUNDING * square[i])
            if alpha[i] >= least:
                change = share / alpha[i] - mean[rank]
                spread -= number[i] * alpha[i] * (change * change)
        rank += 1
    return rank, max(spread, floor)


@kernel(fastmath=REDUCTIONS)
def _append_products(vector: Floats, rank: int, different: float) -> None:
    """Append the products of two components; ``different`` multiplies those of different ones."""
    place = rank
    for k in range(rank):
        for m in range(k):
            vector[place] = different * vector[k] * vector[m]
            place += 1
        vector[place] = vector[k] * vector[k]
        place += 1


@kernel(fastmath=REDUCTIONS)
def _moment_table(
    number: Floats,
    distinct: int,
    alpha: Floats,
    least: float,
    y: Floats,
    mean: Floats,
    rank: int,
) -> Floats:
    """Compute sum_j alpha_j e_j e_j', e_j the components of d_j and the products of two of them."""
    size = rank + rank * (rank + 1) // 2
    vector = np.empty(size)
    table = np.zeros((size, size))
    for j in range(distinct):
        if alpha[j] >= least:
            for k in range(rank):
                vector[k] = y[j, k] / alpha[j] - mean[k]
            _append_products(vector, rank, 1.0)
            for k in range(size):
                row, scaled = table[k, : k + 1], number[j] * alpha[j] * vector[k]
                for m in range(k + 1):
                    row[m] += scaled * vector[m]
    for k in range(size):
        for m in range(k):
            table[m, k] = table[k, m]
    return table


@kernel(fastmath=REDUCTIONS)
def _form(table: Floats, left: Floats, right: Floats) -> float:
    """Compute left' table right."""
    s = 0.0
    for k in range(left.size):
        s += left[k] * inner(table[k, : right.size], right)
    return s


@kernel()
def _sum_series(
    a: float,
    b: float,
    alpha: float,
    mass: float,
    square: float,
    c: float,
    bend: float,
    remote: float,
    two: float,
    three: float,
    four: float,
) -> tuple[float, float, float]:
    """Compute h and v of one arm, and a bound of the error of h."""
    # the moments of q - c are over all arms, the arm itself included
    n = a + b
    mean, rest = a / n, b / n
    own = c - square
    per_alpha = 1.0 / max(alpha, TINY)
    itself = square * per_alpha - c
    others = mass - alpha
    error = bend * (math.sqrt(max(two, 0.0) * remote) + 0.5 * remote)
    two = max(two - alpha * itself**2, 0.0)
    three -= alpha * itself**3
    four = max(four - alpha * itself**4, 0.0)
    by_a = 1.0 / (a - c)
    by_b = 1.0 / (b + c)
    h = alpha * bernoulli_kl(mean, rest, min(rest * INSIDE, own * per_alpha / n))
    h += others * bernoulli_kl(mean, rest, -c / n)
    h += (
        two / 2.0 * (by_a + by_b)
        + three / 6.0 * (by_a**2 - by_b**2)
        + four / 12.0 * (by_a**3 + by_b**3)
        - alpha * itself * (math.log1p(c / b) - math.log1p(-c / a))
    ) / n
    v = (two + c * (others * c - 2.0 * alpha * itself) + own**2 * per_alpha) / n**2
    error += four / 4.0 * (by_a**3 + by_b**3) / n
    return max(h, 0.0), max(v, 0.0), error


@kernel(fastmath=REDUCTIONS)
def _fill_from_pairs(
    arms: Floats,
    distinct: int,
    panels_of: Ints,
    r: Floats,
    joint: Floats,
    alpha: Floats,
    lines: Floats,
    work: Floats,
    h: Floats,
    v: Floats,
) -> None:
    """Compute h and v of the arms with a negative h from all pairs."""
    w, shift, weight, per_alpha = work[:2], work[2], work[3], work[4]
    for j in range(distinct):
        per_alpha[j] = 1.0 / max(alpha[j], TINY)
    width = distinct + 1
    i = 0
    while i < distinct:
        if h[i] >= 0.0:
            i += 1
            continue
        second = i + 1
        while second < distinct and h[second] >= 0.0:
            second += 1
        last = min(second, distinct - 1)
        fill_two_rows(r, i, last, distinct, panels_of, joint, lines[0], lines[1], w)
        for k in range(1 if second == distinct else 2):
            arm = i if k == 0 else last
            fill_row(arms, distinct, arm, per_alpha, alpha, w[k], shift[:width], weight[:width])
            mean = arms[A, arm] / arms[SIZE, arm]
            rest = arms[B, arm] / arms[SIZE, arm]
            gain = 0.0
            variance = 0.0
            for x in range(width):
                gain += weight[x] * bernoulli_kl(mean, rest, shift[x])
                variance += weight[x] * (shift[x] * shift[x])
            h[arm] = max(gain, 0.0)
            if v.size > 0:
                v[arm] = variance
        i = second + 1


@kernel()
def fill_gains_of_many(
    arms: Floats,
    distinct: int,
    panels_of: Ints,
    r: Floats,
    joint: Floats,
    alpha: Floats,
    accepted: float,
    most: int,
    work: Floats,
    h: Floats,
    v: Floats,
) -> int:
    """Compute h and v as ``fill_gains`` does, with an additional error of about ``accepted``."""
    # Return the number of arms that must be computed from all pairs; above ``most`` they are not
    number = arms[COUNT]
    lines = np.empty((2, joint.size))
    total, weighted_total = lines[0], lines[1]
    together = 0.0
    for i in range(distinct):
        together += number[i]
    least = OMITTED / together
    _sum_rows(r, number, distinct, panels_of, total)
    for x in range(joint.size):
        weighted_total[x] = total[x] * joint[x]
    mass, spread = _fill_means(
        arms, distinct, panels_of, r, joint, alpha, least, total, weighted_total, work
    )
    y = np.empty((distinct, MOST_RANK))
    mean = np.empty(MOST_RANK)
    rank, spread = _choose_functions(
        number, distinct, panels_of, r, joint, alpha, least, total, spread, work, y, mean
    )
    table = _moment_table(number, distinct, alpha, least, y, mean, rank)
    vector = np.empty(table.shape[0])
    first, second = vector[:rank], vector[rank:]
    for i in range(distinct):
        h[i] = -1.0  # from all pairs, below
        if work[BEND, i] > 0.0:
            for k in range(rank):
                vector[k] = y[i, k]
            _append_products(vector, rank, 2.0)
            gain, variance, error = _sum_series(
                arms[A, i],
                arms[B, i],
                alpha[i],
                mass,
                work[SQUARE, i],
                work[MEAN_Q, i],
                work[BEND, i],
                work[REST, i] * spread,
                _form(table, first, first),
                _form(table[rank:], second, first),
                _form(table[rank:, rank:], second, second),
            )
            if error <= accepted:
                h[i] = gain
                if v.size > 0:
                    v[i] = variance
    exact = 0
    for i in range(distinct):
        exact += 1 if h[i] < 0.0 else 0
    if exact <= most:
        _fill_from_pairs(arms, distinct, panels_of, r, joint, alpha, lines, work, h, v)
    return exact


@kernel()
def many_beliefs_kernel(
    a: Floats,
    b: Floats,
    setting: Setting,
    cut: float,
    most: int,
    alpha: Floats,
    delta: Floats,
    h: Floats,
    v: Floats,
    rho: Floats,
    defect: Floats,
) -> float:
    """Compute the trials that ``beliefs_kernel`` leaves out: above MANY_DISTINCT posteriors."""
    # Return the largest number of pairs of arms that a trial needs; above MOST_PAIRS the results
    # are not complete. Trials with more than ``most`` distinct posteriors are left out
    largest = 0.0
    trials, count = a.shape
    setting = with_reach(setting, count)
    space = make_space(count)
    for t in range(trials):
        distinct = group_arms(a[t], b[t], space.group, space.first)
        if not has_room(space, distinct):
            space = enlarge(space, distinct, 0, 0)
        active, lead, padded, low = choose_arms(a[t], b[t], distinct, setting, most, space)
        if not MANY_DISTINCT < active <= most:
            continue
        panels = -1
        while panels < 0:
            panels, regret, total, defect[t], _ = integrate_adaptively(
                active, lead, padded, low, setting, False, cut, space
            )
            if panels < 0:
                space = enlarge(space, distinct, active, -panels)
        if defect[t] < 1.0:
            work = space.work
            exact = fill_gains_of_many(
                space.arms,
                active,
                space.panels_of,
                space.r,
                space.line[JOINT, : panels * NODES],
                work[ALPHA],
                ACCEPTED_BOUND,
                MOST_PAIRS // active,
                work,
                work[GAIN],
                work[VARIANCE] if v.size > 0 else work[VARIANCE, :0],
            )
            largest = max(largest, float(exact) * active)
        rho[t] = copy_to_arms(t, a, b, lead, regret, total, space, alpha, delta, h, v)
    return largest
