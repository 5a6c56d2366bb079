"""Upper ends of the intervals {q: N kl(p, q) <= c} of Bernoulli means."""

from __future__ import annotations

import math

from graphbandits._jit import kernel
from graphbandits._types import Floats

#: Maximum number of Newton steps; a handful is usual.
STEPS = 100


@kernel()
def upper_bound(p: float, most: float) -> float:
    """Find the largest q in [p, 1] with kl(p, q) <= most.

    kl(p, .) is convex, so Newton's method descends to the root from any point above it. Two such
    points are p + sqrt(most/2), by Pinsker's inequality, and 1 - (1-p) exp(-(most - p ln p)/(1-p)),
    because kl(p, q) >= p ln p + (1-p) ln((1-p)/(1-q)).
    """
    if most <= 0.0 or p >= 1.0:
        return p
    entropy = p * math.log(p) if p > 0.0 else 0.0
    rest = (1.0 - p) * math.exp((entropy - most) / (1.0 - p))
    q = min(p + math.sqrt(0.5 * most), 1.0 - rest)
    for _ in range(STEPS):
        if q >= 1.0:  # 1 - q is below the floating-point resolution
            return 1.0
        excess = (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) - most
        if p > 0.0:
            excess += p * math.log(p / q)
        if excess <= 0.0:
            break
        step = excess * q * (1.0 - q) / (q - p)
        if q - step >= q:
            break
        q -= step
    return max(p, q)


@kernel()
def upper_bounds(count: Floats, mean: Floats, most: float, out: Floats) -> None:
    """Set out = max {q >= mean: count kl(mean, q) <= most}."""
    for b in range(mean.shape[0]):
        for i in range(mean.shape[1]):
            out[b, i] = upper_bound(mean[b, i], most / count[b, i])
