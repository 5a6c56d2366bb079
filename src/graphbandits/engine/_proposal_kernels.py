"""Kernel that checks the proposals of policies."""

from __future__ import annotations

from graphbandits._jit import kernel
from graphbandits._types import Floats


@kernel()
def are_distributions(pi: Floats, tolerance: float) -> bool:
    """Return whether no number is negative or NaN, and the sum of each row is 1."""
    good = True
    for b in range(pi.shape[0]):
        total = 0.0
        for i in range(pi.shape[1]):
            good &= pi[b, i] >= 0.0
            total += pi[b, i]
        good &= abs(total - 1.0) < tolerance
    return good
