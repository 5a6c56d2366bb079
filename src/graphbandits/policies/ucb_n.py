"""UCB-N: upper confidence bounds from all observations."""

from __future__ import annotations

from dataclasses import dataclass

from graphbandits._types import Floats, State
from graphbandits.policies.base import View
from graphbandits.policies.index import IndexPolicy, counts, means, upper_confidence
from graphbandits.policies.scaled_rewards import NoiseScaledRewards
from graphbandits.registry import register


@register("policy", "ucb-n")
@dataclass(frozen=True)
class UCBN(NoiseScaledRewards, IndexPolicy):
    """Largest upper confidence bound, from all observations (UCB-N).

    X_i + sqrt(2 ln t / O_i), with O_i observations of arm i, of mean X_i, before round t. An arm
    that was never observed comes first. Caron, Kveton, Lelarge and Bhagat (2012).

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
    >>> agent = Agent("ucb-n", arms=3, graph="star", seed=1)
    >>> agent.observe(agent.decide(), {0: 1})
    >>> sorted(agent.decide().pi.values())  # the two unobserved arms
    [0.5, 0.5]
    """

    def index(self, state: State, view: View) -> Floats:
        return upper_confidence(counts(state), means(state), view.t)
