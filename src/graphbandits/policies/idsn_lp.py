"""IDSN-LP: the least regret that learns as much as TS-N."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.policies.bayesian import GainPolicy, Rule
from graphbandits.registry import register
from graphbandits.rules import idsn_lp


@register("policy", "idsn-lp")
@dataclass(frozen=True)
class IDSNLP(GainPolicy):
    """The least expected regret that learns at least as much as TS-N (IDSN-LP).

    P2: min pi.Delta subject to pi.Gh >= alpha.Gh. Liu, Buccapatnam and Shroff (2018). With
    ``gain=joint`` it is pi.g >= alpha.g, g the exact information of all that a play shows together.

    >>> from graphbandits import Agent
    >>> Agent("idsn-lp", arms=4, graph="star", seed=1).decide().arm
    0
    """

    rule: ClassVar[Rule] = staticmethod(idsn_lp)
