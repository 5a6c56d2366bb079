"""IDS-LP: the least regret that learns as much as Thompson sampling without a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.policies.bayesian import GainPolicy, Rule
from graphbandits.registry import register
from graphbandits.rules import ids_lp


@register("policy", "ids-lp")
@dataclass(frozen=True)
class IDSLP(GainPolicy):
    """The least expected regret that learns as much as Thompson sampling alone (IDS-LP).

    P3: min pi.Delta subject to pi.Gh >= alpha.h. Liu, Buccapatnam and Shroff (2018). With
    ``gain=joint`` it is pi.g >= alpha.h, g the exact information of all that a play shows together.

    >>> from graphbandits import Agent
    >>> Agent("ids-lp", arms=4, graph="star", seed=1).decide().probability
    1.0
    """

    rule: ClassVar[Rule] = staticmethod(ids_lp)
