"""What index policies share: counts and means of what was observed, and the largest index."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import MOST_ROUNDS
from graphbandits.policies._count_kernels import add_counts
from graphbandits.policies.base import Event, Needs, Problem, View, check_range
from graphbandits.posteriors import Observations
from graphbandits.rng import Keys


def largest(index: Floats) -> Floats:
    """All probability on the arms of the largest index of a trial, evenly.

    >>> largest(np.array([[0.5, 2.0, 2.0], [np.inf, 1.0, 0.0]]))
    array([[0. , 0.5, 0.5],
           [1. , 0. , 0. ]])
    """
    top: Floats = (index == index.max(axis=1, keepdims=True)).astype(np.float64)
    top /= top.sum(axis=1, keepdims=True)
    return top


def upper_confidence(count: Floats, mean: Floats, t: int) -> Floats:
    """mean + sqrt(2 ln t / count), of Auer, Cesa-Bianchi and Fischer (2002).

    >>> upper_confidence(np.array([[8.0]]), np.array([[0.5]]), t=1)
    array([[0.5]])
    """
    bound: Floats = mean + np.sqrt(2.0 * np.log(t) / count)
    return bound


def reward_range(problem: Problem) -> tuple[float, float]:
    """The least and the largest reward; very large ones where they cannot be listed."""
    outcomes = getattr(problem.posterior, "outcomes", None) or (-1e150, 1e150)
    return min(outcomes), max(outcomes)


class CountPolicy:
    """Counts the observations of each arm and adds up their rewards: that is the state."""

    needs: ClassVar[Needs] = Needs(graph="never")
    exact: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        shape = keys.trials, problem.arms
        return {"count": np.zeros(shape), "total": np.zeros(shape)}

    def learns_from(self, event: Event) -> Observations:
        """All that was observed."""
        return event.observations

    def update(self, state: State, event: Event) -> State:
        seen = self.learns_from(event)
        add_counts(state["count"], state["total"], seen.trial, seen.arm, seen.reward)  # type: ignore[arg-type]
        return state

    def check_state(self, state: State, problem: Problem) -> None:
        """Refuse a state from a file that no observations lead to."""
        check_range(state, "count", 0, MOST_ROUNDS)
        count = np.asarray(state["count"], np.float64)
        least, most = reward_range(problem)
        check_range(state, "total", least * count, most * count)


class IndexPolicy(CountPolicy):
    """Plays the largest index, made of how often each arm was observed and what came of it."""

    def index(self, state: State, view: View) -> Floats:
        """The index of each arm; of one that was not observed it does not matter."""
        raise NotImplementedError

    def propose(self, state: State, view: View) -> Floats:
        return largest(self.indices(state, view))

    def indices(self, state: State, view: View) -> Floats:
        """The indices, infinite for arms that have not been observed."""
        seen = np.asarray(state["count"], np.float64) > 0.0
        return np.where(seen, self.index(state, view), np.inf)


class OwnOutcomeIndexPolicy(IndexPolicy):
    """The same without the graph: it learns from the arm that it plays, and from no other."""

    def learns_from(self, event: Event) -> Observations:
        """What was seen of the arm played."""
        return event.played


def counts(state: State) -> Floats:
    """How often each arm was observed, 1 where it was not: a divisor."""
    return np.maximum(np.asarray(state["count"], np.float64), 1.0)


def means(state: State) -> Floats:
    """The mean of what was observed of each arm, 0 where nothing was."""
    return np.asarray(state["total"], np.float64) / counts(state)
