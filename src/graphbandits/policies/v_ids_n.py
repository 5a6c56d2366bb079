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
    """Variance-based information-directed sampling with the graph (V-IDS-N).

    P1 with the gain G v: min (pi.Delta)^2 / (pi.Gv). The variance form v of Russo and Van Roy
    (2018) replaces h of Liu, Buccapatnam and Shroff (2018).

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("v-ids-n", arms=4, graph="star", seed=1).decide().arm  # the centre reveals all arms
    0
    """

    needs: ClassVar[Needs] = Needs(graph="before")
    rule: ClassVar[Rule] = staticmethod(ids_n)
    variance: ClassVar[bool] = True
