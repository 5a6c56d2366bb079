"""Panels of the quadrature, on the interval of the logit axis that contains the best arm.

The interval begins at ``low``, below which the product of all distribution functions is under
exp(-reach), and ends at the end of all upper tails. The width of a panel of Gauss-Legendre nodes is
a fixed number of standard deviations of the narrowest arm whose tail has not ended. Panels are
shorter if many arms make the product of their distribution functions steep, and longer far from
the middle of the axis, where all functions are powers of x or of 1-x.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._math_kernels import expm1_lane, log1p_lane
from graphbandits.posteriors._shape_kernels import (
    CENTRE,
    COUNT,
    END,
    SIZE,
    A,
    B,
    Setting,
    about_end,
    chernoff,
    product_bound,
)

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
#: (see :mod:`graphbandits.posteriors._shape_kernels`), weights of du and of dx.
PLACE, DISTANCE, BEND, DU, DX = range(5)
NODE_ROWS = 5

NODE, WEIGHT = np.polynomial.legendre.leggauss(NODES)


@kernel()
def find_low(arms: Floats, count: int, setting: Setting, leader: int, work: Floats) -> float:
    """Find a place below which the product of all distribution functions is under exp(-reach).

    Newton's method on a bound of its logarithm, within a bracket, because the bound is
    discontinuous at the mode of an arm.
    """
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
    """Compute the width of a panel from u to the right; ``e`` is exp(-|u|).

    The width is ``panel`` standard deviations 1/sqrt(n x (1-x)) of the narrowest arm. Far out,
    where that is long, the weight dx of a regret changes like exp(-|u|), so the width is also
    limited by the distance to the middle of the axis.
    """
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
    """Divide the interval from ``low`` to the end of the last arm into panels.

    All widths are scaled by ``cut``. Panel p is from ``edges[p]`` to ``edges[p + 1]``. Return the
    number of panels, or -1 if ``edges`` is too short.
    """
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
