"""Gaussian rewards whose means and variances come from a normal-inverse-gamma prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from graphbandits._types import Floats, Ints
from graphbandits.posteriors import NormalInverseGamma
from graphbandits.registry import register
from graphbandits.rng import Keys, Stream
from graphbandits.worlds.base import PriorWorld, outcome_uniforms


@register("world", "gaussian-unknown-noise")
@dataclass(frozen=True, eq=False)
class GaussianUnknownNoise(PriorWorld):
    """Gaussian rewards of unknown noise, with means and variances from a prior.

    Once per trial, the variance of arm i is the inverse of a Gamma(shape_i, scale_i) draw, and
    theta_i ~ N(mean_i, variance_i / count_i). The outcome of arm i in round t is
    N(theta_i, variance_i).

    Parameters
    ----------
    prior : NormalInverseGamma
        Prior of means and variances, which Bayesian policies start from.
    fixed : array_like of shape (K,), optional
        Means of the arms in every trial. The variances are still drawn from the prior.

    Examples
    --------
    >>> GaussianUnknownNoise.of(arms=3).means(Keys(seed=1, trials=2)).shape
    (2, 3)
    """

    prior: NormalInverseGamma
    fixed: Floats | None = None

    @classmethod
    def of(
        cls,
        arms: int,
        mean: float | Sequence[float] = 0.0,
        count: float | Sequence[float] = 1.0,
        shape: float | Sequence[float] = 2.0,
        scale: float | Sequence[float] = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> GaussianUnknownNoise:
        """Create a world from parameters for all arms, or for each arm.

        Parameters
        ----------
        arms : int
            Number of arms K.
        mean, count, shape, scale : float or sequence of float
            Parameters of the normal-inverse-gamma prior.
        fixed : array_like of shape (K,), optional
            Means of the arms in every trial.

        Returns
        -------
        GaussianUnknownNoise
            The world.
        """
        return cls(NormalInverseGamma.of(arms, mean, count, shape, scale), fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[GaussianUnknownNoise]:
        """Instances used by the contract tests.

        Returns
        -------
        list of GaussianUnknownNoise
            Two worlds.
        """
        return [
            cls.of(3, mean=[0.0, 0.5, -1.0], shape=3.0),
            cls.of(2, shape=3.0, fixed=[-1.0, 2.0]),
        ]

    def variances(self, keys: Keys) -> Floats:
        """Draw the variance of the rewards of every arm for each trial.

        Parameters
        ----------
        keys : Keys
            The trials of the block.

        Returns
        -------
        ndarray of shape (B, K)
            The variances.
        """
        return _variances(self, keys)

    def means(self, keys: Keys) -> Floats:
        """Return the fixed means, or draw the means of each trial given their variances.

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
        u = np.maximum(Stream(keys, 0, "theta").uniform(self.arms), 2.0**-54)
        spread = np.sqrt(self.variances(keys) / self.prior.counts)
        drawn: Floats = self.prior.means + spread * scipy.special.ndtri(u)
        return drawn

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
        spread = np.sqrt(self.variances(keys)[trial, arm])
        rewards: Floats = theta[trial, arm] + spread * scipy.special.ndtri(
            outcome_uniforms(keys, t, trial, arm)
        )
        return rewards


@lru_cache(maxsize=8)
def _variances(world: GaussianUnknownNoise, keys: Keys) -> Floats:
    """Draw the variances of a block; all of its rounds use them."""
    u = np.maximum(Stream(keys, 0, "variance").uniform(world.arms), 2.0**-54)
    found: Floats = world.prior.scales / scipy.special.gammaincinv(world.prior.shapes, u)
    found.setflags(write=False)
    return found
