"""The information ratio, and the entropy, an upper bound of the information."""

from __future__ import annotations

import numpy as np

from graphbandits._types import Floats


def information_ratio(pi: Floats, delta: Floats, gain: Floats) -> Floats:
    """Compute the information ratio Psi = (pi.Delta)^2 / (pi.gain) of each row.

    With gain = G h it is an upper bound of the paper's Psi_t; for pi = alpha it is psi_t.

    Parameters
    ----------
    pi : ndarray of shape (B, K)
        The distribution of the play.
    delta : ndarray of shape (B, K)
        Expected regret of playing each arm.
    gain : ndarray of shape (B, K)
        Information gain of playing each arm.

    Returns
    -------
    ndarray of shape (B,)
        The ratios. Infinite if the expected gain is zero; NaN if the expected regret is zero too.

    Examples
    --------
    >>> import numpy as np
    >>> pi, delta = np.array([[0.5, 0.5]]), np.array([[0.1, 0.3]])
    >>> information_ratio(pi, delta, np.array([[0.1, 0.3]]))
    array([0.2])
    """
    regret = (pi * delta).sum(axis=1)
    learned = (pi * gain).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = regret * (regret / np.maximum(learned, 0.0))
    return ratio


def entropy(alpha: Floats) -> Floats:
    """Compute the entropy -sum_i alpha_i log(alpha_i) of each row, in nats.

    >>> import numpy as np
    >>> entropy(np.array([[0.5, 0.5, 0.0]])).round(6)
    array([0.693147])
    """
    logs = np.log(alpha, where=alpha > 0.0, out=np.zeros_like(alpha))
    found: Floats = -(alpha * logs).sum(axis=1)
    return np.maximum(found, 0.0)
