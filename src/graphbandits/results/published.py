"""Regrets that were published, beside those that were found here."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass

from graphbandits.errors import InputError, nearest
from graphbandits.results.model import Results

#: Combined standard errors that lie between two regrets that agree, at most.
NEAR = 3.0


@dataclass(frozen=True)
class Published:
    """The mean final regret of each policy and its standard error, as ``source`` has them."""

    means: Mapping[str, tuple[float, float]]
    source: str

    def __post_init__(self) -> None:
        if not isinstance(self.means, Mapping) or not self.means:
            raise InputError("published regrets are {policy: (mean, standard error)}, one or more")
        for name, value in self.means.items():
            pair = isinstance(value, tuple | list) and len(value) == 2
            if not pair or not all(_finite(v) for v in value) or value[1] < 0.0:
                raise InputError(
                    f"the published regret of '{name}' is a mean and its standard error of at "
                    f"least 0, two numbers; got {value!r}"
                )


@dataclass(frozen=True)
class Comparison:
    """One policy here and there; ``distance`` is in standard errors of the difference."""

    policy: str
    mean: float
    standard_error: float
    published_mean: float
    published_error: float
    distance: float
    within: bool


def compare(published: Published, results: Results) -> list[Comparison]:
    """Each published mean m' (standard error s') beside the m (s) of the results.

    The distance is (m - m') / sqrt(s^2 + s'^2), and ``within`` whether it is at most ``NEAR``
    either way. One trial has no standard error: its distance is NaN, and not within.

    >>> from graphbandits import simulate
    >>> results = simulate("ts-n", graph="star", horizon=20, trials=50, seed=1)
    >>> (found,) = compare(Published({"ts-n": (90.0, 1.5)}, "made up"), results)
    >>> found.published_mean, found.within
    (90.0, False)
    """
    found = []
    for name, (there, error) in published.means.items():
        if name not in results.policies:
            raise InputError(
                f"the published regrets ({published.source}) name the policy '{name}', which is "
                f"not among the results: {nearest(name, results.policies)}"
            )
        here = float(results[name].mean[-1])
        own = float(results[name].standard_error[-1])
        distance = _distance(here - there, math.hypot(own, error))
        found.append(Comparison(name, here, own, there, error, distance, abs(distance) <= NEAR))
    return found


def _distance(difference: float, error: float) -> float:
    if error == 0.0:  # nothing is left to chance: the same number, or not
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error


def _finite(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
