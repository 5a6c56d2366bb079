"""Exp3-IX: exponential weights with implicit exploration."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies._weight_kernels import row_ratios
from graphbandits.policies.base import MAX_FLOAT, Event, Problem, check_range
from graphbandits.policies.exponential_weights import ExponentialWeights, estimate_losses
from graphbandits.registry import register
from graphbandits.rng import Keys


@register("policy", "exp3-ix")
@dataclass(frozen=True)
class Exp3IX(ExponentialWeights):
    """Exponential weights with implicit exploration (Exp3-IX).

    L_i += l_i 1{i observed} / (o_i + gamma_t), o = G'pi, with eta_t = gamma_t =
    sqrt(ln K / (K + sum_{s<t} Q_s)) and Q_s = sum_i pi_i / (o_i + gamma_s). gamma_t biases the
    estimated losses downwards. The policy needs no horizon. A delayed observation uses the gamma_t
    of its arrival. Kocak, Neu, Valko and Munos (2014).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("exp3-ix", arms=4, graph="star", seed=1).decide().probability
    0.25
    """

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"spread": np.zeros(keys.trials)}

    def step(self, state: State, problem: Problem) -> Floats:
        spread = np.asarray(state["spread"], np.float64)
        step: Floats = np.sqrt(math.log(problem.arms) / (problem.arms + spread))
        return step

    def update(self, state: State, event: Event) -> State:
        event = self.scaled_event(event)
        gamma = self.step(state, event.problem)
        chance = event.graph.observed(event.pi)
        estimate_losses(state, event, chance, gamma)
        row_ratios(event.pi, chance, gamma, state["spread"])  # type: ignore[arg-type]
        return state

    def check_state(self, state: State, problem: Problem) -> None:
        super().check_state(state, problem)
        check_range(state, "spread", 0.0, MAX_FLOAT)
