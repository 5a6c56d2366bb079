"""What was claimed or published of policies, beside the regrets that were found here."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass

from graphbandits.errors import InputError, nearest
from graphbandits.results.differences import Difference, paired_differences, t_quantile
from graphbandits.results.model import Results

#: Combined standard errors that lie between two regrets that agree, at most.
MAX_DISTANCE = 3.0


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
class PublishedComparison:
    """One policy here and there; ``distance`` is in standard errors of the difference."""

    policy: str
    mean: float
    standard_error: float
    published_mean: float
    published_error: float
    distance: float
    within: bool


def compare(published: Published, results: Results) -> list[PublishedComparison]:
    """Each published mean m' (standard error s') beside the m (s) of the results.

    The distance is (m - m') / sqrt(s^2 + s'^2), and ``within`` whether it is at most ``MAX_DISTANCE``
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
        found.append(
            PublishedComparison(
                name, here, own, there, error, distance, abs(distance) <= MAX_DISTANCE
            )
        )
    return found


def _distance(difference: float, error: float) -> float:
    if error == 0.0:  # nothing is left to chance: the same number, or not
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error


def _finite(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class Claim:
    """Each policy of ``better`` has less expected final regret than each of ``than``.

    ``text`` says so in words, ``source`` where it was said.

    >>> Claim("Directed sampling beats Thompson's.", ("ids-n", "idsn-lp"), ("ts-n",)).pairs
    [('ids-n', 'ts-n'), ('idsn-lp', 'ts-n')]
    """

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
                    f"a claim names one policy or more in '{side}', in a list; got {names!r}"
                )
            object.__setattr__(self, side, tuple(dict.fromkeys(names)))
        both = [name for name in self.better if name in self.than]
        if both:
            raise InputError(f"a claim says that '{both[0]}' is better than itself: {self.text!r}")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Who is compared with whom."""
        return [(first, second) for first in self.better for second in self.than]


@dataclass(frozen=True)
class Judgement:
    """What results say of a claim.

    ``differences`` are better - than for each pair of the claim, with intervals that hold
    together. ``verdict``: "holds" (all of them below 0), "fails" (one wholly above 0), "not told
    apart" (neither), "unknown" (one trial tells nothing).
    """

    claim: Claim
    verdict: str
    differences: list[Difference]

    @property
    def decisive(self) -> Difference:
        """The pair that the verdict hangs on: the one that speaks most against the claim."""
        if self.verdict == "unknown":
            return max(self.differences, key=lambda d: d.mean)
        return max(self.differences, key=lambda d: d.low if self.verdict == "fails" else d.high)


def judge(claim: Claim, results: Results, confidence: float = 0.95) -> Judgement:
    """Hold a claim against paired differences of the final regret, all of its pairs at once.

    The intervals are those of :func:`~.compare.max_t` for the pairs of this claim, so that it
    "holds" falsely, or "fails" falsely, with probability 1 - ``confidence`` at most. Policies
    that are the same in every trial differ by exactly 0 and are no clear difference.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], graph="star", horizon=200, trials=50, seed=1)
    >>> judge(Claim("Information pays.", ("ids-n",), ("ts-n",)), results).verdict
    'holds'
    """
    for name in (*claim.better, *claim.than):
        if name not in results.policies:
            raise InputError(
                f"the claim {claim.text!r} names the policy '{name}', which is not among the "
                f"results: {nearest(name, results.policies)}"
            )
    t_quantile(confidence, results.trials)  # refuses what is no confidence
    final = {name: result.final for name, result in results.policies.items()}
    differences = paired_differences(final, claim.pairs, confidence, simultaneous=True)
    return Judgement(claim, _verdict(differences), differences)


def _verdict(differences: list[Difference]) -> str:
    if any(math.isnan(d.low) for d in differences):
        return "unknown"
    if any(d.low > 0.0 for d in differences):
        return "fails"
    return "holds" if all(d.high < 0.0 for d in differences) else "no clear difference"
