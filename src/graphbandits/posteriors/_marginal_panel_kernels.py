"""Panels of the quadrature for families with one-dimensional densities.

The interval begins at ``low``, below which the product of all distribution functions is under
exp(-reach), and ends at the end of all upper tails. A panel of Gauss-Legendre nodes is a fixed
number of local scales of the narrowest arm whose tail has not ended. If many arms make the product
of their distribution functions steep, a first pass finds where it is, and divides the panels there.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints
from graphbandits.posteriors._arm_kernels import CENTRE, COUNT, END, NARROW, SPREAD, START
from graphbandits.posteriors._family_kernels import (
    difference,
    fill_densities,
    moment_factor,
    shape_at,
    special_after,
)
from graphbandits.posteriors._panel_kernels import (
    FEW_ARMS,
    MOST_FALL,
    MOST_PANELS,
    NODE,
    NODES,
    WEIGHT,
)
from graphbandits.posteriors._shape_kernels import Setting

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
    """Return the edges of the panels from ``low`` to the end of the last arm.

    All widths are scaled by ``cut``. ``narrow`` makes panels narrow enough for the posterior after
    one more observation. The result is empty if there are too many panels.
    """
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
    """Remove panels below the interval, and divide those in which the product is steep.

    The log of the product changes by at most ``change + relief * (its decrease so far)`` per panel.
    """
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
    """Return nodes below ``low``, and their weights dt times the density of arm k.

    They cover the lower tail below ``low``, which is below the mean, with relative accuracy.
    """
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
