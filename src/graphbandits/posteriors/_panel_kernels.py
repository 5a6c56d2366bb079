"""Where to integrate: the stretch of the logit axis on which the best arm can lie, in panels.

The stretch begins at ``low``, below which the product of all distribution functions is under
exp(-reach), and ends where every arm's upper tail is. Panels of Gauss-Legendre nodes follow the
posteriors: each is a fixed number of standard deviations of the narrowest arm that is still
undecided there, shorter where many arms make the product of their distribution functions steep,
and longer far from the middle of the axis, where all is a power of x or of 1-x.
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
    survey,
)

#: Nodes of one panel.
NODES = 16
#: Densities are singular at i pi and -i pi; a panel near there is at most this wide.
STRIP = 4.0
#: Up to this number of arms their product is not much steeper than one of them.
FEW_ARMS = 6
#: Most that the log density of one of few arms may fall in a panel, on its right slope.
MOST_FALL = 30.0
#: A stretch that would need more panels than this is refused (usual ones need 4 to 10).
MOST_PANELS = 8192
#: Rows of the table of nodes: place, distance d from the leader's mode, log(1 + m (e^d - 1)) there
#: (see :mod:`graphbandits.posteriors._shape_kernels`), weights of du and of dx.
PLACE, DISTANCE, BEND, DU, DX = range(5)
NODE_ROWS = 5

NODE, WEIGHT = np.polynomial.legendre.leggauss(NODES)


@kernel()
def find_low(arms: Floats, count: int, setting: Setting, leader: int, work: Floats) -> float:
    """A place below which the product of all distribution functions is under exp(-reach).

    Newton's steps on a bound of its logarithm, within a bracket, for the bound jumps where an arm's
    mode is passed.
    """
    few = arms[COUNT, :count].sum() <= FEW_ARMS
    a, b, centre = arms[A, leader], arms[B, leader], arms[CENTRE, leader]
    u = about_end(a, b, centre, setting.reach, -1.0)
    left = -np.inf
    right = np.inf
    for _ in range(200):
        if few:
            log_product, rate = chernoff(arms, count, u, work)
        else:
            log_product, rate, _ = survey(arms, count, setting, u, work)
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
    """``panel`` standard deviations 1/sqrt(n x (1-x)) of the narrowest arm, from u to the right;
    ``e`` is exp(-|u|).

    Far out, where that is long, the weight dx of a regret still changes like exp(-|u|): panels
    lengthen no faster than they leave behind (or have before them) where it counts.
    """
    here = panel * (1.0 + e) / math.sqrt(narrowest * e) if e > 0.0 else np.inf
    if u >= 0.0:
        return min(here, STRIP + (u - max(0.0, low)))
    # toward the middle an arm narrows like exp(-u/2): w exp(w/2) = here has this solution, nearly
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
    """Cut the stretch from ``low`` to the last arm's end; return the number of panels, or -1 if
    there is no room for them in ``edges``.

    All widths are scaled by ``cut``. Panel p lies between ``edges[p]`` and ``edges[p + 1]``.
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
            log_product, rate, steepest = survey(arms, count, setting, u, work)
            width = min(width, 1.0 / max(steepest, 1e-300))
            width = min(width, (setting.change - setting.relief * log_product) / rate)
        width *= cut
        # (no sliver at the end)
        u = high if u + 1.1 * width > high else u + width
        panels += 1
        edges[panels] = u
    return panels


@kernel()
def count_panels(arms: Floats, count: int, edges: Floats, panels: int, panels_of: Ints) -> None:
    """How many panels begin before the end of each arm."""
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
    # two short loops: one long one does not fit into the registers
    for i in range(place.size):
        distance[i] = side * (place[i] - centre)
        bend[i], dx[i] = expm1_lane(distance[i])
    for i in range(place.size):
        change = q * bend[i]
        # x (1-x), from x = q e^d / (1 + q (e^d - 1)) or its mirror image
        per_z = 1.0 / (1.0 + change)
        dx[i] *= weight[i] * (q * (1.0 - q)) * (per_z * per_z)
        bend[i] = log1p_lane(change) + max(0.0, distance[i] - 700.0)
