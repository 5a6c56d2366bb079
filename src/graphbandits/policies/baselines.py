"""Baselines: greedy and uniform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies.base import Event, Needs, Problem, View
from graphbandits.policies.bayesian import PosteriorPolicy
from graphbandits.policies.index import uniform_argmax
from graphbandits.posteriors import Observations
from graphbandits.registry import register
from graphbandits.rng import Keys


@register("policy", "greedy")
@dataclass(frozen=True)
class Greedy(PosteriorPolicy):
    """Largest posterior mean, without exploration (Greedy).

    argmax a / (a + b); arms of equal mean have the same probability. The policy learns from all
    observations. Sutton and Barto (2018), section 2.2.
    """

    def propose(self, state: State, view: View) -> Floats:
        return uniform_argmax(view.problem.posterior.mean(view.current(state)))


@register("policy", "uniform")
@dataclass(frozen=True)
class Uniform:
    """Every arm with the same probability: a baseline.

    pi_i = 1/K. The regret grows linearly; see Lattimore and Szepesvari, Bandit Algorithms (2020).
    """

    needs: ClassVar[Needs] = Needs(graph="never")
    exact: ClassVar[bool] = True
    weighted: ClassVar[bool] = True
    incremental: ClassVar[bool] = True
    exemptions: ClassVar[dict[str, str]] = {"beats-uniform": "it is the uniform policy"}

    def init(self, problem: Problem, keys: Keys) -> State:
        return {}

    def propose(self, state: State, view: View) -> Floats:
        return np.full((view.keys.trials, view.problem.arms), 1.0 / view.problem.arms)

    def update(self, state: State, event: Event) -> State:
        return state

    def learn(self, state: State, seen: Observations, problem: Problem) -> State:
        return state
