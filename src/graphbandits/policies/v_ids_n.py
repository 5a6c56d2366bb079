"""V-IDS-N: variance-based information-directed sampling with the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.policies.base import Needs
from graphbandits.policies.bayesian import Rule, RulePolicy
from graphbandits.registry import register
from graphbandits.rules import ids_n


@register("policy", "v-ids-n")
@dataclass(frozen=True)
class VIDSN(RulePolicy):
    """Information-directed sampling by variances, with the graph (V-IDS-N).

    P1 with the gain G v: min (pi.Delta)^2 / (pi.Gv), v the variance form of Russo and Van Roy
    (2018) in the place of h of Liu, Buccapatnam and Shroff (2018).

    >>> from graphbandits import Agent
    >>> Agent("v-ids-n", arms=4, graph="star", seed=1).decide().arm  # the middle shows all
    0
    """

    needs: ClassVar[Needs] = Needs(graph="before")
    rule: ClassVar[Rule] = staticmethod(ids_n)
    variance: ClassVar[bool] = True
