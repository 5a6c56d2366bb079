"""IDS-LP: minimal regret with the information gain of Thompson sampling without a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.policies.bayesian import GainPolicy, Rule
from graphbandits.registry import register
from graphbandits.rules import ids_lp


@register("policy", "ids-lp")
@dataclass(frozen=True)
class IDSLP(GainPolicy):
    """Minimal expected regret with at least the information gain of TS without a graph (IDS-LP).

    P3: min pi.Delta subject to pi.Gh >= alpha.h. Liu, Buccapatnam and Shroff (2018). With
    ``gain=joint`` the constraint is pi.g >= alpha.h.

    Parameters
    ----------
    gain : {"bound", "joint"}
        Information gain of a play: the lower bound G h, or the exact information g of all
        observations together.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("ids-lp", arms=4, graph="star", seed=1).decide().probability
    1.0
    """

    rule: ClassVar[Rule] = staticmethod(ids_lp)
