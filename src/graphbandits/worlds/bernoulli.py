"""Bernoulli arms whose means come from a Beta prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.beta_bernoulli import beta_quantile
from graphbandits.registry import register
from graphbandits.rng import Keys, Stream
from graphbandits.worlds._outcome_kernels import bernoulli_outcomes
from graphbandits.worlds.base import PriorWorld


@register("world", "bernoulli")
@dataclass(frozen=True, eq=False)
class Bernoulli(PriorWorld):
    """Bernoulli arms with means from a Beta prior.

    theta_i ~ Beta(a_i, b_i) once per trial; the outcome of arm i in round t is Bernoulli(theta_i).

    Parameters
    ----------
    prior : BetaBernoulli
        Prior of the means, which Bayesian policies start from.
    fixed : array_like of shape (K,), optional
        Means of the arms in every trial. If given, only the policies use the prior.

    Examples
    --------
    >>> world = Bernoulli(BetaBernoulli.of(arms=3))
    >>> world.means(Keys(seed=1, trials=2)).shape
    (2, 3)
    >>> Bernoulli(BetaBernoulli.of(arms=2), fixed=[0.2, 0.7]).means(Keys(seed=1))
    array([[0.2, 0.7]])
    """

    prior: BetaBernoulli
    fixed: Floats | None = None

    @classmethod
    def of(
        cls,
        arms: int,
        a: float | Sequence[float] = 1.0,
        b: float | Sequence[float] = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> Bernoulli:
        """Create a world from parameters of the prior for all arms, or for each arm.

        Parameters
        ----------
        arms : int
            Number of arms K.
        a, b : float or sequence of float
            Parameters of the Beta prior.
        fixed : array_like of shape (K,), optional
            Means of the arms in every trial.

        Returns
        -------
        Bernoulli
            The world.
        """
        return cls(BetaBernoulli.of(arms, a, b), fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[Bernoulli]:
        """Instances used by the contract tests.

        Returns
        -------
        list of Bernoulli
            Two worlds.
        """
        return [cls.of(3, a=[1.0, 2.5, 0.5], b=[3.0, 1.5, 0.75]), cls.of(2, fixed=[0.2, 0.7])]

    def means(self, keys: Keys) -> Floats:
        """Draw theta of each trial by inversion, with one random number per arm.

        Parameters
        ----------
        keys : Keys
            The trials of the block.

        Returns
        -------
        ndarray of shape (B, K)
            The means.
        """
        if self.fixed is not None:
            return super().means(keys)
        u = Stream(keys, 0, "theta").uniform(self.arms)
        return beta_quantile(self.prior.a, self.prior.b, u)

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        """Draw rewards of (trial, arm) pairs in round t; equal for all policies.

        Parameters
        ----------
        theta : ndarray of shape (B, K)
            The means.
        keys : Keys
            The trials of the block.
        t : int
            The round, from 1.
        trial : ndarray of int
            Row of the trial in the block, for each pair.
        arm : ndarray of int
            The arm, for each pair.

        Returns
        -------
        ndarray of float
            The rewards, 0 or 1.
        """
        reward = np.empty(len(arm))
        bernoulli_outcomes(theta, keys.key("outcome"), keys.first_trial, t, trial, arm, reward)
        return reward
