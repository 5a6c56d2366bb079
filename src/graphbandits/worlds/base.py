"""The world protocol."""

from __future__ import annotations

from typing import Protocol

from graphbandits._types import Floats, Ints
from graphbandits.posteriors import Posterior
from graphbandits.rng import Keys


class World(Protocol):
    """Protocol of a world: it draws means of arms from its prior, and outcomes on demand."""

    @property
    def prior(self) -> Posterior:
        """Prior of the means, which Bayesian policies start from."""

    @property
    def arms(self) -> int:
        """Number of arms K."""

    def means(self, keys: Keys) -> Floats:
        """Draw the mean reward of every arm for each trial.

        Parameters
        ----------
        keys : Keys
            The trials of the block.

        Returns
        -------
        ndarray of shape (B, K)
            The means.
        """

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        """Draw rewards of (trial, arm) pairs in a round.

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
            The reward of each pair. It does not depend on the other pairs.
        """
