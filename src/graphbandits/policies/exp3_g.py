"""Exp3.G: exponential weights mixed with uniform play."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import InputError, check_positive, check_probability
from graphbandits.policies.base import Needs, Problem, View
from graphbandits.policies.exponential_weights import ExponentialWeights, trials_of
from graphbandits.registry import register


@register("policy", "exp3-g")
@dataclass(frozen=True)
class Exp3G(ExponentialWeights):
    """Exponential weights with a share gamma of uniform play (Exp3.G).

    pi = (1 - gamma) w + gamma/K, w proportional to exp(-eta L), L_i += l_i 1{i seen} / P_i,
    P = G'pi. Unless given, gamma = min(sqrt(1/(alpha(G) T)), 1/2) and eta = 2 gamma, for strongly
    observable graphs; alpha(G) is the independence number of a fixed 0/1 graph (where it is too
    hard, the least upper bound found), else K. Alon, Cesa-Bianchi, Dekel and Koren (2015).

    >>> from graphbandits import Agent
    >>> Agent("exp3-g", arms=4, graph="star", seed=1, horizon=100).decide().probability
    0.25
    """

    gamma: float | None = None
    eta: float | None = None
    needs: ClassVar[Needs] = Needs(graph="after", horizon=True)

    @classmethod
    def examples(cls) -> list[Exp3G]:
        """Of these the contract is tried."""
        return [cls(), cls(gamma=0.1, eta=0.3)]

    def __post_init__(self) -> None:
        if self.eta is not None:
            check_positive(self.eta, "exp3-g: eta")
        if self.gamma is not None:
            if check_probability(self.gamma, "exp3-g: gamma") == 0.0 and self.eta is None:
                raise InputError(
                    "exp3-g: with gamma=0 it would never learn, for eta = 2 gamma: give eta"
                )
            object.__setattr__(self, "needs", Needs(graph="after"))  # nothing is left to set

    def mixing(self, problem: Problem) -> float:
        """gamma."""
        if self.gamma is not None:
            return float(self.gamma)
        independent = problem.graphs.independence_number
        return min(math.sqrt(1.0 / (independent * problem.horizon)), 0.5)

    def step(self, state: State, problem: Problem) -> Floats:
        eta = 2.0 * self.mixing(problem) if self.eta is None else self.eta
        return np.full(trials_of(state), eta, np.float64)

    def propose(self, state: State, view: View) -> Floats:
        gamma = self.mixing(view.problem)
        return (1.0 - gamma) * super().propose(state, view) + gamma / view.problem.arms
