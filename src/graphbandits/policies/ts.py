"""TS: Thompson sampling without the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.policies.bayesian import OwnOutcomePolicy, Rule, RulePolicy
from graphbandits.registry import register
from graphbandits.rules import ts_n


@register("policy", "ts")
@dataclass(frozen=True)
class TS(OwnOutcomePolicy, RulePolicy):
    """Thompson sampling without the graph, from own plays only (TS).

    pi = alpha, computed exactly: each arm has the probability that it is best. The policy learns
    from the arms played only. Thompson (1933); Russo and Van Roy (2018).

    Examples
    --------
    >>> from graphbandits import Agent
    >>> agent = Agent("ts", arms=4, graph="complete", seed=1)
    >>> agent.observe(agent.decide(), {arm: 1 for arm in range(4)})
    >>> pi = agent.decide().pi  # learned from one of the four observations
    >>> sorted(round(probability, 4) for probability in pi.values())
    [0.2, 0.2, 0.2, 0.4]
    """

    rule: ClassVar[Rule] = staticmethod(ts_n)
    uses_information: ClassVar[bool] = False
