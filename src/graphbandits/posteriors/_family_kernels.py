"""Table of arms for families whose means have one-dimensional densities.

The arms of one problem are the columns of a table. Its first rows are common to all families; the
rows from PARAMETERS on belong to the family. Places are on the axis of the family, relative to the
mean of the leader (the arm with the largest mean), so that narrow posteriors far from 0 keep their
digits.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._quadrature_kernels import (
    FEW_ARMS,
    MOST_FALL,
    MOST_PANELS,
    NODE,
    NODES,
    WEIGHT,
    Setting,
    exp_lane,
    expm1_lane,
    log1p_lane,
    stirling_error,
)

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
    """Number the distinct rows in the order of their first occurrence; return their count."""
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


#: Rows of the table.
SHAPE_OF_GAMMA, RATE = PARAMETERS, PARAMETERS + 1
_LOG_2PI = math.log(2.0 * math.pi)
#: Below this number, the difference of an exponential and a straight line is a series.
_SMALL = 0.3
#: Scale of the panels in standard deviations: less than 1, because the density is not symmetric.
PART = 0.92


@kernel(fastmath={"contract"}, inline=True)
def exp_minus_line(d: float) -> float:
    """Compute e^d - 1 - d, without cancellation near 0."""
    s = 1.0 / 6227020800.0
    s = s * d + 1.0 / 479001600.0
    s = s * d + 1.0 / 39916800.0
    s = s * d + 1.0 / 3628800.0
    s = s * d + 1.0 / 362880.0
    s = s * d + 1.0 / 40320.0
    s = s * d + 1.0 / 5040.0
    s = s * d + 1.0 / 720.0
    s = s * d + 1.0 / 120.0
    s = s * d + 1.0 / 24.0
    s = s * d + 1.0 / 6.0
    s = s * d + 0.5
    rise, _ = expm1_lane(d)
    return d * d * s if abs(d) < _SMALL else rise - d


@kernel()
def line_minus_log(e: float) -> float:
    """Compute e - log(1 + e) for e > -1, without cancellation near 0."""
    if abs(e) > 0.1:
        return e - math.log1p(e)
    s = e / (2.0 + e)
    w = s * s
    series = 1.0 / 15.0
    for k in (13.0, 11.0, 9.0, 7.0, 5.0, 3.0):
        series = 1.0 / k + w * series
    return s * (e - 2.0 * w * series)


@kernel()
def _place_gamma(arms: Floats, k: int, centre: float, reach: float) -> None:
    a = arms[SHAPE_OF_GAMMA, k]
    arms[CENTRE, k] = centre
    arms[SPREAD, k] = 1.0 / math.sqrt(a)
    arms[TOP, k] = 0.5 * (math.log(a) - _LOG_2PI) - stirling_error(a)
    y = (reach + 4.0) / a
    far = y + math.sqrt(2.0 * y)
    arms[START, k] = centre - far
    d = math.log1p(far)
    # a Newton step on a convex function ends outside
    arms[END, k] = centre + d - (math.expm1(d) - d - y) / math.expm1(d)


@kernel()
def set_gamma(arms: Floats, k: int, origin: float, reach: float) -> None:
    """Fill the column of an arm from its parameters."""
    part = arms[MEAN, k] / origin
    near = (arms[MEAN, k] - origin) / origin
    _place_gamma(arms, k, math.log(part) if part < 0.5 else math.log1p(near), reach)
    arms[DEVIATION, k] = arms[MEAN, k] * arms[SPREAD, k]
    b = arms[RATE, k]
    arms[NARROW, k] = math.sqrt(b / (b + 1.0))


@kernel()
def gamma_shape(arms: Floats, k: int, t: float) -> tuple[float, float, float]:
    """Return the log density at t, its slope, and the scale on which it changes."""
    a = arms[SHAPE_OF_GAMMA, k]
    d = t - arms[CENTRE, k]
    log_g = arms[TOP, k] - a * exp_minus_line(d)
    slope = -a * math.expm1(min(d, 700.0))
    # b x is a e^d; far below 1 the density is a power of x
    log_bx = math.log(a) + d
    scale = math.exp(-0.5 * max(log_bx, -700.0))
    return log_g, slope, PART * min(scale, max(1.0, -0.12 * log_bx))


@kernel()
def fill_gamma(arms: Floats, k: int, place: Floats, g: Floats) -> None:
    """Compute the density on the axis at the nodes."""
    a, centre, top = arms[SHAPE_OF_GAMMA, k], arms[CENTRE, k], arms[TOP, k]
    for i in range(g.size):
        g[i] = exp_lane(top - a * exp_minus_line(place[i] - centre))


@kernel()
def gamma_difference(origin: float, t: float, other: float) -> float:
    """Compute x(t) - x(other)."""
    if t >= other:
        return -origin * math.exp(t) * math.expm1(other - t)
    return origin * math.exp(other) * math.expm1(t - other)


@kernel()
def fill_gamma_widths(origin: float, place: Floats, dt: Floats, dx: Floats) -> None:
    """Compute dx = x dt."""
    for i in range(dx.size):
        dx[i] = origin * math.exp(place[i]) * dt[i]


@kernel()
def gamma_after(arms: Floats, k: int, y: float, reach: float, after: Floats) -> None:
    """Fill column 0 of ``after`` with the posterior after an outcome."""
    a, b = arms[SHAPE_OF_GAMMA, k], arms[RATE, k]
    after[SHAPE_OF_GAMMA, 0] = a + y
    _place_gamma(after, 0, arms[CENTRE, k] + math.log1p(y / a) - math.log1p(1.0 / b), reach)


@kernel()
def log_negative_binomial(a: float, b: float, y: float) -> float:
    """Compute the log probability of the count y, by Loader's saddle-point form."""
    if y == 0.0:
        return -a * math.log1p(1.0 / b)
    n = a + y
    apart = (y * b - a) / (b + 1.0)
    deviance = a * line_minus_log(apart / a) + y * line_minus_log(-apart / y)
    error = stirling_error(n) - stirling_error(a) - stirling_error(y)
    return error - deviance + 0.5 * (math.log(a / y) - math.log(n) - _LOG_2PI)


