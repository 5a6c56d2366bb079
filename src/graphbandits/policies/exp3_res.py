"""Exp3-Res: exponential weights for random feedback of an unknown rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies._weight_kernels import resample
from graphbandits.policies.base import MAX_FLOAT, Event, Needs, Problem, check_range
from graphbandits.policies.exponential_weights import ExponentialWeights
from graphbandits.registry import register
from graphbandits.rng import Keys


@register("policy", "exp3-res")
@dataclass(frozen=True)
class Exp3Res(ExponentialWeights):
    """Exponential weights with observation probabilities estimated by resampling (Exp3-Res).

    L_i += G_i l_i for every observed arm i. G_i is the first k <= K-2 at which a draw of
    Bernoulli(pi_i) is 1 or the k-th of the other arms, in random order, was observed; otherwise
    K-1. eta_t = sqrt(ln K / (K^2 + sum_{s<t} sum_i pi_i (G_i l_i)^2)). The guarantee is for random
    feedback with r_t >= ln T / (2K - 2). Kocak, Neu and Valko (2016).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> graph = "random(r=0.5, graph_known=never)"
    >>> Agent("exp3-res", arms=4, graph=graph, seed=1).decide().probability
    0.25
    """

    needs: ClassVar[Needs] = Needs(graph="never")
    exemptions: ClassVar[dict[str, str]] = {
        "relabelling": "the random numbers of an arm depend on its number"
    }

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"squares": np.zeros(keys.trials)}

    def step(self, state: State, problem: Problem) -> Floats:
        squares = np.asarray(state["squares"], np.float64)
        step: Floats = np.sqrt(math.log(problem.arms) / (problem.arms**2 + squares))
        return step

    def update(self, state: State, event: Event) -> State:
        event = self.scaled_event(event)
        observed = event.observations
        seen = np.zeros(event.pi.shape, np.bool_)
        seen[observed.trial, observed.arm] = True
        stream = event.random("resampling")
        resample(
            state["loss"],  # type: ignore[arg-type]
            state["squares"],  # type: ignore[arg-type]
            event.pi,
            event.action,
            seen,
            stream.keys.key(stream.purpose),
            stream.keys.first_trial,
            event.t,
            observed.trial,
            observed.arm,
            observed.reward,
        )
        return state

    def check_state(self, state: State, problem: Problem) -> None:
        super().check_state(state, problem)
        check_range(state, "squares", 0.0, MAX_FLOAT)

    def caveat(self, arms: int, horizon: int) -> str:
        """Describe the range of the guarantee, for reports.

        Parameters
        ----------
        arms : int
            Number of arms K.
        horizon : int
            Number of rounds T.

        Returns
        -------
        str
            A sentence; an empty text for fewer than two arms.
        """
        if arms < 2:
            return ""
        least = math.log(horizon) / (2 * arms - 2)
        impossible = ", which is impossible" if least > 1.0 else ""
        return (
            "the guarantee requires random feedback with r_t of at least "
            f"ln T/(2K - 2) = {least:.3f}{impossible}."
        )
