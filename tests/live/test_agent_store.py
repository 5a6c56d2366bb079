"""Agents in stores: opening, several agents and handles, failures, maintenance."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused
from helpers.cases import each
from helpers.postgres import PostgresServer

from graphbandits import Agent, InputError
from graphbandits.errors import StoreError
from graphbandits.live import agent as agent_module
from graphbandits.live.store import AgentStore

USERS = ["ann", "bob", "eve", "joe"]
GRAPH = "edges(1>2 2-3 3>4)"


def new_agent(store: str, **options: Any) -> Agent:
    return Agent("ids-lp", **{"arms": USERS, "graph": GRAPH, "seed": 3, "store": store} | options)


# Opening ------------------------------------------------------------------------------------------


def test_same_arguments_open_the_agent_also_after_changes(store_url: str) -> None:
    agent = new_agent(store_url, prior={"ann": (2, 5)}, expires=60)
    again = {"prior": {"ann": (2, 5)}, "expires": 60}
    assert new_agent(store_url, **again).state == agent.state
    agent.add_arm("kim", prior=(1, 9), edges=["ann"])
    agent.set_policy("ts-n")
    agent.retire("joe")
    assert new_agent(store_url, **again).arms == (*USERS, "kim")
    assert Agent("ts-n", store=store_url).arms == (*USERS, "kim")


@each(
    ("given", "words"),
    [
        ({"policy": "ucb-n"}, ["policy='ucb-n'", "ids-lp", "set_policy"]),
        ({"seed": 4}, ["seed=4", "seed=3"]),
        ({"trial": 1}, ["trial=1", "trial=0"]),
        ({"horizon": 10}, ["horizon=10", "None"]),
        ({"expires": 5}, ["expires=5", "None"]),
        ({"arms": ["ann", "bob", "eve", "kim"]}, ["'kim'"]),
        ({"arms": 5}, ["contradict"]),
        ({"graph": "complete", "arms": USERS}, ["another graph"]),
        ({"prior": (2, 2)}, ["another prior"]),
        ({"posterior": "normal"}, ["another prior"]),
        ({"accuracy": "strict"}, ["another prior"]),
    ],
)
def test_arguments_that_contradict_the_stored_agent_are_refused(
    tmp_path: Path, given: dict[str, Any], words: list[str]
) -> None:
    store = str(tmp_path / "agents.db")
    new_agent(store)
    refused(lambda: Agent(store=store, **given), *words)
    assert Agent(store=store).status()["entries"] == 1


def test_an_agent_that_another_process_creates_meanwhile_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = new_agent(str(tmp_path / "agents.db"))
    first.decide()
    names, missing = AgentStore.agents, [True]
    monkeypatch.setattr(
        AgentStore, "agents", lambda store: [] if missing and missing.pop() else names(store)
    )
    other = new_agent(str(tmp_path / "agents.db"))
    assert other.decide().number == 2
    assert other.history() == first.history()


def test_a_store_holds_several_agents(store_url: str) -> None:
    banner, mail = new_agent(store_url, name="banner"), new_agent(store_url, name="mail", seed=8)
    decision = banner.decide()
    assert [Agent(store=store_url, name=n).status()["decisions"] for n in ("banner", "mail")] == [
        1,
        0,
    ]
    refused(lambda: mail.observe(decision, {}), "unknown decision", "mail")
    refused(lambda: Agent(store=store_url, name="mial"), "mial", "mail")
    refused(lambda: Agent(store=store_url), "default", "banner, mail")


def test_a_missing_store_is_not_created_without_a_policy(tmp_path: Path) -> None:
    refused(lambda: Agent(store=tmp_path / "typo.db"), "typo.db")
    assert not (tmp_path / "typo.db").exists()


def test_a_random_seed_is_journaled(tmp_path: Path) -> None:
    store = str(tmp_path / "agents.db")
    agent = Agent("ts-n", 50, store=store)
    arms = [agent.decide().arm for _ in range(3)]
    again = Agent("ts-n", 50, seed=agent.seed)
    assert [again.decide().arm for _ in range(3)] == arms
    assert Agent("ts-n", 50).seed != agent.seed


# Several handles ----------------------------------------------------------------------------------


def test_eight_threads_with_handles_of_their_own(store_url: str) -> None:
    new_agent(store_url)
    ids, errors = list[str](), list[BaseException]()

    def work(number: int) -> None:
        try:
            agent = Agent(store=store_url)
            for t in range(12):
                decision = agent.decide()
                ids.append(decision.id)
                for arm in decision.reveals:
                    agent.observe(decision, {arm: (t + number) % 2}, partial=True)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(ids)) == len(ids) == 96
    agent = Agent(store=store_url)
    assert agent.status()["decisions"] == 96
    seen = Counter[str]()
    for line in agent.history():
        if line["kind"] == "observe":
            seen.update(line["outcomes"].keys())
    both = {arm: agent.state["a"][arm] + agent.state["b"][arm] - 2 for arm in USERS}
    assert both == {arm: seen[arm] for arm in USERS}
    agent.verify()


def test_snapshots_do_not_change_anything(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_module, "SNAPSHOT_ENTRIES", 7)
    monkeypatch.setattr(agent_module, "SNAPSHOT_BYTES", 10**9)
    agent, alone = new_agent(store_url), Agent("ids-lp", USERS, GRAPH, seed=3)
    for t in range(25):
        for one in (agent, alone):
            decision = one.decide()
            if t % 3:
                one.observe(decision, {decision.arm: t % 2}, partial=t % 2 == 0)
    assert agent.state == alone.state
    assert Agent(store=store_url).state == alone.state
    assert len(Agent(store=store_url).pending) == len(alone.pending)
    assert agent.verify() > 40


# Failures -----------------------------------------------------------------------------------------

FULL_DISK = """
import resource, signal, sys
from graphbandits import Agent
from graphbandits.errors import StoreError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
agent = Agent("ids-lp", ["ann", "bob"], "complete", seed=3, store=sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (2**17, resource.RLIM_INFINITY))
acknowledged, message = 0, ""
while not message:
    before = agent.state
    try:
        agent.observe(agent.decide(context="x" * 1000), {"ann": 1})
        acknowledged += 1
    except StoreError as error:
        message = str(error)
        assert agent.state == before
