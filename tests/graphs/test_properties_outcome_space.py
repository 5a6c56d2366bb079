"""Tests of graphs/properties.py: number of joint outcomes."""

from __future__ import annotations

import numpy as np
from helpers.cases import each
from helpers.joint_gain_cases import WEIGHTS

from graphbandits.graphs import DenseFeedback, GivenSequence, RandomFeedback, as_process
from graphbandits.graphs.properties import count_outcomes, most_outcomes


@each(
    ("graph", "arms", "outcomes"),
    [
        ("empty", 7, 14),
        ("complete", 7, 2**7),
        ("paper", 5, 2**5 + 2 * 2**3),
        ("star(direction=out)", 4, 2**4 + 3 * 2),
        ("random(r=0.5)", 6, 3**6),
        ("random(r=0)", 6, 12),
        ("random(r=1)", 6, 2**6),
        ("random(r=uniform)", 6, 3**6),
        ("revealed-er(p=0.5)", 6, 7 * 2**5),
        ("revealed-er(p=1)", 6, 2**6),
    ],
)
def test_outcomes_are_counted_once(graph: str, arms: int, outcomes: int) -> None:
    assert most_outcomes(as_process(graph, arms)) == outcomes


def test_process_outcomes_do_not_exceed_declared_number() -> None:
    rng = np.random.default_rng(9)
    for arms in (2, 3, 4):
        matrices = np.maximum(np.eye(arms), rng.random((500, arms, arms)) < 0.7)
        most = count_outcomes(DenseFeedback(matrices), 500)
        assert most <= most_outcomes(as_process("revealed-er(p=0.5)", arms))
    first, second = DenseFeedback(np.eye(4)), DenseFeedback(np.ones((4, 4)))
    assert most_outcomes(GivenSequence((first, second))) == 16
    assert most_outcomes(RandomFeedback(4, (0.0, 1.0, 0.0))) == 81  # not looked at one by one


def test_certain_arms_reduce_number_of_outcomes() -> None:
    """Row 0: one arm sure, two not; row 3: two sure, two not; the others 2 3 each."""
    assert count_outcomes(DenseFeedback(WEIGHTS)) == 2 * 9 + 2 * 3 + 2 * 3 + 4 * 9
