"""V-IDS: variance-based information-directed sampling without the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.policies.bayesian import OwnOutcomePolicy, Rule, RulePolicy
from graphbandits.registry import register
from graphbandits.rules import ids_n


@register("policy", "v-ids")
@dataclass(frozen=True)
class VIDS(OwnOutcomePolicy, RulePolicy):
    """Variance-based information-directed sampling without the graph (V-IDS).

    P1 with the gain v: min (pi.Delta)^2 / (pi.v), v_i = sum_j alpha_j (M_ji - m_i)^2 <= h_i / 2.
    The policy learns from the arms played only. Russo and Van Roy (2018).

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("v-ids", arms=4, graph="star", seed=1).decide().probability
    0.25
    """

    rule: ClassVar[Rule] = staticmethod(ids_n)
    variance: ClassVar[bool] = True
