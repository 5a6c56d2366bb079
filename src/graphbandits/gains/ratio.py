"""The information ratio, and the entropy that bounds the information there is."""

from __future__ import annotations

import numpy as np

from graphbandits._types import Floats


def information_ratio(pi: Floats, delta: Floats, gain: Floats) -> Floats:
    """Psi = (pi.Delta)^2 / (pi.gain) for each row.

    Where nothing is learned it is infinite, or NaN if nothing is lost either.

    With gain = G h it is an upper bound of the paper's Psi_t; for pi = alpha it is psi_t.

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
    """-sum_i alpha_i log(alpha_i) of each row, in nats.

    >>> import numpy as np
    >>> entropy(np.array([[0.5, 0.5, 0.0]])).round(6)
    array([0.693147])
    """
    logs = np.log(alpha, where=alpha > 0.0, out=np.zeros_like(alpha))
    found: Floats = -(alpha * logs).sum(axis=1)
    return np.maximum(found, 0.0)
