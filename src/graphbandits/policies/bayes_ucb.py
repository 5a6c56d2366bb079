"""Bayes-UCB: the largest quantile of the posterior, without the graph."""

from __future__ import annotations

from dataclasses import dataclass

from graphbandits._types import Floats, State
from graphbandits.policies.base import View
from graphbandits.policies.bayesian import OwnOutcomePolicy
from graphbandits.policies.index import largest
from graphbandits.registry import register


@register("policy", "bayes-ucb")
@dataclass(frozen=True)
class BayesUCB(OwnOutcomePolicy):
    """The largest quantile of the posterior, of a level that rises, without the graph (Bayes-UCB).

    The index of an arm is the quantile 1 - 1/t of what its mean is believed to be in round t, of
    what was seen of the arms played; in round 1 all are equal. Kaufmann, Cappé and Garivier (2012),
    with c = 0.

    >>> from graphbandits import Agent
    >>> agent = Agent("bayes-ucb", arms=4, graph="star", seed=1)
    >>> decision = agent.decide()
    >>> agent.observe(decision, {decision.arm: 0})
    >>> round(agent.decide().probability, 4)  # one of the other three
    0.3333
    """

    def propose(self, state: State, view: View) -> Floats:
        return largest(view.problem.posterior.quantile(state, 1.0 - 1.0 / view.t))
