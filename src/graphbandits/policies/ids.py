"""IDS: information-directed sampling without the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.policies.bayesian import OwnBeliever, Rule, RuleBased
from graphbandits.registry import register
from graphbandits.rules import ids_n


@register("policy", "ids")
@dataclass(frozen=True)
class IDS(OwnBeliever, RuleBased):
    """Information-directed sampling without the graph (IDS).

    P1 with the gain h: min (pi.Delta)^2 / (pi.h), the least squared regret per information, of what
    was seen of the arms played. Russo and Van Roy (2018).

    >>> from graphbandits import Agent
    >>> Agent("ids", arms=4, graph="star", seed=1).decide().probability  # the middle is no better
    0.25
    """

    rule: ClassVar[Rule] = staticmethod(ids_n)
