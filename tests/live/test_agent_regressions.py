"""Errors that a review of the agent has found, one test each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.agents import reopened
from helpers.bad_input import refused, refuses
from helpers.cases import each
from helpers.small_runs import PLUGIN_SOURCE
from helpers.valid_policies import UCB

from graphbandits import Agent, BetaBernoulli
from graphbandits._types import State
from graphbandits.errors import InputError, PolicyError, StoreError
from graphbandits.live.journal import Entry
from graphbandits.live.store import StoredJournal
from graphbandits.plugins import load_plugin, unload_plugin
from graphbandits.policies import Event
from graphbandits.policies.thompson import TSN


def test_new_arm_does_not_depend_on_the_file_of_the_graph(tmp_path: Path) -> None:
    graph, store = tmp_path / "edges.csv", tmp_path / "a.db"
    graph.write_text("source,target\nann,bob\n")
    agent = Agent("ids-n", graph=f"file:{graph}", store=store)
    agent.add_arm("eve", edges=["ann"])
    graph.unlink()
    agent.add_arm("joe")
    again = Agent(store=store)
    assert again.decide(among=["ann"]).reveals == {"ann": 1.0, "bob": 1.0, "eve": 1.0}
    agent.verify()


def test_edges_of_a_new_arm_are_kept_when_another_is_added() -> None:
    agent = Agent("ts-n", ["ann", "bob"], "complete", seed=1)
    agent.add_arm("kim", edges=["ann"])
    agent.add_arm("lee")
    assert agent.decide(among=["kim"]).reveals == {"ann": 1.0, "kim": 1.0}
    assert agent.decide(among=["lee"]).reveals == {"lee": 1.0}


def test_entries_that_are_removed_during_a_catch_up_are_not_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    agent = Agent("ts-n", 2, "complete", seed=1, store=tmp_path / "a.db", clock=lambda: clock[0])
    reader = Agent(store=tmp_path / "a.db", clock=lambda: clock[0])
    for _ in range(5):
        agent.observe(agent.decide(), {0: 1})
    read, forgotten = StoredJournal.entries, list[int]()

    def entries(journal: StoredJournal, after: int = 0) -> Iterator[Entry]:
        if journal is reader._journal and not forgotten:
            forgotten.append(1)
            clock[0] = 10.0
            agent.forget(5.0)
            agent.observe(agent.decide(), {0: 1})
        return read(journal, after)

    monkeypatch.setattr(StoredJournal, "entries", entries)
    assert reader.status()["outcomes"] == 6
    assert forgotten
    reader.verify()


@each("policy", ["exp3-ix", "exp3-res", "ids-n"])
def test_late_outcome_is_journaled_for_every_kind_of_policy(policy: str) -> None:
    clock = [0.0]
    agent = Agent(policy, 2, "complete", seed=1, expires=5, clock=lambda: clock[0])
    decision = agent.decide()
    clock[0] = 6.0
    agent.observe(decision, {0: 1})
    assert agent.status()["late"] == 1
    assert agent.status()["outcomes"] == 0


@pytest.mark.parametrize(
    ("posterior", "pair"), [("normal", (1, 1e-320)), ("gamma-poisson", (10**20, 1e-300))]
)
def test_outcome_that_overflows_is_refused(
    tmp_path: Path, posterior: str, pair: tuple[float, float]
) -> None:
    agent = Agent("uniform", 2, posterior=posterior, seed=1, store=tmp_path / "a.db")
    with pytest.raises(InputError):
        agent.learn({0: pair})
    with pytest.raises(InputError):
        agent.observe(agent.decide(among=[0]), {0: pair})
    assert Agent(store=tmp_path / "a.db").status()["learned"] == 0


def test_process_that_runs_while_an_older_copy_is_restored(tmp_path: Path) -> None:
    store, copy = tmp_path / "a.db", tmp_path / "copy.db"
    old = Agent("ts-n", 2, "complete", seed=1, store=store)
    for t in range(6):
        if t == 3:
            old.backup(copy)
        old.observe(old.decide(), {0: 1})
    assert old.state["a"][0] == 7.0
    old.disconnect()
    for ending in ("", "-wal", "-shm"):
        store.with_name(store.name + ending).unlink(missing_ok=True)
    copy.rename(store)
    other = Agent(store=store)
    for _ in range(9):
        other.observe(other.decide(), {0: 0})
    assert old.state == other.state == {"a": {0: 4.0, 1: 1.0}, "b": {0: 10.0, 1: 1.0}}


@each("options", ["half_life=10", "discount=0.5"])
def test_learned_outcomes_have_no_age_when_they_are_learned(options: str) -> None:
    clock = [0.0]
    posterior = f"beta-bernoulli({options})"
    agent = Agent("ts-n", ["ann"], posterior=posterior, seed=1, clock=lambda: clock[0])
    agent.observe(agent.decide(), {"ann": 1})
    for _ in range(5):
        agent.decide()
    clock[0] = 100.0
    agent.learn({"ann": (50, 100)})
    assert agent.state["a"]["ann"] == pytest.approx(51.0, abs=0.1)
    clock[0] = 200.0
    for _ in range(10):
        agent.decide()
    agent.observe(agent.decide(), {"ann": 0})
    assert agent.state["a"]["ann"] == pytest.approx(1.0, abs=0.1)


def test_expected_outcomes_of_a_discounted_posterior() -> None:
    agent = Agent("ts-n", ["ann", "bob"], posterior="beta-bernoulli(discount=0.9)", seed=1)
    for _ in range(30):
        agent.decide(among=["ann"])
    # sum of 0.9^age over 30 open decisions, split by the mean 1/2
    weight = sum(0.9**age for age in range(30))
    expected = Agent("ts-n", ["ann", "bob"], prior={"ann": (1 + weight / 2, 1 + weight / 2)})
    pi = agent.decide(pending="expected").pi
    assert pi == pytest.approx(expected.decide().pi, rel=1e-9)
    wide = Agent("ids-n", ["ann", "bob"], posterior="beta-bernoulli(discount=0.9)", seed=1)
    wide.learn({"ann": (8, 10)})
    for _ in range(3):
        wide.decide(among=["ann"])
    assert wide.decide(pending="expected").pi is not None


def test_policy_that_changes_the_form_of_its_state_is_refused(tmp_path: Path) -> None:
    class Careless(TSN):
        def update(self, state: Any, event: Any) -> Any:
            return {name: array.astype("float32") for name, array in state.items()}

    agent = Agent(Careless(), 2, seed=1)
    decision = agent.decide()
    refused(lambda: agent.observe(decision, {decision.arm: 1}), "form of its state")


def test_a_graph_of_a_decision_is_not_read_after_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent("ts-n", 2, seed=1, store=tmp_path / "a.db")

    def fail(*_: object) -> bytes:
        raise StoreError("the database went away")

    monkeypatch.setattr(StoredJournal, "get_object", fail)
    decision = agent.decide(graph="complete")
    assert agent.pending == (decision.id,)


def test_distinct_decisions_of_a_policy_that_needs_all_arms_are_refused() -> None:
    agent = Agent("ucb-lp", 3, "star", seed=1, horizon=100)
    refused(lambda: agent.decide(2, distinct=True), "ucb-lp", "all arms")
    assert agent.status()["decisions"] == 0


@each("before", [datetime.min, 10**400, "yesterday", None, float("nan")])
def test_dates_out_of_range_are_refused(before: Any) -> None:
    agent = Agent("ts-n", 2, seed=1)
    refused(lambda: agent.forget(before), "before")


def test_contexts_of_a_batch_are_not_shared() -> None:
    agent = Agent("ts-n", 2, seed=1)
    one, other = agent.decide(2, context={"k": 1})
    one.context["k"] = 99  # type: ignore[index]
    assert other.context == agent.decision(other.id).context == {"k": 1}
    agent.history()[-1]["context"]["k"] = 99
    assert agent.history()[-1]["context"] == {"k": 1}


def test_a_new_arm_cannot_have_another_value_of_a_common_parameter() -> None:
    agent = Agent("ts-n", 2, posterior="normal(noise=0.5)", seed=1)
    refused(lambda: agent.add_arm(2, {"mean": 1, "noise": 0.1}), "noise=0.5")
    agent.add_arm(3, {"mean": 1, "noise": 0.5})
    assert agent.state["mean"] == {0: 0.0, 1: 0.0, 3: 1.0}


def test_blanks_around_names_of_arms_are_removed() -> None:
    """The names of the prior kept them: KeyError."""
    agent = Agent("ids-n", [" ann", "bob "], "star", seed=1, prior=[(2, 1), (1, 3)])
    assert agent.state == {"a": {"ann": 2.0, "bob": 1.0}, "b": {"ann": 1.0, "bob": 3.0}}


# Plug-ins ----------------------------------------------------------------------------------------


def test_agent_stores_unusual_parameters_and_infinite_states(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    file.write_text(PLUGIN_SOURCE.replace("ARM", "0"))
    load_plugin(file)
    try:
        agent = Agent("edited(labels=[a, 'b c'], cap=inf)", arms=3, seed=1)
        copy = reopened(agent, tmp_path)
        assert copy.policy == agent.policy
        assert copy.policy.labels == ("a", "b c")  # type: ignore[attr-defined]
        assert copy.state == agent.state
    finally:
        unload_plugin(file)


@dataclass(frozen=True)
class FailsInUpdate(UCB):
    """Counts, and then fails."""

    def update(self, state: State, event: Event) -> State:
        super().update(state, event)
        raise RuntimeError("after the counting")


def test_failed_update_does_not_change_state() -> None:
    agent = Agent(FailsInUpdate(), arms=3, seed=1)
    before = agent.state
    decision = agent.decide()
    for _ in range(3):
        with refuses(PolicyError):
            agent.observe(decision, {decision.arm: 1})
    assert agent.state == before
    assert agent.pending == (decision.id,)


class HalfBeta(BetaBernoulli):
    """A subclass of the Beta-Bernoulli posterior, as in a plug-in."""


def test_agent_keeps_class_of_given_posterior() -> None:
    agent = Agent("ts-n", arms=2, seed=1, prior=HalfBeta(np.array([1.0, 2.0]), np.ones(2)))
    assert type(agent.posterior) is HalfBeta
    with refuses(InputError, match="HalfBeta"):
        agent.save("never.db")
