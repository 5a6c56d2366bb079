"""IDS-N: the least information ratio (problem P1)."""

from __future__ import annotations

import numpy as np

from graphbandits._types import Floats
from graphbandits.rules._hull_kernels import least_ratio_kernel


def ids_n(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    """P1: min over pi of (pi.Delta)^2 / (pi.gain), with gain = G h.

    Liu, Buccapatnam and Shroff (2018), IDS-N; without edges Russo and Van Roy's IDS. Two arms
    suffice (Proposition 3); on an edge of the frontier, with D1 < D2 and I1 < I2, the second has
    probability clip(D1/(D2-D1) - 2 I1/(I2-I1), 0, 1).

    >>> import numpy as np
    >>> alpha = np.array([[0.5, 0.5]])
    >>> ids_n(alpha, np.array([[0.1, 0.3]]), alpha, np.array([[0.01, 0.2]]))
    array([[0.60526316, 0.39473684]])
    """
    pi = np.empty(delta.shape)
    least_ratio_kernel(delta, gain, pi)
    return pi
