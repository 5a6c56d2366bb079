"""Quadrature of Beta posteriors on the logit axis: functions, shapes, panels, densities."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graphbandits._jit import REDUCTIONS, kernel
from graphbandits._types import Floats, Ints

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
#: Adding 1.5 * 2**52 rounds a double to an integer, which is then in its low bits.
_ROUNDER = 6755399441055744.0
#: Added to the bits of a double, it increments the exponent for mantissas from sqrt(1/2) on.
_TO_SQRT_HALF = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
_52 = np.uint64(52)
_1023 = np.uint64(1023)
#: A small integer or-ed into these bits is a double: 2**52 plus that integer.
_AS_DOUBLE = np.uint64(0x4330000000000000)
_DOUBLE_BIAS = 4503599627370496.0 + 1023.0
_HALF_LOG_2PI = 0.9189385332046727


@kernel(fastmath={"contract"}, inline=True)
def exp_lane(x: float) -> float:
    """Compute exp(max(x, -700)) for x <= 700, to 1 ulp; ``math.exp`` does not vectorise."""
    clipped = max(x, -700.0)
    shifted = clipped * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (clipped - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = np.float64(shifted).view(np.int64)
    power: float = np.int64((bits + 1023) << 52).view(np.float64)
    return p * power


@kernel(fastmath={"contract"}, inline=True)
def expm1_lane(x: float) -> tuple[float, float]:
    """Compute exp(x) - 1, to 1 or 2 ulp also near 0, and exp(x); x is clipped to |x| <= 700."""
    clipped = min(max(x, -700.0), 700.0)
    shifted = clipped * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (clipped - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * (r * r) + r
    bits = np.float64(shifted).view(np.int64)
    power: float = np.int64((bits + 1023) << 52).view(np.float64)
    return p * power + (power - 1.0), p * power + power


@kernel(fastmath={"contract"}, inline=True)
def log_lane(z: float, lost: float) -> float:
    """Compute log(z) + lost for z > 0, to about 1 ulp; ``lost`` corrects the rounding of z."""
    # z = 2^k m with m in [sqrt(1/2), sqrt(2)); log m by the odd series in (m-1)/(m+1), with the
    # coefficients of fdlibm
    bits = np.float64(z).view(np.uint64)
    biased = (bits + _TO_SQRT_HALF) >> _52
    k = np.uint64(biased | _AS_DOUBLE).view(np.float64) - _DOUBLE_BIAS
    mantissa = np.uint64(bits - ((biased - _1023) << _52)).view(np.float64)
    f = mantissa - 1.0
    s = f / (2.0 + f)
    w = s * s
    r = 1.479819860511658591e-01
    r = r * w + 1.531383769920937332e-01
    r = r * w + 1.818357216161805012e-01
    r = r * w + 2.222219843214978396e-01
    r = r * w + 2.857142874366239149e-01
    r = r * w + 3.999999999940941908e-01
    r = (r * w + 6.666666666666735130e-01) * w
    half_square = 0.5 * f * f
    small = s * (half_square + r) + (k * _LN2_LOW + lost)
    return k * _LN2_HIGH - ((half_square - small) - f)


@kernel(fastmath={"contract"}, inline=True)
def log1p_lane(u: float) -> float:
    """Compute log(1 + u) for u > -1, with a first-order correction for the rounding of 1 + u."""
    z = 1.0 + u
    # (1/z is about 2 - z if the rounding matters)
    return log_lane(z, (u - (z - 1.0)) * max(0.0, 2.0 - z))


def _stirling_error(z: float) -> float:
    """Compute the remainder from that at z + 20, by Gamma(z + 1) = z Gamma(z)."""
    y = z + 20.0
    u = 1.0 / (y * y)
    series = (1.0 / 12.0 - u * (1.0 / 360.0 - u * (1.0 / 1260.0 - u / 1680.0))) / y
    rising = math.fsum(math.log(z + k) for k in range(20))
    return math.fsum((series, (y - 0.5) * math.log(y), -20.0, -rising, -(z - 0.5) * math.log(z)))


#: Remainder of Stirling's formula at 1/2, 1, 3/2, ..., 10: the values of most posteriors.
_HALVES = np.array([0.0] + [_stirling_error(0.5 * k) for k in range(1, 21)])


@kernel()
def stirling_error(z: float) -> float:
    """Compute the remainder log Gamma(z) - ((z - 1/2) log z - z + log(2 pi)/2) of Stirling."""
    if z < 10.0:
        twice = int(2.0 * z)
        if twice == 2.0 * z:
            return float(_HALVES[twice])
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + _HALF_LOG_2PI)
    u = 1.0 / (z * z)
    s = -691.0 / 360360.0 + u * (1.0 / 156.0)
    s = 1.0 / 1188.0 + u * s
    s = -1.0 / 1680.0 + u * s
    s = 1.0 / 1260.0 + u * s
    s = -1.0 / 360.0 + u * s
    return (1.0 / 12.0 + u * s) / z


@kernel(fastmath={"contract"}, inline=True)
def phi(u: float) -> float:
    """Compute (1 + u) log(1 + u) - u for u > -1, without cancellation near 0."""
    # sum_{k>=2} (-u)^k / (k (k - 1)), to rounding for |u| < 0.02
    s = 1.0 / 90.0
    s = 1.0 / 72.0 - u * s
    s = 1.0 / 56.0 - u * s
    s = 1.0 / 42.0 - u * s
    s = 1.0 / 30.0 - u * s
    s = 1.0 / 20.0 - u * s
    s = 1.0 / 12.0 - u * s
    s = 1.0 / 6.0 - u * s
    s = 1.0 / 2.0 - u * s
    return u * u * s if abs(u) < 0.02 else (1.0 + u) * log1p_lane(u) - u


@kernel(inline=True)
def bernoulli_kl(mean: float, rest: float, shift: float) -> float:
    """Compute KL(Bernoulli(m + e) || Bernoulli(m)) = m phi(e/m) + (1-m) phi(-e/(1-m))."""
    # 0 < m + e < 1; ``rest`` is 1 - m, because the difference can lose its digits
    return mean * phi(shift / mean) + rest * phi(-shift / rest)


#: Rows of a table of arms: parameters, their sum, the mode on the logit axis and the log density
#: there, the number of arms with this posterior, the end of its upper tail, the log density at the
#: mode of the leader, and a bound of the mass below the interval of integration.
A, B, SIZE, CENTRE, TOP, COUNT, END, HEIGHT, BELOW = range(9)
ROWS = 9
#: Number of arms per vector in loops over arms: a smaller multiple would leave a scalar rest.
LANES = 8

_LOG_2PI = math.log(2.0 * math.pi)


class Setting(NamedTuple):
    """Accuracy setting.

    Probabilities below exp(-reach) / K are neglected. A panel is at most ``panel`` standard
    deviations of the narrowest arm wide, and no log density or log distribution function changes in
    it by more than ``change + relief * (its decrease so far)``.
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
    """Fill the log densities at the mode of the leader, and bounds of the mass below ``low``."""
    # ``count`` is a multiple of LANES
    a, b, centre = arms[A, :count], arms[B, :count], arms[CENTRE, :count]
    top, height, below = arms[TOP, :count], arms[HEIGHT, :count], arms[BELOW, :count]
    for k in range(count):
        level, _, _ = level_at(a[k], b[k], centre[k], mode)
        height[k] = top[k] - level
        level, slope, _ = level_at(a[k], b[k], centre[k], low)
        below[k] = exp_lane(-level) if slope < 0.0 else 1.0


