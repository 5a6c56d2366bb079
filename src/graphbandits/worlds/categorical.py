"""Listed rewards: star ratings or basket sizes, with probabilities from a Dirichlet prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from graphbandits._types import Floats, Ints
from graphbandits.posteriors import Dirichlet
from graphbandits.registry import register
from graphbandits.rng import Keys, Stream
from graphbandits.worlds.base import PriorWorld, outcome_uniforms

#: Number of bisections that locate a tilt up to rounding.
_HALVINGS = 200


@register("world", "categorical")
@dataclass(frozen=True, eq=False)
class Categorical(PriorWorld):
    """Rewards from a list, with probabilities from a Dirichlet prior.

    Once per trial, the probabilities of the values of arm i are drawn from Dirichlet(weights_i);
    theta_i is the mean of the values.

    Parameters
    ----------
    prior : Dirichlet
        Prior of the probabilities, which Bayesian policies start from.
    fixed : array_like of shape (K,), optional
        Means of the arms in every trial. The probabilities are then those of the prior mean,
        weighted by exp(c value) with the c that gives this mean.

    Examples
    --------
    >>> Categorical.of(arms=3, values=(1, 2, 5)).means(Keys(seed=1, trials=2)).shape
    (2, 3)
    """

    prior: Dirichlet
    fixed: Floats | None = None

    @classmethod
    def of(
        cls,
        arms: int,
        values: Sequence[float] = (1.0, 2.0, 3.0, 4.0, 5.0),
        weights: float | Sequence[float] | Sequence[Sequence[float]] = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> Categorical:
        """Create a world from parameters for all arms, or for each arm.

        Parameters
        ----------
        arms : int
            Number of arms K.
        values : sequence of float
            The rewards.
        weights : float or sequence
            Weights of the Dirichlet prior: one number, one per value, or one list per arm.
        fixed : array_like of shape (K,), optional
            Means of the arms in every trial.

        Returns
        -------
        Categorical
            The world.
        """
        return cls(Dirichlet.of(arms, values, weights), fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[Categorical]:
        """Instances used by the contract tests.

        Returns
        -------
        list of Categorical
            Two worlds.
        """
        return [
            cls.of(3, values=(0, 1, 5), weights=(4.0, 2.0, 1.0)),
            cls.of(2, values=(1, 2, 3), fixed=[1.4, 2.9]),
        ]

    def probabilities(self, keys: Keys) -> Floats:
        """Draw the probability of each value for every arm and trial.

        Parameters
        ----------
        keys : Keys
            The trials of the block.

        Returns
        -------
        ndarray of shape (B, K, values)
            The probabilities.
        """
        return _probabilities(self, keys)

    def means(self, keys: Keys) -> Floats:
        """Return the fixed means, or the means of the drawn probabilities.

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
        means: Floats = (self.probabilities(keys) * self.prior.values).sum(axis=2)
        return means

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
        share = self.probabilities(keys)[trial, arm]
        uniform = outcome_uniforms(keys, t, trial, arm)
        below = np.cumsum(share, axis=1)
        index = (uniform[:, None] >= below / below[:, -1:]).sum(axis=1)
        rewards: Floats = np.asarray(self.prior.values)[index]
        return rewards


@lru_cache(maxsize=8)
def _probabilities(world: Categorical, keys: Keys) -> Floats:
    """Return the probabilities of a block; all of its rounds use them."""
    prior, values = world.prior, np.array(world.prior.values)
    if world.fixed is None:
        shape = (keys.trials, *prior.weights.shape)
        u = Stream(keys, 0, "theta").uniform(prior.weights.size).reshape(shape)
        gamma = scipy.special.gammaincinv(prior.weights, np.maximum(u, 2.0**-54))
        found: Floats = gamma / gamma.sum(axis=2, keepdims=True)
    else:
        tilted = [_tilted(w, values, m) for w, m in zip(prior.weights, world.fixed, strict=True)]
        found = np.tile(np.stack(tilted), (keys.trials, 1, 1))
    found.setflags(write=False)
    return found


def _tilted(weights: Floats, values: Floats, mean: float) -> Floats:
    """Return the probabilities proportional to weights * exp(c values) with the given mean."""
    if mean in (values[0], values[-1]):
        at_end: Floats = (values == mean).astype(np.float64)
        return at_end
    scaled = (values - mean) / (values[-1] - values[0])
    low, high = -1e4, 1e4
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        share = weights * np.exp(middle * scaled - (middle * scaled).max())
        low, high = (middle, high) if (share * scaled).sum() < 0.0 else (low, middle)
    tilted: Floats = share / share.sum()
    return tilted
