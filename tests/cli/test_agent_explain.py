"""Tests of ``graphbandits agent explain``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from helpers.command_line import answer, refused_command, run

from graphbandits import Agent

NAMES = ["ann", "bob", "eve"]
GRAPH = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [0.25, 0.0, 1.0]])


@pytest.fixture
def agent(place: Path) -> Agent:
    """An agent in a store, with a decision, a paused arm and a second agent."""
    Agent("ucb-n", arms=2, store="a.db", name="other", seed=1)
    agent = Agent("ids-n", NAMES, GRAPH, prior=[(1, 3), (4, 2), (2, 2)], seed=1, store="a.db")
    made = agent.decide()
    agent.observe(made, dict.fromkeys(made.reveals, 1))
    agent.pause("ann")
    agent.decide()
    return agent


def test_agent_is_shown_as_its_overview(agent: Agent) -> None:
    found = answer("agent", "explain", "a.db")
    assert found == agent.overview()
    shown = run("agent", "explain", "a.db")
    for one in found["arms"]:
        [row] = [line for line in shown.splitlines() if re.match(rf"\s*{one['arm']}\s+\d?", line)][
            :1
        ]
        if one["alpha"] is not None:
            assert f"{one['alpha']:.4f}" in row
        assert ("paused" in row) == (one["status"] == "paused")
    for one in found["decisions"]:
        assert one["decision"] in shown


def test_other_agents_have_names(agent: Agent) -> None:
    found = answer("agent", "explain", "a.db", "--name", "other")
    assert found["status"]["policy"] == "ucb-n"
    assert "no posterior" in run("agent", "explain", "a.db", "--name", "other")


def test_decision_is_explained(agent: Agent) -> None:
    [id_] = agent.pending
    found = answer("agent", "explain", "a.db", id_)
    assert found == agent.explain(id_).to_dict()
    shown = run("agent", "explain", "a.db", id_)
    assert found["text"].splitlines()[0] in shown
    for one in found["arms"]:
        assert f"{one['delta']:.3g}" in shown


def test_past_agent_is_shown(agent: Agent) -> None:
    first = agent.history()[1]["time"]
    found = answer("agent", "explain", "a.db", "--at", first)
    assert found["status"]["decisions"] == 1
    assert found == agent.at(first).overview()


def test_figures_are_written(agent: Agent, place: Path) -> None:
    for form in ["png", "svg", "pdf"]:
        [id_] = agent.pending
        heads = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
        for name, more in (("agent", []), ("decision", [id_])):
            shown = run("agent", "explain", "a.db", *more, "--figure", f"{name}.{form}")
            assert f"Wrote {name}.{form}." in shown
            assert (place / f"{name}.{form}").read_bytes().startswith(heads[form])


def test_bad_input_is_refused(agent: Agent, place: Path) -> None:
    for options, words in [
        ("missing.db", ["no store of agents"]),
        ("a.db 7-abc", ["unknown decision '7-abc'"]),
        ("a.db --at 2020-01-01", ["choose a time from"]),
        ("a.db --at soon", ["'soon' is not a date"]),
        ("a.db --figure a.bmp", ["--figure 'a.bmp' has an unknown file format"]),
    ]:
        agent.disconnect()
        message = refused_command(place, ["agent", "explain", *options.split()])
        assert [word for word in words if word not in message] == []
