"""Tests of policies/baselines.py."""

from __future__ import annotations

import pytest
from helpers.decision_checks import Game

from graphbandits import Agent
from graphbandits.graphs import as_process


def test_greedy_plays_largest_mean_of_all_observations() -> None:
    agent = Agent("greedy", arms=["ann", "bob", "eve"], graph="complete", seed=1)
    for rewards in ((1, 0, 1), (1, 0, 0)):
        agent.observe(agent.decide(), dict(zip(["ann", "bob", "eve"], rewards, strict=True)))
    assert agent.decide().pi == {"ann": 1.0}


def test_greedy_learns_from_all_observations_and_shares_ties() -> None:
    game = Game("greedy", as_process("complete", 3))
    assert game.pi() == pytest.approx([1 / 3] * 3, abs=1e-15)
    game.play(0, {0: 0, 1: 1, 2: 1})
    assert game.pi() == [0.0, 0.5, 0.5]