@kernel()
def gamma_predictive(arms: Floats, k: int, y: float) -> tuple[float, float]:
    """Compute the probability of the count y, and the scale on which it changes."""
    a, b = arms[SHAPE_OF_GAMMA, k], arms[RATE, k]
    near = 0.5 * (y + 1.0)  # Gamma(y + a) / Gamma(y + 1) has poles near 0
    return math.exp(log_negative_binomial(a, b, y)), min(math.sqrt(y * (a + y) / a) + 1.0, near)


@kernel()
def gamma_outcome_ends(arms: Floats, k: int, reach: float) -> tuple[float, float]:
    """Return the smallest and the largest count that cannot be neglected."""
    a, b = arms[SHAPE_OF_GAMMA, k], arms[RATE, k]
    least = -reach - 6.0
    mode = max(0.0, math.floor((a - 1.0) / b))
    step = math.ceil(math.sqrt(a / b * (1.0 + 1.0 / b))) + 1.0
    high = mode + step
    while log_negative_binomial(a, b, high) + math.log(high) > least:
        high = mode + 1.5 * (high - mode)
    low = 0.0
    if log_negative_binomial(a, b, 0.0) < least:
        right = mode
        while right - low > 0.1 * (mode - low) + 1.0:
            middle = math.floor(0.5 * (low + right))
            if log_negative_binomial(a, b, middle) + math.log(mode) < least:
                low = middle
            else:
                right = middle
    return low, math.ceil(high)


@kernel()
def fill_gamma_ratio(arms: Floats, k: int, y: float, place: Floats, ratio: Floats) -> None:
    """Compute L(y | x) / p(y) - 1 at the nodes."""
    # the ratio of the densities after and before the outcome, relative to that at the mean
    a, b, centre = arms[SHAPE_OF_GAMMA, k], arms[RATE, k], arms[CENTRE, k]
    mean = a / b
    apart = y - mean
    first = 0.5 * math.log1p(y / a) - (stirling_error(a + y) - stirling_error(a))
    first -= (a + y) * line_minus_log(-apart / (a + y))
    for i in range(ratio.size):
        d = place[i] - centre
        ratio[i], _ = expm1_lane(first + (apart * d - mean * exp_minus_line(d)))


