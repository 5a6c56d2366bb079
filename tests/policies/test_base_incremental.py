"""Tests of policies/base.py: marks of policies that learn outcomes one by one."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from helpers.cases import each

from graphbandits._types import State
from graphbandits.graphs import as_process
from graphbandits.policies import Event, Problem, as_policy
from graphbandits.policies.base import own_plays_only
from graphbandits.policies.wrappers import ExplorationFloor
from graphbandits.posteriors import BetaBernoulli, Observations
from graphbandits.registry import registered
from graphbandits.rng import Keys


def test_kinds_of_the_built_in_policies() -> None:
    kinds: dict[Any, set[str]] = {True: set(), False: set(), None: set()}
    for name, cls in registered("policy").items():
        kinds[own_plays_only(cls())].add(name)
    assert kinds[True] == {"bayes-ucb", "kl-ucb", "moss", "ts", "ucb-tuned", "ucb1", "v-ids"}
    assert {"uniform", "ucb-lp", "exp3-ix", "ids"} <= kinds[None]


@each("name", registered("policy"))
def test_a_marked_policy_learns_the_outcomes_that_it_selects(name: str) -> None:
    """``update`` with all outcomes is ``learn`` with those of own plays, or with all."""
    policy: Any = as_policy(name)
    own = own_plays_only(policy)
    if own is None:
        return
    problem, keys = Problem(BetaBernoulli.of(4), 9, policy.needs), Keys(1, 0, 3)
    trial, arm = np.array([0, 0, 1, 2, 2]), np.array([1, 2, 0, 3, 1])
    seen = Observations(trial, arm, np.array([1.0, 0.0, 1.0, 0.0, 1.0]))
    action = np.array([1, 0, 2])
    graph = as_process("complete", 4).round(1, keys)
    event = Event(1, keys, problem, graph, np.full((3, 4), 0.25), action, seen)
    updated = policy.update(policy.init(problem, keys), event)
    part = seen.select(arm == action[trial]) if own else seen
    learned = policy.learn(policy.init(problem, keys), part, problem)
    for array, value in updated.items():
        np.testing.assert_array_equal(value, learned[array])


def test_an_overridden_method_has_no_mark() -> None:
    base: Any = type(as_policy("ts-n"))

    class Selective(base):  # type: ignore[misc]
        def learns_from(self, event: Event) -> Observations:
            return event.played

    class Counting(base):  # type: ignore[misc]
        def update(self, state: State, event: Event) -> State:
            return state

    assert own_plays_only(base()) is False
    assert own_plays_only(Selective()) is None
    assert own_plays_only(Counting()) is None


def test_wrapper_with_its_own_update_has_no_mark() -> None:
    class Counting(ExplorationFloor):
        def update(self, state: State, event: Event) -> State:
            return super().update(state, event)

    class Copying(ExplorationFloor):
        @functools.wraps(ExplorationFloor.update)
        def update(self, state: State, event: Event) -> State:
            return super().update(state, event)

    assert own_plays_only(ExplorationFloor("ts-n")) is False
    assert own_plays_only(ExplorationFloor("ts")) is True
    assert own_plays_only(Counting("ts-n")) is None
    assert own_plays_only(Copying("ts-n")) is None
