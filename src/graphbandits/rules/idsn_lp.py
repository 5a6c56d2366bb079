"""IDSN-LP: minimal regret with the information gain of TS-N (P2)."""

from __future__ import annotations

import numpy as np

from graphbandits._types import Floats
from graphbandits.rules._hull_kernels import least_regret_kernel, sort_many, work_space


def idsn_lp(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    """Solve P2: min over pi of pi.Delta subject to pi.gain >= alpha.gain.

    Liu, Buccapatnam and Shroff (2018), IDSN-LP.

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
    >>> alpha = np.array([[0.75, 0.25]])
    >>> idsn_lp(alpha, np.array([[0.1, 0.3]]), alpha, np.array([[0.1, 0.2]]))
    array([[0.75, 0.25]])
    """
    pi = np.zeros(delta.shape)
    order, space = sort_many(delta, gain), work_space(delta.shape[1])
    least_regret_kernel(delta, gain, alpha, gain, order, space, pi)
    return pi
