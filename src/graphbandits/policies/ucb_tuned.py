"""UCB-Tuned: upper confidence bounds scaled by the variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies.base import Problem, View, check_range
from graphbandits.policies.index import OwnOutcomeIndexPolicy, counts, means
from graphbandits.policies.scaled_rewards import ScaledRewards
from graphbandits.posteriors import Observations
from graphbandits.posteriors.base import check_weights
from graphbandits.registry import register
from graphbandits.rng import Keys


@register("policy", "ucb-tuned")
@dataclass(frozen=True)
class UCBTuned(ScaledRewards, OwnOutcomeIndexPolicy):
    """Largest upper confidence bound, scaled by the variance, from own plays only (UCB-Tuned).

    X_i + sqrt(min(1/4, V_i) ln t / N_i), V_i = (variance of the N_i rewards) + sqrt(2 ln t / N_i).
    An arm that was never played comes first. Auer, Cesa-Bianchi and Fischer (2002).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("ucb-tuned", arms=4, seed=1).decide().probability
    0.25
    """

    weighted: ClassVar[bool] = False

    def init(self, problem: Problem, keys: Keys) -> State:
        state = super().init(problem, keys)
        return state | {"squares": np.zeros((keys.trials, problem.arms))}

    def index(self, state: State, view: View) -> Floats:
        count, mean, log_t = counts(state), means(state), np.log(view.t)
        variance = np.asarray(state["squares"], np.float64) / count - mean * mean
        bound = variance + np.sqrt(2.0 * log_t / count)
        index: Floats = mean + np.sqrt(np.minimum(0.25, bound) * log_t / count)
        return index

    def learn(self, state: State, seen: Observations, problem: Problem) -> State:
        scaled = self.scaled(seen, problem)
        check_weights(scaled, self)
        squares: Floats = state["squares"]  # type: ignore[assignment]
        np.add.at(squares, (scaled.trial, scaled.arm), scaled.reward * scaled.reward)
        return super().learn(state, seen, problem)

    def check_state(self, state: State, problem: Problem) -> None:
        super().check_state(state, problem)
        most = max(reward * reward for reward in self.limits(problem))
        check_range(state, "squares", 0.0, most * np.asarray(state["count"], np.float64))
