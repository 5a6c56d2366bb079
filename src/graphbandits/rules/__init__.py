"""Rules (alpha, Delta, h, gain) -> pi: TS-N, IDS-N (P1), IDSN-LP (P2), IDS-LP (P3)."""

from __future__ import annotations

import numpy as np

from graphbandits._types import Floats
from graphbandits.rules._hull_kernels import (
    least_ratio_kernel,
    least_regret_kernel,
    sort_many,
    work_space,
)

__all__ = ["ids_lp", "ids_n", "idsn_lp", "ts_n"]


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


def ids_n(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    """Solve P1: min over pi of (pi.Delta)^2 / (pi.gain), with gain = G h.

    Liu, Buccapatnam and Shroff (2018), IDS-N; on the empty graph the IDS of Russo and Van Roy. Two
    arms suffice (Proposition 3). On an edge of the frontier, with D1 < D2 and I1 < I2, the second
    arm has the probability clip(D1/(D2-D1) - 2 I1/(I2-I1), 0, 1). Parameters: see :func:`ids_lp`.

    >>> import numpy as np
    >>> alpha = np.array([[0.5, 0.5]])
    >>> ids_n(alpha, np.array([[0.1, 0.3]]), alpha, np.array([[0.01, 0.2]]))
    array([[0.60526316, 0.39473684]])
    """
    pi = np.zeros(delta.shape)
    order, space = sort_many(delta, gain), work_space(delta.shape[1])
    least_ratio_kernel(delta, gain, order, space, pi)
    return pi


def idsn_lp(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    """Solve P2: min over pi of pi.Delta subject to pi.gain >= alpha.gain.

    Liu, Buccapatnam and Shroff (2018), IDSN-LP. Parameters: see :func:`ids_lp`.

    >>> import numpy as np
    >>> alpha = np.array([[0.75, 0.25]])
    >>> idsn_lp(alpha, np.array([[0.1, 0.3]]), alpha, np.array([[0.1, 0.2]]))
    array([[0.75, 0.25]])
    """
    pi = np.zeros(delta.shape)
    order, space = sort_many(delta, gain), work_space(delta.shape[1])
    least_regret_kernel(delta, gain, alpha, gain, order, space, pi)
    return pi


def ts_n(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    """Return pi = alpha: exact Thompson sampling. Parameters: see :func:`ids_lp`.

    Thompson (1933); with graph feedback Tossou, Dimitrakakis and Dubhashi (2017) and Liu,
    Buccapatnam and Shroff (2018).
    """
    return alpha.copy()
