"""How many floating-point operations the statistics of one posterior take: a documented count.

An addition, a multiplication and a division count one each, a fused multiply-add two; comparisons,
moves and integer operations none. An exponential is 12 multiply-adds and 10 more, a logarithm
about 35, a Bernoulli divergence two logarithms and two series. What arms that are alike cost
together beyond one of them (a logarithm and an exponential for each node) is left out.
"""

from __future__ import annotations

import math

import numpy as np
from baseline import Floats

from graphbandits.posteriors._panel_kernels import MOST_PANELS, NODES, find_low, place_panels
from graphbandits.posteriors._shape_kernels import (
    CENTRE,
    COUNT,
    END,
    LANES,
    ROWS,
    SIMULATION,
    A,
    B,
    pad,
    set_shapes,
)

#: For each node: its place, an exponential, a logarithm and the weights.
PER_NODE = 85
#: For each node and distinct posterior: the density (an exponential of two products), the
#: distribution function (a row of NODES multiply-adds), and the products with those of others.
DENSITY = 38
DISTRIBUTION = 2 * NODES + 7
PRODUCTS = 8
#: For each node and ordered pair of distinct posteriors: W_ij, one multiply-add.
PAIR = 2
#: For each ordered pair: alpha_j KL(M_ji || m_i).
DIVERGENCE = 140


def operations(nodes: float, distinct: float) -> float:
    """Of one posterior: ``nodes`` nodes, ``distinct`` different arms that can still be best.

    >>> operations(nodes=16, distinct=2) == 16 * (85 + 2 * 85 + 4 * 2) + 4 * 140
    True
    """
    per_arm = DENSITY + DISTRIBUTION + PRODUCTS
    pairs = distinct * distinct
    return nodes * (PER_NODE + distinct * per_arm + pairs * PAIR) + pairs * DIVERGENCE


def nodes_and_distinct(a: Floats, b: Floats) -> tuple[int, int]:
    """Of one posterior in simulation: nodes as first placed, different arms that can be best.

    Panels that are cut in two later, because the sum of alpha did not settle, are not counted.
    """
    pairs, count = np.unique(np.stack([a, b]), axis=1, return_counts=True)
    every = np.empty((ROWS, len(count) + LANES))
    every[A, : len(count)], every[B, : len(count)] = pairs
    every[COUNT, : len(count)] = count
    setting = SIMULATION._replace(reach=SIMULATION.reach + math.log(len(a)))
    padded = set_shapes(every, len(count), setting.reach)
    work = np.empty((3, every.shape[1]))
    leader = int(np.argmax(every[CENTRE, : len(count)]))
    low = find_low(every, padded, setting, leader, work)
    active = every[END, : len(count)] > low
    active[leader] = True
    distinct = int(active.sum())
    arms = np.empty_like(every)
    arms[:, :distinct] = every[:, : len(count)][:, active]
    padded = pad(arms, distinct)
    panels = place_panels(arms, padded, setting, low, 1.0, np.empty(MOST_PANELS + 1), work)
    return panels * NODES, distinct


def mean_operations(a: Floats, b: Floats) -> dict[str, float]:
    """Mean nodes, distinct arms and operations over posteriors (N, K)."""
    sizes = [nodes_and_distinct(*row) for row in zip(a, b, strict=True)]
    nodes, distinct = np.mean(sizes, axis=0)
    counts = np.mean([operations(*size) for size in sizes])
    return {"nodes": float(nodes), "distinct": float(distinct), "operations": float(counts)}
