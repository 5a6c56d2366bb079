"""Rewards in an interval: Beta distributed around means from a Beta prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from graphbandits._types import Floats, Ints
from graphbandits.errors import check_positive
from graphbandits.posteriors import BetaInterval
from graphbandits.registry import register
from graphbandits.rng import Keys
from graphbandits.worlds.base import PriorWorld, outcome_uniforms


@register("world", "beta")
@dataclass(frozen=True, eq=False)
class Beta(PriorWorld):
    """Beta distributed rewards in an interval, with means from a Beta prior.

    On the scale of [0, 1], theta_i ~ Beta(a_i, b_i) once per trial, and the outcome of arm i in
    round t is Beta(n theta_i, n (1 - theta_i)) with the concentration n. The matching posterior is
    right about the means, and learns from a random draw of 0 or 1 for each reward.

    Parameters
    ----------
    prior : BetaInterval
        Prior of the means, which Bayesian policies start from.
    fixed : array_like of shape (K,), optional
        Means of the arms in every trial. If given, only the policies use the prior.
    concentration : float
        Concentration n of the rewards around their mean; the variance of a reward is
        theta (1 - theta) / (n + 1) on the scale of [0, 1].

    Examples
    --------
    >>> Beta.of(arms=3, low=0, high=10).means(Keys(seed=1, trials=2)).shape
    (2, 3)
    """

    prior: BetaInterval
    fixed: Floats | None = None
    concentration: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.concentration, "beta: concentration")

    @classmethod
    def of(
        cls,
        arms: int,
        a: float | Sequence[float] = 1.0,
        b: float | Sequence[float] = 1.0,
        concentration: float = 10.0,
        low: float = 0.0,
        high: float = 1.0,
        fixed: Sequence[float] | Floats | None = None,
    ) -> Beta:
        """Create a world from parameters for all arms, or for each arm.

        Parameters
        ----------
        arms : int
            Number of arms K.
        a, b : float or sequence of float
            Parameters of the Beta prior of the means.
        concentration : float
            Concentration of rewards around their mean.
        low, high : float
            Ends of the interval.
        fixed : array_like of shape (K,), optional
            Means of the arms in every trial.

        Returns
        -------
        Beta
            The world.
        """
        prior = BetaInterval.of(arms, a, b, low, high)
        return cls(prior, fixed, concentration)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[Beta]:
        """Instances used by the contract tests.

        Returns
        -------
        list of Beta
            Two worlds.
        """
        return [
            cls.of(3, a=[1.0, 2.0, 4.0], b=[3.0, 2.0, 1.5]),
            cls.of(2, high=5, fixed=[1.0, 4.0]),
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
        low, high = self.prior.low, self.prior.high
        share = (theta[trial, arm] - low) / (high - low)
        n, inside = self.concentration, (share > 0.0) & (share < 1.0)
        found = share.copy()  # a mean at an end of the interval leaves no choice
        uniform = outcome_uniforms(keys, t, trial, arm)[inside]
        found[inside] = scipy.special.betaincinv(
            n * share[inside], n * (1.0 - share[inside]), uniform
        )
        rewards: Floats = np.clip(low + (high - low) * found, low, high)
        return rewards
