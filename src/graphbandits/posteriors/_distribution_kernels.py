"""Densities and distribution functions of the arms at the nodes.

The densities are integrated panel by panel with the exact weights of the interpolating
polynomial, so F and the survival S = 1 - F need no special function. F is accumulated from the
left and S from the right, both from positive terms, so each is accurate in its tail. Only the sum
over the nodes of one panel has terms of both signs: its rounding is relative to the mass of that
panel.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import REDUCTIONS, kernel
from graphbandits._types import Floats
from graphbandits.posteriors._math_kernels import exp_lane, expm1_lane, log1p_lane
from graphbandits.posteriors._panel_kernels import (
    BEND,
    DISTANCE,
    NODE,
    NODES,
    PLACE,
    WEIGHT,
    widest,
)
from graphbandits.posteriors._shape_kernels import CENTRE, HEIGHT, SIZE, TOP, A, B, level_at

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
    """Compute the density of arm k at the first n nodes, on the logit axis.

    At the other nodes it is negligible. The level follows from functions of the leader by one
    multiplication each; if these are too large for the rounding error, it is computed directly.
    """
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
    """Integrate the density from the left edge of each panel to its nodes; return the total mass.

    ``mass`` gets the mass of each panel, followed by the mass to the right of each panel.
    """
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
    """Complete F (in place of the integrals within the panels) and S of one arm, and combine them.

    product *= F; some += others (1 - some) S, the probability that an arm lies above; r /= F.
    ``first`` is F at the first edge; ``floor`` is a positive lower limit of F.
    """
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
