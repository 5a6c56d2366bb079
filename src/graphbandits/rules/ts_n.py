"""TS-N: play each arm with the probability that it is best."""

from __future__ import annotations

from graphbandits._types import Floats


def ts_n(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    """pi = alpha: Thompson sampling, exactly.

    Thompson (1933); under graph feedback Tossou, Dimitrakakis and Dubhashi (2017) and Liu,
    Buccapatnam and Shroff (2018).

    >>> import numpy as np
    >>> alpha, rest = np.array([[0.7, 0.3]]), np.zeros((1, 2))
    >>> ts_n(alpha, rest, rest, rest)
    array([[0.7, 0.3]])
    """
    return alpha.copy()
