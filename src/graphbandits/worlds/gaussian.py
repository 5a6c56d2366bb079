"""Gaussian rewards of known noise, with means from a normal prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from graphbandits._types import Floats, Ints
from graphbandits.posteriors import Normal
from graphbandits.registry import register
from graphbandits.rng import Keys
from graphbandits.worlds.base import PriorWorld, outcome_uniforms


@register("world", "gaussian")
@dataclass(frozen=True, eq=False)
class Gaussian(PriorWorld):
    """Gaussian rewards of known noise, with means from a normal prior.

    theta_i ~ N(mean_i, sd_i^2) once per trial; the outcome of arm i in round t is
    N(theta_i, noise^2).

    Parameters
    ----------
    prior : Normal
        Prior of the means, which Bayesian policies start from.
    fixed : array_like of shape (K,), optional
        Means of the arms in every trial. If given, only the policies use the prior.

    Examples
    --------
    >>> Gaussian.of(arms=3, noise=0.5).means(Keys(seed=1, trials=2)).shape
    (2, 3)
    """

    prior: Normal
    fixed: Floats | None = None

    @classmethod
    def of(
        cls,
        arms: int,
        mean: float | Sequence[float] = 0.0,
        sd: float | Sequence[float] = 1.0,
        noise: float = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> Gaussian:
        """Create a world from parameters for all arms, or for each arm.

        Parameters
        ----------
        arms : int
            Number of arms K.
        mean, sd : float or sequence of float
            Mean and standard deviation of the prior.
        noise : float
            Standard deviation of a reward around its mean.
        fixed : array_like of shape (K,), optional
            Means of the arms in every trial.

        Returns
        -------
        Gaussian
            The world.
        """
        return cls(Normal.of(arms, mean, sd, noise), fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[Gaussian]:
        """Instances used by the contract tests.

        Returns
        -------
        list of Gaussian
            Two worlds.
        """
        return [cls.of(3, mean=[0.0, 0.5, -1.0], sd=[1.0, 0.5, 2.0]), cls.of(2, fixed=[-3.0, 7.0])]

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
            The rewards.
        """
        noise = self.prior.noise
        rewards: Floats = theta[trial, arm] + noise * scipy.special.ndtri(
            outcome_uniforms(keys, t, trial, arm)
        )
        return rewards
