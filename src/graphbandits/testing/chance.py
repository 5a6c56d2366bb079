"""What cannot be chance: bounds that hold for any share and any number of trials."""

from __future__ import annotations

import numpy as np

from graphbandits.types import Floats

#: The logarithm of two over the probability of a false alarm: one in 10^9 for each number compared.
LEVEL = float(np.log(2e9))


def most_by_chance(variance: object) -> Floats:
    """How far a sum of independent terms strays from its mean: sqrt(2 L v) + L / 3.

    Each term is within 1 of its mean, and v is the sum of their variances (Bernstein's
    inequality). It holds for one trial and for shares of 0 and 1 as well, where a number of
    standard errors means nothing.

    >>> most_by_chance(0.0).round(2), most_by_chance(1000.0).round(1)
    (np.float64(7.14), np.float64(214.1))
    """
    bound: Floats = np.sqrt(2.0 * LEVEL * np.asarray(variance, np.float64)) + LEVEL / 3.0
    return bound


def shares_differ(one: Floats, two: Floats, trials: int) -> bool:
    """Whether two lists of shares, each of as many trials, cannot have the same probabilities.

    The variance is that of the pooled share: given how often an arm was played in both, each of
    these plays falls to either side with probability 1/2.

    >>> shares_differ(np.array([0.0, 1.0]), np.array([0.001, 0.999]), 3000)
    False
    """
    pooled = (one + two) / 2.0
    variance = 2.0 * trials * pooled * (1.0 - pooled)
    return bool((np.abs(one - two) * trials > most_by_chance(variance)).any())
