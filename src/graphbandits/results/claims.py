"""Claims on who has less regret than whom, and what results say of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from graphbandits.errors import InputError, nearest
from graphbandits.results.compare import Difference, paired_differences, student
from graphbandits.results.model import Results


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
    that are the same in every trial differ by exactly 0 and are not told apart.

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
    student(confidence, results.trials)  # refuses what is no confidence
    final = {name: result.final for name, result in results.policies.items()}
    differences = paired_differences(final, claim.pairs, confidence, simultaneous=True)
    return Judgement(claim, _verdict(differences), differences)


def _verdict(differences: list[Difference]) -> str:
    if any(math.isnan(d.low) for d in differences):
        return "unknown"
    if any(d.low > 0.0 for d in differences):
        return "fails"
    return "holds" if all(d.high < 0.0 for d in differences) else "not told apart"
