"""Exp3-SET: exponential weights, losses weighted by the chance to observe them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import check_positive
from graphbandits.policies.base import Needs, Problem
from graphbandits.policies.exponential_weights import ExponentialWeights, trials_of
from graphbandits.registry import register


@register("policy", "exp3-set")
@dataclass(frozen=True)
class Exp3SET(ExponentialWeights):
    """Exponential weights of losses divided by the chance to observe them (Exp3-SET).

    L_i += l_i 1{i seen} / q_i, q = G'pi; no further exploration. The step is
    eta = sqrt(2 ln K / sum_t Q_t) unless it is given; Q_t is the independence number of an
    undirected graph, K of a directed one, (1 - (1-r)^K)/r under random feedback, and an unknown
    future counts by its expectation. Alon, Cesa-Bianchi, Gentile and Mansour (2013).

    >>> from graphbandits import Agent
    >>> Agent("exp3-set", arms=4, graph="star", seed=1, horizon=100).decide().probability
    0.25
    """

    eta: float | None = None
    needs: ClassVar[Needs] = Needs(graph="after", horizon=True)

    @classmethod
    def examples(cls) -> list[Exp3SET]:
        """Of these the contract is tried."""
        return [cls(), cls(eta=0.3)]

    def __post_init__(self) -> None:
        if self.eta is not None:
            check_positive(self.eta, "exp3-set: eta")
            object.__setattr__(self, "needs", Needs(graph="after"))  # nothing is left to set

    def step(self, state: State, problem: Problem) -> Floats:
        eta = self.eta
        if eta is None:
            total = problem.graphs.independence(problem.horizon)
            eta = math.sqrt(2.0 * math.log(problem.arms) / total)
        return np.full(trials_of(state), eta, np.float64)
