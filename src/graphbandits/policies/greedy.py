"""Greedy: play the largest posterior mean."""

from __future__ import annotations

from dataclasses import dataclass

from graphbandits._types import Floats, State
from graphbandits.policies.base import View
from graphbandits.policies.bayesian import PosteriorPolicy
from graphbandits.policies.index import uniform_argmax
from graphbandits.registry import register


@register("policy", "greedy")
@dataclass(frozen=True)
class Greedy(PosteriorPolicy):
    """Largest posterior mean, without exploration (Greedy).

    argmax a / (a + b); arms of equal mean have the same probability. The policy learns from all
    observations. Sutton and Barto (2018), section 2.2.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> agent = Agent("greedy", arms=3, graph="complete", seed=1)
    >>> agent.observe(agent.decide(), {0: 0, 1: 1, 2: 1})
    >>> agent.decide().pi
    {1: 0.5, 2: 0.5}
    """

    def propose(self, state: State, view: View) -> Floats:
        return uniform_argmax(view.problem.posterior.mean(view.current(state)))
