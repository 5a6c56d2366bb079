"""Where to integrate: the stretch of [0, 1] on which the best arm can lie, cut into panels.

A point x is held as a half angle psi, x = sin^2(psi): there every Beta(a, b) has standard deviation
about 1/(2 sqrt(a + b)), and how far the density lies below its mode in logarithms,

    level(psi) = -a log(sin^2(psi) (a+b)/a) - b log(cos^2(psi) (a+b)/b) = (a+b) KL(m || x),

is convex, so Newton's steps from outside a level stay outside. By Chernoff's bound a tail beyond
psi is at most exp(-level(psi)).
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits.jit import kernel
from graphbandits.posteriors.math_kernels import log1p_lane
from graphbandits.types import Floats, Ints

#: Nodes of one panel.
NODES = 16
#: Probabilities below exp(-REACH) = 4e-18 are nothing: they vanish in the rounding of 1/16.
REACH = 40.0
#: Width of a panel, in standard deviations of the narrowest arm that matters there.
PANEL = 3.2
#: Width of a panel in log x (or log(1-x)) where a density is singular at the end of [0, 1], and
#: the largest factor, as a logarithm, by which the product of all powers of x may change in it.
LOG_PANEL = 2.0
LOG_CHANGE = 12.0
#: From here on x^(a-1) is smooth enough at 0 for a panel, even if a is no whole number.
SMOOTH_POWER = 12.0
#: A stretch that would need more panels than this is refused (usual ones need 4 to 10).
MOST_PANELS = 512

NODE, WEIGHT = np.polynomial.legendre.leggauss(NODES)

#: Kinds of panels: polynomial in x, in log x, in log(1-x).
LINEAR, LOG_LEFT, LOG_RIGHT = 0, 1, 2


@kernel()
def entropy_term(a: float, b: float) -> float:
    """a log m + b log(1-m): the part of the level that does not depend on x."""
    n = a + b
    return a * math.log(a / n) + b * math.log(b / n)


@kernel()
def _outer_end(a: float, b: float, entropy: float) -> float:
    """A half angle below which Beta(a, b) has mass under exp(-REACH), though not the largest.

    From level >= -2 (a+b) log cos(psi_m - psi) (Bhattacharyya), or, where that says nothing,
    from level >= entropy - a log x, its asymptote.
    """
    middle = math.atan(math.sqrt(a / b))
    spread = math.acos(math.exp(-0.5 * REACH / (a + b)))
    if spread < 0.9 * middle:
        return middle - spread
    # (sin psi <= psi, so psi is on the safe side of the root of x)
    return min(0.5 * middle, math.exp(0.5 * (entropy - REACH) / a))


@kernel()
def lower_end(a: float, b: float, entropy: float) -> float:
    """The same, brought in by one of Newton's steps."""
    psi = _outer_end(a, b, entropy)
    s = math.sin(psi)
    c = math.cos(psi)
    level = entropy - a * math.log(s * s) - b * math.log(c * c)
    if level <= REACH:
        return psi
    return psi + (level - REACH) / (2.0 * (a * c / s - b * s / c))


@kernel()
def common_lower_end(a: Floats, b: Floats, entropy: Floats, leader: int) -> float:
    """A half angle below which the product of all distribution functions is under exp(-REACH)."""
    psi = _outer_end(a[leader], b[leader], entropy[leader])
    for _ in range(3):
        s = math.sin(psi)
        c = math.cos(psi)
        log_x = math.log(s * s)
        log_1mx = math.log(c * c)
        level = 0.0
        slope = 0.0
        for k in range(a.size):
            fall = a[k] * c * c - b[k] * s * s
            if fall > 0.0:  # x lies below this arm's mean
                level += entropy[k] - a[k] * log_x - b[k] * log_1mx
                slope += fall
        if level <= REACH:
            break
        # Newton's step in psi is short far out, where the level is -a log x; there the one in
        # log x is long. The level is convex in both, so both stay outside: take the longer.
        psi += (level - REACH) * s * c / (2.0 * slope)
        if s < 0.1:
            in_log = s * math.exp(0.5 * (level - REACH) * c * c / slope)
            psi = max(psi, math.asin(min(1.0, in_log)))
    return psi


@kernel()
def is_rough(power: Floats) -> bool:
    """Whether any x^(power-1) is too rough at 0 for polynomial panels."""
    for k in range(power.size):
        if power[k] < SMOOTH_POWER and power[k] != math.floor(power[k]):
            return True
    return False


@kernel()
def _step(a: Floats, b: Floats, chi_end: Floats, chi: float, count: int, count_of: Ints) -> float:
    """Width of panel number ``count``, which begins at the half angle pi/2 - chi.

    Marks the arms that end before it.
    """
    narrowest = 0.0
    for k in range(a.size):
        if chi_end[k] < chi:
            narrowest = max(narrowest, a[k] + b[k])
        elif count_of[k] < 0:
            count_of[k] = count
    return 0.5 * PANEL / math.sqrt(narrowest + 1.0)


@kernel()
def _left_width(a: Floats, chi_end: Floats, chi: float) -> float:
    """Width in log x: the distribution functions of all arms multiply, and so do their powers."""
    total = 0.0
    for k in range(a.size):
        if chi_end[k] < chi:
            total += min(a[k], SMOOTH_POWER)
    return min(LOG_PANEL, LOG_CHANGE / total)


@kernel()
def _right_width(b: Floats, chi_end: Floats, chi: float) -> float:
    """Width in log(1-x): distribution functions tend to 1, only two densities ever multiply."""
    largest = 0.0
    for k in range(b.size):
        if chi_end[k] < chi:
            largest = max(largest, min(b[k], SMOOTH_POWER))
    return min(LOG_PANEL, 0.5 * LOG_CHANGE / largest)