@kernel(inline=True)
def about_end(a: float, b: float, centre: float, reach: float, side: float) -> float:
    """Approximate the place at which the upper (side 1) or lower (side -1) level is ``reach``."""
    # exact for a normal density, and for the two tails of p (e^d - 1 - d), the limit of the level
    # if the smaller parameter p is much smaller
    y = reach / min(a, b)
    distance = y + math.sqrt(2.0 * y * (a + b) / max(a, b))
    toward_middle = side if a <= b else -side
    if toward_middle > 0.0:
        distance = log_lane(1.0 + distance, 0.0)
    return centre + side * distance


@kernel(inline=True)
def end_of_tail(a: float, b: float, centre: float, reach: float) -> float:
    """Find a place in the upper tail at which the level is at least ``reach``."""
    # a Newton step on a convex function ends outside, from any start
    u = about_end(a, b, centre, reach, 1.0)
    level, slope, _ = level_at(a, b, centre, u)
    return u - (level - reach) / slope


@kernel(fastmath=REDUCTIONS)
def chernoff(arms: Floats, count: int, u: float, work: Floats) -> tuple[float, float]:
    """Compute Chernoff's bound of the log of the product of all F at u, and its derivative."""
    # ``count`` is a multiple of LANES
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
    """Compute a lower bound of a tail from the density, the slope of its log and its bend."""
    # within a unit the second derivative ``bend`` grows by a factor of at most e, and the slope
    # never exceeds the parameter ``steepest``
    mills = 0.5 * (slope + math.sqrt(slope * slope + 4.0 * math.e * bend))
    return density * max(1.0 / steepest, 0.5 / max(1.0, mills))


