"""Estimators of the value of a policy from logged decisions, as functions of arrays.

The rows of an array are decisions, its columns arms. ``target`` has the probabilities of the
evaluated policy, ``chance`` the probability with which the outcome of each arm was seen, given the
past. Each term psi_t has the conditional mean sum_j target_tj theta_j, if ``model`` depends on the
past only. So the terms form a martingale around the value, also in logs of learning policies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats

#: Number of lambdas in the mixture of the finite-sample interval, each half of the one before.
LAMBDAS = 12
#: Largest lambda times the largest possible deviation below.
LARGEST_BET = 0.9


@dataclass
class RunningMean:
    """Mean of all outcomes of each arm that were seen in earlier decisions.

    Parameters
    ----------
    arms : int
        Number of arms.
    start : float
        Value of the model before the first outcome.

    Examples
    --------
    >>> mean = RunningMean(2, start=0.5)
    >>> seen = np.array([[True, False], [True, False], [False, True]])
    >>> reward = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    >>> mean.before(seen, reward, np.ones((3, 2)))  # the arm 1 starts with the mean of all
    array([[0.5, 0.5],
           [1. , 1. ],
           [0.5, 0.5]])
    """

    arms: int
    start: float
    _total: Floats = field(init=False)
    _count: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._total, self._count = np.zeros(self.arms), np.zeros(self.arms)

    def before(self, seen: NDArray[np.bool_], reward: Floats, weight: Floats) -> Floats:
        """Return the model of the next decisions, and learn from their outcomes.

        A row uses the outcomes of earlier rows only: otherwise the terms would be biased.
        """
        counts = np.where(seen, weight, 0.0)
        totals = np.where(seen, weight * reward, 0.0)
        total, count = (
            past + np.cumsum(new, axis=0) - new
            for past, new in ((self._total, totals), (self._count, counts))
        )
        everything = count.sum(axis=1, keepdims=True)
        mean = np.full_like(everything, self.start)
        np.divide(total.sum(axis=1, keepdims=True), everything, out=mean, where=everything > 0.5)
        model = np.broadcast_to(mean, total.shape).copy()
        np.divide(total, count, out=model, where=count > 0.5)
        self._total = self._total + totals.sum(axis=0)
        self._count = self._count + counts.sum(axis=0)
        return model


def weights_of(target: Floats, chance: Floats) -> Floats:
    """Return target / chance, and 0 where the target or the chance is 0."""
    used = (target > 0.0) & (chance > 0.0)
    return np.divide(target, chance, out=np.zeros_like(target), where=used)


def terms(
    target: Floats, weight: Floats, seen: NDArray[np.bool_], reward: Floats, model: Floats
) -> Floats:
    """Return psi_t = sum_j target_tj m_tj + sum over seen j of weight_tj (R_tj - m_tj).

    The model m = 0 gives inverse propensity weighting.
    """
    residual = np.where(seen, reward - model, 0.0)
    found: Floats = (target * model).sum(axis=1) + (weight * residual).sum(axis=1)
    return found


def normal_interval(value: float, error: float, level: float) -> tuple[float, float]:
    """Return an interval from the central limit theorem."""
    half = NormalDist().inv_cdf(0.5 + level / 2.0) * error
    return value - half, value + half


def effective_size(weight: Floats) -> float:
    """Return (sum w)^2 / sum w^2: the number of equally weighted outcomes."""
    squares = float((weight**2).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


# Finite-sample interval ---------------------------------------------------------------------------


def largest_drop(decisions: int) -> float:
    """Return how far a term may fall below 0: more with more decisions, and fixed before them."""
    return max(1.0, math.sqrt(decisions) / 8.0)


def limited_model(model: Floats, weight: Floats, most: float) -> tuple[Floats, Floats]:
    """Return a model with weight_tj m_tj <= most, and the largest of these products in each row.

    Any model that depends on the past is allowed. With this one a term of a nonnegative reward is
    at least -most, for weights of any size.
    """
    limited = np.minimum(
        model, np.divide(most, weight, out=np.full_like(weight, np.inf), where=weight > 0.0)
    )
    return limited, (limited * weight).max(axis=1)


def lower_bound(psi: Floats, least: Floats, most: float, alpha: float) -> float:
    """Return a lower bound of the average of the conditional means of terms, at level 1 - alpha.

    The terms satisfy psi_t >= least_t >= -most, where least_t depends on the past, and their
    conditional means lie in [0, 1]. For xi >= -1 and 0 <= c < 1,
    exp(c xi - (-log(1 - c) - c) xi^2) <= 1 + c xi (Fan, Grama and Liu, 2015). With the running mean
    as centre e_t and b_t = e_t - least_t, the product over t of
    exp(lambda (psi_t - v_t) - (-log(1 - lambda b_t) - lambda b_t) (psi_t - e_t)^2 / b_t^2)
    has an expectation of at most 1, and so has a fixed mixture over lambda. It exceeds 1 / alpha
    with probability alpha at most.

    Parameters
    ----------
    psi, least : ndarray
        Terms and their smallest possible values.
    most : float
        Bound of -least, fixed in advance.
    alpha : float
        Probability of an error.

    Returns
    -------
    float
        The bound, in [0, 1].

    Examples
    --------
    >>> 0.4 < lower_bound(np.tile([0.0, 1.0], 500), np.zeros(1000), 1.0, 0.025) < 0.5
    True
    """
    count = len(psi)
    past = np.concatenate([[0.0], np.cumsum(psi)[:-1]])
    centre = np.clip((past + 0.5) / np.arange(1, count + 1), 0.0, 1.0)
    width = np.maximum(centre - least, 1e-9)
    squares = ((psi - centre) / width) ** 2
    lambdas = LARGEST_BET / (1.0 + most) * 0.5 ** np.arange(LAMBDAS)
    penalty = np.array(
        [((-np.log1p(-one * width) - one * width) * squares).sum() for one in lambdas]
    )
    total = float(psi.sum())

    def evidence(value: float) -> float:
        """Return the logarithm of the mixture, which decreases in the value."""
        logs = lambdas * (total - count * value) - penalty
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).mean()))

    needed = math.log(1.0 / alpha)
    if evidence(0.0) < needed:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if evidence(middle) >= needed else (low, middle)
    return low
