"""Algorithm 1, in lockstep over the trials of a block.

Calls of policies and graphs are checked; an error names the policy or graph and the round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, Protocol

import numpy as np

from graphbandits._types import Floats, Ints, State
from graphbandits.engine.shard import Plays, Ratios, Recording, Shard
from graphbandits.errors import (
    GraphBanditsError,
    GraphError,
    InputError,
    NeedsError,
    PolicyError,
)
from graphbandits.gains import information_ratio, joint_gain
from graphbandits.gains.ratio import entropy
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.graph_info import GraphInfo
from graphbandits.plugins import locate_error, source_file
from graphbandits.policies import Event, Policy, Problem, View
from graphbandits.posteriors import Observations, Posterior
from graphbandits.posteriors._capabilities import strictest
from graphbandits.registry import name_of
from graphbandits.rng import Keys, draw_actions
from graphbandits.worlds import World


@dataclass(frozen=True, eq=False)
class BlockOutcome:
    """Regret of each trial at the recorded rounds (B, R), and its plays of each arm (B, K)."""

    regret: Floats
    plays: Ints


class RunMonitor(Protocol):
    """Looks on while a block is played, and has no say in it."""

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        """Before the play of round t is drawn from ``pi``."""

    def observed(self, t: int, seen: Observations) -> None:
        """After it."""


def run_block(
    policy: Policy,
    world: World,
    process: Process,
    horizon: int,
    keys: Keys,
    record: Ints,
    realised: bool = False,
    advance: Callable[[int], None] = lambda rounds: None,
    watch: RunMonitor | None = None,
) -> BlockOutcome:
    """Play ``horizon`` rounds in every trial of the block; ``record`` lists rounds to keep.

    ``advance`` is called after every round, and whatever it raises ends the block.
    """
    problem = Problem(world.prior, horizon, policy.needs, GraphInfo(process))
    state = start(policy, problem, keys)
    theta = world.means(keys)
    best = theta.argmax(axis=1)
    rows = np.arange(keys.trials)
    regret = np.zeros(keys.trials)
    kept = np.empty((keys.trials, len(record)))
    plays = np.zeros((keys.trials, world.arms), np.int64)
    recorded = 0
    for t in range(1, horizon + 1):
        graph = draw_graph(process, t, keys)
        pi, action = decide(policy, state, View(t, keys, problem, graph))
        if watch is not None:
            watch.decided(t, graph, pi)
        trial, arm = reveal(graph, action, keys, t)
        seen = Observations(trial, arm, world.outcomes(theta, keys, t, trial, arm))

        # before the policy gets hold of the arrays
        if realised:
            regret += world.outcomes(theta, keys, t, rows, best)
            regret -= world.outcomes(theta, keys, t, rows, action)
        else:
            regret += theta[rows, best] - theta[rows, action]
        plays[rows, action] += 1
        if watch is not None:
            watch.observed(t, seen)

        state = learn(policy, state, Event(t, keys, problem, graph, pi, action, seen))
        if t == record[recorded]:
            kept[:, recorded] = regret
            recorded += 1
        advance(1)
    return BlockOutcome(kept, plays)


class Recorder:
    """Keeps the information ratios at the recorded rounds, by a posterior of its own.

    So they are defined for every policy: given all that it has observed. They are quotients of
    small numbers, and so the statistics are of the strictest accuracy there is.
    """

    def __init__(self, posterior: Posterior, gain: str, trials: int, record: Ints) -> None:
        self._posterior, self._gain, self._record = strictest(posterior), gain, record
        self._state: State = posterior.init(trials)
        self._sum = np.zeros(trials)
        self._column = 0
        kept = (trials, len(record))
        self.ratios = Ratios(*(np.empty(kept) for _ in range(4)))

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        """Add this round's ratio; keep all if the round is one that is recorded."""
        beliefs = self._posterior.beliefs(self._state)
        bound = graph.gain(beliefs.h)
        joint = self._gain == "joint"
        gain = joint_gain(self._posterior, self._state, graph) if joint else bound
        ratio = information_ratio(pi, beliefs.delta, gain)
        self._sum += np.where(np.isnan(ratio), 0.0, ratio)
        if t == self._record[self._column]:
            kept = self.ratios
            kept.ratio[:, self._column] = ratio
            kept.ratio_sum[:, self._column] = self._sum
            kept.psi[:, self._column] = information_ratio(beliefs.alpha, beliefs.delta, bound)
            kept.entropy[:, self._column] = entropy(beliefs.alpha)
            self._column += 1

    def observed(self, t: int, seen: Observations) -> None:
        """Learn what the policy could have learned."""
        self._state = self._posterior.update(self._state, seen)


def run_recorded(
    policy: Policy,
    world: World,
    process: Process,
    horizon: int,
    keys: Keys,
    recording: Recording,
    advance: Callable[[int], None] = lambda rounds: None,
) -> Shard:
    """Run a block, and keep what is to be recorded."""
    record, recorder = recording.record, None
    if recording.ratios is not None:
        recorder = Recorder(world.prior, recording.ratios, keys.trials, record)
    realised = recording.regret == "realised"
    played = run_block(policy, world, process, horizon, keys, record, realised, advance, recorder)
    ratios = None if recorder is None else recorder.ratios
    return Shard(keys.first_trial, played.regret, Plays.of(played.plays), ratios)


# Checked calls ----------------------------------------------------------------------------------


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
    reason = locate_error(error, source_file(type(policy)))
    raise PolicyError(f"policy '{name}' failed {where}: {reason}") from error


def draw_graph(process: Process, t: int, keys: Keys) -> Feedback:
    """The graph of round t; an error in the graph of a plug-in names its file and line."""
    try:
        return process.round(t, keys)
    except Exception as error:
        _raise_of_graph(process, f"in round {t}", error)


def reveal(graph: Feedback, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
    """Who is observed in round t."""
    try:
        return graph.reveal(action, keys, t)
    except Exception as error:
        _raise_of_graph(graph, f"in round {t}, in reveal", error)


def _raise_of_graph(graph: object, where: str, error: Exception) -> NoReturn:
    if isinstance(error, GraphBanditsError):
        raise error
    reason = locate_error(error, source_file(type(graph)))
    raise GraphError(f"graph '{type(graph).__name__}' failed {where}: {reason}") from error
