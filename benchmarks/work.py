"""How many floating-point operations the statistics of one posterior take: a documented count.

An addition, a multiplication and a division count one each, a fused multiply-add two; comparisons,
moves and integer operations none. The exponential is 12 multiply-adds and 10 more, a logarithm
about 35, a Bernoulli divergence two logarithms and two series.
"""

from __future__ import annotations

import math

import numpy as np
from baseline import Floats

from graphbandits.posteriors.beta_kernels import FEW_ARMS
from graphbandits.posteriors.panel_kernels import (
    MOST_PANELS,
    NODES,
    common_lower_end,
    entropy_term,
    lower_end,
    place_panels,
)

#: For each node: its place and two logarithms.
PER_NODE = 80
#: For each node and arm: the density (an exponential of two products), the distribution function
#: (a row of NODES multiply-adds), and the products from the left and from the right.
DENSITY = 38
DISTRIBUTION = 2 * NODES + 4
PRODUCTS = 6
#: For each node and pair of arms: g_i g_j times the product of the others, added up; the product.
PAIR = 5
#: For each ordered pair of arms: alpha_j KL(M_ji || m_i).
DIVERGENCE = 140


def operations(nodes: float, arms: float) -> float:
    """Of one posterior with ``nodes`` nodes and ``arms`` arms that can still be best.

    >>> operations(nodes=16, arms=2) == 16 * 80 + 32 * 80 + 16 * 5 + 2 * 140
    True
    """
    pairs = arms * (arms - 1) / 2
    per_arm = DENSITY + DISTRIBUTION + PRODUCTS
    return nodes * (PER_NODE + arms * per_arm + pairs * PAIR) + 2 * pairs * DIVERGENCE


def nodes_and_arms(a: Floats, b: Floats) -> tuple[int, int]:
    """Of one posterior: nodes of its panels as first placed, and arms that can still be best.

    Panels that are cut in two later, because the sum of alpha did not settle, are not counted.
    """
    entropy = np.array([entropy_term(*pair) for pair in zip(a, b, strict=True)])
    ends = np.array([lower_end(q, p, e) for p, q, e in zip(a, b, entropy, strict=True)])
    leader = int(np.argmax(a / (a + b)))
    low = common_lower_end(a, b, entropy, leader)
    active = low < 0.5 * math.pi - ends
    active[leader] = True
    arms = int(active.sum())
    panels = place_panels(
        a[active],
        b[active],
        ends[active],
        low,
        1.0 if arms <= FEW_ARMS else 0.5,
        np.empty(MOST_PANELS, np.int64),
        np.empty((2, MOST_PANELS)),
        np.empty(arms, np.int64),
    )
    return panels * NODES, arms


def mean_operations(a: Floats, b: Floats) -> dict[str, float]:
    """Mean nodes, arms and operations over posteriors (N, K)."""
    sizes = [nodes_and_arms(*row) for row in zip(a, b, strict=True)]
    # one arm alone is best without any integral
    counts = [operations(nodes, arms) if arms > 1 else 0.0 for nodes, arms in sizes]
    nodes, arms = np.mean(sizes, axis=0)
    return {"nodes": float(nodes), "arms": float(arms), "operations": float(np.mean(counts))}
