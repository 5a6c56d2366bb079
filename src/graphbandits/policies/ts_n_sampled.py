"""TS-N as it is usually run: one posterior draw a round, its best arm played."""

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
    """Thompson sampling by drawing: a sample of every arm's mean, the largest is played.

    The play has the distribution of ``ts-n``, but its probability is not known: pi is one-hot.
    Thompson (1933).

    >>> from graphbandits import Agent
    >>> Agent("ts-n-sampled", arms=4, graph="star", seed=1).decide().probability is None
    True
    """

    exact: ClassVar[bool] = False

    def propose(self, state: State, view: View) -> Floats:
        posterior, stream = view.problem.posterior, view.random("thompson")
        theta = posterior.sample(state, stream)
        largest = theta == theta.max(axis=1, keepdims=True)
        if isinstance(posterior, Ordered) and largest.sum() > len(theta):
            # draws that round to one number have an order all the same
            theta = np.where(largest, posterior.sample_order(state, stream), -np.inf)
        pi = np.zeros(theta.shape)
        pi[np.arange(len(pi)), theta.argmax(axis=1)] = 1.0
        return pi
