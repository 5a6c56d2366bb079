"""Tests of policies/index.py: index policies on small graphs, compared with hand calculations."""

from __future__ import annotations

import pytest
from helpers.decision_checks import Game
from helpers.policy_names import INDEX_POLICIES

from graphbandits.graphs import as_process


@pytest.mark.parametrize("text", INDEX_POLICIES)
def test_unobserved_arms_are_played_first_with_equal_probability(text: str) -> None:
    """An infinite index, also against arms that have only won."""
    game = Game(text, as_process("empty", 4))
    game.play(0, {0: 1})
    assert game.pi() == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3], abs=1e-15)
    game.play(2, {2: 1})
    assert game.pi() == [0.0, 0.5, 0.0, 0.5]
    game.play(1, {1: 1})
    assert game.pi() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("text", ["ucb1", "ucb-tuned", "moss", "kl-ucb"])
def test_policies_without_graph_ignore_side_observations(text: str) -> None:
    game = Game(text, as_process("complete", 3))
    game.play(0, {0: 1, 1: 1, 2: 0})
    assert game.pi() == [0.0, 0.5, 0.5]


def test_ucb_n_uses_side_observations() -> None:
    game = Game("ucb-n", as_process("complete", 3))
    game.play(0, {0: 0, 1: 1, 2: 0})
    assert game.pi() == [0.0, 1.0, 0.0]
