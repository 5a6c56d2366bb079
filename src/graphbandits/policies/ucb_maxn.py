"""UCB-maxN: see the arm of the largest bound, by playing the best arm that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits._types import Floats, State
from graphbandits.graphs.feedback import best_in_neighbours
from graphbandits.policies.base import Needs, View
from graphbandits.policies.index import IndexPolicy, counts, largest, means, upper_confidence
from graphbandits.registry import register


@register("policy", "ucb-maxn")
@dataclass(frozen=True)
class UCBMaxN(IndexPolicy):
    """The best mean among the arms that reveal the one UCB-N would play (UCB-maxN).

    i = argmax X_i + sqrt(2 ln t / O_i), then argmax of X_j over the j that reveal i (X_j = 0 where
    unobserved): its neighbours, and on a directed graph its in-neighbours, since the aim is to
    see i. Caron, Kveton, Lelarge and Bhagat (2012).

    >>> from graphbandits import Agent
    >>> agent = Agent("ucb-maxn", arms=3, graph="star", seed=1)
    >>> agent.observe(agent.decide(), {0: 1})
    >>> agent.decide().pi  # arms 1 and 2 were not observed: the middle shows them
    {0: 1.0, 1: 0.0, 2: 0.0}
    """

    needs: ClassVar[Needs] = Needs(graph="before", deterministic=True)

    def index(self, state: State, view: View) -> Floats:
        return upper_confidence(counts(state), means(state), view.t)

    def propose(self, state: State, view: View) -> Floats:
        first = largest(self.indices(state, view))
        return best_in_neighbours(view.graph, first, means(state))
