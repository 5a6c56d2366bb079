"""Compare results with claims and with published regrets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphbandits.errors import InputError
from graphbandits.simulation.results import Results
from graphbandits.simulation.statistics import Difference, paired_differences, t_quantile

#: Maximum distance of two regrets that agree, in combined standard errors.
MAX_DISTANCE = 3.0


#: Unknown keys of a table in an experiment file are errors.
FORBID: dict[str, Any] = {"extra": "forbid"}


@dataclass(frozen=True)
class Published:
    __pydantic_config__: ClassVar = FORBID

    means: Mapping[str, tuple[float, float]]
    source: str

    def __post_init__(self) -> None:
        if not self.means:
            raise InputError("published regrets must have at least one policy")
        for name, pair in self.means.items():
            numbers = np.asarray(pair)
            sound = numbers.shape == (2,) and numbers.dtype.kind in "iuf"
            if not sound or not np.isfinite(numbers).all() or numbers[1] < 0.0:
                raise InputError(
                    f"the published regret of '{name}' must be two finite numbers, a mean and a "
                    f"standard error of at least 0; got {pair!r}"
                )


@dataclass(frozen=True)
class PublishedComparison:
    """Regret of one policy in the results and as published."""

    policy: str
    mean: float
    standard_error: float
    published_mean: float
    published_error: float
    distance: float
    within: bool


def compare(published: Published, results: Results) -> list[PublishedComparison]:
    """Compare published means m' (standard errors s') with the means m (s) of results.

    The distance is (m - m') / sqrt(s^2 + s'^2); for one trial it is NaN, and ``within`` is false.
    """
    found = []
    for name, (there, error) in published.means.items():
        here = float(results[name].mean[-1])
        own = float(results[name].standard_error[-1])
        distance = _distance(here - there, math.hypot(own, error))
        found.append(
            PublishedComparison(
                name, here, own, there, error, distance, abs(distance) <= MAX_DISTANCE
            )
        )
    return found


def _distance(difference: float, error: float) -> float:
    if error == 0.0:  # no random error: the numbers are equal or not
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error


@dataclass(frozen=True)
class Claim:
    """A claim: each policy of ``better`` has less expected final regret than each of ``than``."""

    __pydantic_config__: ClassVar = FORBID

    text: str
    better: tuple[str, ...]
    than: tuple[str, ...]
    source: str = ""

    def __post_init__(self) -> None:
        for side in ("better", "than"):
            names = getattr(self, side)
            listed = isinstance(names, tuple | list) and all(isinstance(n, str) for n in names)
            if not listed or not names:
                raise InputError(
                    f"'{side}' of a claim must be a list of one policy or more; got {names!r}"
                )
            object.__setattr__(self, side, tuple(dict.fromkeys(names)))
        both = [name for name in self.better if name in self.than]
        if both:
            raise InputError(f"a claim has '{both[0]}' in both 'better' and 'than': {self.text!r}")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs of policies (better, than) that are compared."""
        return [(first, second) for first in self.better for second in self.than]


@dataclass(frozen=True)
class Judgement:
    claim: Claim
    verdict: str
    differences: list[Difference]

    @property
    def decisive(self) -> Difference:
        """Difference of the pair that determines the verdict: the strongest against the claim."""
        if self.verdict == "unknown":
            return max(self.differences, key=lambda d: d.mean)
        return max(self.differences, key=lambda d: d.low if self.verdict == "fails" else d.high)


def judge(claim: Claim, results: Results, confidence: float = 0.95) -> Judgement:
    """Test a claim with simultaneous intervals of the paired differences of all its pairs.

    A false "holds" or "fails" has a probability of at most 1 - ``confidence``. Policies that are
    equal in every trial differ by exactly 0, which is no clear difference.
    """
    t_quantile(confidence, results.trials)  # checks the confidence
    final = {name: results[name].final for name in (*claim.better, *claim.than)}
    differences = paired_differences(final, claim.pairs, confidence, simultaneous=True)
    return Judgement(claim, _verdict(differences), differences)


def _verdict(differences: list[Difference]) -> str:
    if any(math.isnan(d.low) for d in differences):
        return "unknown"
    if any(d.low > 0.0 for d in differences):
        return "fails"
    return "holds" if all(d.high < 0.0 for d in differences) else "no clear difference"
