"""Tests of cli/inspect_commands.py: ``graphbandits inspect --agent`` and ``--policy``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from helpers.command_line import RUNNER, answer, refused_command, run

import graphbandits
from graphbandits import Agent
from graphbandits.cli import app
from graphbandits.registry import registered

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
    found = answer("inspect", "--agent", "a.db")
    assert found == agent.overview()
    shown = run("inspect", "--agent", "a.db")
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
    found = answer("inspect", "--agent", "a.db", "--name", "other")
    assert found["status"]["policy"] == "ucb-n"
    assert "no posterior" in run("inspect", "--agent", "a.db", "--name", "other")


def test_decision_is_explained(agent: Agent) -> None:
    [id_] = agent.pending
    found = answer("inspect", "--agent", "a.db", "--decision", id_)
    assert found == agent.explain(id_).to_dict()
    shown = run("inspect", "--agent", "a.db", "--decision", id_)
    assert found["text"].splitlines()[0] in shown
    for one in found["arms"]:
        assert f"{one['delta']:.3g}" in shown


def test_past_agent_is_shown(agent: Agent) -> None:
    first = agent.history()[1]["time"]
    found = answer("inspect", "--agent", "a.db", "--at", first)
    assert found["status"]["decisions"] == 1
    assert found == agent.at(first).overview()


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_figures_are_written(agent: Agent, form: str, place: Path) -> None:
    [id_] = agent.pending
    heads = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for name, more in (("agent", []), ("decision", ["--decision", id_])):
        shown = run("inspect", "--agent", "a.db", *more, "--figure", f"{name}.{form}")
        assert f"Wrote {name}.{form}." in shown
        assert (place / f"{name}.{form}").read_bytes().startswith(heads[form])


@pytest.mark.parametrize("name", registered("policy"))
def test_every_policy_is_described(name: str) -> None:
    found = answer("inspect", "--policy", name)
    assert found["name"] == name
    assert found["description"].endswith(".")
    assert re.search(r"\(\d{4}\)", found["description"] + found["details"])
    assert all(one["description"] for one in found["parameters"])
    shown = " ".join(run("inspect", "--policy", name).split())
    assert found["graph_known"] in shown
    assert found["description"] in shown


def test_parameters_of_a_policy_are_shown() -> None:
    found = graphbandits.describe_policy("eps-greedy-lp(c=2)")
    shown = run("inspect", "--policy", "eps-greedy-lp(c=2)")
    assert [(one["name"], one["value"]) for one in found["parameters"]] == [("c", 2), ("d", 1.0)]
    assert re.search(r"c\s+2\s+5.0\s+Constant of the exploration rate", shown)


def test_policy_of_a_plugin_is_described(place: Path) -> None:
    run("new", "policy", "my-ucb", "--output", "mine.py")
    found = answer("inspect", "--plugin", "mine.py", "--policy", "my-ucb")
    assert found["file"].endswith("mine.py")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--agent a.db --policy ts-n", ["--agent and --policy", "give one"]),
        ("--agent a.db --beta 1,1", ["--agent cannot be combined with --beta"]),
        ("--agent a.db --arms 3", ["--agent cannot be combined with --arms"]),
        ("--agent a.db --seed 3", ["--agent cannot be combined with --seed"]),
        ("--policy ts-n --graph star", ["--policy cannot be combined with --graph"]),
        ("--policy ts-n --prior 1,1", ["--policy cannot be combined with --prior"]),
        ("--decision 1-abc", ["--decision is for --agent"]),
        ("--policy ts-n --name default", ["--name is for --agent"]),
        ("--beta 1,1 --graph empty --figure a.png", ["--figure is for --agent"]),
        ("--at 2026-01-31", ["--at is for --agent"]),
        ("--agent missing.db", ["no store of agents"]),
        ("--agent a.db --decision 7-abc", ["unknown decision '7-abc'"]),
        ("--agent a.db --at 2020-01-01", ["was created at"]),
        ("--agent a.db --at soon", ["'soon' is not a date"]),
        ("--agent a.db --figure a.bmp", ["--figure 'a.bmp' has an unknown file format"]),
        ("--policy tsn", ["unknown policy 'tsn'"]),
        ("--policy eps-greedy-lp(c=-1)", ["eps-greedy-lp: c"]),
    ],
)
def test_contradicting_options_are_refused(
    agent: Agent, place: Path, options: str, words: list[str]
) -> None:
    agent.disconnect()
    message = refused_command(place, ["inspect", *options.split()])
    assert [word for word in words if word not in message] == []


def test_unknown_name_is_refused(agent: Agent) -> None:
    result = RUNNER.invoke(app, ["inspect", "--agent", "a.db", "--name", "anothr"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no agent 'anothr'" in result.stderr
