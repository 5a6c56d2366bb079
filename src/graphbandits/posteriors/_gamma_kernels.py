"""Gamma posteriors of Poisson rates, on the axis t = log(x / origin).

With d = t - log(m / origin), m = a / b, the density on the axis is exp(top - a (e^d - 1 - d)). An
outcome y changes (a, b) to (a + y, b + 1); its predictive distribution is negative binomial.
Functions of y are analytic, so that sums over many counts can use few nodes between them.
"""

from __future__ import annotations

import math

from graphbandits._jit import kernel
from graphbandits._types import Floats
from graphbandits.posteriors._arm_kernels import (
    CENTRE,
    DEVIATION,
    END,
    MEAN,
    NARROW,
    PARAMETERS,
    SPREAD,
    START,
    TOP,
)
from graphbandits.posteriors._math_kernels import exp_lane, expm1_lane, stirling_error

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
    """Compute L(y | x) / p(y) - 1 at the nodes.

    The ratio of the densities after and before the outcome, relative to that at the mean.
    """
    a, b, centre = arms[SHAPE_OF_GAMMA, k], arms[RATE, k], arms[CENTRE, k]
    mean = a / b
    apart = y - mean
    first = 0.5 * math.log1p(y / a) - (stirling_error(a + y) - stirling_error(a))
    first -= (a + y) * line_minus_log(-apart / (a + y))
    for i in range(ratio.size):
        d = place[i] - centre
        ratio[i], _ = expm1_lane(first + (apart * d - mean * exp_minus_line(d)))
