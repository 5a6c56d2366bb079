"""Base classes of index policies: counts and means of the observations, the largest index."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import MOST_ROUNDS
from graphbandits.policies._count_kernels import add_counts
from graphbandits.policies.base import Event, Needs, Problem, View, check_range
from graphbandits.posteriors import Observations
from graphbandits.rng import Keys


def uniform_argmax(index: Floats) -> Floats:
    """Put all probability on the arms of the largest index of each trial, divided evenly.

    >>> uniform_argmax(np.array([[0.5, 2.0, 2.0], [np.inf, 1.0, 0.0]]))
    array([[0. , 0.5, 0.5],
           [1. , 0. , 0. ]])
    """
    top: Floats = (index == index.max(axis=1, keepdims=True)).astype(np.float64)
    top /= top.sum(axis=1, keepdims=True)
    return top


def upper_confidence(count: Floats, mean: Floats, t: int) -> Floats:
    """Compute mean + sqrt(2 ln t / count), from Auer, Cesa-Bianchi and Fischer (2002).

    >>> upper_confidence(np.array([[8.0]]), np.array([[0.5]]), t=1)
    array([[0.5]])
    """
    bound: Floats = mean + np.sqrt(2.0 * np.log(t) / count)
    return bound


def reward_range(problem: Problem) -> tuple[float, float]:
    """Return the smallest and the largest reward; -1e150 and 1e150 if rewards are not listed."""
    outcomes = getattr(problem.posterior, "outcomes", None) or (-1e150, 1e150)
    return min(outcomes), max(outcomes)


class CountPolicy:
    """Base class of policies whose state is the count and the total reward of each arm.

    A subclass defines ``propose``.
    """

    needs: ClassVar[Needs] = Needs(graph="never")
    exact: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        """Return zero counts and totals.

        Parameters
        ----------
        problem : Problem
            The problem.
        keys : Keys
            The trials of the block.

        Returns
        -------
        dict of str to ndarray
            The arrays ``count`` and ``total`` of shape (B, K).
        """
        shape = keys.trials, problem.arms
        return {"count": np.zeros(shape), "total": np.zeros(shape)}

    def learns_from(self, event: Event) -> Observations:
        """Return the observations that are counted: all of them.

        Parameters
        ----------
        event : Event
            The play and the observations of a round.

        Returns
        -------
        Observations
            The observations used.
        """
        return event.observations

    def update(self, state: State, event: Event) -> State:
        """Count the observations of a round, in place.

        Parameters
        ----------
        state : dict of str to ndarray
            The current state.
        event : Event
            The play and the observations of the round.

        Returns
        -------
        dict of str to ndarray
            The same state.
        """
        seen = self.learns_from(event)
        add_counts(state["count"], state["total"], seen.trial, seen.arm, seen.reward)  # type: ignore[arg-type]
        return state

    def check_state(self, state: State, problem: Problem) -> None:
        """Check a state that was loaded from a file.

        Parameters
        ----------
        state : dict of str to ndarray
            The state.
        problem : Problem
            The problem.

        Raises
        ------
        InputError
            If a count or a total is impossible.
        """
        check_range(state, "count", 0, MOST_ROUNDS)
        count = np.asarray(state["count"], np.float64)
        least, most = reward_range(problem)
        check_range(state, "total", least * count, most * count)


class IndexPolicy(CountPolicy):
    """Base class of policies that play the arm of the largest index.

    A subclass defines :meth:`index`. Arms that were never observed come first.
    """

    def index(self, state: State, view: View) -> Floats:
        """Compute the index of each arm.

        Parameters
        ----------
        state : dict of str to ndarray
            Counts and totals of the observations.
        view : View
            Information available before the decision.

        Returns
        -------
        ndarray of shape (B, K)
            The indices. Values of arms without observations are ignored.
        """
        raise NotImplementedError

    def propose(self, state: State, view: View) -> Floats:
        """Play the arm of the largest index; equal arms with the same probability.

        Parameters
        ----------
        state : dict of str to ndarray
            Counts and totals of the observations.
        view : View
            Information available before the decision.

        Returns
        -------
        ndarray of shape (B, K)
            The probability of each arm in each trial.
        """
        return uniform_argmax(self.indices(state, view))

    def indices(self, state: State, view: View) -> Floats:
        """Compute the indices, infinite for arms that were never observed.

        Parameters
        ----------
        state : dict of str to ndarray
            Counts and totals of the observations.
        view : View
            Information available before the decision.

        Returns
        -------
        ndarray of shape (B, K)
            The indices.
        """
        seen = np.asarray(state["count"], np.float64) > 0.0
        return np.where(seen, self.index(state, view), np.inf)


class OwnOutcomeIndexPolicy(IndexPolicy):
    """Base class of index policies that learn only from the arm played."""

    def learns_from(self, event: Event) -> Observations:
        return event.played


def counts(state: State) -> Floats:
    """Return the number of observations of each arm, at least 1: a divisor."""
    return np.maximum(np.asarray(state["count"], np.float64), 1.0)


def means(state: State) -> Floats:
    """Return the mean reward of each arm, 0 for arms without observations."""
    return np.asarray(state["total"], np.float64) / counts(state)
