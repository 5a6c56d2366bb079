"""IDSN-LP: minimal regret with the information gain of TS-N."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.policies.bayesian import GainPolicy, Rule
from graphbandits.registry import register
from graphbandits.rules import idsn_lp


@register("policy", "idsn-lp")
@dataclass(frozen=True)
class IDSNLP(GainPolicy):
    """Minimal expected regret with at least the information gain of TS-N (IDSN-LP).

    P2: min pi.Delta subject to pi.Gh >= alpha.Gh. Liu, Buccapatnam and Shroff (2018). With
    ``gain=joint`` the constraint is pi.g >= alpha.g.

    Parameters
    ----------
    gain : {"bound", "joint"}
        Information gain of a play: the lower bound G h, or the exact information g of all
        observations together.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("idsn-lp", arms=4, graph="star", seed=1).decide().arm
    0
    """

    rule: ClassVar[Rule] = staticmethod(idsn_lp)