@kernel(fastmath=REDUCTIONS)
def product_bound(
    arms: Floats, count: int, setting: Setting, u: float, work: Floats
) -> tuple[float, float, float]:
    """Compute a tighter bound than Chernoff's, which is trivial above the means, for many arms."""
    # return the bound of the log of the product of all F at u, its approximate derivative, and the
    # steepest log density in units of the allowed change per panel
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


#: Number of nodes of a panel.
NODES = 16
#: Upper limit of the width of a panel near the singularities of the densities, i pi and -i pi.
STRIP = 4.0
#: Up to this number of arms the product is not much steeper than one of them.
FEW_ARMS = 6
#: Upper limit of the decrease of a log density in a panel, on the right slope, for few arms.
MOST_FALL = 30.0
#: Upper limit of the number of panels (4 to 10 are usual).
MOST_PANELS = 8192
#: Rows of the table of nodes: place u, distance d from the mode of the leader, log(1 + m (e^d - 1))
#: (see :mod:`graphbandits.posteriors._quadrature_kernels`), weights of du and of dx.
PLACE, DISTANCE, BEND, DU, DX = range(5)
NODE_ROWS = 5

NODE, WEIGHT = np.polynomial.legendre.leggauss(NODES)


@kernel()
def find_low(arms: Floats, count: int, setting: Setting, leader: int, work: Floats) -> float:
    """Find a place below which the product of all F is under exp(-reach)."""
    # Newton's method within a bracket, because the bound is discontinuous at the mode of an arm
    together = 0.0
    for k in range(count):
        together += arms[COUNT, k]
    few = together <= FEW_ARMS
    a, b, centre = arms[A, leader], arms[B, leader], arms[CENTRE, leader]
    u = about_end(a, b, centre, setting.reach, -1.0)
    left = -np.inf
    right = np.inf
    for _ in range(200):
        if few:
            log_product, rate = chernoff(arms, count, u, work)
        else:
            log_product, rate, _ = product_bound(arms, count, setting, u, work)
        beyond = log_product + setting.reach
        if beyond <= 0.0:
            left = max(left, u)
            if beyond > -0.1 * setting.reach:
                break
        else:
            right = min(right, u)
            if beyond < 0.03 * setting.reach:
                return u
        if right - left < 1e-3 * (1.0 + abs(left)):
            break
        u -= beyond / rate
        if not left < u < right:
            u = 0.5 * (left + right)
    return left