#: Rows of the table: parameters (mean, standard deviation, noise), and w, sqrt(w), 1 - w.
SD, NOISE = PARAMETERS + 1, PARAMETERS + 2
WEIGHT_OF_OUTCOME, ROOT, REST = PARAMETERS + 3, PARAMETERS + 4, PARAMETERS + 5
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@kernel()
def set_normal(arms: Floats, k: int, origin: float, reach: float) -> None:
    """Fill the column of an arm from its parameters."""
    s, noise = arms[SD, k], arms[NOISE, k]
    ratio = s / noise
    both = 1.0 + ratio * ratio
    arms[REST, k] = 1.0 / both
    arms[WEIGHT_OF_OUTCOME, k] = ratio * ratio / both
    arms[ROOT, k] = ratio / math.sqrt(both)
    arms[NARROW, k] = math.sqrt(arms[REST, k])
    arms[CENTRE, k] = arms[MEAN, k] - origin
    arms[SPREAD, k] = s
    arms[DEVIATION, k] = s
    arms[TOP, k] = -_HALF_LOG_2PI - math.log(s)
    far = math.sqrt(2.0 * reach) * s
    arms[START, k] = arms[CENTRE, k] - far
    arms[END, k] = arms[CENTRE, k] + far


@kernel()
def normal_shape(arms: Floats, k: int, t: float) -> tuple[float, float, float]:
    """Return the log density at t, its slope, and the scale on which it changes."""
    s = arms[SPREAD, k]
    z = (t - arms[CENTRE, k]) / s
    return arms[TOP, k] - 0.5 * z * z, -z / s, s


@kernel()
def fill_normal(arms: Floats, k: int, place: Floats, g: Floats) -> None:
    """Compute the density at the nodes."""
    centre, top, per_s = arms[CENTRE, k], arms[TOP, k], 1.0 / arms[SPREAD, k]
    for i in range(g.size):
        z = (place[i] - centre) * per_s
        g[i] = exp_lane(top - 0.5 * z * z)


@kernel()
def normal_after(arms: Floats, k: int, e: float, reach: float, after: Floats) -> None:
    """Fill column 0 of ``after`` with the posterior after an outcome."""
    s = arms[SD, k] * arms[NARROW, k]
    after[CENTRE, 0] = arms[CENTRE, k] + arms[SD, k] * arms[ROOT, k] * e
    after[SPREAD, 0] = s
    after[TOP, 0] = -_HALF_LOG_2PI - math.log(s)
    far = math.sqrt(2.0 * reach) * s
    after[START, 0] = after[CENTRE, 0] - far
    after[END, 0] = after[CENTRE, 0] + far


@kernel()
def normal_predictive(e: float) -> float:
    """Compute the density of the outcome e."""
    return math.exp(-0.5 * e * e - _HALF_LOG_2PI)


@kernel()
def fill_normal_ratio(arms: Floats, k: int, e: float, place: Floats, ratio: Floats) -> None:
    """Compute L(y | x) / p(y) - 1 at the nodes for the outcome e."""
    w, rest, centre = arms[WEIGHT_OF_OUTCOME, k], arms[REST, k], arms[CENTRE, k]
    per_s = 1.0 / arms[SD, k]
    c0 = -0.5 * math.log1p(-w) - 0.5 * w * e * e / rest
    c1 = arms[ROOT, k] * e / rest
    c2 = -0.5 * w / rest
    for i in range(ratio.size):
        z = (place[i] - centre) * per_s
        ratio[i], _ = expm1_lane(c0 + z * (c1 + c2 * z))


#: Rows of the table: parameters (mean, count, shape, scale), degrees of freedom, and the change of
#: half the log of the ratio of gamma functions by half a step.
NUMBER, SHAPE, SCALE = PARAMETERS + 1, PARAMETERS + 2, PARAMETERS + 3
FREEDOM, HALF_STEP = PARAMETERS + 4, PARAMETERS + 5
#: Beyond this number of scales a tail is neglected, however heavy it is.
_FARTHEST = 1e17
#: The density is analytic up to the distance sqrt(freedom + z^2) in scales: the square of the part
#: of it that is one scale of the panels.
STRIP_PART = 0.04


@kernel()
def log_half_step(a: float) -> float:
    """Compute log Gamma(a + 1/2) - log Gamma(a) - log(a) / 2, to rounding for all a > 0."""
    lost = 0.0
    z = a
    while z < 12.0:
        # Gamma(a + 3/2) / Gamma(a + 1) = (1 + 1/(2a)) Gamma(a + 1/2) / Gamma(a)
        lost += 0.5 * math.log1p(1.0 / z) - math.log1p(0.5 / z)
        z += 1.0
    u = 1.0 / (z * z)
    s = -31.0 / 18432.0 + u * (691.0 / 180224.0)
    s = 17.0 / 14336.0 + u * s
    s = -1.0 / 640.0 + u * s
    s = 1.0 / 192.0 + u * s
    return (-1.0 / 8.0 + u * s) / z + lost


