"""IDS-N: minimal information ratio (P1)."""

from __future__ import annotations

import numpy as np

from graphbandits._types import Floats
from graphbandits.rules._hull_kernels import least_ratio_kernel, sort_many, work_space


def ids_n(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    """Solve P1: min over pi of (pi.Delta)^2 / (pi.gain), with gain = G h.

    Liu, Buccapatnam and Shroff (2018), IDS-N; on the empty graph the IDS of Russo and Van Roy. Two
    arms suffice (Proposition 3). On an edge of the frontier, with D1 < D2 and I1 < I2, the second
    arm has the probability clip(D1/(D2-D1) - 2 I1/(I2-I1), 0, 1).

    Parameters
    ----------
    alpha : ndarray of shape (B, K)
        Probability that each arm is best.
    delta : ndarray of shape (B, K)
        Expected regret of playing each arm.
    h : ndarray of shape (B, K)
        Information of the outcome of each arm about the best arm.
    gain : ndarray of shape (B, K)
        Information gain of playing each arm, for example G h.

    Returns
    -------
    ndarray of shape (B, K)
        The probability of each arm.

    Examples
    --------
    >>> import numpy as np
    >>> alpha = np.array([[0.5, 0.5]])
    >>> ids_n(alpha, np.array([[0.1, 0.3]]), alpha, np.array([[0.01, 0.2]]))
    array([[0.60526316, 0.39473684]])
    """
    pi = np.zeros(delta.shape)
    order, space = sort_many(delta, gain), work_space(delta.shape[1])
    least_ratio_kernel(delta, gain, order, space, pi)
    return pi