@kernel()
def widest(u: float, e: float, low: float, high: float, narrowest: float, panel: float) -> float:
    """Compute the width of a panel from u to the right; ``e`` is exp(-|u|)."""
    # ``panel`` standard deviations 1/sqrt(n x (1-x)) of the narrowest arm; far out, where that is
    # long, dx changes like exp(-|u|), so the distance to the middle of the axis is a limit, too
    here = panel * (1.0 + e) / math.sqrt(narrowest * e) if e > 0.0 else np.inf
    if u >= 0.0:
        return min(here, STRIP + (u - max(0.0, low)))
    # toward the middle an arm narrows like exp(-u/2): approximate solution of w exp(w/2) = here
    if here < 1.0:
        width = here / (1.0 + 0.5 * here)
    else:
        y = math.log1p(min(0.5 * here, 1e300))
        width = 2.0 * y * (1.0 - math.log1p(y) / (2.0 + y))
    width = max(width, 2.0 * panel / math.sqrt(narrowest))
    return min(width, max(STRIP, 0.5 * (min(0.0, high) - u)))


@kernel()
def place_panels(
    arms: Floats,
    count: int,
    setting: Setting,
    low: float,
    cut: float,
    edges: Floats,
    work: Floats,
) -> int:
    """Fill the edges of the panels from ``low`` to the end of the last arm; return their number."""
    # -1 if ``edges`` is too short
    high = -np.inf
    together = 0.0
    for k in range(count):
        high = max(high, arms[END, k])
        together += arms[COUNT, k]
    smooth = setting.relief > 0.0 and together <= FEW_ARMS
    panels = 0
    u = low
    edges[0] = u
    while u < high:
        if panels == edges.size - 1:
            return -1
        narrowest = 0.0
        steepest = 0.0
        e = math.exp(-abs(u))
        x = (1.0 if u > 0.0 else e) / (1.0 + e)
        for k in range(count):
            if arms[END, k] > u:
                narrowest = max(narrowest, arms[SIZE, k])
                steepest = max(steepest, arms[SIZE, k] * x - arms[A, k])
        width = widest(u, e, low, high, narrowest, setting.panel)
        if smooth:
            width = min(width, MOST_FALL / max(steepest, 1e-300))
        else:
            log_product, rate, steepest = product_bound(arms, count, setting, u, work)
            width = min(width, 1.0 / max(steepest, 1e-300))
            width = min(width, (setting.change - setting.relief * log_product) / rate)
        width *= cut
        # (no narrow panel at the end)
        u = high if u + 1.1 * width > high else u + width
        panels += 1
        edges[panels] = u
    return panels


@kernel()
def count_panels(arms: Floats, count: int, edges: Floats, panels: int, panels_of: Ints) -> None:
    """Count the panels that begin before the end of each arm."""
    for k in range(count):
        p = 1
        while p < panels and edges[p] < arms[END, k]:
            p += 1
        panels_of[k] = p


@kernel()
def fill_nodes(arms: Floats, leader: int, edges: Floats, panels: int, nodes: Floats) -> None:
    """Fill the table of nodes."""
    p = min(arms[A, leader], arms[B, leader])
    q = p / arms[SIZE, leader]
    side = 1.0 if arms[A, leader] <= arms[B, leader] else -1.0
    centre = arms[CENTRE, leader]
    place, weight = nodes[PLACE], nodes[DU]
    for k in range(panels):
        half = 0.5 * (edges[k + 1] - edges[k])
        here = place[k * NODES : (k + 1) * NODES]
        du = weight[k * NODES : (k + 1) * NODES]
        for i in range(NODES):
            here[i] = edges[k] + half * (1.0 + NODE[i])
            du[i] = half * WEIGHT[i]
    n = panels * NODES
    _fill_functions(
        place[:n], weight[:n], side, centre, q, nodes[DISTANCE, :n], nodes[BEND, :n], nodes[DX, :n]
    )


