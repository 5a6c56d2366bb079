"""KL-UCB: upper confidence bounds by the Kullback-Leibler divergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies._kl_kernels import upper_bounds
from graphbandits.policies.base import View
from graphbandits.policies.index import OwnOutcomeIndexPolicy, counts, means
from graphbandits.policies.scaled_rewards import ScaledRewards
from graphbandits.registry import register


@register("policy", "kl-ucb")
@dataclass(frozen=True)
class KLUCB(ScaledRewards, OwnOutcomeIndexPolicy):
    """Largest Kullback-Leibler upper confidence bound, from own plays only (KL-UCB).

    max {q >= X_i: N_i kl(X_i, q) <= ln t}; kl is the divergence of Bernoulli distributions. An arm
    that was never played comes first. Garivier and Cappé (2011), without the term ln ln t.

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("kl-ucb", arms=4, seed=1).decide().probability
    0.25
    """

    def index(self, state: State, view: View) -> Floats:
        count, mean = counts(state), means(state)
        bound = np.empty_like(mean)
        upper_bounds(count, mean, float(np.log(view.t)), bound)
        return bound
