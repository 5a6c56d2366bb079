"""What every world offers."""

from __future__ import annotations

from typing import Protocol

from graphbandits._types import Floats, Ints
from graphbandits.posteriors import Posterior
from graphbandits.rng import Keys


class World(Protocol):
    """Draws the means of the arms from its prior, and outcomes on demand."""

    @property
    def prior(self) -> Posterior:
        """The prior that Bayesian policies start from."""

    @property
    def arms(self) -> int:
        """K."""

    def means(self, keys: Keys) -> Floats:
        """The mean reward of every arm for each trial, (B, K)."""

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        """Rewards of flat (trial of the block, arm) pairs in round t."""
