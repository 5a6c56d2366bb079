"""Counts: Poisson rewards, with rates from a Gamma prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphbandits._types import Floats, Ints
from graphbandits.posteriors import GammaPoisson
from graphbandits.registry import register
from graphbandits.rng import Keys
from graphbandits.worlds.base import PriorWorld, outcome_uniforms


@register("world", "poisson")
@dataclass(frozen=True, eq=False)
class Poisson(PriorWorld):
    """Poisson counts, with rates from a Gamma prior.

    theta_i ~ Gamma(shape_i, rate_i) once per trial; the outcome of arm i in round t is
    Poisson(theta_i).

    Parameters
    ----------
    prior : GammaPoisson
        Prior of the rates, which Bayesian policies start from.
    fixed : array_like of shape (K,), optional
        Rates of the arms in every trial. If given, only the policies use the prior.

    Examples
    --------
    >>> Poisson.of(arms=3, shape=2).means(Keys(seed=1, trials=2)).shape
    (2, 3)
    """

    prior: GammaPoisson
    fixed: Floats | None = None

    @classmethod
    def of(
        cls,
        arms: int,
        shape: float | Sequence[float] = 1.0,
        rate: float | Sequence[float] = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> Poisson:
        """Create a world from parameters for all arms, or for each arm.

        Parameters
        ----------
        arms : int
            Number of arms K.
        shape, rate : float or sequence of float
            Parameters of the Gamma prior; its mean is shape / rate.
        fixed : array_like of shape (K,), optional
            Rates of the arms in every trial.

        Returns
        -------
        Poisson
            The world.
        """
        return cls(GammaPoisson.of(arms, shape, rate), fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[Poisson]:
        """Instances used by the contract tests.

        Returns
        -------
        list of Poisson
            Two worlds.
        """
        return [
            cls.of(3, shape=[2.0, 1.0, 5.0], rate=[1.0, 0.5, 4.0]),
            cls.of(2, fixed=[0.2, 40.0]),
        ]

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
        uniform = outcome_uniforms(keys, t, trial, arm)
        return self.prior.draw_reward(theta[trial, arm], uniform)
