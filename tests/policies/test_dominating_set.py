"""Tests of policies/dominating_set.py: phases, exploration and memory."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from helpers.cases import each
from helpers.decision_checks import Game

from graphbandits import Agent
from graphbandits.graphs import Process, RandomFeedback, RevealedErdosRenyi, as_process


def test_early_rounds_explore_by_the_dominating_set() -> None:
    """c sum z / d^2 = 5 on the paper's graph: until round 5 only arm 3 is played."""
    game = Game("eps-greedy-lp", as_process("paper"))
    for _ in range(5):
        assert game.pi() == [0.0, 0.0, 1.0, 0.0, 0.0]
        game.play(2, {0: 1, 1: 0, 2: 0, 3: 0, 4: 0})
    assert game.pi() == pytest.approx([1 / 6, 0.0, 5 / 6, 0.0, 0.0], abs=1e-15)


@each("text", ["eps-greedy-lp(d=1e-200)", "eps-greedy-lp(c=1e308)"])
def test_huge_exploration_rate_gives_no_warning(text: str) -> None:
    decision = Agent(text, arms=3, graph="empty", seed=1).decide()
    assert decision.probability == pytest.approx(1.0 / 3.0)


def runs_of_plays(
    process: Process, horizon: int, reward: Callable[[int, int], float]
) -> list[tuple[int, int]]:
    """The plays of UCB-LP as runs of (arm, times); reward(arm, times it was seen before).

    The first of several equal arms is played.
    """
    game, played = Game("ucb-lp", process, horizon), []
    times = [0] * process.arms
    matrix = process.round(1, game.keys).reach(np.arange(process.arms))
    for _ in range(horizon):
        pi = game.pi()
        action = pi.index(max(pi))
        seen = {int(i): reward(int(i), times[i]) for i in np.flatnonzero(matrix[action])}
        for i in seen:
            times[i] += 1
        game.play(action, seen)
        played.append(action)
    return [(arm, len(list(run))) for arm, run in itertools.groupby(played)]


#: n(0), n(1), ... at T = 1000
PHASES = (14, 45, 133, 352, 698)


def steps(ends: Sequence[int]) -> list[int]:
    return [end - before for before, end in itertools.pairwise((0, *ends))]


def test_phases_of_a_thousand_rounds_without_edges() -> None:
    """Arms that are alike are never dropped: each is played n(m) - n(m-1) times a phase."""
    want = [(arm, step) for step in steps(PHASES[:4]) for arm in (0, 1)]
    want.append((0, 1000 - 2 * 352))  # the fifth phase is cut off at T
    assert runs_of_plays(as_process("empty", 2), 1000, lambda arm, n: 1.0) == want


def test_phases_of_a_thousand_rounds_by_the_dominating_set() -> None:
    """Sixteen arms, all revealed by the first: sum z = 1 <= 16 D until D = 1/16, all phases.

    Then the best mean: all arms win every other time, the last one once more.
    """
    star = as_process("star(direction=out)", 16)
    runs = runs_of_plays(star, 1000, lambda arm, n: float(n % 2 or (arm == 15 and n == 0)))
    assert runs == [(0, 698), (15, 302)]


def test_arm_is_dropped_at_the_end_of_first_phase_that_excludes_it() -> None:
    """The widths are 0.497 and 0.248: a gap of 1 shows after 14 plays each, 0.6 after 45."""
    width = [math.sqrt(math.log(1000 * 4.0**-m) / (2 * PHASES[m])) for m in range(2)]
    assert width == pytest.approx([0.497, 0.248], abs=5e-4)
    at_once = runs_of_plays(as_process("empty", 2), 1000, lambda arm, n: float(arm == 1))
    assert at_once == [(0, 14), (1, 14 + 1000 - 28)]
    later = runs_of_plays(
        as_process("empty", 2), 1000, lambda arm, n: float(arm == 1 and n % 5 < 3)
    )
    assert later == [(0, 14), (1, 14), (0, 31), (1, 31 + 1000 - 90)]


def test_horizons_shorter_than_a_phase() -> None:
    """n(0) = ceil(2 ln T): 3 at T = 3 and 5 at T = 10, and the last arms are never played."""
    assert runs_of_plays(as_process("empty", 4), 3, lambda arm, n: 1.0) == [(0, 3)]
    assert runs_of_plays(as_process("empty", 4), 10, lambda arm, n: 1.0) == [(0, 5), (1, 5)]


@each("horizon", [1, 2])
def test_no_phases_below_three_rounds(horizon: int) -> None:
    """All means are 0 at first, and equal; then the best."""
    game = Game("ucb-lp", as_process("empty", 3), horizon)
    assert game.pi() == pytest.approx([1 / 3] * 3, abs=1e-15)
    if horizon == 2:
        game.play(1, {1: 1})
        assert game.pi() == [0.0, 1.0, 0.0]


def test_arm_is_not_dropped_with_too_few_observations() -> None:
    """Of 28 plays two are observed: one success, one failure."""
    agent, seen = Agent("ucb-lp", 2, "empty", seed=1, horizon=1000), set()
    for _ in range(28):
        decision = agent.decide()
        new = decision.arm not in seen
        agent.observe(decision, {decision.arm: int(decision.arm == 0)} if new else {})
        seen.add(decision.arm)
    assert agent.state["left"] == {0: True, 1: True}
    assert agent._state.policy_state["phase"].tolist() == [1]


def test_large_graph_needs_no_dense_matrix() -> None:
    """One of 20,000 by 20,000 would be 3 GB."""
    tracemalloc.start()
    try:
        decision = Agent("ucb-lp", 20_000, "star", seed=1, horizon=1000).decide()
        assert tracemalloc.get_traced_memory()[1] < 10**9
    finally:
        tracemalloc.stop()
    assert (decision.arm, decision.probability) == (0, 1.0)


@each(
    "process",
    [
        RandomFeedback(3, [1.0] * 10),
        RandomFeedback(3, None, 1.0, 1.0),
        RevealedErdosRenyi(3, 1.0),
        RevealedErdosRenyi(3, 0.0),
        RandomFeedback(1, 0.5),
    ],
)
def test_constant_processes_count_as_fixed_graphs(process: Process) -> None:
    agent = Agent("ucb-lp", graph=process, arms=process.arms, seed=1, horizon=10)
    for _ in range(10):
        decision = agent.decide()
        agent.observe(decision, dict.fromkeys(decision.reveals, 1))
