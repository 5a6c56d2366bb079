"""TS-maxN: play the best arm that reveals the choice of Thompson sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits._types import Floats, State
from graphbandits.graphs.feedback import best_in_neighbours
from graphbandits.policies.base import Needs, View
from graphbandits.policies.bayesian import PosteriorPolicy
from graphbandits.posteriors._capabilities import without_information
from graphbandits.registry import register


@register("policy", "ts-maxn")
@dataclass(frozen=True)
class TSMaxN(PosteriorPolicy):
    """Best posterior mean among the arms that reveal the choice of TS-N (TS-maxN).

    Choose i with probability alpha_i, then play argmax of E[theta_j] over the j that reveal i. pi
    is the sum over i. Tossou, Dimitrakakis and Dubhashi (2017).

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("ts-maxn", arms=3, graph="star", prior=[(3, 2), (1, 1), (1, 1)], seed=1).decide().pi
    {0: 1.0}
    """

    needs: ClassVar[Needs] = Needs(graph="before", deterministic=True)

    def propose(self, state: State, view: View) -> Floats:
        posterior, state = view.problem.posterior, view.current(state)
        first = without_information(posterior)(state).alpha
        return best_in_neighbours(view.graph, first, posterior.mean(state))
