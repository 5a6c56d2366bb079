"""The theorems themselves: the mean regret of a run, and what they allow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import stdtrit

from graphbandits.theory.auditor import Auditor, Sums
from graphbandits.theory.statements import COVERED, LINEAR
from graphbandits.types import Floats

#: A mean exceeds its bound if it would by chance with this probability, in one round.
CHANCE = 1e-6
#: In the first round all trials are alike, and only rounding tells a mean from its bound.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean regret of a policy in each round, and what Lemma 1 and its theorem allow it.

    The regret is the sum of pi.Delta: what was expected to be lost, given all that was known.
    ``general`` is sqrt(H sum_t mean Psi_t), Lemma 1; ``bound`` that of the ``theorem``, or infinite
    where there is none for the policy.
    """

    policy: str
    trials: int
    mean: Floats
    standard_error: Floats
    general: Floats
    general_error: Floats  # of the mean minus what Lemma 1 allows, which hangs on the trials too
    theorem: str
    bound: Floats

    @classmethod
    def of(cls, parts: Sequence[Auditor], information: float) -> Curve:
        """Of all blocks of a policy; ``information`` is H, the entropy of alpha_1."""
        trials = sum(part.keys.trials for part in parts)
        mean = Sums(
            *(
                np.sum([getattr(part.sums, field.name) for part in parts], axis=0) / trials
                for field in fields(Sums)
            )
        )
        with np.errstate(invalid="ignore"):
            allowed = np.where(np.isinf(mean.ratio), np.inf, information * mean.ratio)
        general = np.sqrt(allowed)
        # sqrt(H x) has the slope sqrt(H x) / (2 x)
        known = (mean.ratio > 0.0) & np.isfinite(mean.ratio_squared)
        slope = np.divide(general, 2.0 * mean.ratio, where=known, out=np.zeros_like(general))
        regret = mean.regret_squared - mean.regret**2
        with np.errstate(invalid="ignore"):  # of what is infinite nothing is asked
            ratio = np.where(known, mean.ratio_squared - mean.ratio**2, 0.0)
            both = np.where(known, mean.product - mean.regret * mean.ratio, 0.0)
        theorem = _theorem(parts)
        return cls(
            policy=parts[0].name,
            trials=trials,
            mean=mean.regret,
            standard_error=_error(regret, trials),
            general=general,
            general_error=_error(regret - 2.0 * slope * both + slope**2 * ratio, trials),
            theorem=theorem,
            bound=np.sqrt(information * mean.limit) if theorem else np.full_like(general, np.inf),
        )

    @property
    def broken(self) -> list[str]:
        """Which bounds the mean exceeds by more than chance, in words; one trial says nothing."""
        if self.trials == 1:
            return []
        allowed = float(stdtrit(self.trials - 1, 1.0 - CHANCE))
        bounds = {
            "Lemma 1": (self.general, self.general_error),
            self.theorem: (self.bound, self.standard_error),
        }
        found = []
        for name, (bound, error) in bounds.items():
            rounds = np.flatnonzero(self.mean - bound > allowed * error + ROUNDING * self.mean)
            if rounds.size:
                t = rounds[0]
                found.append(
                    f"{name} does not hold: the mean regret of {self.policy} is "
                    f"{self.mean[t]:.6g} after round {t + 1}, above {bound[t]:.6g} (standard error "
                    f"of the difference {error[t]:.2g})"
                )
        return found


def _error(variance: Floats, trials: int) -> Floats:
    """The standard error of a mean over trials; NaN for one."""
    if trials == 1:
        return np.full_like(variance, np.nan)
    found: Floats = np.sqrt(np.maximum(variance, 0.0) / (trials - 1))
    return found


def _theorem(parts: Sequence[Auditor]) -> str:
    """The theorem that bounds the regret of the policy on these graphs; empty if none does."""
    policy = parts[0].policy
    if isinstance(policy, LINEAR):
        return "Theorem 1"
    if not isinstance(policy, COVERED):
        return ""
    names = {"deterministic": "Theorem 2", "random": "Theorem 3", "other": "Lemma 2"}
    met = {names[kind] for part in parts for kind in part.kinds}
    return " and ".join(sorted(met))