@kernel()
def student_end(freedom: float, reach: float) -> float:
    """Find z with z^2 P(|T| > z) < exp(-reach) approximately, at most _FARTHEST."""
    # a density (1 + z^2/freedom)^-(freedom + 1)/2; the power left after the moment is freedom - 2
    power = max(freedom - 2.0, 1e-9)
    y = 2.0 * (reach + 2.0) / power
    if y > 80.0:
        return _FARTHEST
    return min(_FARTHEST, math.sqrt((power + 2.0) * math.expm1(y)))


@kernel()
def _place_student(arms: Floats, k: int, centre: float, reach: float) -> None:
    """Fill all rows that depend on the parameters, with the mean at ``centre``."""
    n, a, b = arms[NUMBER, k], arms[SHAPE, k], arms[SCALE, k]
    s = math.sqrt(b / (a * n))
    arms[FREEDOM, k] = 2.0 * a
    arms[HALF_STEP, k] = log_half_step(a)
    arms[CENTRE, k] = centre
    arms[SPREAD, k] = s
    arms[DEVIATION, k] = s
    arms[TOP, k] = arms[HALF_STEP, k] - _HALF_LOG_2PI - math.log(s)
    far = student_end(2.0 * a, reach) * s
    arms[START, k] = centre - far
    arms[END, k] = centre + far


@kernel()
def set_student(arms: Floats, k: int, origin: float, reach: float) -> None:
    """Fill the column of an arm from its parameters."""
    _place_student(arms, k, arms[MEAN, k] - origin, reach)
    n, a = arms[NUMBER, k], arms[SHAPE, k]
    # (b grows with the outcome: this is for the outcome y = m)
    arms[NARROW, k] = math.sqrt(n / (n + 1.0) * a / (a + 0.5))


@kernel()
def student_shape(arms: Floats, k: int, t: float) -> tuple[float, float, float]:
    """Return the log density at t, its slope, and the scale on which it changes."""
    s, freedom = arms[SPREAD, k], arms[FREEDOM, k]
    z = (t - arms[CENTRE, k]) / s
    grown = 1.0 + z * z / freedom
    log_g = arms[TOP, k] - 0.5 * (freedom + 1.0) * math.log1p(z * z / freedom)
    slope = -(1.0 + 1.0 / freedom) * z / (grown * s)
    return log_g, slope, s * math.sqrt(grown * min(freedom / (freedom + 1.0), STRIP_PART * freedom))


@kernel()
def fill_student(arms: Floats, k: int, place: Floats, g: Floats) -> None:
    """Compute the density at the nodes."""
    centre, top, freedom = arms[CENTRE, k], arms[TOP, k], arms[FREEDOM, k]
    per_s = 1.0 / (arms[SPREAD, k] * math.sqrt(freedom))
    power = 0.5 * (freedom + 1.0)
    for i in range(g.size):
        z = (place[i] - centre) * per_s
        g[i] = exp_lane(top - power * log1p_lane(z * z))


@kernel()
def student_factor(arms: Floats, k: int, t: float) -> float:
    """Return C / g: the scale^2 freedom/(freedom - 1) (1 + z^2/freedom)."""
    s, freedom = arms[SPREAD, k], arms[FREEDOM, k]
    z = (t - arms[CENTRE, k]) / s
    return float(s * s * (freedom + z * z) / (freedom - 1.0))


@kernel()
def student_after(arms: Floats, k: int, e: float, reach: float, after: Floats) -> None:
    """Fill column 0 of ``after`` with the posterior after an outcome."""
    n, a, b = arms[NUMBER, k], arms[SHAPE, k], arms[SCALE, k]
    apart = e * math.sqrt(b / a * (1.0 + 1.0 / n))
    after[NUMBER, 0] = n + 1.0
    after[SHAPE, 0] = a + 0.5
    after[SCALE, 0] = b * (1.0 + 0.5 * e * e / a)
    _place_student(after, 0, arms[CENTRE, k] + apart / (n + 1.0), reach)


