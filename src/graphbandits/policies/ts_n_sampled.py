"""TS-N by sampling: one posterior draw per round, and its best arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies.base import View
from graphbandits.policies.bayesian import PosteriorPolicy
from graphbandits.posteriors import Ordered
from graphbandits.registry import register


@register("policy", "ts-n-sampled")
@dataclass(frozen=True)
class TSNSampled(PosteriorPolicy):
    """Thompson sampling by posterior draws: play the largest sampled mean.

    The play has the distribution of ``ts-n``, but its probability is unknown: pi is one-hot.
    Thompson (1933).

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("ts-n-sampled", arms=4, graph="star", seed=1).decide().probability is None
    True
    """

    exact: ClassVar[bool] = False

    def propose(self, state: State, view: View) -> Floats:
        posterior, stream = view.problem.posterior, view.random("thompson")
        state = view.current(state)
        theta = posterior.sample(state, stream)
        largest = theta == theta.max(axis=1, keepdims=True)
        if isinstance(posterior, Ordered) and largest.sum() > len(theta):
            # draws that round to the same number still have an order
            theta = np.where(largest, posterior.sample_order(state, stream), -np.inf)
        pi = np.zeros(theta.shape)
        pi[np.arange(len(pi)), theta.argmax(axis=1)] = 1.0
        return pi
