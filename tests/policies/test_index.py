"""Tests of policies/index.py: index policies on small graphs, compared with hand calculations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.decision_checks import Game

from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs import as_process
from graphbandits.policies import Event
from graphbandits.posteriors import Observations
from graphbandits.simulation.loop import update_state


@each("text", ["ucb-n", "ucb1", "ucb-tuned", "moss", "kl-ucb"])
def test_unobserved_arms_are_played_first_with_equal_probability(text: str) -> None:
    """An infinite index, also against arms that have only won."""
    game = Game(text, as_process("empty", 4))
    game.play(0, {0: 1})
    assert game.pi() == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3], abs=1e-15)
    game.play(2, {2: 1})
    assert game.pi() == [0.0, 0.5, 0.0, 0.5]
    game.play(1, {1: 1})
    assert game.pi() == [0.0, 0.0, 0.0, 1.0]


def learned(text: str, reward: list[float], weight: list[float] | None) -> dict[str, Any]:
    """Return the state after observations of arm 0, and of arm 1 by side observations."""
    game = Game(text, as_process("complete", 2))
    arm = np.arange(len(reward)) % 2
    weights = None if weight is None else np.array(weight)
    seen = Observations(np.zeros_like(arm), arm, np.array(reward), weights)
    pi: Floats = np.array([[0.5, 0.5]])
    graph = game.process.round(1, game.keys)
    event = Event(1, game.keys, game.problem, graph, pi, np.array([0]), seen)
    return update_state(game.policy, game.state, event)


@each("text", ["ucb1", "ucb-n", "ucb-maxn", "moss", "kl-ucb", "eps-greedy-lp"])
def test_weight_counts_as_several_observations(text: str) -> None:
    """Four outcomes with the average 1/4 are one observation of weight 4; arm 1 is shown once."""
    single = learned(text, [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0], None)
    together = learned(text, [0.25, 0.75], [4.0, 4.0])
    for name in ("count", "total"):
        np.testing.assert_array_equal(single[name], together[name])
    half = learned(text, [0.5, 1.0], [0.5, 1.0])
    assert (half["count"][0, 0], half["total"][0, 0]) == (0.5, 0.25)


def test_mean_of_a_small_weight_is_its_reward() -> None:
    """The index of weight 1/2 uses the mean, not the total."""
    game = Game("eps-greedy-lp(c=1e-9)", as_process("empty", 2))
    game.state = {"count": np.array([[0.5, 1.0]]), "total": np.array([[0.45, 0.8]])}
    game.t = 10**6
    assert game.pi()[0] == pytest.approx(1.0)


@each("text", ["ucb-tuned", "ucb-lp", "exp3-set", "exp3-ix", "exp3-g", "exp3-res"])
def test_policies_that_cannot_use_weights_refuse_them(text: str) -> None:
    with refuses(InputError):
        learned(text, [0.5, 1.0], [2.0, 1.0])
    for name, array in learned(text, [1.0, 0.0], [1.0, 1.0]).items():
        np.testing.assert_array_equal(array, learned(text, [1.0, 0.0], None)[name])


@each("weight", [[0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0], [1.0]])
def test_invalid_weights_are_refused(weight: list[float]) -> None:
    with refuses(InputError):
        learned("ucb-n", [0.5, 1.0], weight)