@kernel()
def student_predictive(arms: Floats, k: int, e: float) -> tuple[float, float]:
    """Compute the density of the outcome e and its scale."""
    freedom = arms[FREEDOM, k]
    grown = e * e / freedom
    power = 0.5 * (freedom + 1.0)
    density = math.exp(arms[HALF_STEP, k] - _HALF_LOG_2PI - power * math.log1p(grown))
    # (less than a scale of the density: the divergence has singularities as well)
    scale = 0.75 * math.sqrt((freedom + e * e) * min(1.0 / (freedom + 1.0), 4.0 * STRIP_PART))
    return density, scale


@kernel()
def student_outcome_end(arms: Floats, k: int, reach: float) -> float:
    """Find e with P(|E| > e) < exp(-reach) approximately."""
    freedom = arms[FREEDOM, k]
    return math.sqrt(freedom * math.expm1(min(600.0, 2.0 * reach / freedom)))


@kernel()
def fill_student_ratio(arms: Floats, k: int, e: float, place: Floats, ratio: Floats) -> None:
    """Compute L(y | x) / p(y) - 1 at the nodes for the outcome e."""
    # the ratio of the densities after and before it, relative to that at x = m, where Q = b
    n, a, b, centre = arms[NUMBER, k], arms[SHAPE, k], arms[SCALE, k], arms[CENTRE, k]
    d = 0.5 * e * e * (1.0 + 1.0 / n) / a  # (y - m)^2 / (2 b)
    grown = 0.5 * e * e / a  # b' / b - 1
    # at x = m: Q' / b' = (1 + d) / (1 + grown)
    first = -2.0 * arms[HALF_STEP, k] + 0.5 * (math.log1p(1.0 / n) - math.log1p(grown))
    first -= (a + 1.0) * math.log1p(grown / n / (1.0 + grown))
    # with z = (x - m) sqrt(n / (2 b)):  Q / b = 1 + z^2 and
    # Q' / b - (1 + d) = z^2 (1 + 1/n) - 2 z sqrt(d / n)
    per_s = math.sqrt(0.5 * n / b)
    cross = 2.0 * math.sqrt(d / n) * (1.0 if e >= 0.0 else -1.0)
    square = 1.0 + 1.0 / n
    per_d = 1.0 / (1.0 + d)
    for i in range(ratio.size):
        z = (place[i] - centre) * per_s
        change = z * (square * z - cross) * per_d
        log_ratio = first + (a + 0.5) * log1p_lane(z * z) - (a + 1.0) * log1p_lane(change)
        ratio[i], _ = expm1_lane(log_ratio)


#: Numbers of the families.
NORMAL, STUDENT, GAMMA = range(3)


@kernel()
def set_mean(family: int, common: Floats, arms: Floats, k: int) -> None:
    """Fill the mean of an arm from its parameters."""
    if family == GAMMA:
        arms[MEAN, k] = arms[PARAMETERS, k] / arms[RATE, k]
    else:
        arms[MEAN, k] = arms[PARAMETERS, k]


@kernel()
def origin_of(family: int, common: Floats, arms: Floats, leader: int) -> float:
    """Return the mean whose place on the axis is 0: that of the leader."""
    return float(arms[MEAN, leader])


@kernel()
def set_arm(family: int, common: Floats, arms: Floats, k: int, origin: float, reach: float) -> None:
    """Fill all rows of an arm except COUNT and BELOW; ``origin`` is the mean at place 0."""
    # the mass beyond START and beyond END is below exp(-reach)
    if family == STUDENT:
        set_student(arms, k, origin, reach)
    elif family == GAMMA:
        set_gamma(arms, k, origin, reach)
    else:
        set_normal(arms, k, origin, reach)


@kernel()
def shape_at(
    family: int, common: Floats, arms: Floats, k: int, t: float
) -> tuple[float, float, float]:
    """Return the log density on the axis, its slope, and the scale on which it changes."""
    if family == STUDENT:
        return student_shape(arms, k, t)
    if family == GAMMA:
        return gamma_shape(arms, k, t)
    return normal_shape(arms, k, t)


@kernel()
def difference(family: int, common: Floats, origin: float, t: float, other: float) -> float:
    """Compute x(t) - x(other) without cancellation."""
    if family == GAMMA:
        return gamma_difference(origin, t, other)
    return t - other