@kernel()
def _fill_functions(
    place: Floats,
    weight: Floats,
    side: float,
    centre: float,
    q: float,
    distance: Floats,
    bend: Floats,
    dx: Floats,
) -> None:
    # two short loops: a single loop needs too many registers
    for i in range(place.size):
        distance[i] = side * (place[i] - centre)
        bend[i], dx[i] = expm1_lane(distance[i])
    for i in range(place.size):
        change = q * bend[i]
        # x (1-x), from x = q e^d / (1 + q (e^d - 1)) or its mirror image
        per_z = 1.0 / (1.0 + change)
        dx[i] *= weight[i] * (q * (1.0 - q)) * (per_z * per_z)
        bend[i] = log1p_lane(change) + max(0.0, distance[i] - 700.0)


#: Largest accepted rounding error of a log density that is computed from that of the leader; the
#: errors of many arms add up.
ROUNDING = 2e-13
_ULP = 2.0**-53


def _integration_matrix(nodes: Floats, weights: Floats) -> Floats:
    """Return in row j the integrals from -1 to each node of the j-th Lagrange polynomial."""
    n = len(nodes)
    legendre = np.polynomial.legendre.legvander(nodes, n)  # P_0 .. P_n at the nodes
    integrals = np.empty((n, n))  # [k, i]: integral of P_k from -1 to node i
    integrals[0] = nodes + 1.0
    for k in range(1, n):
        integrals[k] = (legendre[:, k + 1] - legendre[:, k - 1]) / (2 * k + 1)
    coefficients = (np.arange(n) + 0.5)[:, None] * legendre[:, :n].T * weights  # [k, j]
    return np.ascontiguousarray(coefficients.T @ integrals)


_CUMULATE = _integration_matrix(NODE, WEIGHT)


@kernel(fastmath=REDUCTIONS)
def _density_by_leader(
    height: float, p: float, n: float, distance: Floats, bend: Floats, g: Floats
) -> None:
    for i in range(g.size):
        g[i] = exp_lane(height + p * distance[i] - n * bend[i])


@kernel()
def _density_by_itself(
    a: float, b: float, centre: float, top: float, place: Floats, g: Floats
) -> None:
    p = min(a, b)
    n = a + b
    q = p / n
    side = 1.0 if a <= b else -1.0
    for i in range(g.size):
        d = side * (place[i] - centre)
        e, _ = expm1_lane(d)
        level = n * (log1p_lane(q * e) + max(0.0, d - 700.0)) - p * d
        g[i] = exp_lane(top - level)


@kernel()
def fill_density(arms: Floats, k: int, leader: int, nodes: Floats, n: int, g: Floats) -> None:
    """Compute the density of arm k at the first n nodes; at the others it is negligible."""
    # the level follows from functions of the leader by one multiplication each; if these are too
    # large for the rounding error, it is computed directly
    a, b, size = arms[A, k], arms[B, k], arms[SIZE, k]
    p = a if arms[A, leader] <= arms[B, leader] else b
    height = arms[HEIGHT, k]
    largest = abs(height)
    for i in (0, n - 1):
        largest = max(largest, p * abs(nodes[DISTANCE, i]) + size * abs(nodes[BEND, i]))
    if largest * _ULP <= ROUNDING:
        _density_by_leader(height, p, size, nodes[DISTANCE, :n], nodes[BEND, :n], g[:n])
    else:
        _density_by_itself(a, b, arms[CENTRE, k], arms[TOP, k], nodes[PLACE, :n], g[:n])
    for i in range(n, g.size):
        g[i] = 0.0