@kernel()
def place_panels(
    a: Floats,
    b: Floats,
    chi_end: Floats,
    low: float,
    cut: float,
    kinds: Ints,
    edges: Floats,
    count_of: Ints,
) -> int:
    """Cut the stretch from ``low`` to the last arm's end; return the number of panels, or -1.

    Arm k ends at the half angle pi/2 - ``chi_end[k]``; panels from number ``count_of[k]`` on lie
    beyond it. All widths are scaled by ``cut``. Panel p lies between ``edges[0, p]`` and
    ``edges[1, p]``, half angles psi, or chi = pi/2 - psi in panels of kind LOG_RIGHT.
    """
    rough_left = is_rough(a)
    rough_right = is_rough(b)
    least_end = chi_end[0]
    for k in range(a.size):
        least_end = min(least_end, chi_end[k])
        count_of[k] = -1
    last = 0.5 * math.pi - least_end
    middle = 0.25 * math.pi
    count = 0
    psi = low
    while psi < last and not (rough_right and psi >= middle):
        if count == MOST_PANELS:
            return -1
        above = min(last, psi + cut * _step(a, b, chi_end, 0.5 * math.pi - psi, count, count_of))
        kinds[count] = LINEAR
        if psi < middle and (rough_left or rough_right):
            above = min(above, middle)
            if rough_left:
                kinds[count] = LOG_LEFT
                width = cut * _left_width(a, chi_end, 0.5 * math.pi - psi)
                s = math.exp(0.5 * width) * math.sin(psi)
                above = math.asin(s) if s < math.sin(above) else above
        edges[0, count] = psi
        edges[1, count] = above
        psi = above
        count += 1
    if rough_right:
        chi = 0.5 * math.pi - psi
        while chi > least_end:
            if count == MOST_PANELS:
                return -1
            below = max(least_end, chi - cut * _step(a, b, chi_end, chi, count, count_of))
            s = math.exp(-0.5 * cut * _right_width(b, chi_end, chi)) * math.sin(chi)
            below = math.asin(s) if s > math.sin(below) else below
            kinds[count] = LOG_RIGHT
            edges[0, count] = chi
            edges[1, count] = below
            chi = below
            count += 1
    for k in range(a.size):
        if count_of[k] < 0:
            count_of[k] = count
    return count


@kernel()
def fill_nodes(
    count: int,
    kinds: Ints,
    edges: Floats,
    origin: float,
    x: Floats,
    log_x: Floats,
    log_1mx: Floats,
    slope: Floats,
    mu: Floats,
) -> None:
    """At the nodes: x, log(x/x0), log((1-x)/(1-x0)), d mu/ds and the weight of d mu = dx/(x(1-x)).

    ``origin`` is the half angle of x0, and s in [-1, 1] runs through a panel. Logarithms relative
    to x0, and x measured from x0, keep the digits of a log(x/x0) for a large a.
    """
    x0 = math.sin(origin) ** 2
    y0 = math.cos(origin) ** 2
    first_linear = count
    last_linear = 0
    start = 0.0
    for p in range(count):
        first = p * NODES
        left = edges[0, p]
        right = edges[1, p]
        if kinds[p] == LINEAR:
            if first_linear == count:
                first_linear = p
                start = math.sin(left - origin) * math.sin(left + origin)
            last_linear = p + 1
            end = math.sin(right - origin) * math.sin(right + origin)
            here = slice(first, first + NODES)
            _linear_panel(start, 0.5 * (end - start), x0, y0, x[here], log_x[here], slope[here])
            start = end
        elif kinds[p] == LOG_LEFT:
            log_left = 2.0 * math.log(math.sin(left))
            half = math.log(math.sin(right) / math.sin(left))
            for i in range(NODES):
                log_here = log_left + half * (1.0 + NODE[i])
                x[first + i] = math.exp(log_here)
                log_x[first + i] = log_here - math.log(x0)
                log_1mx[first + i] = math.log1p(-x[first + i]) - math.log(y0)
                slope[first + i] = half / (1.0 - x[first + i])
        else:
            log_left = 2.0 * math.log(math.sin(left))
            half = math.log(math.sin(left) / math.sin(right))
            for i in range(NODES):
                log_here = log_left - half * (1.0 + NODE[i])
                rest = math.exp(log_here)
                x[first + i] = 1.0 - rest
                log_x[first + i] = math.log1p(-rest) - math.log(x0)
                log_1mx[first + i] = log_here - math.log(y0)
                slope[first + i] = half / (1.0 - rest)
        for i in range(NODES):
            mu[first + i] = slope[first + i] * WEIGHT[i]
    # linear panels stand together, and log_x holds x - x0 there: one long loop of logarithms
    _logarithms(
        log_x[first_linear * NODES : last_linear * NODES],
        log_1mx[first_linear * NODES : last_linear * NODES],
        1.0 / x0,
        1.0 / y0,
    )


@kernel()
def _logarithms(log_x: Floats, log_1mx: Floats, per_x0: float, per_y0: float) -> None:
    """log(x/x0) and log((1-x)/(1-x0)) in place of x - x0."""
    for i in range(log_x.size):
        d = log_x[i]
        log_x[i] = log1p_lane(d * per_x0)
        log_1mx[i] = log1p_lane(-d * per_y0)


@kernel()
def _linear_panel(
    start: float,
    half: float,
    x0: float,
    y0: float,
    x: Floats,
    offset: Floats,
    slope: Floats,
) -> None:
    for i in range(NODES):
        d = start + half * (1.0 + NODE[i])
        x[i] = x0 + d
        offset[i] = d
        slope[i] = half / ((x0 + d) * (y0 - d))
