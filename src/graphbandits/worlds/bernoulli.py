"""Bernoulli arms whose means come from a Beta prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.beta_bernoulli import beta_quantile
from graphbandits.rng import Keys, Stream
from graphbandits.worlds._outcome_kernels import bernoulli_outcomes


@dataclass(frozen=True, eq=False)
class Bernoulli:
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

    def __post_init__(self) -> None:
        if self.fixed is None:
            return
        try:
            means = np.array(self.fixed, np.float64)
        except (TypeError, ValueError):
            means = np.empty(0)
        if means.shape != (self.arms,) or not ((means >= 0.0) & (means <= 1.0)).all():
            raise InputError(
                f"fixed means must be one number in [0, 1] for each of the {self.arms} arms; "
                f"got {self.fixed!r}"
            )
        object.__setattr__(self, "fixed", means)

    @property
    def arms(self) -> int:
        """Number of arms K."""
        return self.prior.arms

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
            return np.tile(self.fixed, (keys.trials, 1))
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