@kernel()
def fill_widths(
    family: int, common: Floats, origin: float, place: Floats, dt: Floats, dx: Floats
) -> None:
    """Compute the weights dx = x'(t) dt of integrals over the mean."""
    if family == GAMMA:
        fill_gamma_widths(origin, place, dt, dx)
        return
    for i in range(dx.size):
        dx[i] = dt[i]


@kernel()
def special_after(family: int, common: Floats, origin: float, t: float) -> float:
    """Return the next place above t that must be an edge of a panel, or infinity."""
    return math.inf


@kernel()
def fill_densities(
    family: int, common: Floats, arms: Floats, k: int, place: Floats, g: Floats
) -> None:
    """Compute the density on the axis at the nodes."""
    if family == STUDENT:
        fill_student(arms, k, place, g)
    elif family == GAMMA:
        fill_gamma(arms, k, place, g)
    else:
        fill_normal(arms, k, place, g)


@kernel()
def has_moment_factor(family: int) -> bool:
    """Return whether :func:`moment_factor` is exact; otherwise it is an upper bound."""
    return True


@kernel()
def moment_factor(family: int, common: Floats, arms: Floats, k: int, t: float) -> float:
    """Return C(x) / g(t) with C(x) = int_{-inf}^x (m - theta) f(theta) dtheta."""
    if family == STUDENT:
        return student_factor(arms, k, t)
    if family == GAMMA:
        return 1.0 / float(arms[RATE, k])
    return float(arms[SPREAD, k] * arms[SPREAD, k])


@kernel()
def has_after(family: int) -> bool:
    """Return whether the posterior after an outcome can be narrow: whether set_after is used."""
    return True


@kernel()
def set_after(
    family: int, common: Floats, arms: Floats, k: int, y: float, reach: float, after: Floats
) -> None:
    """Fill column 0 of ``after`` with arm k after the outcome y, for :func:`fill_densities`."""
    # CENTRE, SPREAD, START and END are needed, and what shape_at uses
    if family == STUDENT:
        student_after(arms, k, y, reach, after)
    elif family == GAMMA:
        gamma_after(arms, k, y, reach, after)
    else:
        normal_after(arms, k, y, reach, after)


@kernel()
def list_outcomes(
    family: int, common: Floats, arms: Floats, k: int, reach: float, cut: float
) -> tuple[bool, Floats, Floats]:
    """Return True, outcomes and their probabilities; False for outcomes that are real numbers."""
    return False, np.empty(0), np.empty(0)


@kernel()
def outcome_scale(
    family: int, common: Floats, arms: Floats, k: int, y: float
) -> tuple[float, float]:
    """Return the predictive density of the outcome y and the scale on which it changes."""
    if family == STUDENT:
        return student_predictive(arms, k, y)
    if family == GAMMA:
        return gamma_predictive(arms, k, y)
    return normal_predictive(y), 1.0


@kernel()
def outcome_ends(
    family: int, common: Floats, arms: Floats, k: int, reach: float
) -> tuple[float, float]:
    """Return numbers such that outcomes below and above them can be neglected."""
    if family == GAMMA:
        return gamma_outcome_ends(arms, k, reach)
    far = student_outcome_end(arms, k, reach) if family == STUDENT else math.sqrt(2.0 * reach)
    return -far, far


@kernel()
def are_counts(family: int) -> bool:
    """Return whether outcomes are whole numbers."""
    return family == GAMMA


@kernel()
def fill_ratios(
    family: int,
    common: Floats,
    arms: Floats,
    k: int,
    outcomes: Floats,
    place: Floats,
    ratios: Floats,
) -> None:
    """Compute L(y | x) / p(y) - 1 at the nodes, one row per outcome."""
    for q in range(outcomes.size):
        row = ratios[q, : place.size]
        if family == STUDENT:
            fill_student_ratio(arms, k, outcomes[q], place, row)
        elif family == GAMMA:
            fill_gamma_ratio(arms, k, outcomes[q], place, row)
        else:
            fill_normal_ratio(arms, k, outcomes[q], place, row)


#: Number of halvings that locate the start of the interval.
_HALVINGS = 9
#: Passes that divide panels, each in up to four parts.
_PASSES = 24
#: A lower tail is followed until its density times its squared distance has fallen by exp(-45).
_FALL = 45.0
#: Upper limit of the panels of a lower tail.
_MOST_BELOW = 400


