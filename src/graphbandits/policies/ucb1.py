"""UCB1: upper confidence bounds without the graph."""

from __future__ import annotations

from dataclasses import dataclass

from graphbandits._types import Floats, State
from graphbandits.policies.base import View
from graphbandits.policies.index import OwnOutcomeIndexPolicy, counts, means, upper_confidence
from graphbandits.policies.scaled_rewards import NoiseScaledRewards
from graphbandits.registry import register


@register("policy", "ucb1")
@dataclass(frozen=True)
class UCB1(NoiseScaledRewards, OwnOutcomeIndexPolicy):
    """Largest upper confidence bound, from own plays only (UCB1).

    X_i + sqrt(2 ln t / N_i), with N_i plays of arm i, of mean X_i, before round t. An arm that was
    never played comes first. Auer, Cesa-Bianchi and Fischer (2002).

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
    >>> agent = Agent("ucb1", arms=2, graph="complete", seed=1)
    >>> first = agent.decide()
    >>> agent.observe(first, {0: 1, 1: 1})
    >>> agent.decide().arm == 1 - first.arm  # observed, but not played yet
    True
    """

    def index(self, state: State, view: View) -> Floats:
        return upper_confidence(counts(state), means(state), view.t)
