"""Bernoulli arms whose means jump at given rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer, short_repr
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.beta_bernoulli import beta_quantile
from graphbandits.posteriors.support import BINARY, Support
from graphbandits.registry import register
from graphbandits.rng import Keys, Stream
from graphbandits.worlds._outcome_kernels import bernoulli_outcomes


@register("world", "bernoulli-switch")
@dataclass(frozen=True, eq=False)
class BernoulliSwitch:
    """Bernoulli arms whose means jump at given rounds.

    The rounds are divided into periods. In each period the means are drawn from the prior again, or
    fixed; the outcome of arm i in a round of the period is Bernoulli(theta_i). The regret of a
    round is relative to the best arm of this round. Garivier and Moulines (2011).

    Parameters
    ----------
    prior : BetaBernoulli
        Prior of the means, which Bayesian policies start from.
    changes : sequence of int
        First round of each period but the first, in increasing order.
    fixed : array_like of shape (periods, K) or (K,), optional
        Means of the arms in each period, or in all of them, in every trial. If given, only the
        policies use the prior.

    Examples
    --------
    >>> world = BernoulliSwitch.of(arms=2, changes=[3], fixed=[[0.5, 0.7], [0.9, 0.7]])
    >>> keys = Keys(seed=1)
    >>> [world.means_at(world.means(keys), keys, t).tolist() for t in (2, 3)]
    [[[0.5, 0.7]], [[0.9, 0.7]]]
    """

    prior: BetaBernoulli
    changes: tuple[int, ...] = ()
    fixed: Floats | None = None

    def __post_init__(self) -> None:
        given = self.changes
        several = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
        listed = list(given) if several else [given]
        changes = tuple(check_integer(one, "a round of changes", least=2) for one in listed)
        if list(changes) != sorted(set(changes)):
            raise InputError(
                f"changes must be different rounds in increasing order, not {short_repr(given)}"
            )
        object.__setattr__(self, "changes", changes)
        if self.fixed is None:
            return
        try:
            means = np.array(self.fixed, np.float64)
        except (TypeError, ValueError):
            means = np.empty(0)
        shapes = ((self.arms,), (len(changes) + 1, self.arms))
        if means.shape not in shapes or not ((means >= 0.0) & (means <= 1.0)).all():
            raise InputError(
                f"fixed means must be one number in [0, 1] for each of the {self.arms} arms, or a "
                f"list of them for each of the {len(changes) + 1} periods; got "
                f"{short_repr(self.fixed)}"
            )
        means.setflags(write=False)
        object.__setattr__(self, "fixed", means)

    @classmethod
    def of(
        cls,
        arms: int,
        a: float | Sequence[float] = 1.0,
        b: float | Sequence[float] = 1.0,
        changes: Sequence[int] = (),
        fixed: Sequence[Sequence[float]] | Sequence[float] | Floats | None = None,
    ) -> BernoulliSwitch:
        """Create a world from parameters of the prior for all arms, or for each arm.

        Parameters
        ----------
        arms : int
            Number of arms K.
        a, b : float or sequence of float
            Parameters of the Beta prior.
        changes : sequence of int
            First round of each period but the first.
        fixed : array_like of shape (periods, K) or (K,), optional
            Means of the arms in each period, or in all of them, in every trial.

        Returns
        -------
        BernoulliSwitch
            The world.
        """
        return cls(BetaBernoulli.of(arms, a, b), changes, fixed)  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> list[BernoulliSwitch]:
        """Instances used by the contract tests.

        Returns
        -------
        list of BernoulliSwitch
            Two worlds.
        """
        return [
            cls.of(3, a=[1.0, 2.5, 0.5], b=[3.0, 1.5, 0.75], changes=[3, 40]),
            cls.of(2, changes=[2], fixed=[[0.2, 0.7], [0.8, 0.7]]),
        ]

    @property
    def arms(self) -> int:
        """Number of arms K."""
        return self.prior.arms

    @property
    def rewards(self) -> Support:
        """Rewards of the world."""
        return BINARY

    def means(self, keys: Keys) -> Floats:
        """Return the means of the first period.

        Parameters
        ----------
        keys : Keys
            The trials of the block.

        Returns
        -------
        ndarray of shape (B, K)
            The means.
        """
        return self._means_of(0, keys)

    def means_at(self, theta: Floats, keys: Keys, t: int) -> Floats:
        """Return the means in a round.

        Parameters
        ----------
        theta : ndarray of shape (B, K)
            The means of the first period.
        keys : Keys
            The trials of the block.
        t : int
            The round, from 1.

        Returns
        -------
        ndarray of shape (B, K)
            The means.
        """
        period = int(np.searchsorted(self.changes, t, side="right"))
        return theta if period == 0 else self._means_of(period, keys)

    def _means_of(self, period: int, keys: Keys) -> Floats:
        if self.fixed is not None:
            means = self.fixed if self.fixed.ndim == 1 else self.fixed[period]
            return np.tile(means, (keys.trials, 1))
        return _drawn(self, period, keys).copy()

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        """Draw rewards of (trial, arm) pairs in round t; equal for all policies.

        Parameters
        ----------
        theta : ndarray of shape (B, K)
            The means in this round.
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


@lru_cache(maxsize=8)
def _drawn(world: BernoulliSwitch, period: int, keys: Keys) -> Floats:
    """Return the means of a period; all of its rounds use them."""
    u = Stream(keys, period, "theta").uniform(world.arms)
    return beta_quantile(world.prior.a, world.prior.b, u)
