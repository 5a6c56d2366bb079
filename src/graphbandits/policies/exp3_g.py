"""Exp3.G: exponential weights mixed with uniform exploration."""

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
    """Exponential weights mixed with uniform exploration (Exp3.G).

    pi = (1 - gamma) w + gamma/K, w proportional to exp(-eta L), L_i += l_i 1{i observed} / P_i,
    P = G'pi. The default gamma = min(sqrt(1/(alpha(G) T)), 1/2) and eta = 2 gamma is for strongly
    observable graphs. alpha(G) is the independence number of a fixed 0/1 graph (its best upper
    bound if the exact value takes too long), else K. Alon, Cesa-Bianchi, Dekel and Koren (2015).

    Parameters
    ----------
    gamma : float, optional
        Probability of uniform exploration, in [0, 1]. If given, the policy needs no horizon.
    eta : float, optional
        Learning rate, above 0; 2 gamma if not given.
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("exp3-g", arms=4, graph="star", seed=1, horizon=100).decide().probability
    0.25
    """

    gamma: float | None = None
    eta: float | None = None
    needs: ClassVar[Needs] = Needs(graph="after", horizon=True)

    @classmethod
    def examples(cls) -> list[Exp3G]:
        """Instances used by the contract tests.

        Returns
        -------
        list of Exp3G
            Two instances.
        """
        return [cls(), cls(gamma=0.1, eta=0.3)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta is not None:
            check_positive(self.eta, "exp3-g: eta")
        if self.gamma is not None:
            if check_probability(self.gamma, "exp3-g: gamma") == 0.0 and self.eta is None:
                raise InputError(
                    "exp3-g: gamma=0 without eta gives eta = 2 gamma = 0, which never learns: "
                    "set eta, or gamma above 0"
                )
            object.__setattr__(
                self, "needs", Needs(graph="after")
            )  # gamma does not depend on the horizon

    def mixing(self, problem: Problem) -> float:
        """Compute gamma, the probability of uniform exploration.

        Parameters
        ----------
        problem : Problem
            The problem, which has the horizon and the independence number.

        Returns
        -------
        float
            gamma.
        """
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
