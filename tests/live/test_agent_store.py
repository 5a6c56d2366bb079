"""Agents in stores: opening, several agents and handles, failures, maintenance."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ROOT
from helpers.agents import play, reopened
from helpers.bad_input import refused, tree
from helpers.cases import each
from helpers.postgres import PostgresServer
from helpers.privileges import unprivileged

from graphbandits import Agent
from graphbandits.errors import ConflictError, GraphBanditsError, InputError, StoreError
from graphbandits.live import agent as agent_module
from graphbandits.live.store import AgentStore, open_store

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
    ids = list[str]()

    def work(number: int) -> None:
        agent = Agent(store=store_url)
        for t in range(12):
            decision = agent.decide()
            ids.append(decision.id)
            for arm in decision.reveals:
                agent.observe(decision, {arm: (t + number) % 2}, partial=True)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))  # raises the error of a thread
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


# Copies ------------------------------------------------------------------------------------------


def seconds() -> Callable[[], float]:
    """Return a clock that counts its calls."""
    return itertools.count(1e9 + 1.0).__next__


def busy() -> Agent:
    """An agent whose journal has every kind of object, and an open decision."""
    agent = Agent("ids-n", ["ann", "bob", "eve"], "star", seed=1, clock=seconds(), expires=1e6)
    play(agent, 5)
    agent.decide(2, graph="complete", among=["ann", "bob"], context={"day": 1})
    agent.learn({"ann": (3, 5)})
    agent.add_arm("joe", reveals={"bob": 0.5})
    agent.set_graph("complete")
    agent.set_policy("idsn-lp")
    agent.pause("ann")
    return agent


@each(("stored", "forget"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_copy_has_the_journal_and_continues(tmp_path: Path, stored: bool, forget: bool) -> None:
    agent = busy()
    if stored:
        agent = reopened(agent, tmp_path, clock=seconds())
    if forget:
        assert agent.forget(agent.history()[8]["time"]) > 0
    copy = reopened(agent, tmp_path, clock=seconds())
    assert copy.verify() == agent.verify()
    assert copy.status() == agent.status()
    assert copy.history() == agent.history()
    assert copy.log().to_arrow().equals(agent.log().to_arrow())
    assert play(copy, 10) == play(agent, 10)
    assert copy.verify() == agent.verify()


def test_save_does_not_replace_an_agent(tmp_path: Path) -> None:
    place = tmp_path / "agents.db"
    agent, other = Agent("ts-n", 3, seed=1), Agent("ts-n", 2, seed=1, name="other")
    agent.save(place)
    other.save(place)  # beside the first one
    agent.decide()
    with pytest.raises(ConflictError, match="has an agent 'default': open it, or choose another"):
        agent.save(place)
    assert Agent(store=place).status()["decisions"] == 0
    assert Agent(store=place, name="other").arms == (0, 1)


def test_save_to_a_place_that_is_no_store(tmp_path: Path) -> None:
    agent = Agent("ids-n", 3, seed=1)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "folder").mkdir()
    before = tree(tmp_path)
    for name in ("missing/agent.db", "notes.txt/agent.db", "folder", "notes.txt"):
        with pytest.raises(InputError, match=name.partition("/")[0]):
            agent.save(tmp_path / name)
    assert tree(tmp_path) == before


def test_saving_without_permission_is_refused(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with (
        unprivileged(),
        pytest.raises(StoreError, match=r"cannot use .*agent.db: its files cannot be opened"),
    ):
        Agent("ids-n", 3, seed=1).save(locked / "agent.db")


KILLED = """
import os, sys
from graphbandits import Agent
from graphbandits.live.store import StoredJournal
agent = Agent("ids-n", ["ann", "bob"], seed=1)
agent.decide()
StoredJournal.append = lambda journal, entries: os.kill(os.getpid(), 9)
agent.save(sys.argv[1])
"""


def test_a_killed_save_leaves_no_agent_and_can_be_repeated(tmp_path: Path) -> None:
    place = tmp_path / "agents.db"
    done = subprocess.run([sys.executable, "-c", KILLED, str(place)], timeout=300)
    assert done.returncode == -9
    with open_store(place, must_exist=True) as store:
        assert store.agents() == []
    agent = busy()
    agent.save(place)
    assert Agent(store=place).history() == agent.history()


@each(
    ("table", "words"),
    [
        ("snapshots", "cannot load the agent 'default' .* its snapshot is damaged"),
        ("objects", "object [0-9a-f]{64} is damaged"),
    ],
)
def test_a_flipped_bit_is_refused(tmp_path: Path, table: str, words: str) -> None:
    """Kernels do not check their indices: invalid ones must not reach them."""
    place = tmp_path / f"{table}.db"
    busy().save(place)
    query = f"SELECT rowid, data FROM graphbandits_{table}"
    with sqlite3.connect(place) as database:
        parts = database.execute(query).fetchall()
        for row, data in parts:
            flipped = bytearray(data)
            flipped[len(data) // 2] ^= 1
            change = f"UPDATE graphbandits_{table} SET data = ? WHERE rowid = ?"
            database.execute(change, (bytes(flipped), row))
    database.close()
    with pytest.raises(StoreError, match=words):
        Agent(store=place)


PLUGIN = """
from dataclasses import dataclass
import numpy as np
from graphbandits.policies.thompson import TSN
from graphbandits.registry import register

@register("policy", "changing")
@dataclass(frozen=True)
class Changing(TSN):
    "A policy with another array."
    def init(self, problem, keys):
        return super().init(problem, keys) | {"more": np.zeros((1, SIZE))}
    def update(self, state, event):
        return super().update(state, event) | {"more": state["more"]}
"""


def test_a_policy_whose_state_has_changed_is_refused(tmp_path: Path) -> None:
    from graphbandits.plugins import load_plugin, unload_plugin

    file = tmp_path / "changing.py"
    try:
        file.write_text(PLUGIN.replace("SIZE", "2"))
        load_plugin(file)
        Agent("changing", 3, seed=1).save(tmp_path / "agents.db")
        file.write_text(PLUGIN.replace("SIZE", "3"))
        load_plugin(file)
        with pytest.raises(GraphBanditsError, match=r"'changing' has changed since: .*'more'"):
            Agent(store=tmp_path / "agents.db")
    finally:
        unload_plugin(file)


# Killed processes --------------------------------------------------------------------------------


#: Entries that the writers must reach at least, so that the kills meet them at work.
LEAST_ENTRIES_PER_KILL = 5


def kill_writers(store: str, kills: int, seed: int) -> None:
    command = [sys.executable, str(ROOT / "tests/helpers/killed_writers.py"), store]
    done = subprocess.run(
        [*command, str(kills), str(seed)], capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr[-3000:]
    entries = int(done.stdout.split()[2])
    assert entries > LEAST_ENTRIES_PER_KILL * kills


def test_killed_writers_lose_nothing(store_url: str) -> None:
    kill_writers(store_url, kills=5, seed=1)


@pytest.mark.nightly
def test_many_killed_writers_lose_nothing(store_url: str) -> None:
    kill_writers(store_url, kills=200, seed=2)