@kernel()
def log_tail(family: int, common: Floats, arms: Floats, k: int, origin: float, t: float) -> float:
    """Compute an upper bound of log F at t: F(x) <= C(x) / (m - x) below the mean."""
    centre = arms[CENTRE, k]
    if t >= centre:
        return 0.0
    log_g, _, _ = shape_at(family, common, arms, k, t)
    gap = difference(family, common, origin, centre, t)
    bound = log_g + math.log(moment_factor(family, common, arms, k, t) / gap)
    return min(0.0, bound)


@kernel()
def find_start(
    family: int,
    common: Floats,
    arms: Floats,
    count: int,
    leader: int,
    origin: float,
    reach: float,
) -> float:
    """Find a place below which the product of all distribution functions is under exp(-reach)."""
    low = -math.inf
    for k in range(count):
        low = max(low, arms[START, k])
    high = arms[CENTRE, leader]
    if low >= high:
        return low
    # halve the logarithm of the distance: heavy tails are long
    spread = arms[SPREAD, leader]
    far = math.log1p((high - low) / spread)
    near = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (far + near)
        t = high - spread * math.expm1(middle)
        product = middle  # an integral below t is up to (m - t) times the product
        k = 0
        while k < count and product > -reach * 1e3:
            product += arms[COUNT, k] * log_tail(family, common, arms, k, origin, t)
            k += 1
        if product <= -reach:
            far = middle
        else:
            near = middle
    return float(max(low, high - spread * math.expm1(far)))


@kernel()
def _width_at(
    family: int,
    common: Floats,
    arms: Floats,
    count: int,
    setting: Setting,
    strict: bool,
    narrow: bool,
    t: float,
) -> float:
    """Compute the largest width of a panel at t."""
    width = math.inf
    for k in range(count):
        if arms[END, k] > t:
            _, slope, scale = shape_at(family, common, arms, k, t)
            if narrow:
                scale *= max(0.5, arms[NARROW, k])
            width = min(width, setting.panel * scale)
            if strict:
                width = min(width, setting.change / max(abs(slope), 1e-300))
            else:
                width = min(width, MOST_FALL / max(-slope, 1e-300))
    return width


@kernel()
def divide(
    family: int,
    common: Floats,
    arms: Floats,
    count: int,
    origin: float,
    setting: Setting,
    strict: bool,
    narrow: bool,
    low: float,
    cut: float,
) -> Floats:
    """Return the edges of the panels from ``low`` to the end of the last arm; none if too many."""
    # ``narrow`` makes panels narrow enough for the posterior after one more observation
    high = low
    for k in range(count):
        high = max(high, arms[END, k])
    edges = np.empty(64)
    panels = 0
    t = low
    edges[0] = t
    while t < high:
        if panels == edges.size - 1:
            if panels > MOST_PANELS:
                return edges[:0]
            more = np.empty(4 * edges.size)
            more[: edges.size] = edges
            edges = more
        width = _width_at(family, common, arms, count, setting, strict, narrow, t)
        full = width
        width = min(width, high - t)
        for _ in range(60):  # also narrow enough in its middle and at its right edge
            there = min(
                _width_at(family, common, arms, count, setting, strict, narrow, t + 0.5 * width),
                _width_at(family, common, arms, count, setting, strict, narrow, t + width),
            )
            if width <= 1.25 * there:
                break
            width *= 0.8
            full = width
        width = cut * full
        special = special_after(family, common, origin, t)
        if t + 1.1 * width > special:
            width = special - t
            t = special
        else:
            t += width
        t = high if t + 0.1 * width > high else t
        panels += 1
        edges[panels] = t
    return edges[: panels + 1]


@kernel()
def fill_places(edges: Floats, place: Floats, dt: Floats) -> None:
    """Fill the nodes and weights of all panels."""
    for p in range(edges.size - 1):
        half = 0.5 * (edges[p + 1] - edges[p])
        here = place[p * NODES : (p + 1) * NODES]
        weight = dt[p * NODES : (p + 1) * NODES]
        for i in range(NODES):
            here[i] = edges[p] + half * (1.0 + NODE[i])
            weight[i] = half * WEIGHT[i]


@kernel()
def count_panels_of(arms: Floats, count: int, edges: Floats, panels_of: Ints) -> None:
    """Count the panels that begin before the end of each arm."""
    for k in range(count):
        p = 0
        while p < edges.size - 1 and edges[p] < arms[END, k]:
            p += 1
        panels_of[k] = p


