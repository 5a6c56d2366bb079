"""Base classes of policies for rewards in [0, 1], which scale other bounded rewards to it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from graphbandits.errors import InputError, check_positive, short_repr
from graphbandits.policies.base import Problem, raise_unaccepted
from graphbandits.policies.index import reward_range as limits_of
from graphbandits.posteriors import Observations
from graphbandits.posteriors.support import BINARY, Support, interval, reward_support
from graphbandits.registry import name_of


@dataclass(frozen=True)
class ScaledRewards:
    """Base class of policies whose formulas are for rewards in [0, 1].

    A reward y becomes (y - low) / (high - low), and the policy plays as it would with these
    rewards. For an index policy this is the same as a bonus times high - low. The interval [low,
    high] is ``reward_range`` if it is given, else that of the rewards of the posterior. Rewards
    without a largest or smallest value need a stated range.

    A subclass calls :meth:`scaled` before it uses rewards.

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward. A reward outside of it is an error.
    """

    reward_range: tuple[float, float] | None = field(default=None, kw_only=True)
    accepts: ClassVar[Support | None] = interval(0, 1)
    rescales: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.reward_range is not None:
            stated = _check_range(self.reward_range, f"{name_of(self)}: reward_range")
            object.__setattr__(self, "reward_range", stated)

    @property
    def scale_is_stated(self) -> bool:
        """Whether the parameters give the scale of the rewards."""
        return self.reward_range is not None

    @classmethod
    def remedy(cls) -> str:
        """Return how to state the scale of unbounded rewards, for messages.

        Returns
        -------
        str
            The text form of a policy with a stated scale.
        """
        return f"{name_of(cls)}(reward_range=[0, 5])"

    def check(self, problem: Problem) -> None:
        """Check before the run that the stated range includes all rewards of the posterior.

        Parameters
        ----------
        problem : Problem
            The problem.

        Raises
        ------
        InputError
            If the rewards of the posterior are bounded and a reward is outside the stated range.
        """
        rewards = reward_support(problem.posterior)
        if self.reward_range is None or not rewards.bounded:
            return
        low, high = self.reward_range
        if not low <= rewards.low <= rewards.high <= high:
            raise InputError(
                f"{name_of(self)}: reward_range=[{low:g}, {high:g}] does not include all rewards "
                f"of the posterior, from {rewards.low:g} to {rewards.high:g}: omit reward_range, "
                "or state a wider one"
            )

    def scale(self, problem: Problem) -> tuple[float, float]:
        """Return the numbers low and width of the scaled reward (y - low) / width.

        Parameters
        ----------
        problem : Problem
            The problem, which has the rewards of the posterior.

        Returns
        -------
        low, width : float
            The smallest reward, and the largest minus the smallest.

        Raises
        ------
        NeedsError
            If the rewards are not bounded and no range is stated.
        """
        if self.reward_range is not None:
            low, high = self.reward_range
            return low, high - low
        rewards = reward_support(problem.posterior)
        if not rewards.bounded:
            raise_unaccepted(self, problem)
        return rewards.low, rewards.high - rewards.low or 1.0

    def scaled(self, seen: Observations, problem: Problem) -> Observations:
        """Return observations with scaled rewards.

        Parameters
        ----------
        seen : Observations
            Observations with the rewards of the problem.
        problem : Problem
            The problem.

        Returns
        -------
        Observations
            The same observations with rewards in [0, 1]; unchanged for rewards 0 and 1.

        Raises
        ------
        InputError
            If a reward is outside the range.
        """
        if not self.scale_is_stated and reward_support(problem.posterior) == BINARY:
            return seen
        low, width = self.scale(problem)
        scaled = (seen.reward - low) / width
        outside = ~((scaled >= 0.0) & (scaled <= 1.0))
        if outside.any():
            raise InputError(
                f"policy '{name_of(self)}': the reward {seen.reward[outside][0]:g} is outside the "
                f"range [{low:g}, {low + width:g}]: set reward_range to an interval that includes "
                "all rewards"
            )
        return replace(seen, reward=scaled)

    def limits(self, problem: Problem) -> tuple[float, float]:
        """Return the smallest and the largest scaled reward.

        Parameters
        ----------
        problem : Problem
            The problem.

        Returns
        -------
        low, high : float
            0 and 1.
        """
        return 0.0, 1.0


@dataclass(frozen=True)
class NoiseScaledRewards(ScaledRewards):
    """Base class of index policies for rewards in [0, 1] or with known noise.

    Rewards in [0, 1] are sub-Gaussian with the constant 1/2 (Hoeffding's lemma). For rewards with
    the constant sigma, the bonus is therefore multiplied by 2 sigma; here this is done by dividing
    rewards by 2 sigma.

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward. A reward outside of it is an error.
    noise : float, optional
        Sub-Gaussian constant sigma of the rewards, above 0; for Gaussian rewards their standard
        deviation. It replaces ``reward_range``, and rewards need not be bounded.
    """

    noise: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is None:
            return
        check_positive(self.noise, f"{name_of(self)}: noise")
        if self.reward_range is not None:
            raise InputError(
                f"{name_of(self)}: reward_range and noise both state the scale of the rewards: "
                "give one of them"
            )

    @property
    def scale_is_stated(self) -> bool:
        return self.noise is not None or super().scale_is_stated

    @classmethod
    def remedy(cls) -> str:
        return f"{super().remedy()} or {name_of(cls)}(noise=1)"

    def scale(self, problem: Problem) -> tuple[float, float]:
        return super().scale(problem) if self.noise is None else (0.0, 2.0 * self.noise)

    def scaled(self, seen: Observations, problem: Problem) -> Observations:
        if self.noise is None:
            return super().scaled(seen, problem)
        return replace(seen, reward=seen.reward / (2.0 * self.noise))

    def limits(self, problem: Problem) -> tuple[float, float]:
        if self.noise is None:
            return super().limits(problem)
        low, high = limits_of(problem)
        return low / (2.0 * self.noise), high / (2.0 * self.noise)


def _check_range(given: object, what: str) -> tuple[float, float]:
    """Return two finite numbers low < high as a pair, unchanged; raise InputError otherwise."""
    pair: Any = given
    try:
        low, high = pair
        width = interval(low, high).high - low
    except (TypeError, ValueError):
        width = math.inf
    if not math.isfinite(width):
        raise InputError(
            f"{what} must be two finite numbers low < high, as in [0, 5], not {short_repr(given)}"
        )
    return low, high
