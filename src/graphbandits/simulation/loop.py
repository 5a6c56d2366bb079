"""Algorithm 1, in lockstep over the trials of a block; calls to policies and graphs are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from graphbandits._rng_kernels import are_distributions
from graphbandits._types import Floats, Ints, State
from graphbandits.errors import (
    GraphBanditsError,
    GraphError,
    InputError,
    NeedsError,
    PolicyError,
    WorldError,
)
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.properties import GraphInfo
from graphbandits.plugins import locate_error, source_file
from graphbandits.policies import Event, Policy, Problem, View
from graphbandits.policies.wrappers import restricted
from graphbandits.posteriors import Observations, Posterior
from graphbandits.posteriors.base import check_weights, reward_support, strictest
from graphbandits.posteriors.updates import at_decision, with_time
from graphbandits.registry import name_of
from graphbandits.rng import Keys, draw_actions
from graphbandits.rules.gains import entropy, information_ratio, joint_gain
from graphbandits.simulation.conditions import (
    AnswerQueue,
    Answers,
    Eligible,
    all_eligible_arms,
    eligible_arms,
    joined,
)
from graphbandits.simulation.shard import (
    MAX_OBSERVATIONS,
    Int32s,
    Plays,
    Ratios,
    RecordedObservations,
    Shard,
    Trajectories,
)
from graphbandits.worlds import Changing, World

if TYPE_CHECKING:
    from graphbandits.simulation.plan import Plan


@dataclass(frozen=True, eq=False)
class BlockOutcome:
    regret: Floats
    plays: Ints


class RunMonitor(Protocol):
    """Read-only monitor of a running block.

    The methods are called in each round, in the order of their definition. A class that inherits
    from ``RunMonitor`` can leave out methods: the inherited ones do nothing.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> class Certainty(RunMonitor):
    ...     def decided(self, t, graph, pi):
    ...         print(pi.max() <= 1.0)
    >>> monitor = lambda policy, keys: Certainty()
    >>> results = simulate("greedy", graph="paper", horizon=1, trials=5, monitor=monitor)
    True
    """

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        """Receive a decision: round t (from 1), its graph, and the distribution pi (B, K)."""
        return  # a subclass may inherit it

    def played(self, t: int, action: Ints) -> None:
        """Receive the actions that the engine has drawn, one arm for each of the B trials.

        ``run_block`` accepts monitors without this method.
        """
        return  # a subclass may inherit it

    def observed(self, t: int, seen: Observations) -> None:
        """Receive the observations of a round, before the policy learns from them.

        With delayed or missing answers, these are the outcomes that arrive in round t, and
        ``seen.time`` is the round of the play of each.
        """
        return  # a subclass may inherit it


#: Function of (text form of the policy, keys of the block) that returns a monitor of the block;
#: None for a block without a monitor.
MonitorFactory = Callable[[str, Keys], RunMonitor | None]


def run_block(
    policy: Policy,
    world: World,
    process: Process,
    horizon: int,
    keys: Keys,
    record: Ints,
    realised: bool = False,
    advance: Callable[[int], None] = lambda rounds: None,
    monitor: RunMonitor | None = None,
    posterior: Posterior | None = None,
    eligible: Eligible | None = None,
    answers: Answers | None = None,
) -> BlockOutcome:
    """Run Algorithm 1 for all trials of a block.

    Parameters
    ----------
    policy, world, process : Policy, World, Process
        Policy, reward model and graph process.
    horizon : int
        Number of rounds.
    keys : Keys
        Seed and numbers of the trials.
    record : ndarray of int
        Rounds at which the regret is recorded, in increasing order. The last one is ``horizon``.
    realised : bool, default=False
        If true, record the difference of the outcomes instead of the pseudo-regret
        theta* - theta_A. Both are relative to the best mean of the round.
    advance : callable, optional
        Called with 1 after every round. An exception that it raises ends the block.
    monitor : RunMonitor, optional
        Receives the arrays of every round without copies, and must not change them.
    posterior : Posterior, optional
        Prior that policies start from. The default is the prior of the world.
    eligible : float or ndarray of bool, optional
        As in :func:`graphbandits.simulate`; an array has the shape (1, K) or (T, K).
    answers : Answers, optional
        Delays of outcomes, and the probability that an outcome arrives.

    Returns
    -------
    BlockOutcome
        Regret at the recorded rounds, and plays of each arm.

    Raises
    ------
    PolicyError, GraphError, WorldError
        If the policy, the graph process or the world raises an exception or returns wrong values.
    """
    prior = world.prior if posterior is None else posterior
    problem = Problem(prior, horizon, policy.needs, GraphInfo(process))
    state = init_state(policy, problem, keys)
    first = theta = draw_means(world, keys)
    best, allowed, changing = theta.argmax(axis=1), None, isinstance(world, Changing)
    rows = np.arange(keys.trials)
    regret = np.zeros(keys.trials)
    kept = np.empty((keys.trials, len(record)))
    plays = np.zeros((keys.trials, world.arms), np.int64)
    recorded = 0
    queue = None if answers is None else AnswerQueue(answers, policy)
    played = getattr(monitor, "played", None)
    for t in range(1, horizon + 1):
        graph = draw_graph(process, t, keys)
        if changing:
            theta = means_in_round(world, first, keys, t)
            best = theta.argmax(axis=1)
        if eligible is not None:
            allowed = eligible_arms(eligible, t, keys, world.arms)
            best = np.where(allowed, theta, -np.inf).argmax(axis=1)
        pi, action = decide(policy, state, View(t, keys, problem, graph, allowed))
        if monitor is not None:
            monitor.decided(t, graph, pi)
        if played is not None:
            played(t, action)
        trial, arm = reveal(graph, action, keys, t)
        seen = Observations(trial, arm, draw_outcomes(world, theta, keys, t, trial, arm))

        # before update: the policy may modify the arrays
        if realised:
            regret += draw_outcomes(world, theta, keys, t, rows, best)
            regret -= draw_outcomes(world, theta, keys, t, rows, action)
        else:
            regret += theta[rows, best] - theta[rows, action]
        plays[rows, action] += 1
        event = Event(t, keys, problem, graph, pi, action, seen)
        if queue is None:
            if monitor is not None:
                monitor.observed(t, seen)
            state = update_state(policy, state, event)
        else:
            state = _receive_answers(policy, state, event, queue, monitor)
        if t == record[recorded]:
            kept[:, recorded] = regret
            recorded += 1
        advance(1)
    return BlockOutcome(kept, plays)


def _receive_answers(
    policy: Policy, state: State, event: Event, queue: AnswerQueue, monitor: RunMonitor | None
) -> State:
    """Return the state after the outcomes that arrive in the round of ``event``."""
    queue.add(event)
    arrived = queue.arrivals(event.t)
    if monitor is not None:
        monitor.observed(event.t, joined(arrived))
    for lesson in queue.lessons(event.t, arrived):
        if isinstance(lesson, Event):
            state = update_state(policy, state, lesson)
        else:
            state = learn_state(policy, state, lesson, event.problem)
    return state


class RatioRecorder(RunMonitor):
    """Monitor that records the information ratios, with its own posterior and at strict accuracy.

    The own posterior defines them for every policy. Ratios are quotients of small numbers.
    """

    def __init__(self, posterior: Posterior, gain: str, trials: int, record: Ints) -> None:
        self._posterior, self._gain, self._record = strictest(posterior), gain, record
        self._state: State = posterior.init(trials)
        self._sum = np.zeros(trials)
        self._column = 0
        kept = (trials, len(record))
        self.ratios = Ratios(*(np.empty(kept) for _ in range(4)))

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        state = at_decision(self._posterior, self._state, t, float(t))
        beliefs = self._posterior.beliefs(state)
        bound = graph.gain(beliefs.h)
        joint = self._gain == "joint"
        gain = joint_gain(self._posterior, state, graph) if joint else bound
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
        timed = with_time(self._posterior, seen, float(t))
        self._state = self._posterior.update(self._state, timed)


class TrajectoryRecorder(RunMonitor):
    def __init__(self, trials: int, actions: bool, observations: bool) -> None:
        self._trials = trials
        self._action: list[Int32s] | None = [] if actions else None
        #: trial, round of the play, arm and reward of the observations of each round
        self._seen: list[tuple[Int32s, Int32s, Int32s, Floats]] | None = (
            [] if observations else None
        )
        self._count = 0

    def played(self, t: int, action: Ints) -> None:
        if self._action is not None:
            self._action.append(action.astype(np.int32))

    def observed(self, t: int, seen: Observations) -> None:
        if self._seen is None:
            return
        time = np.full(len(seen.arm), t) if seen.time is None else seen.time
        trial, played, arm = (one.astype(np.int32) for one in (seen.trial, time, seen.arm))
        self._seen.append((trial, played, arm, seen.reward.copy()))
        self._count += len(arm)
        if self._count > MAX_OBSERVATIONS:
            raise InputError(
                f"a block of {self._trials} trials has more than {MAX_OBSERVATIONS} observations, "
                "too many to record: use fewer trials per shard (or block), or do not record the "
                "observations"
            )

    @property
    def trajectories(self) -> Trajectories:
        action = None if self._action is None else np.stack(self._action, axis=1)
        if self._seen is None:
            return Trajectories(action)
        trial, played, arm, reward = (
            np.concatenate(part) for part in zip(*self._seen, strict=True)
        )
        order = np.lexsort((arm, played, trial))
        start = np.concatenate([[0], np.cumsum(np.bincount(trial, minlength=self._trials))])
        seen = RecordedObservations(start, played[order], arm[order], reward[order])
        return Trajectories(action, seen)


class MonitorGroup(RunMonitor):
    def __init__(self, monitors: Sequence[RunMonitor]) -> None:
        self._monitors = monitors

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        for monitor in self._monitors:
            monitor.decided(t, graph, pi)

    def played(self, t: int, action: Ints) -> None:
        for monitor in self._monitors:
            monitor.played(t, action)

    def observed(self, t: int, seen: Observations) -> None:
        for monitor in self._monitors:
            monitor.observed(t, seen)


class IsolatedMonitor(RunMonitor):
    """A monitor of the user, which gets copies of all arrays: it cannot change the run."""

    def __init__(self, monitor: object) -> None:
        methods = [getattr(monitor, name, None) for name in ("decided", "played", "observed")]
        if not any(map(callable, methods)):
            raise InputError(
                "a monitor must have a method decided, played or observed (see "
                f"graphbandits.simulation.loop.RunMonitor), not {monitor!r}"
            )
        self._decided, self._played, self._observed = methods
        self._graph: Feedback | None = None
        self._copy: Feedback | None = None

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        """Call the monitor with copies; a fixed graph is copied once."""
        if self._decided is None:
            return
        if self._copy is None or graph is not self._graph:
            self._graph, self._copy = graph, deepcopy(graph)
        self._decided(t, self._copy, pi.copy())

    def played(self, t: int, action: Ints) -> None:
        if self._played is not None:
            self._played(t, action.copy())

    def observed(self, t: int, seen: Observations) -> None:
        if self._observed is not None:
            self._observed(t, deepcopy(seen))


def run_recorded(
    plan: Plan,
    name: str,
    keys: Keys,
    advance: Callable[[int], None] = lambda rounds: None,
    monitor: RunMonitor | None = None,
) -> Shard:
    """Run a block of a policy of a plan, and record what the plan asks for.

    ``monitor`` is one of the user.
    """
    recording, horizon, arms = plan.recording, plan.horizon, plan.world.arms
    monitors = list[RunMonitor]()
    recorder = trajectories = None
    if recording.ratios is not None:
        recorder = RatioRecorder(plan.posterior, recording.ratios, keys.trials, recording.record)
        monitors.append(recorder)
    if recording.actions or recording.observations:
        trajectories = TrajectoryRecorder(keys.trials, recording.actions, recording.observations)
        monitors.append(trajectories)
    if monitor is not None:
        monitors.append(IsolatedMonitor(monitor))
    played = run_block(
        plan.policies[name],
        plan.world,
        plan.process,
        horizon,
        keys,
        recording.record,
        realised=recording.regret == "realised",
        advance=advance,
        monitor=MonitorGroup(monitors) if monitors else None,
        posterior=plan.posterior,
        eligible=plan.eligible,
        answers=plan.answers,
    )
    ratios = None if recorder is None else recorder.ratios
    seen = None if trajectories is None else trajectories.trajectories
    if recording.eligible and plan.eligible is not None:
        if keys.trials * horizon * arms > MAX_OBSERVATIONS:
            raise InputError(
                f"a block of {keys.trials} trials, {horizon} rounds and {arms} arms is too large "
                "to record its eligible arms: use fewer trials per shard (or block), or do not "
                "record them"
            )
        allowed = all_eligible_arms(plan.eligible, horizon, keys, arms)
        seen = replace(seen or Trajectories(), eligible=allowed)
    return Shard(keys.first_trial, played.regret, Plays.of(played.plays), ratios, trajectories=seen)


# Checked calls ----------------------------------------------------------------------------------

#: Error of each type of plug-in that a run calls.
_ERRORS = {"policy": PolicyError, "world": WorldError, "graph": GraphError}


def _call(what: str, plugin: object, t: int | None, method: str, *arguments: Any) -> Any:
    """Call a method of a plug-in; an error names the plug-in, the round and the failing line.

    Errors of this package are raised unchanged; only that of needs gets the name of the policy.
    """
    try:
        return getattr(plugin, method)(*arguments)
    except (Exception, SystemExit) as error:
        name = type(plugin).__name__ if what == "graph" else name_of(plugin)
        where = f"in {method}" if t is None else f"in round {t}, in {method}"
        if isinstance(error, NeedsError) and not str(error).startswith("policy '"):
            raise NeedsError(f"{what} '{name}' {where}: {error}") from error
        if isinstance(error, GraphBanditsError):
            raise
        reason = locate_error(error, source_file(type(plugin)))
        raise _ERRORS[what](f"{what} '{name}' failed {where}: {reason}") from error


def _type_text(value: object) -> str:
    """Return what a plug-in returned instead of the right array."""
    if isinstance(value, np.ndarray):
        return f"shape {value.shape} and type {value.dtype}"
    return type(value).__name__


def init_state(policy: Policy, problem: Problem, keys: Keys) -> State:
    return _check_state(policy, "init", _call("policy", policy, None, "init", problem, keys))


def decide(policy: Policy, state: State, view: View) -> tuple[Floats, Ints]:
    """Return the proposed distribution and the drawn actions; pi is zero for arms not eligible."""
    if view.eligible is None:
        pi = check_pi(policy, propose(policy, state, view), view)
    else:
        pi = np.zeros((view.keys.trials, view.problem.arms))
        for rows, arms, part, some in restricted(policy, state, view):
            pi[rows, arms] = check_pi(policy, propose(policy, part, some), some)
    return pi, draw_actions(pi, view.keys, view.t)


def propose(policy: Policy, state: State, view: View) -> object:
    """Return the proposal of a policy, unchecked."""
    proposed: object = _call("policy", policy, view.t, "propose", state, view)
    return proposed


def check_pi(policy: Policy, proposed: object, view: View) -> Floats:
    """Return a copy of a proposal; raise InputError unless each row is a distribution."""
    shape = (view.keys.trials, view.problem.arms)
    try:
        pi = np.array(proposed, np.float64, order="C")
    except (TypeError, ValueError):
        pi = np.empty(0)
    if pi.shape != shape:
        raise InputError(
            f"policy '{name_of(policy)}' proposed {_type_text(proposed)} in round {view.t}; return "
            f"an array with one row per trial and one column per arm, shape {shape}"
        )
    if not are_distributions(pi, 1e-9):
        total = pi.sum(axis=1)
        raise InputError(
            f"policy '{name_of(policy)}' did not propose a distribution in round {view.t}: the "
            f"smallest entry is {pi.min():g}, and a row sums to "
            f"{total[np.abs(total - 1.0).argmax()]:g}"
        )
    return pi


def update_state(policy: Policy, state: State, event: Event) -> State:
    """Return the state after a round, checked; the policy may reuse the arrays of ``state``."""
    check_weights(event.observations, policy)
    learned = _call("policy", policy, event.t, "update", state, event)
    return _check_state(policy, "update", learned)


def learn_state(
    policy: Policy, state: State, seen: Observations, problem: Problem, t: int | None = None
) -> State:
    """Return the state after observations, checked.

    They belong to no round, or to round ``t``: then it is the state of :func:`update_state`, if
    ``seen`` are the observations that ``update`` passes to ``learn``.
    """
    check_weights(seen, policy)
    learned = _call("policy", policy, t, "learn", state, seen, problem)
    return _check_state(policy, "learn", learned)


def _check_state(policy: Policy, call: str, state: object) -> State:
    if not isinstance(state, dict):
        raise InputError(
            f"policy '{name_of(policy)}' returned {type(state).__name__} from {call}; "
            "return the state, a dict of named arrays"
        )
    return state


def draw_means(world: World, keys: Keys) -> Floats:
    return _check_means(world, _call("world", world, None, "means", keys), keys)


def means_in_round(world: World, theta: Floats, keys: Keys, t: int) -> Floats:
    """Return the means of a world in round t, checked; ``theta`` are those of ``draw_means``."""
    if not isinstance(world, Changing):
        return theta
    return _check_means(world, _call("world", world, t, "means_at", theta, keys, t), keys)


def _check_means(world: World, theta: Any, keys: Keys) -> Floats:
    shape = (keys.trials, world.arms)
    if not isinstance(theta, np.ndarray) or theta.shape != shape or theta.dtype.kind not in "iuf":
        raise WorldError(
            f"world '{name_of(world)}' returned means of {_type_text(theta)}; return an array of "
            f"numbers with one row per trial and one column per arm, shape {shape}"
        )
    if not np.isfinite(theta).all():
        raise WorldError(f"world '{name_of(world)}' returned means that are not finite numbers")
    return np.ascontiguousarray(theta, np.float64)


def draw_outcomes(
    world: World, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints
) -> Floats:
    reward: Floats = _call("world", world, t, "outcomes", theta, keys, t, trial, arm)
    if type(world).__module__.startswith("graphbandits."):
        return reward  # checked by tests, and every microsecond of a round counts
    array = isinstance(reward, np.ndarray)
    if not array or reward.shape != arm.shape or reward.dtype.kind not in "biuf":
        raise WorldError(
            f"world '{name_of(world)}' returned rewards of {_type_text(reward)} in round {t}; "
            f"return an array of numbers with one reward per pair, shape {arm.shape}"
        )
    support = reward_support(world)
    inside = support.contains(reward)
    if not inside.all():
        raise WorldError(
            f"world '{name_of(world)}' gave the reward {reward[~inside][0]:g} in round {t}, but "
            f"its rewards are declared as {support}: a reward must be {support.description}"
        )
    return np.asarray(reward, np.float64)


def draw_graph(process: Process, t: int, keys: Keys) -> Feedback:
    """Return the graph of round t; an error in a plug-in names its file and line."""
    graph: Feedback = _call("graph", process, t, "round", t, keys)
    return graph


def reveal(graph: Feedback, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
    """Return the observed (trial, arm) pairs of round t."""
    pairs: tuple[Ints, Ints] = _call("graph", graph, t, "reveal", action, keys, t)
    return pairs
