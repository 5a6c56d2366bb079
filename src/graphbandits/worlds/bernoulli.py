"""Bernoulli arms whose means come from a Beta prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys, Stream
from graphbandits.types import Floats, Ints
from graphbandits.worlds.outcome_kernels import bernoulli_outcomes


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """theta_i ~ Beta(a_i, b_i) once a trial, outcome of arm i in round t ~ Bernoulli(theta_i).

    >>> world = Bernoulli(BetaBernoulli.of(arms=3))
    >>> world.means(Keys(seed=1, trials=2)).shape
    (2, 3)
    """

    prior: BetaBernoulli

    @property
    def arms(self) -> int:
        return self.prior.arms

    def means(self, keys: Keys) -> Floats:
        """theta of each trial, (B, K), by inversion: one random number an arm."""
        u = Stream(keys, 0, "theta").uniform(self.arms)
        theta: Floats = np.asarray(betaincinv(self.prior.a, self.prior.b, u))
        return theta

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        """The rewards of (trial of the block, arm) in round t: the same whoever asks."""
        reward = np.empty(len(arm))
        bernoulli_outcomes(theta, keys.key("outcome"), keys.first_trial, t, trial, arm, reward)
        return reward
