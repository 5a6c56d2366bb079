"""Beta(a, b) distributions on the logit axis u = log(x / (1-x)).

The density is g(u) = x (1-x) f(x) = exp(top - level(u)) with

    level(u) = (a+b) KL(m || x) = n log(1 + m (e^d - 1)) - a d,    d = u - log(a/b),

The level is convex and analytic in the strip |Im u| < pi for all a and b, with the slopes -a on the
far left and b on the far right. By Chernoff's bound a tail beyond u is at most exp(-level(u)). The
formula is evaluated from the side of the smaller parameter, which avoids loss of digits.

The arms of one problem are the columns of a table; its rows are listed below.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graphbandits._jit import REDUCTIONS, kernel
from graphbandits._types import Floats
from graphbandits.posteriors._math_kernels import (
    exp_lane,
    expm1_lane,
    log1p_lane,
    log_lane,
    stirling_error,
)

#: Rows of a table of arms: parameters, their sum, the mode on the logit axis and the log density
#: there, the number of arms with this posterior, the end of its upper tail, the log density at the
#: mode of the leader, and a bound of the mass below the interval of integration.
A, B, SIZE, CENTRE, TOP, COUNT, END, HEIGHT, BELOW = range(9)
ROWS = 9
#: Number of arms per vector in loops over arms: a smaller multiple would leave a scalar rest.
LANES = 8

_LOG_2PI = math.log(2.0 * math.pi)


class Setting(NamedTuple):
    """Accuracy setting; see :mod:`graphbandits.posteriors._panel_kernels`.

    Probabilities below exp(-reach) / K are neglected. The width of a panel is at most ``panel``
    standard deviations of the narrowest arm. No log density or log distribution function changes by
    more than ``change + relief * (its decrease so far)`` in a panel.
    """

    reach: float
    panel: float
    change: float
    relief: float


#: Absolute error of 1e-10 (at most 3e-11 in tests): panels are wide where densities are small.
SIMULATION = Setting(reach=29.0, panel=4.2, change=12.0, relief=0.25)
#: Relative error of 1e-8 down to 1e-30: distribution functions are accurate in the tails.
STRICT = Setting(reach=90.0, panel=2.0, change=4.0, relief=0.0)


@kernel(inline=True)
def level_at(a: float, b: float, centre: float, u: float) -> tuple[float, float, float]:
    """Compute the level of Beta(a, b) at u, and its first and second derivative."""
    p = min(a, b)
    n = a + b
    q = p / n
    side = 1.0 if a <= b else -1.0
    d = side * (u - centre)
    e, power = expm1_lane(d)
    per_z = 1.0 / (1.0 + q * e)
    # beyond 700 the level is a straight line
    level = n * (log1p_lane(q * e) + max(0.0, d - 700.0)) - p * d
    rest = p * (1.0 - q)
    return max(0.0, level), side * (rest * (e * per_z)), rest * (power * per_z * per_z)


@kernel()
def pad(arms: Floats, count: int) -> int:
    """Pad a table with empty columns to a multiple of LANES; return the number of columns."""
    padded = count + (-count) % LANES
    for k in range(count, padded):
        arms[A, k] = 1.0
        arms[B, k] = 1.0
        arms[SIZE, k] = 2.0
        arms[CENTRE, k] = 0.0
        arms[TOP, k] = 0.0
        arms[COUNT, k] = 0.0
        arms[END, k] = -np.inf
    return padded


@kernel()
def set_shapes(arms: Floats, count: int, reach: float) -> int:
    """Fill the rows of a table from A, B and COUNT, and pad it."""
    for k in range(count):
        a = arms[A, k]
        b = arms[B, k]
        n = a + b
        arms[SIZE, k] = n
        # by Stirling's formula, because log B(a, b) would lose digits
        arms[TOP, k] = stirling_error(n) - stirling_error(a) - stirling_error(b)
    padded = pad(arms, count)
    for k in range(padded):
        a = arms[A, k]
        b = arms[B, k]
        arms[CENTRE, k] = log_lane(a / b, 0.0)
        arms[TOP, k] += 0.5 * (log_lane(a * (b / arms[SIZE, k]), 0.0) - _LOG_2PI)
        arms[END, k] = end_of_tail(a, b, arms[CENTRE, k], reach)
    for k in range(count, padded):
        arms[END, k] = -np.inf
    return padded


@kernel()
def set_places(arms: Floats, count: int, mode: float, low: float) -> None:
    """Fill the log densities at the mode of the leader, and Chernoff bounds of the mass below low.

    ``count`` is a multiple of LANES.
    """
    a, b, centre = arms[A, :count], arms[B, :count], arms[CENTRE, :count]
    top, height, below = arms[TOP, :count], arms[HEIGHT, :count], arms[BELOW, :count]
    for k in range(count):
        level, _, _ = level_at(a[k], b[k], centre[k], mode)
        height[k] = top[k] - level
        level, slope, _ = level_at(a[k], b[k], centre[k], low)
        below[k] = exp_lane(-level) if slope < 0.0 else 1.0


@kernel(inline=True)
def about_end(a: float, b: float, centre: float, reach: float, side: float) -> float:
    """Approximate the place at which the upper (side 1) or lower (side -1) level is ``reach``.

    It is exact for a normal density, and for the two tails of p (e^d - 1 - d), the limit of the
    level if the smaller parameter p is much smaller.
    """
    y = reach / min(a, b)
    distance = y + math.sqrt(2.0 * y * (a + b) / max(a, b))
    toward_middle = side if a <= b else -side
    if toward_middle > 0.0:
        distance = log_lane(1.0 + distance, 0.0)
    return centre + side * distance


@kernel(inline=True)
def end_of_tail(a: float, b: float, centre: float, reach: float) -> float:
    """Find a place in the upper tail at which the level is at least ``reach``.

    A Newton step on a convex function ends outside, from any start.
    """
    u = about_end(a, b, centre, reach, 1.0)
    level, slope, _ = level_at(a, b, centre, u)
    return u - (level - reach) / slope


@kernel(fastmath=REDUCTIONS)
def chernoff(arms: Floats, count: int, u: float, work: Floats) -> tuple[float, float]:
    """Compute Chernoff's bound of the log of the product of all distribution functions at u.

    Return the bound and its derivative. ``count`` is a multiple of LANES; ``work`` has two rows.
    """
    a, b, centre = arms[A, :count], arms[B, :count], arms[CENTRE, :count]
    number, logs, rates = arms[COUNT, :count], work[0, :count], work[1, :count]
    for k in range(count):
        level, slope, _ = level_at(a[k], b[k], centre[k], u)
        logs[k] = -level if slope < 0.0 else 0.0
        rates[k] = max(-slope, 0.0)
    log_product = 0.0
    rate = 0.0
    for k in range(count):
        log_product += number[k] * logs[k]
        rate += number[k] * rates[k]
    return log_product, rate


@kernel(inline=True)
def least_tail(density: float, slope: float, bend: float, steepest: float) -> float:
    """Compute a lower bound of a tail from the density, the slope of its log and its bend.

    Within a unit the second derivative ``bend`` grows by a factor of at most e, and the slope never
    exceeds the parameter ``steepest``.
    """
    mills = 0.5 * (slope + math.sqrt(slope * slope + 4.0 * math.e * bend))
    return density * max(1.0 / steepest, 0.5 / max(1.0, mills))


@kernel(fastmath=REDUCTIONS)
def product_bound(
    arms: Floats, count: int, setting: Setting, u: float, work: Floats
) -> tuple[float, float, float]:
    """Compute a tighter bound than Chernoff's, which is trivial above the means, for many arms.

    Return the bound of the log of the product of all distribution functions at u, its approximate
    derivative, and the steepest log density in units of the allowed change per panel. ``count`` is
    a multiple of LANES; ``work`` has three rows.
    """
    a, b, centre = arms[A, :count], arms[B, :count], arms[CENTRE, :count]
    top, end, number = arms[TOP, :count], arms[END, :count], arms[COUNT, :count]
    logs, rates, steeps = work[0, :count], work[1, :count], work[2, :count]
    for k in range(count):
        level, slope, bend = level_at(a[k], b[k], centre[k], u)
        steep = abs(slope)
        density = exp_lane(top[k] - level)
        # left of the mode F is at most 1 minus the tail from the mode, and at most 1 - 1/e if the
        # density of x is log-concave
        p = min(a[k], b[k])
        middle = least_tail(exp_lane(top[k]), 0.0, p * (1.0 - p / (a[k] + b[k])), b[k])
        most = min(log1p_lane(-min(middle, 0.9)), -0.45 if p >= 1.0 else 0.0)
        above = log1p_lane(-min(least_tail(density, steep, bend, b[k]), 0.9))
        logs[k] = min(most, -level) if slope < 0.0 else above
        mills = 0.5 * (
            steep + math.sqrt(steep * steep + 4.0 * bend)
        )  # approximately density / tail
        rates[k] = mills if slope < 0.0 else min(mills, 2.0 * density)
        steeps[k] = steep / (setting.change + setting.relief * level) if end[k] > u else 0.0
    log_product = 0.0
    rate = 0.0
    for k in range(count):
        log_product += number[k] * logs[k]
        rate += number[k] * rates[k]
    steepest = 0.0
    for k in range(count):
        steepest = max(steepest, steeps[k])
    return log_product, rate, steepest
