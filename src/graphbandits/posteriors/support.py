"""Supports: the set of rewards that a world gives, a posterior models or a policy accepts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats
from graphbandits.errors import InputError, short_repr


@dataclass(frozen=True)
class Support:
    """A set of rewards: listed values, an interval, counts, or all real numbers.

    Use :data:`BINARY`, :data:`COUNT`, :data:`REAL`, :func:`interval` and :func:`values` to create
    one.

    Parameters
    ----------
    low, high : float
        Smallest and largest reward; infinite if there is none.
    listed : tuple of float, optional
        All rewards, in increasing order, if they can be listed.
    integer : bool
        Whether rewards are integers.

    Examples
    --------
    >>> str(interval(0, 5)), str(values(1, 2, 5)), interval(0, 5).includes(BINARY)
    ('interval(0, 5)', 'values(1, 2, 5)', True)
    """

    low: float
    high: float
    listed: tuple[float, ...] | None = None
    integer: bool = False

    def __str__(self) -> str:
        if self.listed is not None:
            binary = self.listed == (0.0, 1.0)
            return "binary" if binary else f"values({', '.join(f'{x:g}' for x in self.listed)})"
        if self.integer:
            return "count"
        return f"interval({self.low:g}, {self.high:g})" if self.bounded else "real"

    @property
    def bounded(self) -> bool:
        """Whether there is a smallest and a largest reward."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def description(self) -> str:
        """The rewards in words, for messages."""
        if self.listed is not None:
            *most, last = (f"{x:g}" for x in self.listed)
            return f"{', '.join(most)} or {last}" if most else last
        if self.integer:
            return "a whole number of at least 0"
        if self.bounded:
            return f"a number in [{self.low:g}, {self.high:g}]"
        return "a finite number"

    def contains(self, rewards: Floats) -> NDArray[np.bool_]:
        """Return for each number whether it is a reward of this support.

        Parameters
        ----------
        rewards : ndarray of float
            Numbers.

        Returns
        -------
        ndarray of bool
            False for NaN and infinite numbers.

        Examples
        --------
        >>> COUNT.contains(np.array([0.0, 1.5, -1.0, np.nan])).tolist()
        [True, False, False, False]
        """
        if self.listed is not None:
            return np.isin(rewards, self.listed)
        inside = np.isfinite(rewards) & (rewards >= self.low) & (rewards <= self.high)
        return inside & (rewards == np.rint(rewards)) if self.integer else inside

    def includes(self, other: Support) -> bool:
        """Return whether every reward of another support is in this one.

        Parameters
        ----------
        other : Support
            The other support.

        Returns
        -------
        bool
            Whether the other support is a subset.
        """
        if other.listed is not None:
            return bool(self.contains(np.array(other.listed)).all())
        if self.listed is not None or (self.integer and not other.integer):
            return False
        return self.low <= other.low and other.high <= self.high

    def check(self, reward: object) -> float:
        """Return a reward given by a user as a float.

        Parameters
        ----------
        reward : float
            The reward.

        Returns
        -------
        float
            The reward.

        Raises
        ------
        InputError
            If it is not a number of this support.
        """
        # NumPy registers timedelta64 as an integer; Decimal and NumPy's bool are not Real
        number = isinstance(reward, Real | Decimal | np.bool_)
        if number and not isinstance(reward, np.timedelta64):
            try:
                found = float(reward)  # type: ignore[arg-type]
            except (ArithmeticError, ValueError):  # a signalling NaN of decimal, or a huge integer
                found = math.nan
            if self.contains(np.array(found)) and _equal(found, reward):
                return found
        raise InputError(f"a reward must be {self.description}, not {short_repr(reward)}")


def _equal(number: float, given: Any) -> bool:
    """Return whether a float is the given number, up to rounding of the given number to a float."""
    return bool(number == given) or not isinstance(given, int)


#: The rewards 0 and 1.
BINARY = Support(0.0, 1.0, (0.0, 1.0), True)
#: The rewards 0, 1, 2, ...
COUNT = Support(0.0, math.inf, integer=True)
#: All real numbers.
REAL = Support(-math.inf, math.inf)


def interval(low: float, high: float) -> Support:
    """Return the support of rewards between two numbers.

    Parameters
    ----------
    low, high : float
        Smallest and largest reward, finite, low < high.

    Returns
    -------
    Support
        The support.

    Examples
    --------
    >>> interval(0, 5).contains(np.array([0.0, 5.0, 5.1])).tolist()
    [True, True, False]
    """
    ends = [end for end in (low, high) if not isinstance(end, bool) and isinstance(end, Real)]
    if len(ends) < 2 or not -math.inf < low < high < math.inf:
        raise InputError(
            f"an interval needs two finite numbers low < high, not {short_repr((low, high))}"
        )
    return Support(float(low), float(high))


def values(*listed: float) -> Support:
    """Return the support of listed rewards.

    Parameters
    ----------
    *listed : float
        All rewards: one or more different finite numbers.

    Returns
    -------
    Support
        The support.

    Examples
    --------
    >>> values(0, 1) == BINARY, values(5, 1, 3).listed
    (True, (1.0, 3.0, 5.0))
    """
    numbers = [x for x in listed if isinstance(x, Real) and not isinstance(x, bool)]
    found = tuple(sorted({float(x) for x in numbers}))
    if not found or len(found) < len(listed) or not all(map(math.isfinite, found)):
        raise InputError(
            f"listed rewards must be different finite numbers, not {short_repr(listed)}"
        )
    return Support(found[0], found[-1], found, all(x == round(x) and x >= 0.0 for x in found))


def reward_support(model: object) -> Support:
    """Return the rewards of a posterior or a world.

    A class without the attribute ``rewards`` has the listed rewards of its attribute ``outcomes``,
    if there is one, else real rewards. A world without ``rewards`` has those of its prior.

    Parameters
    ----------
    model : Posterior or World
        The model.

    Returns
    -------
    Support
        Its rewards.

    Raises
    ------
    InputError
        If ``rewards`` is not a support.

    Examples
    --------
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> str(reward_support(BetaBernoulli.of(2)))
    'binary'
    """
    found: Any = getattr(model, "rewards", None)
    if found is None and hasattr(model, "prior"):
        return reward_support(model.prior)
    if found is None:
        listed = getattr(model, "outcomes", None)
        return REAL if listed is None or callable(listed) else values(*listed)
    if not isinstance(found, Support):
        raise InputError(
            f"{type(model).__name__}: rewards must be a support such as REAL or interval(0, 1), "
            f"not {short_repr(found)}"
        )
    return found
