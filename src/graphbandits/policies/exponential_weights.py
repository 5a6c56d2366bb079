"""Base class of policies for adversarial losses: exponential weights of estimated losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies._weight_kernels import add_losses, exponential_weights
from graphbandits.policies.base import MAX_FLOAT, Event, Needs, Problem, View, check_range
from graphbandits.policies.scaled_rewards import ScaledRewards
from graphbandits.posteriors.base import check_weights
from graphbandits.rng import Keys


@dataclass(frozen=True)
class ExponentialWeights(ScaledRewards):
    """Base class of policies with exponential weights of estimated losses.

    pi_i is proportional to exp(-eta L_i). L_i is the estimated loss of arm i so far, with the
    loss l = 1 - reward: L_i += l_i 1{i observed} / q_i, q = G'pi. A subclass defines :meth:`step`,
    and may override the estimate in :meth:`update`, for the event of :meth:`scaled_event`. The
    reward of the loss is scaled to [0, 1].

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward; by default those of the posterior.
    """

    needs: ClassVar[Needs] = Needs(graph="after")
    exact: ClassVar[bool] = True
    weighted: ClassVar[bool] = False

    def init(self, problem: Problem, keys: Keys) -> State:
        """Return estimated losses of zero.

        Parameters
        ----------
        problem : Problem
            The problem.
        keys : Keys
            The trials of the block.

        Returns
        -------
        dict of str to ndarray
            The array ``loss`` of shape (B, K).
        """
        return {"loss": np.zeros((keys.trials, problem.arms))}

    def step(self, state: State, problem: Problem) -> Floats:
        """Compute the learning rate eta of each trial.

        Parameters
        ----------
        state : dict of str to ndarray
            The current state.
        problem : Problem
            The problem.

        Returns
        -------
        ndarray of shape (B,)
            eta, one number per trial.
        """
        raise NotImplementedError

    def propose(self, state: State, view: View) -> Floats:
        """Return the exponential weights of the estimated losses.

        Parameters
        ----------
        state : dict of str to ndarray
            The current state.
        view : View
            Information available before the decision.

        Returns
        -------
        ndarray of shape (B, K)
            The probability of each arm in each trial.
        """
        loss = np.asarray(state["loss"], np.float64)
        pi = np.empty_like(loss)
        exponential_weights(loss, self.step(state, view.problem), pi)
        return pi

    def update(self, state: State, event: Event) -> State:
        """Add the estimated losses of a round, in place.

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
        event = self.scaled_event(event)
        chance = event.graph.observed(event.pi)
        estimate_losses(state, event, chance, np.zeros(len(chance)))
        return state

    def scaled_event(self, event: Event) -> Event:
        """Return the event with rewards in [0, 1], after a check that no observation has a weight.

        Parameters
        ----------
        event : Event
            The play and the observations of a round.

        Returns
        -------
        Event
            The event with scaled rewards.

        Raises
        ------
        InputError
            If a reward is outside the range, or a weight differs from 1.
        """
        check_weights(event.observations, self)
        return replace(event, observations=self.scaled(event.observations, event.problem))

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
            If an estimated loss is not finite.
        """
        check_range(state, "loss", -MAX_FLOAT, MAX_FLOAT)


def estimate_losses(state: State, event: Event, chance: Floats, extra: Floats) -> None:
    """Add l_i / (chance_i + extra) to L_i for every observed arm i."""
    seen = event.observations
    add_losses(state["loss"], chance, extra, seen.trial, seen.arm, seen.reward)  # type: ignore[arg-type]


def trials_of(state: State) -> int:
    """Return the number of trials B of a state."""
    return len(state["loss"])
