"""What policies for adversarial losses share: exponential weights of estimated losses."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies._weight_kernels import add_losses, exponential_weights
from graphbandits.policies.base import FINITE, Event, Needs, Problem, View, check_range
from graphbandits.rng import Keys


class ExponentialWeights:
    """pi proportional to exp(-eta L_i), L_i the estimated loss of arm i so far, l = 1 - reward.

    L_i += l_i 1{i seen} / q_i, q = G'pi, unless a policy estimates it otherwise.
    """

    needs: ClassVar[Needs] = Needs(graph="after")
    exact: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        return {"loss": np.zeros((keys.trials, problem.arms))}

    def step(self, state: State, problem: Problem) -> Floats:
        """eta, one number a trial."""
        raise NotImplementedError

    def propose(self, state: State, view: View) -> Floats:
        loss = np.asarray(state["loss"], np.float64)
        pi = np.empty_like(loss)
        exponential_weights(loss, self.step(state, view.problem), pi)
        return pi

    def update(self, state: State, event: Event) -> State:
        chance = event.graph.observed(event.pi)
        estimate_losses(state, event, chance, np.zeros(len(chance)))
        return state

    def check_state(self, state: State, problem: Problem) -> None:
        """Refuse a state from a file that no estimates lead to."""
        check_range(state, "loss", -FINITE, FINITE)


def estimate_losses(state: State, event: Event, chance: Floats, extra: Floats) -> None:
    """L_i += l_i / (chance_i + extra) for every arm that was observed."""
    seen = event.observations
    add_losses(state["loss"], chance, extra, seen.trial, seen.arm, seen.reward)  # type: ignore[arg-type]


def trials_of(state: State) -> int:
    """B."""
    return len(state["loss"])
