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
#: Width of a panel in log x (or log(1-x)) where a density is singular at the end of [0, 1].
LOG_PANEL = 3.0
#: From here on x^(a-1) is smooth enough at 0 for a panel, even if a is no whole number.
SMOOTH_POWER = 12.0
#: More panels than any posteriors in the allowed range need (the tests come close to 80).
MOST_PANELS = 256

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
        psi += (level - REACH) * s * c / (2.0 * slope)
    return psi


@kernel()
def rough(power: float) -> bool:
    """Whether x^(power-1) is too rough at 0 for a polynomial panel."""
    return power < SMOOTH_POWER and power != math.floor(power)


@kernel()
def place_panels(
    size: Floats,
    gap: Floats,
    low: float,
    rough_left: bool,
    rough_right: bool,
    kinds: Ints,
    edges: Floats,
    count_of: Ints,
) -> int:
    """Cut the stretch from ``low`` to the last arm's end; return the number of panels, or -1.

    Arm k has ``size[k]`` = a + b and ends at the half angle pi/2 - ``gap[k]``; panels from number
    ``count_of[k]`` on lie beyond it. Panel p lies between ``edges[p]`` and ``edges[p+1]``, half
    angles, except in panels of kind LOG_RIGHT, whose edges are log(1-x).
    """
    least_gap = gap[0]
    for k in range(size.size):
        least_gap = min(least_gap, gap[k])
        count_of[k] = -1
    last = 0.5 * math.pi - least_gap
    turn = 0.25 * math.pi if rough_left or rough_right else last
    psi = low
    count = 0
    edges[0] = psi
    while psi < last:
        narrowest = 0.0
        for k in range(size.size):
            if 0.5 * math.pi - gap[k] > psi:
                narrowest = max(narrowest, size[k])
            elif count_of[k] < 0:
                count_of[k] = count
        if rough_right and psi >= turn:
            break
        if count == MOST_PANELS:
            return -1
        above = min(last, psi + 0.5 * PANEL / math.sqrt(narrowest + 1.0))
        kinds[count] = LINEAR
        if psi < turn:
            above = min(above, turn)
            if rough_left:
                kinds[count] = LOG_LEFT
                x = math.exp(0.5 * LOG_PANEL) * math.sin(psi)
                if x < math.sin(above):
                    above = math.asin(x)
        psi = above
        count += 1
        edges[count] = psi
    if psi < last:
        count = _right_panels(2.0 * math.log(math.sin(least_gap)), count, kinds, edges)
    for k in range(size.size):
        if count_of[k] < 0:
            count_of[k] = count
    return count


@kernel()
def _right_panels(end: float, count: int, kinds: Ints, edges: Floats) -> int:
    """Panels in log(1-x) from the last edge to ``end``."""
    start = 2.0 * math.log(math.cos(edges[count]))
    more = max(1, math.ceil((start - end) / LOG_PANEL))
    if count + more > MOST_PANELS:
        return -1
    for p in range(more):
        kinds[count + p] = LOG_RIGHT
        edges[count + p] = start + (end - start) * p / more
    edges[count + more] = end
    return count + more


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
) -> None:
    """At the nodes: x, log(x/x0), log((1-x)/(1-x0)), and d mu/ds with d mu = dx/(x(1-x)).

    ``origin`` is the half angle of x0, and s in [-1, 1] runs through a panel. Logarithms relative
    to x0, and x measured from x0, keep the digits of a log(x/x0) for a large a.
    """
    x0 = math.sin(origin) ** 2
    y0 = math.cos(origin) ** 2
    for p in range(count):
        first = p * NODES
        if kinds[p] == LINEAR:
            start = math.sin(edges[p] - origin) * math.sin(edges[p] + origin)
            half = 0.5 * math.sin(edges[p + 1] - edges[p]) * math.sin(edges[p + 1] + edges[p])
            _linear_nodes(
                start,
                half,
                x0,
                y0,
                x[first : first + NODES],
                log_x[first : first + NODES],
                log_1mx[first : first + NODES],
                slope[first : first + NODES],
            )
        elif kinds[p] == LOG_LEFT:
            start = 2.0 * math.log(math.sin(edges[p]))
            half = math.log(math.sin(edges[p + 1]) / math.sin(edges[p]))
            for i in range(NODES):
                here = start + half * (1.0 + NODE[i])
                x[first + i] = math.exp(here)
                log_x[first + i] = here - math.log(x0)
                log_1mx[first + i] = math.log1p(-x[first + i]) - math.log(y0)
                slope[first + i] = half / (1.0 - x[first + i])
        else:
            half = 0.5 * (edges[p] - edges[p + 1])
            for i in range(NODES):
                here = edges[p] - half * (1.0 + NODE[i])
                rest = math.exp(here)
                x[first + i] = 1.0 - rest
                log_x[first + i] = math.log1p(-rest) - math.log(x0)
                log_1mx[first + i] = here - math.log(y0)
                slope[first + i] = half / (1.0 - rest)


@kernel()
def _linear_nodes(
    start: float,
    half: float,
    x0: float,
    y0: float,
    x: Floats,
    log_x: Floats,
    log_1mx: Floats,
    slope: Floats,
) -> None:
    per_x0 = 1.0 / x0
    per_y0 = 1.0 / y0
    for i in range(NODES):
        d = start + half * (1.0 + NODE[i])
        x[i] = x0 + d
        log_x[i] = log1p_lane(d * per_x0)
        log_1mx[i] = log1p_lane(-d * per_y0)
        slope[i] = half / ((x0 + d) * (y0 - d))
