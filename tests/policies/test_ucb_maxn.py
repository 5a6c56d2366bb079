"""Tests of policies/ucb.py, compared with hand calculations."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.decision_checks import Game

from graphbandits.graphs import as_process, from_matrix


def test_ucb_maxn_plays_best_arm_that_reveals_its_target() -> None:
    """0 -> 1 and 2 -> 1 only: arm 1 is unseen, and the best of 0, 1 (mean 0) and 2 is played."""
    matrix = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    game = Game("ucb-maxn", from_matrix(matrix))
    game.play(0, {0: 0})
    game.play(2, {2: 1})
    assert game.pi() == [0.0, 0.0, 1.0]
    unlucky = Game("ucb-maxn", from_matrix(matrix))
    unlucky.play(0, {0: 0})
    unlucky.play(2, {2: 0})
    assert unlucky.pi() == pytest.approx([1 / 3] * 3, abs=1e-15)  # all have the mean 0


def test_ucb_maxn_adds_probabilities_of_tied_targets() -> None:
    """All unseen, mean 0: each third goes to the arms that reveal it, evenly."""
    pi = Game("ucb-maxn", as_process("star(direction=out)", 3)).pi()
    assert pi == pytest.approx([1 / 3 + 1 / 6 + 1 / 6, 1 / 6, 1 / 6], abs=1e-15)
