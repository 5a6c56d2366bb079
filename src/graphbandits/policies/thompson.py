"""Thompson sampling: TS, TS-N, TS-N by sampling, and TS-maxN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.graphs.feedback import best_in_neighbours
from graphbandits.policies.base import Needs, View
from graphbandits.policies.bayesian import (
    Bayesian,
    OwnOutcomePolicy,
    PosteriorPolicy,
    Rule,
    RulePolicy,
)
from graphbandits.posteriors import Ordered
from graphbandits.posteriors.base import without_information
from graphbandits.registry import register
from graphbandits.rules import ts_n


@register("policy", "ts")
@dataclass(frozen=True)
class TS(OwnOutcomePolicy, RulePolicy):
    """Thompson sampling without the graph, from own plays only (TS).

    pi = alpha, computed exactly: each arm has the probability that it is best. The policy learns
    from the arms played only. Thompson (1933); Russo and Van Roy (2018).
    """

    rule: ClassVar[Rule] = staticmethod(ts_n)
    uses_information: ClassVar[bool] = False


@register("policy", "ts-n")
@dataclass(frozen=True)
class TSN(Bayesian):
    """Thompson sampling with exact probabilities, from all observations (TS-N).

    pi = alpha: each arm has the probability that it is best. The policy does not use the graph, but
    learns from every observation. Tossou, Dimitrakakis and Dubhashi (2017); Liu, Buccapatnam and
    Shroff (2018).
    """

    needs: ClassVar[Needs] = Needs(graph="never")
    rule: ClassVar[Rule] = staticmethod(ts_n)
    uses_information: ClassVar[bool] = False


@register("policy", "ts-maxn")
@dataclass(frozen=True)
class TSMaxN(PosteriorPolicy):
    """Best posterior mean among the arms that reveal the choice of TS-N (TS-maxN).

    Choose i with probability alpha_i, then play argmax of E[theta_j] over the j that reveal i. pi
    is the sum over i. Tossou, Dimitrakakis and Dubhashi (2017).
    """

    needs: ClassVar[Needs] = Needs(graph="before", deterministic=True)

    def propose(self, state: State, view: View) -> Floats:
        posterior, state = view.problem.posterior, view.current(state)
        first = without_information(posterior)(state).alpha
        return best_in_neighbours(view.graph, first, posterior.mean(state))


@register("policy", "ts-n-sampled")
@dataclass(frozen=True)
class TSNSampled(PosteriorPolicy):
    """Thompson sampling by posterior draws: play the largest sampled mean.

    The play has the distribution of ``ts-n``, but its probability is unknown: pi is one-hot.
    Thompson (1933).
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
