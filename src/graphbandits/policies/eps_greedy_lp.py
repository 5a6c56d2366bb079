"""eps_t-greedy-LP: explore by a fractional dominating set, less and less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import check_positive
from graphbandits.graphs.dominating_sets import fractional_dominating_set
from graphbandits.policies.base import Needs, View
from graphbandits.policies.index import IndexPolicy, largest, means
from graphbandits.registry import register

#: A larger rate c/d^2 explores for ever as well, and would overflow.
MOST = 1e200


@register("policy", "eps-greedy-lp")
@dataclass(frozen=True)
class EpsGreedyLP(IndexPolicy):
    """The best mean so far, or with probability eps_t an arm of the dominating set (eps-greedy-LP).

    eps_t = min(1, c sum z* / (d^2 t)), and then arm j with probability z*_j / sum z*; z* is the
    fractional dominating set of this round's graph. Arms that were never observed come before the
    best mean. Theory wants c > 4 and d below the least gap; the regret is governed by c/d^2.
    Buccapatnam, Eryilmaz and Shroff (2014).

    >>> from graphbandits import Agent
    >>> Agent("eps-greedy-lp", arms=4, graph="star", seed=1).decide().pi  # eps_1 = 1
    {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0}
    """

    c: float = 5.0
    d: float = 1.0
    needs: ClassVar[Needs] = Needs(graph="before", deterministic=True)

    @classmethod
    def examples(cls) -> list[EpsGreedyLP]:
        """Of these the contract is tried."""
        return [cls(), cls(c=0.5, d=0.7)]

    def __post_init__(self) -> None:
        check_positive(self.c, "eps-greedy-lp: c")
        check_positive(self.d, "eps-greedy-lp: d")

    def index(self, state: State, view: View) -> Floats:
        return means(state)

    def propose(self, state: State, view: View) -> Floats:
        z = fractional_dominating_set(view.graph)
        total = z.sum(axis=1, keepdims=True)
        rate = min(self.c / self.d / self.d, MOST)
        eps = np.minimum(1.0, rate * total / view.t)
        greedy = largest(self.indices(state, view))
        pi: Floats = (1.0 - eps) * greedy + eps * (z / total)
        return pi