print(message)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
agent.observe(agent.decide(), {"ann": 1})
assert agent.status()["outcomes"] == acknowledged + 1
assert agent.state["a"]["ann"] == acknowledged + 2
agent.verify()
"""


def test_a_full_disk_is_an_error_and_the_agent_goes_on_after_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path / "agents.db")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "disk" in done.stdout


def test_a_database_that_goes_away_and_comes_back(postgres: PostgresServer) -> None:
    agent = new_agent(postgres.new_address())
    decision = agent.decide()
    agent.observe(decision, {decision.arm: 1}, partial=True)
    before = agent.state
    postgres.stop()
    try:
        for call in (agent.decide, lambda: agent.close(decision), agent.status):
            with pytest.raises(StoreError):
                call()
    finally:
        postgres.start()
    assert agent.state == before
    agent.close(decision)
    agent.decide()
    agent.verify()


def test_a_failed_commit_is_found_in_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event was written, but the acknowledgement was lost."""
    agent = new_agent(str(tmp_path / "agents.db"))
    decision = agent.decide()
    install = type(agent._state).install

    def lose(*_: object) -> None:
        raise StoreError("the connection was lost")

    monkeypatch.setattr(type(agent._state), "install", lose)
    with pytest.raises(StoreError):
        agent.observe(decision, {decision.arm: 1}, partial=True)
    monkeypatch.setattr(type(agent._state), "install", install)
    agent.observe(decision, {decision.arm: 1}, partial=True)  # try again: it counts once
    assert agent.status()["outcomes"] == 1
    agent.verify()


# Maintenance --------------------------------------------------------------------------------------


def test_forget_keeps_the_posterior_and_the_open_decisions(store_url: str) -> None:
    clock = [1000.0]
    agent = new_agent(store_url, clock=lambda: clock[0])
    other = Agent(store=store_url, clock=lambda: clock[0])
    old, still_open = agent.decide(), agent.decide()
    agent.observe(old, dict.fromkeys(old.reveals, 1))
    agent.observe(still_open, {still_open.arm: 0}, partial=True)
    clock[0] = 2000.0
    new = agent.decide()
    agent.observe(new, dict.fromkeys(new.reveals, 0))
    state, count = agent.state, agent.status()
    assert agent.forget(datetime.fromtimestamp(1500.0, UTC)) == 5
    assert [line["kind"] for line in agent.history()] == ["decide", "observe"]
    assert agent.state == other.state == Agent(store=store_url).state == state
    assert other.status() == count
    refused(lambda: agent.observe(old, dict.fromkeys(old.reveals, 1)), "unknown", "removed")
    other.observe(still_open, {still_open.arm: 0})  # known, and closes it
    assert agent.pending == ()
    assert agent.verify() == 3
    assert agent.forget(1500.0) == 0


def test_compact_and_backup_keep_everything(store_url: str, tmp_path: Path) -> None:
    agent = new_agent(store_url)
    for t in range(6):
        decision = agent.decide(context={"t": t})
        agent.observe(decision, {decision.arm: t % 2}, partial=t > 3)
    agent.compact()
    agent.backup(tmp_path / "copy.db")
    copy = Agent(store=tmp_path / "copy.db")
    assert copy.history() == agent.history()
    assert copy.state == agent.state
    assert copy.pending == agent.pending
    assert copy.decide().pi == agent.decide().pi
    copy.verify()
    refused(lambda: agent.backup(tmp_path / "copy.db"), "copy.db")


def test_graph_of_a_decision_is_stored_with_it(store_url: str) -> None:
    agent = new_agent(store_url, graph="empty")
    today = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0.5], [0, 0, 1, 0], [0, 0, 0, 1]])
    decision = agent.decide(graph=today, among=["bob"])
    assert decision.reveals == {"bob": 1.0, "joe": 0.5}
    other = Agent(store=store_url)
    other.observe(decision.id, {"joe": 1})
    assert other.decision(decision.id).reveals == {"bob": 1.0, "joe": 0.5}
    with pytest.raises(InputError, match="does not reveal"):
        other.observe(other.decide(among=["bob"]), {"joe": 1})


def test_an_outcome_counts_once_although_its_decision_was_removed(store_url: str) -> None:
    clock = [1000.0]
    agent = new_agent(store_url, clock=lambda: clock[0])
    decision = agent.decide(among=["bob"])
    agent.observe(decision, {"bob": 1}, partial=True)
    clock[0] = 2000.0
    agent.decide()
    assert agent.forget(1500.0) == 3
    assert agent.decision(decision.id).reveals == decision.reveals
    agent.observe(decision, {"eve": 0})
    for given in ({"bob": 1}, {"eve": 0}, {"bob": 1, "eve": 0}, {}):
        agent.observe(decision.id, given)
    refused(lambda: agent.observe(decision.id, {"bob": 0}), "outcome 1 of 'bob'")
    assert agent.status()["outcomes"] == 2
    agent.verify()


def test_invalid_arguments_create_no_file(tmp_path: Path) -> None:
    refused(lambda: Agent("idsn", 3, store=tmp_path / "a.db"), "idsn")
    assert list(tmp_path.iterdir()) == []
