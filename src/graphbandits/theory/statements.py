"""The paper's statements on one round, each as a number and what it cannot exceed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphbandits.gains import information_ratio
from graphbandits.policies import Policy
from graphbandits.policies.ids_lp import IDSLP
from graphbandits.policies.ids_n import IDSN
from graphbandits.policies.idsn_lp import IDSNLP
from graphbandits.policies.ts_n import TSN
from graphbandits.types import Floats

#: The policies that Proposition 2 and Theorems 2 and 3 are about, and those derived from them.
COVERED: tuple[type, ...] = (TSN, IDSN, IDSNLP)
#: The policy that Theorem 1 is about.
LINEAR: tuple[type, ...] = (IDSLP,)


def _expected(weights: Floats, values: Floats) -> Floats:
    found: Floats = (weights * values).sum(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class Decision:
    """What was believed, shown and proposed in one round of each trial.

    ``bound`` is G h, ``joint`` the exact gain g where it is computed, ``limit`` what psi cannot
    exceed on this graph, one number a trial.
    """

    alpha: Floats
    delta: Floats
    h: Floats
    bound: Floats
    joint: Floats | None
    pi: Floats
    limit: Floats

    @property
    def gain(self) -> Floats:
        """g, or G h in its place, which makes ratios larger."""
        return self.bound if self.joint is None else self.joint

    @cached_property
    def ratio(self) -> Floats:
        """Psi_t of the policy."""
        return information_ratio(self.pi, self.delta, self.gain)

    @cached_property
    def psi(self) -> Floats:
        """psi_t, which bounds it."""
        return information_ratio(self.alpha, self.delta, self.bound)


#: The number of each trial (or of each trial and arm), its limit, and the gain that this rests on,
#: which decides whether it has digits that count.
Compared = tuple[Floats, Floats, Floats]


@dataclass(frozen=True)
class Statement:
    """``compare`` gives the number and its limit, ``about`` is the policies it is of."""

    name: str
    text: str
    compare: Callable[[Decision], Compared]
    about: tuple[type, ...] = (object,)
    feedback: str = "any"  # or "deterministic", or "random"
    joint: bool = False  # whether it is about g itself

    def concerns(self, policy: Policy) -> bool:
        """Whether it is about this policy."""
        return isinstance(policy, self.about)


def _proposition_1(d: Decision) -> Compared:
    assert d.joint is not None
    return d.bound, d.joint, d.bound


def _proposition_2(d: Decision) -> Compared:
    return d.ratio, d.psi, _expected(d.alpha, d.bound)


def _lemma_2(d: Decision) -> Compared:
    ratio = information_ratio(d.alpha, d.delta, d.h)
    return ratio, np.full_like(ratio, d.alpha.shape[1] / 2.0), _expected(d.alpha, d.h)


def _lemma_3(d: Decision) -> Compared:
    total = np.broadcast_to(d.h.sum(axis=1, keepdims=True), d.h.shape)
    ratio = information_ratio(d.alpha, d.delta, total)
    return ratio, np.full_like(ratio, 0.5), total[:, 0]


def _theorem_1(d: Decision) -> Compared:
    return d.ratio, np.full_like(d.psi, d.alpha.shape[1] / 2.0), _expected(d.alpha, d.h)


def _theorem_2_and_3(d: Decision) -> Compared:
    """Psi <= psi <= limit; the larger of the two is compared."""
    limit = np.broadcast_to(d.limit, d.psi.shape)
    return np.maximum(d.ratio, d.psi), limit, _expected(d.alpha, d.bound)


STATEMENTS = (
    Statement("Proposition 1", "g >= G h", _proposition_1, joint=True),
    Statement("Proposition 2", "Psi <= psi", _proposition_2, COVERED),
    Statement("Lemma 2", "(alpha.Delta)^2/(alpha.h) <= K/2", _lemma_2),
    Statement("Lemma 3", "(alpha.Delta)^2/(h.1) <= 1/2", _lemma_3),
    Statement("Theorem 1", "Psi <= K/2", _theorem_1, LINEAR),
    Statement("Theorem 2", "Psi, psi <= chi(G)/2", _theorem_2_and_3, COVERED, "deterministic"),
    Statement("Theorem 3", "Psi, psi <= K/(2(Kr+1-r))", _theorem_2_and_3, COVERED, "random"),
)
