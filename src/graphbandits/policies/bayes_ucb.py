"""Bayes-UCB: the largest posterior quantile, without the graph."""

from __future__ import annotations

from dataclasses import dataclass

from graphbandits._types import Floats, State
from graphbandits.policies.base import View
from graphbandits.policies.bayesian import OwnOutcomePolicy
from graphbandits.policies.index import uniform_argmax
from graphbandits.registry import register


@register("policy", "bayes-ucb")
@dataclass(frozen=True)
class BayesUCB(OwnOutcomePolicy):
    """Largest posterior quantile of an increasing level, without the graph (Bayes-UCB).

    The index of an arm in round t is the posterior quantile of level 1 - 1/t of its mean; in round
    1 all are equal. The policy learns from the arms played only. Kaufmann, Cappé and Garivier
    (2012), with c = 0.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> agent = Agent("bayes-ucb", arms=4, graph="star", seed=1)
    >>> decision = agent.decide()
    >>> agent.observe(decision, {decision.arm: 0})
    >>> round(agent.decide().probability, 4)  # one of the other three
    0.3333
    """

    def propose(self, state: State, view: View) -> Floats:
        posterior, level = view.problem.posterior, 1.0 - 1.0 / view.t
        return uniform_argmax(posterior.quantile(view.current(state), level))
