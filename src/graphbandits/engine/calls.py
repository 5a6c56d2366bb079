"""The calls of policies and graphs, checked: what goes wrong in one is said with its place."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from graphbandits.errors import (
    GraphBanditsError,
    GraphError,
    InputError,
    NeedsError,
    PolicyError,
)
from graphbandits.graphs import Feedback, Process
from graphbandits.plugins import blame, source_file
from graphbandits.policies import Event, Policy, Problem, View
from graphbandits.registry import name_of
from graphbandits.rng import Keys, draw_actions
from graphbandits.types import Floats, Ints, State


def start(policy: Policy, problem: Problem, keys: Keys) -> State:
    """The state before the first round."""
    try:
        state = policy.init(problem, keys)
    except (Exception, SystemExit) as error:
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
    except (Exception, SystemExit) as error:
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
    except (Exception, SystemExit) as error:
        _raise(policy, f"in round {event.t}, in update", error)
    _check_state(policy, "update", state)
    return state


def _check_state(policy: Policy, call: str, state: object) -> None:
    if not isinstance(state, dict):
        raise InputError(
            f"policy '{name_of(policy)}' returned {type(state).__name__} from {call}; "
            "return the state, a dict of named arrays"
        )


def _raise(policy: Policy, where: str, error: BaseException) -> NoReturn:
    """The error with the policy's name and place; one of ours keeps its kind."""
    name = name_of(policy)
    if isinstance(error, NeedsError) and not str(error).startswith("policy '"):
        raise NeedsError(f"policy '{name}' {where}: {error}") from error
    if isinstance(error, GraphBanditsError):
        raise error
    reason = blame(error, source_file(type(policy)))
    raise PolicyError(f"policy '{name}' failed {where}: {reason}") from error


def show(process: Process, t: int, keys: Keys) -> Feedback:
    """The graph of round t; what goes wrong in a graph of a plug-in is said with its place."""
    try:
        return process.round(t, keys)
    except GraphBanditsError:
        raise
    except Exception as error:
        reason = blame(error, source_file(type(process)))
        raise GraphError(
            f"graph '{type(process).__name__}' failed in round {t}: {reason}"
        ) from error


def reveal(graph: Feedback, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
    """Who is observed in round t."""
    try:
        return graph.reveal(action, keys, t)
    except GraphBanditsError:
        raise
    except Exception as error:
        reason = blame(error, source_file(type(graph)))
        raise GraphError(
            f"graph '{type(graph).__name__}' failed in round {t}, in reveal: {reason}"
        ) from error
