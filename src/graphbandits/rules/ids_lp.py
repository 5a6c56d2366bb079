"""IDS-LP: minimal regret with the information gain of Thompson sampling without a graph (P3)."""

from __future__ import annotations

import numpy as np

from graphbandits._types import Floats
from graphbandits.rules._hull_kernels import least_regret_kernel, sort_many, work_space


def ids_lp(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    """Solve P3: min over pi of pi.Delta subject to pi.gain >= alpha.h.

    Liu, Buccapatnam and Shroff (2018), IDS-LP. On a complete graph every arm meets the threshold,
    and the rule is greedy.

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
    >>> ids_lp(alpha, np.array([[0.1, 0.3]]), np.array([[0.1, 0.2]]), np.array([[0.3, 0.3]]))
    array([[1., 0.]])
    """
    pi = np.zeros(delta.shape)
    order, space = sort_many(delta, gain), work_space(delta.shape[1])
    least_regret_kernel(delta, gain, alpha, h, order, space, pi)
    return pi
