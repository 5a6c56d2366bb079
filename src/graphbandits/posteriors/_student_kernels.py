"""Student marginals of normal-inverse-gamma posteriors, on the axis of the mean itself.

With the parameters (m, n, a, b) and Q(x) = b + n (x - m)^2 / 2 the density of the mean is
proportional to Q^-(a + 1/2). An outcome y changes Q to Q + (y - x)^2 / 2 and a to a + 1/2. Outcomes
are represented by e = (y - m) / sqrt(b (n + 1) / (a n)), which has Student's t distribution with
2 a degrees of freedom.
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
from graphbandits.posteriors._math_kernels import exp_lane, expm1_lane, log1p_lane

#: Rows of the table: parameters (mean, count, shape, scale), degrees of freedom, and the change of
#: half the log of the ratio of gamma functions by half a step.
NUMBER, SHAPE, SCALE = PARAMETERS + 1, PARAMETERS + 2, PARAMETERS + 3
FREEDOM, HALF_STEP = PARAMETERS + 4, PARAMETERS + 5
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
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
    """Compute L(y | x) / p(y) - 1 at the nodes for the outcome e.

    The ratio of the densities after and before the outcome, relative to that at x = m, where Q = b.
    """
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
