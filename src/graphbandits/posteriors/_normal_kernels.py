"""Normal posteriors of the mean with known noise, on the axis of the mean itself.

With w = s^2 / (s^2 + noise^2), an outcome y = m + sqrt(s^2 + noise^2) e moves the mean to
m + s sqrt(w) e and the standard deviation to s sqrt(1 - w). Outcomes are represented by e.
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
from graphbandits.posteriors._math_kernels import exp_lane, expm1_lane

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
