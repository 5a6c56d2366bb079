"""TS-N: Thompson sampling that learns from all observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphbandits.policies.base import Needs
from graphbandits.policies.bayesian import Bayesian, Rule
from graphbandits.registry import register
from graphbandits.rules import ts_n


@register("policy", "ts-n")
@dataclass(frozen=True)
class TSN(Bayesian):
    """Thompson sampling with exact probabilities, from all observations (TS-N).

    pi = alpha: each arm has the probability that it is best. The policy does not use the graph, but
    learns from every observation. Tossou, Dimitrakakis and Dubhashi (2017); Liu, Buccapatnam and
    Shroff (2018).

    Examples
    --------
    >>> from graphbandits import Agent
    >>> round(Agent("ts-n", arms=4, graph="star", seed=1).decide().probability, 12)
    0.25
    """

    needs: ClassVar[Needs] = Needs(graph="never")
    rule: ClassVar[Rule] = staticmethod(ts_n)
    uses_information: ClassVar[bool] = False
