"""UCB-maxN: play the best arm that reveals the arm of the largest bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits._types import Floats, State
from graphbandits.graphs.feedback import best_in_neighbours
from graphbandits.policies.base import Needs, View
from graphbandits.policies.index import IndexPolicy, counts, means, uniform_argmax, upper_confidence
from graphbandits.policies.scaled_rewards import NoiseScaledRewards
from graphbandits.registry import register


@register("policy", "ucb-maxn")
@dataclass(frozen=True)
class UCBMaxN(NoiseScaledRewards, IndexPolicy):
    """Best mean among the arms that reveal the choice of UCB-N (UCB-maxN).

    i = argmax X_i + sqrt(2 ln t / O_i), then play argmax of X_j over the arms j that reveal i
    (X_j = 0 if unobserved). These are the neighbours of i; on a directed graph its in-neighbours,
    because the aim is to observe i. Caron, Kveton, Lelarge and Bhagat (2012).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    noise : float, optional
        Sub-Gaussian constant of the rewards, in place of a range: the bonus is multiplied by
        2 noise.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> agent = Agent("ucb-maxn", arms=3, graph="star", seed=1)
    >>> agent.observe(agent.decide(), {0: 1})
    >>> agent.decide().pi  # arms 1 and 2 are unobserved: the centre reveals them
    {0: 1.0}
    """

    needs: ClassVar[Needs] = Needs(graph="before", deterministic=True)

    def index(self, state: State, view: View) -> Floats:
        return upper_confidence(counts(state), means(state), view.t)

    def propose(self, state: State, view: View) -> Floats:
        first = uniform_argmax(self.indices(state, view))
        return best_in_neighbours(view.graph, first, means(state))
