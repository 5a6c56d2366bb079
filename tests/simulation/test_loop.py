"""Tests of simulation/loop.py: regret, observations, errors of plug-ins, and monitors."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import Proposes, refused, refuses
from helpers.cases import each
from helpers.made_up_results import same
from helpers.mutant_policies import AtRandom
from helpers.recorded_runs import Recorder, record
from helpers.small_runs import SMALL_RUN
from helpers.stores import CHAIN, PRIOR
from helpers.valid_policies import UCB, temporarily_registered

from graphbandits import Bernoulli, BetaBernoulli, Results, simulate
from graphbandits._types import Floats, Ints, State
from graphbandits.errors import GraphError, InputError, NeedsError, PolicyError, WorldError
from graphbandits.graphs import Feedback, as_process, from_matrix
from graphbandits.policies import Event, View
from graphbandits.posteriors import Observations
from graphbandits.registry import build
from graphbandits.rng import Keys
from graphbandits.simulation.loop import RunMonitor, draw_means, run_block
from graphbandits.testing import Case, contract


def test_regret_is_sum_of_gaps() -> None:
    events, outcome, theta = record("ts-n", "star(direction=out)", Keys(3, 4, 6), 40)
    for b in range(6):
        gaps = [theta[b].max() - theta[b, event.action[b]] for event in events]
        assert outcome.regret[b, 0] == pytest.approx(sum(gaps), abs=1e-12)
    plays = np.bincount(np.concatenate([event.action for event in events]), minlength=5)
    assert (outcome.plays.sum(axis=0) == plays).all()


def test_all_policies_receive_the_same_outcomes() -> None:
    """The reward of (trial, round, arm) does not depend on the policy."""
    seen: dict[tuple[int, int, int], float] = {}
    met = 0
    for policy in ("ts-n", "ids-lp"):
        events, _, _ = record(policy, "random(r=0.5)", Keys(8, 0, 4), 40)
        for event in events:
            o = event.observations
            for trial, arm, reward in zip(o.trial, o.arm, o.reward, strict=True):
                key = (event.t, int(trial), int(arm))
                met += key in seen
                assert seen.setdefault(key, float(reward)) == reward
    assert met > 100


@dataclass(frozen=True, eq=False)
class RecordingBernoulli(Bernoulli):
    """Records the requested outcomes and their rounds."""

    pairs: list[tuple[int, int, int]] = field(default_factory=list)

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        self.pairs.extend((t, int(b), int(i)) for b, i in zip(trial, arm, strict=True))
        return super().outcomes(theta, keys, t, trial, arm)


@each("graph", ["ring(directed=true)", "random(r=0.01)"])
def test_outcomes_are_drawn_for_observed_arms_only(graph: str) -> None:
    """Only a few of a thousand arms are observed in a round."""
    world = RecordingBernoulli(BetaBernoulli.of(1000))
    inner = build("policy", "ts-n-sampled")
    recorder = Recorder(inner, inner.needs)
    run_block(recorder, world, as_process(graph, 1000), 15, Keys(2, 3, 4), np.array([15]))
    seen = [
        (event.t, int(b), int(i))
        for event in recorder.events
        for b, i in zip(event.observations.trial, event.observations.arm, strict=True)
    ]
    assert world.pairs == seen
    assert len(set(seen)) == len(seen) < 15 * 4 * 30


@dataclass(frozen=True)
class RewritesAction(AtRandom):
    """Overwrites the recorded action with the best arm."""

    def update(self, state: State, event: Event) -> State:
        event.action[:] = 2
        return super().update(state, event)


def test_policy_cannot_change_recorded_actions() -> None:
    world = Bernoulli(BetaBernoulli.of(5), fixed=[0.1, 0.1, 0.9, 0.1, 0.1])
    honest, cheat = simulate([AtRandom(), RewritesAction()], world, **SMALL_RUN).policies.values()
    assert (honest.final == cheat.final).all()
    assert (honest.plays == cheat.plays).all()


@dataclass(frozen=True)
class Exits(UCB):
    """Ends the program."""

    def propose(self, state: State, view: View) -> Floats:
        sys.exit(0)


def test_policy_that_exits_raises_policy_error() -> None:
    with refuses(PolicyError, match="policy 'Exits' failed in round 1, in propose"):
        simulate(Exits(), **SMALL_RUN)
    with temporarily_registered("policy", [Exits]):
        (simplex,) = (one for one in contract("policy") if one.name == "simplex")
        assert Case(simplex, Exits()).verdict().outcome == "failed"


@dataclass(frozen=True)
class OddRecipe:
    """Fails in the requested way."""

    what: str

    def process(self, arms: int | None) -> Any:
        if self.what == "raises":
            raise ValueError("no such thing")
        return np.eye(3) if self.what == "matrix" else OddProcess()


@dataclass(frozen=True)
class OddProcess:
    arms: int = 3
    names: None = None
    deterministic: bool = True
    rounds: None = None

    def round(self, t: int, keys: Keys) -> Any:
        if t == 3:
            raise ZeroDivisionError("in the third")
        return from_matrix(np.eye(3)).feedback


@each(
    ("what", "kind", "words"),
    [
        ("raises", InputError, "failed: ValueError: no such thing"),
        ("matrix", InputError, "returned ndarray, which has no arms"),
        ("round", GraphError, r"failed in round 3, in round: .*ZeroDivisionError: in the third"),
    ],
)
def test_errors_of_graph_plugins_name_their_place(what: str, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        simulate("ts-n", **(SMALL_RUN | {"graph": OddRecipe(what)}))


@dataclass(frozen=True)
class ReadsGraph(UCB):
    """Reads the graph without declaring it."""

    def propose(self, state: State, view: View) -> Floats:
        view.graph  # noqa: B018
        return super().propose(state, view)


def test_undeclared_need_error_names_policy_and_round() -> None:
    with refuses(NeedsError, match="policy 'ReadsGraph' in round 1, in propose"):
        simulate([UCB(), ReadsGraph()], **SMALL_RUN)


# Errors of worlds ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OddWorld(Bernoulli):
    """Returns the given objects as means or rewards, or raises them."""

    theta: Any = None
    reward: Any = None

    def means(self, keys: Keys) -> Any:
        if isinstance(self.theta, Exception):
            raise self.theta
        return super().means(keys) if self.theta is None else self.theta

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Any:
        if isinstance(self.reward, Exception) and t == 2:
            raise self.reward
        seen = super().outcomes(theta, keys, t, trial, arm)
        return self.reward(seen) if callable(self.reward) else seen


def odd(**how: Any) -> OddWorld:
    return OddWorld(BetaBernoulli.of(5), **how)


@each(
    ("theta", "words"),
    [
        (np.zeros((6, 4)), ["means of shape (6, 4)", "shape (6, 5)"]),
        (np.zeros(5), ["means of shape (5,)"]),
        (np.full((6, 5), "x"), ["type <U1", "numbers"]),
        ([[0.5] * 5] * 6, ["means of list"]),
        (np.full((6, 5), np.inf), ["not finite"]),
        (ZeroDivisionError("by zero"), ["failed in means", "ZeroDivisionError: by zero"]),
    ],
)
def test_means_of_a_world_are_checked(theta: Any, words: list[str]) -> None:
    message = refused(lambda: simulate("ts-n", odd(theta=theta), **SMALL_RUN), *words)
    assert message.startswith("world 'OddWorld'")
    with pytest.raises(WorldError):
        draw_means(odd(theta=theta), Keys(1, 0, 6))


@each(
    ("reward", "words"),
    [
        (lambda seen: seen[:-1], ["rewards of shape", "round 1", "one reward per pair"]),
        (lambda seen: seen.tolist(), ["rewards of list"]),
        (lambda seen: seen.astype(str), ["type <U"]),
        (lambda seen: seen + 2.0, ["gave the reward", "round 1", "declared as binary", "0 or 1"]),
        (lambda seen: seen * np.nan, ["gave the reward nan"]),
        (KeyError("x"), ["failed in round 2, in outcomes", "KeyError: 'x'"]),
    ],
)
def test_rewards_of_a_world_are_checked(reward: Any, words: list[str]) -> None:
    message = refused(lambda: simulate("ts-n", odd(reward=reward), **SMALL_RUN), *words)
    assert message.startswith("world 'OddWorld'")


def test_errors_of_the_package_in_a_world_are_kept() -> None:
    with pytest.raises(InputError, match=r"^as given$"):
        simulate("ts-n", odd(theta=InputError("as given")), **SMALL_RUN)


def test_realised_regret_uses_rewards_of_the_best_and_the_played_arm() -> None:
    """Gaussian rewards: the difference of two outcomes of the same round and trial."""
    keys, record_at = Keys(3, 0, 8), np.array([1])
    world, process = build("world", "gaussian", 3), as_process("star", 3)
    realised = run_block(AtRandom(), world, process, 1, keys, record_at, realised=True)
    theta, rows = world.means(keys), np.arange(8)
    played = realised.plays.argmax(axis=1)
    best = world.outcomes(theta, keys, 1, rows, theta.argmax(axis=1))
    expected = best - world.outcomes(theta, keys, 1, rows, played)
    assert realised.regret[:, 0].tolist() == expected.tolist()


NAN, INF = math.nan, math.inf


@each(
    ("row", "words"),
    [
        ((0.5, 0.6, 0.0), ["did not propose a distribution", "1.1"]),
        ((0.25, 0.25, 0.25), ["did not propose a distribution", "0.75"]),
        ((1.5, -0.5, 0.0), ["did not propose a distribution", "-0.5"]),
        ((0.0, 0.0, 0.0), ["did not propose a distribution", "0"]),
        ((NAN, 0.5, 0.5), ["did not propose a distribution", "nan"]),
        ((INF, 0.0, 0.0), ["did not propose a distribution", "inf"]),
        ((0.5, 0.5), ["shape", "(2, 2)", "(2, 3)"]),
        ((0.25, 0.25, 0.25, 0.25), ["shape", "(2, 4)", "(2, 3)"]),
    ],
)
def test_policy_that_proposes_no_distribution_is_named(
    row: tuple[float, ...], words: list[str]
) -> None:
    def call() -> Results:
        return simulate(Proposes(row), graph="star", arms=3, horizon=4, trials=2)

    refused(call, "Proposes", "round 1", *words)


POLICIES = ["ids-n", "ucb-n", "exp3-ix"]


def run(**how: Any) -> Results:
    given: dict[str, Any] = {"horizon": 20, "trials": 9, "seed": 2, "progress": False, "block": 4}
    given |= {"ratios": "bound", "record": ("actions", "observations"), "graph": CHAIN}
    return simulate(POLICIES, Bernoulli(PRIOR), **given | how)


class Log(RunMonitor):
    """Keeps what it receives."""

    def __init__(self, policy: str, keys: Keys) -> None:
        self.policy, self.keys = policy, keys
        self.calls: list[tuple[str, int]] = []
        self.pi: list[Any] = []
        self.action: list[Any] = []
        self.rewards: list[Any] = []

    def decided(self, t: int, graph: Feedback, pi: Any) -> None:
        self.calls.append(("decided", t))
        self.pi.append(pi)

    def played(self, t: int, action: Any) -> None:
        self.calls.append(("played", t))
        self.action.append(action)

    def observed(self, t: int, seen: Observations) -> None:
        self.calls.append(("observed", t))
        self.rewards.append(seen.reward)


@each("workers", [1, 2])
def test_monitors_receive_every_round_of_every_block(workers: int) -> None:
    logs: list[Log] = []

    def monitor(policy: str, keys: Keys) -> Log:
        logs.append(Log(policy, keys))
        return logs[-1]

    results = run(monitor=monitor, workers=workers)
    logs.sort(key=lambda log: (POLICIES.index(log.policy), log.keys.first_trial))
    blocks = [(log.policy, log.keys.first_trial, log.keys.trials) for log in logs]
    assert blocks == [(name, *block) for name in POLICIES for block in ((0, 4), (4, 4), (8, 1))]
    steps = ("decided", "played", "observed")
    for log in logs:
        assert log.calls == [(step, t) for t in range(1, 21) for step in steps]
        seen = results[log.policy].trajectories
        assert seen is not None
        assert seen.action is not None
        some = slice(log.keys.first_trial, log.keys.first_trial + log.keys.trials)
        action = np.array(log.action).T
        assert (action == seen.action[some]).all()
        for pi, played in zip(log.pi, log.action, strict=True):
            assert pi.sum(axis=1) == pytest.approx(1.0)
            assert (pi[np.arange(len(pi)), played] > 0.0).all()


class Malicious:
    """Overwrites all that it receives."""

    def __init__(self) -> None:
        self.attacks = 0

    def spoil(self, *arrays: Any) -> None:
        for array in arrays:
            while array is not None:
                array.flags.writeable = True
                array[...] = array[::-1].copy() if len(array) > 1 else 0
                array = array.base  # the array of which this one is a view
                self.attacks += 1

    def decided(self, t: int, graph: Any, pi: Any) -> None:
        self.spoil(pi)
        for value in vars(graph).values():
            if isinstance(value, np.ndarray):
                self.spoil(value)

    def played(self, t: int, action: Any) -> None:
        self.spoil(action)

    def observed(self, t: int, seen: Any) -> None:
        self.spoil(seen.trial, seen.arm, seen.reward)
        object.__setattr__(seen, "reward", None)


@each("graph", [CHAIN, "random(r=0.4)", [CHAIN] * 20])
def test_a_malicious_monitor_does_not_change_the_results(graph: Any) -> None:
    made: list[Malicious] = []

    def monitor(policy: str, keys: Keys) -> Malicious:
        made.append(Malicious())
        return made[-1]

    same(run(graph=graph, monitor=monitor), run(graph=graph))
    assert all(one.attacks >= 20 * 5 for one in made)


def test_methods_of_a_monitor_can_be_left_out() -> None:
    class Bare:
        """It inherits nothing, and has no method played."""

        rounds = 0

        def decided(self, t: int, graph: Feedback, pi: Any) -> None:
            self.rounds += 1

        def observed(self, t: int, seen: Observations) -> None: ...

    class Actions(RunMonitor):
        rounds = 0

        def played(self, t: int, action: Any) -> None:
            self.rounds += 1

    for kind in (Bare, Actions):
        one = kind()
        run(monitor=lambda policy, keys, one=one: one if policy == "ucb-n" else None)
        assert one.rounds == 3 * 20  # of three blocks; the other policies have no monitor


def test_wrong_monitors_are_refused() -> None:
    with refuses(InputError):
        run(monitor=3)
    with refuses(InputError):
        run(monitor=lambda policy, keys: "monitor")
    for parallel in ("processes", "fibres"):
        with refuses(InputError):
            run(monitor=Log, parallel=parallel)


@each("workers", [1, 2])
def test_an_error_in_a_monitor_is_raised(workers: int) -> None:
    class Failing(RunMonitor):
        def played(self, t: int, action: Any) -> None:
            raise ArithmeticError(f"round {t}")

    with pytest.raises(ArithmeticError, match="round 1"):
        run(monitor=lambda policy, keys: Failing(), workers=workers)


def test_auto_uses_threads_if_there_is_a_monitor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphbandits.simulation.workers.LARGE", 1)
    logs: list[str] = []
    run(monitor=lambda policy, keys: logs.append(policy), workers=2)
    assert set(logs) == set(POLICIES)
