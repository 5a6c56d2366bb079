"""IDSN-LP: the least regret that learns as much as TS-N (problem P2)."""

from __future__ import annotations

import numpy as np

from graphbandits._types import Floats
from graphbandits.rules._hull_kernels import least_regret_kernel


def idsn_lp(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    """P2: min over pi of pi.Delta subject to pi.gain >= alpha.gain.

    Liu, Buccapatnam and Shroff (2018), IDSN-LP.

    >>> import numpy as np
    >>> alpha = np.array([[0.75, 0.25]])
    >>> idsn_lp(alpha, np.array([[0.1, 0.3]]), alpha, np.array([[0.1, 0.2]]))
    array([[0.75, 0.25]])
    """
    pi = np.empty(delta.shape)
    least_regret_kernel(delta, gain, alpha, gain, pi)
    return pi
