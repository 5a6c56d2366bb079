"""Tests of policies/base.py: needs, views, parameter checks, and marks of methods."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import check_refusal, refuses
from helpers.cases import each
from helpers.graph_known_texts import GRAPH_KNOWN_TEXTS
from helpers.recorded_runs import Recorder
from helpers.small_runs import SMALL_RUN

from graphbandits import Agent, Bernoulli, simulate
from graphbandits._types import Floats, State
from graphbandits.errors import InputError, NeedsError
from graphbandits.graphs import as_process
from graphbandits.policies import Event, Needs, Problem, View, as_policy
from graphbandits.policies.base import own_plays_only
from graphbandits.policies.wrappers import ExplorationFloor
from graphbandits.posteriors import BetaBernoulli, Observations
from graphbandits.registry import build, registered
from graphbandits.rng import Keys
from graphbandits.simulation.loop import run_block


@each(
    ("policy", "graph"),
    [
        ("ucb-maxn", "random(r=0.25)"),
        ("ts-maxn", "random(r=0.25)"),
        ("eps-greedy-lp", "random(r=uniform)"),
        ("ucb-lp", "random(r=0.25)"),
        ("ucb-lp", "revealed-er"),
        ("exp3-set", "random(r=0.25, graph_known=never)"),
        ("exp3-ix", "revealed-er(graph_known=never)"),
        ("ids-n", "random(r=uniform, graph_known=after)"),
        ("ucb-maxn", "revealed-er(graph_known=after)"),
    ],
)
def test_unmet_need_is_rejected_in_one_sentence(policy: str, graph: str) -> None:
    with refuses(NeedsError) as caught:
        simulate(policy, graph=graph, arms=4, horizon=10, trials=2, progress=False)
    message = str(caught.value)
    assert message.startswith(f"policy '{policy}' needs ")
    assert "\n" not in message
    suitable = message.split("suitable policies: ")[1].partition(" and ")[0].split(", ")
    assert suitable
    assert policy not in suitable
    simulate(suitable, graph=graph, arms=4, horizon=3, trials=2, progress=False)


def test_unknown_horizon_is_rejected() -> None:
    for policy in ("moss", "exp3-set", "exp3-g", "ucb-lp"):
        with refuses(NeedsError):
            Agent(policy, arms=3, graph="star", seed=1)


@each(
    "text",
    [
        "eps-greedy-lp(c=0)",
        "eps-greedy-lp(d=-1)",
        "eps-greedy-lp(c=inf)",
        "eps-greedy-lp(c=true)",
        "exp3-set(eta=0)",
        "exp3-g(gamma=1.5)",
        "exp3-g(eta=nan)",
    ],
)
def test_parameters_outside_their_range_are_rejected(text: str) -> None:
    name, _, rest = text.partition("(")
    with pytest.raises(InputError, match=f"{name}: {rest.partition('=')[0]} must be a"):
        simulate(text, graph="star", horizon=5, trials=1, progress=False)


@each("text", ["exp3-set(eta=0.1)", "exp3-g(gamma=0.1)"])
def test_policies_with_given_parameters_need_no_horizon(text: str) -> None:
    assert Agent(text, arms=4, graph="star", seed=1).decide().probability == pytest.approx(0.25)


def test_invalid_parameters_are_rejected() -> None:
    with refuses(InputError, match="exp3-g: gamma=0 without eta gives eta = 2 gamma = 0"):
        Agent("exp3-g(gamma=0)", arms=3, seed=1)
    with refuses(InputError, match=r"exp3-g: gamma must be a number in \[0, 1\], not True"):
        Agent("exp3-g(gamma=true)", arms=3, seed=1)
    with refuses(InputError):
        Needs(fixed=True)
    with refuses(InputError):
        Agent("moss", arms=3, seed=1, horizon=10**400)
    with refuses(InputError):
        simulate("ts-n", graph="star", arms=3, horizon=10**20, trials=1)


@dataclass(frozen=True)
class ReadsUndeclared(Recorder):
    """Policy that reads an attribute that it has not declared in its needs."""

    what: str = "graph"

    def propose(self, state: State, view: View) -> Floats:
        getattr(view if self.what == "graph" else view.problem, self.what)
        return super().propose(state, view)


@each("what", ["graph", "horizon"])
def test_undeclared_needs_are_not_available(what: str) -> None:
    policy = ReadsUndeclared(build("policy", "ts-n"), Needs(), what=what)
    world, process = Bernoulli(BetaBernoulli.of(5)), as_process("paper")
    with refuses(NeedsError):
        run_block(policy, world, process, 3, Keys(1), np.array([3]))


def test_incomplete_policy_is_rejected_in_advance() -> None:
    class Bare:
        def init(self, *args: object) -> None: ...
        def propose(self, *args: object) -> None: ...
        def update(self, *args: object) -> None: ...

    with refuses(InputError, match="which has no needs, exact"):
        simulate(Bare(), **SMALL_RUN)  # type: ignore[arg-type]
    with refuses(InputError, match=r"Needs\(graph='nevr'\)"):
        Needs(graph="nevr")


def needs_error(policy: str, graph: str) -> str:
    """Return the error of simulate, which must equal the error of an agent."""
    with pytest.raises(NeedsError) as simulated:
        simulate(policy, graph=graph, arms=3, horizon=5, trials=2, seed=1)
    with pytest.raises(NeedsError) as live:
        Agent(policy, arms=3, graph=graph, seed=1, horizon=5)
    assert str(live.value) == str(simulated.value)
    return str(simulated.value)


@each("graph", GRAPH_KNOWN_TEXTS)
@each("graph_known", ["never", "after"])
def test_policy_that_needs_the_graph_in_advance_is_rejected(graph: str, graph_known: str) -> None:
    message = needs_error("ids-n", graph.format(graph_known))
    check_refusal(message)
    expected = (
        r"policy 'ids-n' needs the graph before the decision, .*; "
        r"suitable policies: [a-z0-9-]+(, [a-z0-9-]+)*( and \d+ more)?"
    )
    assert re.fullmatch(expected, message), message


@each("graph", GRAPH_KNOWN_TEXTS)
@each("graph_known", ["never", "after", "before"])
def test_error_names_suitable_policies_only(graph: str, graph_known: str) -> None:
    """The error names policies that can play, and the number of others."""
    text = graph.format(graph_known)
    order = ("never", "after", "before")
    playing, errors = set(), []
    for name, cls in registered("policy").items():
        if not hasattr(cls, "needs"):  # those of the policy that it contains
            continue
        needs = as_policy(name).needs
        enough = order.index(graph_known) >= order.index(needs.graph)
        sure = not needs.deterministic or text.startswith("revealed")
        fixed = not needs.fixed or "r=0.25" in text
        if enough and sure and fixed:
            playing.add(name)
            simulate(name, graph=text, arms=3, horizon=5, trials=2, seed=1)
            Agent(name, arms=3, graph=text, seed=1, horizon=5).decide()
        else:
            errors.append(needs_error(name, text).partition("suitable policies: ")[2])
    for suitable in errors:
        names, _, more = suitable.removesuffix(" more").partition(" and ")
        named = names.split(", ")
        assert set(named) <= playing
        assert len(set(named)) == len(named)
        assert len(named) + int(more or 0) == len(playing)
    assert "ts-n" in playing
    assert ("ids-n" in playing) == (graph_known == "before")


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

    class Copying(ExplorationFloor):
        @functools.wraps(ExplorationFloor.update)
        def update(self, state: State, event: Event) -> State:
            return super().update(state, event)

    assert own_plays_only(base()) is False
    assert own_plays_only(Selective()) is None
    assert own_plays_only(Counting()) is None
    assert own_plays_only(ExplorationFloor("ts")) is True
    assert own_plays_only(Copying("ts-n")) is None
