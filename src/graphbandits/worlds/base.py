"""The world protocol, and the base class of worlds that draw their means from a prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from graphbandits._rng_kernels import pair_uniforms
from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, short_repr
from graphbandits.posteriors import Posterior, Support
from graphbandits.posteriors.base import reward_support
from graphbandits.rng import Keys, Stream


class World(Protocol):
    """Protocol of a world: it draws means of arms from its prior, and outcomes on demand.

    Attributes
    ----------
    rewards : Support, optional
        Rewards of the world (:mod:`graphbandits.posteriors.base`). Without it they are those of
        the prior.
    """

    @property
    def prior(self) -> Posterior:
        """Prior that matches the world. Bayesian policies start from it by default."""

    @property
    def arms(self) -> int:
        """Number of arms K."""

    def means(self, keys: Keys) -> Floats:
        """Return the mean reward of every arm for each trial, (B, K); of round 1 if they change.

        Parameters
        ----------
        keys : Keys
            The trials of the block.
        """

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        """Return the reward of each (trial, arm) pair in a round, independent of the other pairs.

        Parameters
        ----------
        theta : ndarray of shape (B, K)
            The means in this round.
        keys : Keys
            The trials of the block.
        t : int
            The round, from 1.
        trial, arm : ndarray of int
            Row of the trial in the block, and the arm, for each pair.
        """


@runtime_checkable
class Changing(Protocol):
    """Optional protocol of a world whose means change from round to round."""

    def means_at(self, theta: Floats, keys: Keys, t: int) -> Floats:
        """Return the means of a round, (B, K), for outcomes and regret.

        They depend on the seed, the trial, the round and the arm only.

        Parameters
        ----------
        theta : ndarray of shape (B, K)
            The result of ``means``. It must not be modified.
        keys : Keys
            The trials of the block.
        t : int
            The round, from 1.
        """


@dataclass(frozen=True, eq=False)
class PriorWorld:
    """Base class of worlds whose means are draws from a prior, or fixed.

    A subclass sets the type of ``prior``, and defines ``of`` and ``outcomes``.

    Parameters
    ----------
    prior : Posterior
        Prior of the means, which Bayesian policies start from.
    fixed : array_like of shape (K,), optional
        Means of the arms in every trial. If given, only the policies use the prior.
    """

    prior: Any
    fixed: Floats | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "fixed", fixed_means(self.fixed, self.prior))

    @property
    def arms(self) -> int:
        arms: int = self.prior.arms
        return arms

    @property
    def rewards(self) -> Support:
        return reward_support(self.prior)

    def means(self, keys: Keys) -> Floats:
        if self.fixed is not None:
            return np.tile(self.fixed, (keys.trials, 1))
        drawn: Floats = self.prior.sample(self.prior.init(keys.trials), Stream(keys, 0, "theta"))
        return drawn


def fixed_means(given: object, prior: Posterior, periods: int = 1) -> Floats | None:
    """Return fixed means, one per arm or one row per period, checked; None if not given."""
    if given is None:
        return None
    try:
        means = np.array(given, np.float64)
    except (TypeError, ValueError):
        means = np.empty(0)
    low, high = prior.support
    inside = np.isfinite(means) & (means >= low) & (means <= high)
    shapes = [(prior.arms,), *([(periods, prior.arms)] if periods > 1 else [])]
    if means.shape not in shapes or not inside.all():
        rows = f", or a list of them for each of the {periods} periods" if periods > 1 else ""
        raise InputError(
            f"fixed means must be one finite number in [{low:g}, {high:g}] for each of the "
            f"{prior.arms} arms{rows}; got {short_repr(given)}"
        )
    means.setflags(write=False)
    return means


def outcome_uniforms(
    keys: Keys, t: int, trial: Ints, arm: Ints, purpose: str = "outcome"
) -> Floats:
    """Return a uniform number in (0, 1) for each (trial, arm) pair in round t.

    It depends on the seed, the trial, the round, the arm and the name ``purpose`` of the stream
    only. See :meth:`World.outcomes`.
    """
    out = np.empty(len(arm))
    pair_uniforms(keys.key(purpose), keys.first_trial, t, trial, arm, out)
    return out
