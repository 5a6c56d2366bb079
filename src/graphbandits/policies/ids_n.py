"""IDS-N: information-directed sampling with the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.policies.bayesian import GainPolicy, Rule
from graphbandits.registry import register
from graphbandits.rules import ids_n


@register("policy", "ids-n")
@dataclass(frozen=True)
class IDSN(GainPolicy):
    """Information-directed sampling: minimal squared regret per information gain (IDS-N).

    P1: min (pi.Delta)^2 / (pi.Gh). Liu, Buccapatnam and Shroff (2018); on the empty graph it is
    the IDS of Russo and Van Roy (2018). With ``gain=joint`` the exact information g replaces its
    lower bound G h.

    Parameters
    ----------
    gain : {"bound", "joint"}
        Information gain of a play: the lower bound G h, or the exact information g of all
        observations together.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("ids-n", arms=4, graph="star", seed=1).decide().arm  # the centre reveals all arms
    0
    """

    rule: ClassVar[Rule] = staticmethod(ids_n)
