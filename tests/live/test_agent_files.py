"""Tests of ``save`` of live/agent.py: copies of agents, and damaged or unwritable stores."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.agents import play, reopened
from helpers.bad_input import tree
from helpers.cases import each
from helpers.privileges import unprivileged

from graphbandits import Agent
from graphbandits.errors import ConflictError, GraphBanditsError, InputError, StoreError
from graphbandits.live.store import open_store


class Clock:
    now = 1e9

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def busy() -> Agent:
    """An agent whose journal has every kind of object, and an open decision."""
    agent = Agent("ids-n", ["ann", "bob", "eve"], "star", seed=1, clock=Clock(), expires=1e6)
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
        agent = reopened(agent, tmp_path, clock=Clock())
    if forget:
        assert agent.forget(agent.history()[8]["time"]) > 0
    copy = reopened(agent, tmp_path, clock=Clock())
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
