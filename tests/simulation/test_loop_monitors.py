"""Tests of simulation/loop.py: monitors of a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.made_up_results import same
from helpers.stores import CHAIN, PRIOR

from graphbandits import Bernoulli, Results, simulate
from graphbandits.errors import InputError
from graphbandits.graphs import Feedback
from graphbandits.posteriors import Observations
from graphbandits.rng import Keys
from graphbandits.simulation.loop import RunMonitor

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


@pytest.mark.parametrize("workers", [1, 2])
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


@pytest.mark.parametrize("graph", [CHAIN, "random(r=0.4)", "revealed-er(p=0.5)", [CHAIN] * 20])
def test_a_malicious_monitor_does_not_change_the_results(graph: Any) -> None:
    made: list[Malicious] = []

    def monitor(policy: str, keys: Keys) -> Malicious:
        made.append(Malicious())
        return made[-1]

    same(run(graph=graph, monitor=monitor), run(graph=graph))
    assert all(one.attacks >= 20 * 5 for one in made)


def test_methods_of_a_monitor_can_be_left_out() -> None:
    class Old:
        """A monitor for earlier versions, which had no method played."""

        rounds = 0

        def decided(self, t: int, graph: Feedback, pi: Any) -> None:
            self.rounds += 1

        def observed(self, t: int, seen: Observations) -> None: ...

    class Actions(RunMonitor):
        rounds = 0

        def played(self, t: int, action: Any) -> None:
            self.rounds += 1

    for kind in (Old, Actions):
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


@pytest.mark.parametrize("workers", [1, 2])
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