@kernel()
def lower_tail(arms: Floats, k: int, u: float) -> tuple[float, float]:
    """Compute P(theta <= x) and int_0^x F for x = x(u), u below the mode, relatively accurate."""
    a, b, centre = arms[A, k], arms[B, k], arms[CENTRE, k]
    first, slope, _ = level_at(a, b, centre, u)
    level = first
    e = math.exp(-abs(u))
    x = e / (1.0 + e) if u < 0.0 else 1.0 / (1.0 + e)
    right = u
    mass = 0.0
    excess = 0.0
    while level < first + 45.0:
        # mirrored: integrate to the left
        e = math.exp(-abs(right))
        width = min(8.0 / max(-slope, 1e-300), widest(-right, e, -u, 0.0, arms[SIZE, k], 2.0))
        for i in range(NODES):
            here = right - 0.5 * width * (1.0 + NODE[i])
            level, _, _ = level_at(a, b, centre, here)
            piece = 0.5 * width * WEIGHT[i] * math.exp(arms[TOP, k] - level)
            mass += piece
            # x - x(here) without cancellation
            excess -= piece * x * math.expm1(here - u) / (1.0 + math.exp(min(here, 700.0)))
        right -= width
        level, slope, _ = level_at(a, b, centre, right)
    return mass, excess


@kernel(fastmath=REDUCTIONS)
def accumulate(g: Floats, edges: Floats, panels: int, mass: Floats, within: Floats) -> float:
    """Integrate the density from the left edge of each panel to its nodes; return the mass."""
    # ``mass`` gets the mass of each panel, followed by the mass to the right of each panel
    total = 0.0
    for p in range(panels):
        # slices: an index that might be negative prevents vectorisation
        f = g[p * NODES : (p + 1) * NODES]
        inside = within[p * NODES : (p + 1) * NODES]
        half = 0.5 * (edges[p + 1] - edges[p])
        here = 0.0
        for i in range(NODES):
            inside[i] = 0.0
            here += WEIGHT[i] * f[i]
        for j in range(0, NODES, 8):  # eight columns at a time: their values stay in registers
            v0 = f[j] * half
            v1 = f[j + 1] * half
            v2 = f[j + 2] * half
            v3 = f[j + 3] * half
            v4 = f[j + 4] * half
            v5 = f[j + 5] * half
            v6 = f[j + 6] * half
            v7 = f[j + 7] * half
            for i in range(NODES):
                inside[i] += (
                    _CUMULATE[j, i] * v0
                    + _CUMULATE[j + 1, i] * v1
                    + _CUMULATE[j + 2, i] * v2
                    + _CUMULATE[j + 3, i] * v3
                    + _CUMULATE[j + 4, i] * v4
                    + _CUMULATE[j + 5, i] * v5
                    + _CUMULATE[j + 6, i] * v6
                    + _CUMULATE[j + 7, i] * v7
                )
        mass[p] = here * half
        total += mass[p]
    right = 0.0
    for p in range(panels - 1, -1, -1):
        mass[panels + p] = right
        right += mass[p]
    return total


@kernel(fastmath=REDUCTIONS)
def fold_in(
    first: float,
    floor: float,
    others: float,
    panels: int,
    mass: Floats,
    big_f: Floats,
    survival: Floats,
    product: Floats,
    some: Floats,
    r: Floats,
) -> None:
    """Complete F, in place of the integrals within panels, and S of one arm; combine them."""
    # product *= F; some += others (1 - some) S, the probability that an arm lies above; r /= F;
    # ``first`` is F at the first edge; ``floor`` is a positive lower limit of F
    left = first
    for p in range(panels):
        here = mass[p]
        right = mass[panels + p]
        f = big_f[p * NODES : (p + 1) * NODES]
        s = survival[p * NODES : (p + 1) * NODES]
        all_f = product[p * NODES : (p + 1) * NODES]
        any_s = some[p * NODES : (p + 1) * NODES]
        ratio = r[p * NODES : (p + 1) * NODES]
        for i in range(NODES):
            increment = f[i]
            value = min(1.0, max(floor, left + increment))
            above = min(1.0, max(0.0, here - increment) + right)
            f[i] = value
            s[i] = above
            all_f[i] *= value
            any_s[i] += others * ((1.0 - any_s[i]) * above)
            ratio[i] /= value
        left += here
