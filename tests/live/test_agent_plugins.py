"""Tests of live/agent.py with policies and posteriors of plug-ins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from helpers.agents import reopened
from helpers.bad_input import refuses
from helpers.small_runs import PLUGIN_SOURCE
from helpers.valid_policies import UCB

from graphbandits import Agent, BetaBernoulli
from graphbandits._types import State
from graphbandits.errors import InputError, PolicyError
from graphbandits.plugins import load_plugin, unload_plugin
from graphbandits.policies import Event


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
