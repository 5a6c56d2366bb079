"""The theorems themselves: the mean regret of a run, and what they allow it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphbandits.theory.auditor import Auditor
from graphbandits.theory.statements import COVERED, LINEAR
from graphbandits.types import Floats

#: A mean over trials may exceed its bound by so many standard errors: that is chance.
ERRORS = 4.0


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean regret of a policy in each round, and what Lemma 1 and its theorem allow it.

    The regret is the sum of pi.Delta: what was expected to be lost, given all that was known.
    ``general`` is sqrt(H sum_t mean Psi_t), Lemma 1; ``bound`` that of the ``theorem``, or infinite
    where there is none for the policy.
    """

    policy: str
    mean: Floats
    standard_error: Floats
    general: Floats
    theorem: str
    bound: Floats

    @classmethod
    def of(cls, parts: Sequence[Auditor], information: float) -> Curve:
        """Of all blocks of a policy; ``information`` is H, the entropy of alpha_1."""
        trials = sum(part.keys.trials for part in parts)
        regret, squared, ratio, limit = (
            np.sum([getattr(part.sums, name) for part in parts], axis=0) / trials
            for name in ("regret", "regret_squared", "ratio", "limit")
        )
        variance = np.maximum(squared - regret**2, 0.0) / max(1, trials - 1)
        theorem = _theorem(parts)
        return cls(
            policy=parts[0].name,
            mean=regret,
            standard_error=np.sqrt(variance),
            general=np.sqrt(information * ratio),
            theorem=theorem,
            bound=np.sqrt(information * limit) if theorem else np.full_like(limit, math.inf),
        )

    @property
    def broken(self) -> list[str]:
        """Which bounds the mean exceeds by more than chance, in words."""
        least = self.mean - ERRORS * self.standard_error
        bounds = {"Lemma 1": self.general, self.theorem: self.bound}
        places = {name: np.flatnonzero(least > bound) for name, bound in bounds.items()}
        return [
            f"{name} does not hold: the mean regret of {self.policy} is "
            f"{self.mean[rounds[0]]:.6g} (s.e. {self.standard_error[rounds[0]]:.2g}) after round "
            f"{rounds[0] + 1}, above {bounds[name][rounds[0]]:.6g}"
            for name, rounds in places.items()
            if rounds.size
        ]


def _theorem(parts: Sequence[Auditor]) -> str:
    """The theorem that bounds the regret of the policy on these graphs; empty if none does."""
    policy = parts[0].policy
    if isinstance(policy, LINEAR):
        return "Theorem 1"
    if not isinstance(policy, COVERED):
        return ""
    applied = (tally for part in parts for tally in part.tallies if tally.checks)
    names = {tally.statement.name for tally in applied} & {"Theorem 2", "Theorem 3"}
    return " and ".join(sorted(names)) or "Lemma 2"  # K/2 a round, whatever the graph
