"""The three calls of a policy, each checked: what goes wrong in it is said with its place."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import NoReturn

import numpy as np

from graphbandits.errors import GraphBanditsError, InputError, PolicyError
from graphbandits.plugins import blame
from graphbandits.policies import Event, Policy, Problem, View
from graphbandits.registry import name_of
from graphbandits.rng import Keys, draw_actions
from graphbandits.types import Floats, Ints, State


def start(policy: Policy, problem: Problem, keys: Keys) -> State:
    """The state before the first round."""
    try:
        state = policy.init(problem, keys)
    except GraphBanditsError:
        raise
    except Exception as error:
        _raise(policy, "before the first round, in init", error)
    _check_state(policy, "init", state)
    return state


def decide(policy: Policy, state: State, view: View) -> tuple[Floats, Ints]:
    """The policy proposes a distribution, the engine draws the play from it."""
    pi = as_pi(policy, propose(policy, state, view), view)
    return pi, draw_actions(pi, view.keys, view.t)


def propose(policy: Policy, state: State, view: View) -> object:
    """What the policy returns, unchecked."""
    try:
        return policy.propose(state, view)
    except GraphBanditsError:
        raise
    except Exception as error:
        _raise(policy, f"in round {view.t}, in propose", error)


def as_pi(policy: Policy, proposed: object, view: View) -> Floats:
    """A copy of what was proposed, if it is a distribution over the arms for each trial."""
    shape = (view.keys.trials, view.problem.arms)
    try:
        pi = np.array(proposed, np.float64, order="C")
    except (TypeError, ValueError):
        pi = np.empty(0)
    if pi.shape != shape:
        what = f"shape {pi.shape}" if isinstance(proposed, np.ndarray) else type(proposed).__name__
        raise InputError(
            f"policy '{name_of(policy)}' proposed {what} in round {view.t}; pi is an array with "
            f"one row a trial and one column an arm, {shape}"
        )
    total = pi.sum(axis=1)
    off = np.abs(total - 1.0)
    if not (off < 1e-9).all() or (pi < 0.0).any():
        raise InputError(
            f"policy '{name_of(policy)}' proposed in round {view.t} what is no distribution: "
            f"the least entry is {pi.min():g}, a row adds up to {total[off.argmax()]:g}"
        )
    return pi


def learn(policy: Policy, state: State, event: Event) -> State:
    """The state after the round; ``state`` is consumed."""
    try:
        state = policy.update(state, event)
    except GraphBanditsError:
        raise
    except Exception as error:
        _raise(policy, f"in round {event.t}, in update", error)
    _check_state(policy, "update", state)
    return state


def _check_state(policy: Policy, call: str, state: object) -> None:
    if not isinstance(state, dict):
        raise InputError(
            f"policy '{name_of(policy)}' returned {type(state).__name__} from {call}; "
            "return the state, a dict of named arrays"
        )


def _raise(policy: Policy, where: str, error: Exception) -> NoReturn:
    try:
        file = Path(inspect.getsourcefile(type(policy)) or "")
    except (OSError, TypeError):  # a class that was typed in, not read from a file
        file = Path(type(policy).__qualname__)
    raise PolicyError(f"policy '{name_of(policy)}' failed {where}: {blame(error, file)}") from error
