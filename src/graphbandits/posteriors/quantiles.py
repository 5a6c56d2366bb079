"""Quantiles of Beta distributions."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv, expit

from graphbandits.types import Floats

#: A quantile is one if the distribution function there, or a step beside it, is as near as this.
_NEAR = 1e-6
#: Of a logit in [-710, 710], to rounding.
_HALVINGS = 64


def beta_quantile(a: Floats, b: Floats, u: Floats) -> Floats:
    """The theta at which the distribution function of Beta(a, b) is u.

    Boost's inverse misses now and then where one parameter is a million times the other, so what
    does not lead back to u is found by bisection on the logit axis.

    >>> beta_quantile(np.array(1000.0), np.array(1e9), np.array([0.5])).round(11)
    array([9.9967e-07])
    """
    theta: Floats = np.asarray(betaincinv(a, b, u))
    gap = np.spacing(theta) + 1e-300
    low = betainc(a, b, np.maximum(0.0, theta - gap)) - _NEAR
    high = betainc(a, b, np.minimum(1.0, theta + gap)) + _NEAR
    off = ~((low <= u) & (u <= high))
    if off.any():
        a, b, u = (np.broadcast_to(values, off.shape)[off] for values in (a, b, u))
        below, above = np.full((2, len(u)), 710.0) * [[-1.0], [1.0]]
        for _ in range(_HALVINGS):
            middle = (below + above) / 2.0
            enough = betainc(a, b, expit(middle)) >= u
            below, above = np.where(enough, below, middle), np.where(enough, middle, above)
        theta[off] = expit(above)
    return theta