@kernel()
def _fill_log_product(
    family: int, common: Floats, arms: Floats, count: int, origin: float, edges: Floats
) -> Floats:
    """Compute the log of the product of all distribution functions at each edge."""
    panels = edges.size - 1
    product = np.zeros(panels + 1)
    place, dt, g = np.empty((3, panels * NODES))
    above = np.empty(panels + 1)
    fill_places(edges, place, dt)
    for k in range(count):
        n = 0
        while n < panels and edges[n] < arms[END, k]:
            n += 1
        fill_densities(family, common, arms, k, place[: n * NODES], g[: n * NODES])
        above[n] = 0.0
        for p in range(n - 1, -1, -1):
            above[p] = above[p + 1]
            for i in range(p * NODES, (p + 1) * NODES):
                above[p] += g[i] * dt[i]
        below = min(
            max(0.0, 1.0 - above[0]),
            math.exp(log_tail(family, common, arms, k, origin, edges[0])),
        )
        for p in range(n):
            under = below + (above[0] - above[p])
            if under < 0.5:
                product[p] += arms[COUNT, k] * math.log(max(under, 1e-300))
            else:
                product[p] += arms[COUNT, k] * math.log1p(-min(above[p], 0.5))
    return product


@kernel()
def divide_steep(
    family: int,
    common: Floats,
    arms: Floats,
    count: int,
    origin: float,
    setting: Setting,
    cut: float,
    edges: Floats,
) -> Floats:
    """Remove panels below the interval, and divide those in which the product is steep."""
    # the log of it changes by at most ``change + relief * (its decrease so far)`` per panel
    together = 0.0
    for k in range(count):
        together += arms[COUNT, k]
    if together <= FEW_ARMS:
        return edges
    for _ in range(_PASSES):
        product = _fill_log_product(family, common, arms, count, origin, edges)
        panels = edges.size - 1
        first = 0
        while first < panels - 1 and product[first + 1] < -setting.reach:
            first += 1
        more = np.empty(4 * (panels - first) + 1)
        found = 0
        more[0] = edges[first]
        for p in range(first, panels):
            allowed = cut * (setting.change - setting.relief * product[p + 1])
            rise = product[p + 1] - product[p]
            parts = 1
            if rise > allowed:
                parts = 2 if rise <= 2.0 * allowed else 4
            for i in range(parts - 1):
                found += 1
                more[found] = edges[p] + (edges[p + 1] - edges[p]) * ((i + 1.0) / parts)
            found += 1
            more[found] = edges[p + 1]
        same = found == panels
        edges = more[: found + 1]
        if same or found > MOST_PANELS:
            break
    return edges


@kernel()
def lower_nodes(
    family: int, common: Floats, arms: Floats, k: int, origin: float, low: float
) -> tuple[Floats, Floats]:
    """Return nodes below ``low``, and their weights dt times the density of arm k."""
    # ``low`` is below the mean; the lower tail has relative accuracy
    place, weight, g = np.empty((3, 16 * NODES))
    first, slope, scale = shape_at(family, common, arms, k, low)
    limit = first - _FALL
    right = low
    panels = 0
    while panels < _MOST_BELOW:
        width = min(2.0 * scale, 8.0 / max(slope, 1e-300))
        if (panels + 1) * NODES > place.size:
            wider = np.empty((2, 4 * place.size))
            wider[0, : place.size] = place
            wider[1, : place.size] = weight
            place, weight = wider
        for i in range(NODES):
            place[panels * NODES + i] = right - 0.5 * width * (1.0 + NODE[i])
            weight[panels * NODES + i] = 0.5 * width * WEIGHT[i]
        right -= width
        panels += 1
        log_g, slope, scale = shape_at(family, common, arms, k, right)
        distance = difference(family, common, origin, low, right)
        near = difference(family, common, origin, low, low - 0.01 * arms[SPREAD, k])
        # (a density of a heavy tail times the square of the distance falls slowly)
        if log_g + 2.0 * math.log(max(distance / near, 1.0)) < limit:
            break
    n = panels * NODES
    place, weight = place[:n], weight[:n]
    if g.size < n:
        g = np.empty(n)
    fill_densities(family, common, arms, k, place, g[:n])
    for i in range(n):
        weight[i] *= g[i]
    return place, weight
