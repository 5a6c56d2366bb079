"""Base class of policies for adversarial losses: exponential weights of estimated losses."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies._weight_kernels import add_losses, exponential_weights
from graphbandits.policies.base import MAX_FLOAT, Event, Needs, Problem, View, check_range
from graphbandits.rng import Keys


class ExponentialWeights:
    """Base class of policies with exponential weights of estimated losses.

    pi_i is proportional to exp(-eta L_i). L_i is the estimated loss of arm i so far, with the
    loss l = 1 - reward: L_i += l_i 1{i observed} / q_i, q = G'pi. A subclass defines :meth:`step`,
    and may override the estimate in :meth:`update`.
    """

    needs: ClassVar[Needs] = Needs(graph="after")
    exact: ClassVar[bool] = True

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
        chance = event.graph.observed(event.pi)
        estimate_losses(state, event, chance, np.zeros(len(chance)))
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
