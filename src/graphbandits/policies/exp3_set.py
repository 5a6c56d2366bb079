"""Exp3-SET: exponential weights of importance-weighted losses."""

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
    """Exponential weights of losses divided by their probability of observation (Exp3-SET).

    L_i += l_i 1{i observed} / q_i, q = G'pi, without further exploration. The default learning rate
    is eta = sqrt(2 ln K / sum_t Q_t). Q_t is the independence number of an undirected graph, K for
    a directed graph, (1 - (1-r)^K)/r for random feedback, and its expectation for graphs that are
    drawn at random. Alon, Cesa-Bianchi, Gentile and Mansour (2013).

    Parameters
    ----------
    eta : float, optional
        Learning rate, above 0. If given, the policy needs no horizon.
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("exp3-set", arms=4, graph="star", seed=1, horizon=100).decide().probability
    0.25
    """

    eta: float | None = None
    needs: ClassVar[Needs] = Needs(graph="after", horizon=True)

    @classmethod
    def examples(cls) -> list[Exp3SET]:
        """Instances used by the contract tests.

        Returns
        -------
        list of Exp3SET
            Two instances.
        """
        return [cls(), cls(eta=0.3)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta is not None:
            check_positive(self.eta, "exp3-set: eta")
            object.__setattr__(
                self, "needs", Needs(graph="after")
            )  # eta does not depend on the horizon

    def step(self, state: State, problem: Problem) -> Floats:
        eta = self.eta
        if eta is None:
            total = problem.graphs.independence(problem.horizon)
            eta = math.sqrt(2.0 * math.log(problem.arms) / total)
        return np.full(trials_of(state), eta, np.float64)
