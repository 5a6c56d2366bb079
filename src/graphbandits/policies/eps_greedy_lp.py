"""eps_t-greedy-LP: explore a fractional dominating set at a decreasing rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import check_positive
from graphbandits.graphs.dominating_sets import fractional_dominating_set
from graphbandits.policies.base import Needs, View
from graphbandits.policies.index import IndexPolicy, means, uniform_argmax
from graphbandits.registry import register

#: Upper limit of the rate c/d^2, which avoids overflow; the policy explores in every round anyway.
MOST = 1e200


@register("policy", "eps-greedy-lp")
@dataclass(frozen=True)
class EpsGreedyLP(IndexPolicy):
    """Best mean, or with probability eps_t an arm of a dominating set (eps-greedy-LP).

    eps_t = min(1, c sum z* / (d^2 t)); exploration plays arm j with probability z*_j / sum z*.
    z* is the fractional dominating set of the graph of the round. Otherwise the policy plays an
    arm that was never observed, or the arm of the best mean. The theory requires c > 4 and d below
    the smallest gap; the regret depends on c/d^2. Buccapatnam, Eryilmaz and Shroff (2014).

    Parameters
    ----------
    c : float
        Constant of the exploration rate, above 0.
    d : float
        Lower bound of the smallest gap between the best mean and another, above 0.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("eps-greedy-lp", arms=4, graph="star", seed=1).decide().pi  # eps_1 = 1
    {0: 1.0}
    """

    c: float = 5.0
    d: float = 1.0
    needs: ClassVar[Needs] = Needs(graph="before", deterministic=True)

    @classmethod
    def examples(cls) -> list[EpsGreedyLP]:
        """Instances used by the contract tests.

        Returns
        -------
        list of EpsGreedyLP
            Two instances.
        """
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
        greedy = uniform_argmax(self.indices(state, view))
        pi: Floats = (1.0 - eps) * greedy + eps * (z / total)
        return pi
