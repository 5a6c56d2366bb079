"""Base classes of index policies: counts and means of the observations, the largest index."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies._policy_kernels import add_counts
from graphbandits.policies.base import Event, Needs, Problem, View, check_range, marked
from graphbandits.posteriors import Observations
from graphbandits.posteriors.base import check_weights, reward_support
from graphbandits.rng import Keys

#: Upper limit of the number of observations of an arm in a saved state, which includes weights.
MOST_COUNT = 1e15
#: Relative rounding error of a total of rewards.
ROUNDING = 1e-9


def uniform_argmax(index: Floats) -> Floats:
    """Put all probability on the arms of the largest index of each trial, divided evenly.

    >>> uniform_argmax(np.array([[0.5, 2.0, 2.0], [np.inf, 1.0, 0.0]]))
    array([[0. , 0.5, 0.5],
           [1. , 0. , 0. ]])
    """
    top: Floats = (index == index.max(axis=1, keepdims=True)).astype(np.float64)
    top /= top.sum(axis=1, keepdims=True)
    return top


def reward_range(problem: Problem) -> tuple[float, float]:
    """Return the smallest and the largest reward; -1e150 and 1e150 in place of infinite ones."""
    rewards = reward_support(problem.posterior)
    return max(rewards.low, -1e150), min(rewards.high, 1e150)


class CountPolicy:
    """Base class of policies whose state is the count and the total reward of each arm.

    A subclass defines ``propose``. An observation of weight w counts as w observations. With
    :class:`~graphbandits.policies.wrappers.ScaledRewards` as another base class, totals are
    those of the scaled rewards.
    """

    needs: ClassVar[Needs] = Needs(graph="never")
    exact: ClassVar[bool] = True
    weighted: ClassVar[bool] = True
    incremental: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        shape = keys.trials, problem.arms
        return {"count": np.zeros(shape), "total": np.zeros(shape)}

    @marked(own_plays=False)
    def learns_from(self, event: Event) -> Observations:
        """Return the observations that are counted: all of them."""
        return event.observations

    def scaled(self, seen: Observations, problem: Problem) -> Observations:
        """Return observations with the rewards that are added up: unchanged."""
        return seen

    def limits(self, problem: Problem) -> tuple[float, float]:
        """Return the smallest and the largest reward that is added up."""
        return reward_range(problem)

    @marked(learns_outcomes=True)
    def update(self, state: State, event: Event) -> State:
        return self.learn(state, self.learns_from(event), event.problem)

    def learn(self, state: State, seen: Observations, problem: Problem) -> State:
        """Count observations that need not belong to a round, in place."""
        seen = self.scaled(seen, problem)
        weight = check_weights(seen, self)
        count: Any = state["count"]
        total: Any = state["total"]
        if weight is None:
            add_counts(count, total, seen.trial, seen.arm, seen.reward)
        else:
            np.add.at(count, (seen.trial, seen.arm), weight)
            np.add.at(total, (seen.trial, seen.arm), weight * seen.reward)
        return state

    def check_state(self, state: State, problem: Problem) -> None:
        check_range(state, "count", 0, MOST_COUNT)
        count = np.asarray(state["count"], np.float64)
        least, most = self.limits(problem)
        slack = ROUNDING * max(abs(least), abs(most)) * count
        check_range(state, "total", least * count - slack, most * count + slack)


class IndexPolicy(CountPolicy):
    """Base class of policies that play the arm of the largest index.

    A subclass defines :meth:`index`. Arms that were never observed come first.
    """

    def index(self, state: State, view: View) -> Floats:
        """Return the index of each arm, (B, K); those of arms without observations are ignored."""
        raise NotImplementedError

    def propose(self, state: State, view: View) -> Floats:
        return uniform_argmax(self.indices(state, view))

    def indices(self, state: State, view: View) -> Floats:
        """Return the indices, infinite for arms that were never observed."""
        seen = np.asarray(state["count"], np.float64) > 0.0
        return np.where(seen, self.index(state, view), np.inf)


class OwnOutcomeIndexPolicy(IndexPolicy):
    """Base class of index policies that learn only from the arm played."""

    @marked(own_plays=True)
    def learns_from(self, event: Event) -> Observations:
        return event.played


def counts(state: State) -> Floats:
    """Return the number of observations of each arm, 1 for arms without any: a divisor."""
    count = np.asarray(state["count"], np.float64)
    return np.where(count > 0.0, count, 1.0)


def means(state: State) -> Floats:
    """Return the mean reward of each arm, 0 for arms without observations."""
    return np.asarray(state["total"], np.float64) / counts(state)
