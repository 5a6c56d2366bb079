"""TS-N: Thompson sampling, the probability that each arm is best."""

from __future__ import annotations

from graphbandits._types import Floats


def ts_n(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    """Return pi = alpha: exact Thompson sampling.

    Thompson (1933); with graph feedback Tossou, Dimitrakakis and Dubhashi (2017) and Liu,
    Buccapatnam and Shroff (2018).

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
    >>> alpha, rest = np.array([[0.7, 0.3]]), np.zeros((1, 2))
    >>> ts_n(alpha, rest, rest, rest)
    array([[0.7, 0.3]])
    """
    return alpha.copy()
