"""Tests of policies/thompson.py, compared with hand calculations."""

from __future__ import annotations

import pytest
from helpers.decision_checks import Game

from graphbandits.graphs import as_process


def test_ts_maxn_matches_hand_calculation() -> None:
    """Arm 0 lost, the others won; it is the best with probability 1/15.

    If arm 0 reveals the others, they have higher scores, and only arm 0 reveals itself. If the
    others reveal arm 0, one of them is played instead.
    """
    for direction, want in (("out", [1 / 15, 7 / 15, 7 / 15]), ("in", [0.0, 0.5, 0.5])):
        game = Game("ts-maxn", as_process(f"star(direction={direction})", 3))
        game.play(0, {0: 0, 1: 1, 2: 1})
        assert game.pi() == pytest.approx(want, abs=1e-9)
    first = Game("ts-maxn", as_process("star(direction=out)", 3)).pi()
    assert first == pytest.approx([2 / 3, 1 / 6, 1 / 6], abs=1e-9)
