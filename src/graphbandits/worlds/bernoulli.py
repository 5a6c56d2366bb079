"""Bernoulli arms whose means come from a Beta prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv, expit

from graphbandits.errors import InputError
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys, Stream
from graphbandits.types import Floats, Ints
from graphbandits.worlds.outcome_kernels import bernoulli_outcomes

#: A quantile is one if the distribution function there, or a step beside it, is as near as this.
_NEAR = 1e-6
#: Of a logit in [-710, 710], to rounding.
_HALVINGS = 64


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """theta_i ~ Beta(a_i, b_i) once a trial, outcome of arm i in round t ~ Bernoulli(theta_i).

    With ``fixed`` means every trial has these; the prior is then only what policies believe.

    >>> world = Bernoulli(BetaBernoulli.of(arms=3))
    >>> world.means(Keys(seed=1, trials=2)).shape
    (2, 3)
    >>> Bernoulli(BetaBernoulli.of(arms=2), fixed=[0.2, 0.7]).means(Keys(seed=1))
    array([[0.2, 0.7]])
    """

    prior: BetaBernoulli
    fixed: Floats | None = None

    def __post_init__(self) -> None:
        if self.fixed is None:
            return
        try:
            means = np.array(self.fixed, np.float64)
        except (TypeError, ValueError):
            means = np.empty(0)
        if means.shape != (self.arms,) or not ((means >= 0.0) & (means <= 1.0)).all():
            raise InputError(
                f"fixed means are one number in [0, 1] for each of the {self.arms} arms; "
                f"got {self.fixed!r}"
            )
        object.__setattr__(self, "fixed", means)

    @property
    def arms(self) -> int:
        return self.prior.arms

    def means(self, keys: Keys) -> Floats:
        """theta of each trial, (B, K), by inversion: one random number an arm."""
        if self.fixed is not None:
            return np.tile(self.fixed, (keys.trials, 1))
        u = Stream(keys, 0, "theta").uniform(self.arms)
        return beta_quantile(self.prior.a, self.prior.b, u)

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        """The rewards of (trial of the block, arm) in round t: the same whoever asks."""
        reward = np.empty(len(arm))
        bernoulli_outcomes(theta, keys.key("outcome"), keys.first_trial, t, trial, arm, reward)
        return reward


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
