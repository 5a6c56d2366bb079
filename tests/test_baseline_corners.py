"""What the formulas of the baselines come to in their corners, by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from helpers.decision_checks import Game

from graphbandits.graphs import Process, as_process, from_matrix

INDICES = ["ucb-n", "ucb1", "ucb-tuned", "moss", "kl-ucb"]
EVERY = [
    *INDICES,
    "ucb-maxn",
    "ts-maxn",
    "eps-greedy-lp",
    "ucb-lp",
    "exp3-set",
    "exp3-res",
    "exp3-ix",
    "exp3-g",
    "uniform",
]


def plays(
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


@pytest.mark.parametrize(
    "text", [text for text in EVERY if text not in ("eps-greedy-lp", "ucb-lp")]
)
def test_the_first_round_is_uniform_without_edges(text: str) -> None:
    assert Game(text, as_process("empty", 4)).pi() == pytest.approx([0.25] * 4, abs=1e-12)


@pytest.mark.parametrize("text", INDICES)
def test_arms_that_were_not_seen_come_first_and_evenly(text: str) -> None:
    """An infinite index, also against arms that have only won."""
    game = Game(text, as_process("empty", 4))
    game.play(0, {0: 1})
    assert game.pi() == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3], abs=1e-15)
    game.play(2, {2: 1})
    assert game.pi() == [0.0, 0.5, 0.0, 0.5]
    game.play(1, {1: 1})
    assert game.pi() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("text", ["ucb1", "ucb-tuned", "moss", "kl-ucb"])
def test_policies_without_the_graph_do_not_see_what_it_shows(text: str) -> None:
    game = Game(text, as_process("complete", 3))
    game.play(0, {0: 1, 1: 1, 2: 0})
    assert game.pi() == [0.0, 0.5, 0.5]


def test_ucb_n_sees_what_the_graph_shows() -> None:
    game = Game("ucb-n", as_process("complete", 3))
    game.play(0, {0: 0, 1: 1, 2: 0})
    assert game.pi() == [0.0, 1.0, 0.0]


def test_ucb_maxn_plays_who_reveals_the_arm_it_wants_to_see() -> None:
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


def test_ucb_maxn_sums_over_its_first_choices() -> None:
    """All unseen, mean 0: each third goes to the arms that reveal it, evenly."""
    pi = Game("ucb-maxn", as_process("star(direction=out)", 3)).pi()
    assert pi == pytest.approx([1 / 3 + 1 / 6 + 1 / 6, 1 / 6, 1 / 6], abs=1e-15)


# --- eps_t-greedy-LP -----------------------------------------------------------------------------


def test_epsilon_is_one_early_and_explores_by_the_dominating_set() -> None:
    """c sum z / d^2 = 5 on the paper's graph: until round 5 arm 3 alone, whatever was seen."""
    game = Game("eps-greedy-lp", as_process("paper"))
    for _ in range(5):
        assert game.pi() == [0.0, 0.0, 1.0, 0.0, 0.0]
        game.play(2, {0: 1, 1: 0, 2: 0, 3: 0, 4: 0})
    assert game.pi() == pytest.approx([1 / 6, 0.0, 5 / 6, 0.0, 0.0], abs=1e-15)


def test_epsilon_greedy_prefers_arms_that_were_not_seen() -> None:
    game = Game("eps-greedy-lp(c=0.1)", as_process("empty", 3))
    assert game.pi() == pytest.approx([1 / 3] * 3, abs=1e-15)
    game.play(1, {1: 1})
    epsilon = 0.1 * 3 / 2
    half = (1 - epsilon) / 2 + epsilon / 3
    assert game.pi() == pytest.approx([half, epsilon / 3, half], abs=1e-15)


# --- UCB-LP --------------------------------------------------------------------------------------

#: n(0), n(1), ... at T = 1000
PHASES = (14, 45, 133, 352, 698)


def steps(ends: Sequence[int]) -> list[int]:
    return [end - before for before, end in itertools.pairwise((0, *ends))]


def test_phases_of_a_thousand_rounds_without_edges() -> None:
    """Arms that are alike are never dropped: each is played n(m) - n(m-1) times a phase."""
    want = [(arm, step) for step in steps(PHASES[:4]) for arm in (0, 1)]
    want.append((0, 1000 - 2 * 352))  # the fifth phase is cut off at T
    assert plays(as_process("empty", 2), 1000, lambda arm, n: 1.0) == want


def test_phases_of_a_thousand_rounds_by_the_dominating_set() -> None:
    """Sixteen arms, all revealed by the first: sum z = 1 <= 16 D until D = 1/16, all phases.

    Then the best mean: all arms win every other time, the last one once more.
    """
    star = as_process("star(direction=out)", 16)
    runs = plays(star, 1000, lambda arm, n: float(n % 2 or (arm == 15 and n == 0)))
    assert runs == [(0, 698), (15, 302)]


def test_the_papers_graph_explores_by_its_middle_for_three_phases() -> None:
    """sum z = 1 <= 5 D for D = 1, 1/2, 1/4; at D = 1/8 the arms themselves are played."""
    runs = plays(as_process("paper"), 1000, lambda arm, n: float(n % 2))
    assert runs == [(2, 133), (0, 219), (1, 219), (2, 219), (3, 210)]


def test_an_arm_is_dropped_at_the_end_of_the_first_phase_that_shows_it() -> None:
    """The widths are 0.497 and 0.248: a gap of 1 shows after 14 plays each, 0.6 after 45."""
    width = [math.sqrt(math.log(1000 * 4.0**-m) / (2 * PHASES[m])) for m in range(2)]
    assert width == pytest.approx([0.497, 0.248], abs=5e-4)
    at_once = plays(as_process("empty", 2), 1000, lambda arm, n: float(arm == 1))
    assert at_once == [(0, 14), (1, 14 + 1000 - 28)]
    later = plays(as_process("empty", 2), 1000, lambda arm, n: float(arm == 1 and n % 5 < 3))
    assert later == [(0, 14), (1, 14), (0, 31), (1, 31 + 1000 - 90)]


def test_horizons_shorter_than_a_phase() -> None:
    """n(0) = ceil(2 ln T): 3 at T = 3 and 5 at T = 10, so that the last arms are never played."""
    assert plays(as_process("empty", 4), 3, lambda arm, n: 1.0) == [(0, 3)]
    assert plays(as_process("empty", 4), 10, lambda arm, n: 1.0) == [(0, 5), (1, 5)]


@pytest.mark.parametrize("horizon", [1, 2])
def test_below_three_rounds_there_are_no_phases(horizon: int) -> None:
    """All means are 0 at first, and equal; then the best."""
    game = Game("ucb-lp", as_process("empty", 3), horizon)
    assert game.pi() == pytest.approx([1 / 3] * 3, abs=1e-15)
    if horizon == 2:
        game.play(1, {1: 1})
        assert game.pi() == [0.0, 1.0, 0.0]


def test_after_the_last_phase_the_best_mean_of_those_left() -> None:
    """T = 10 has one phase, of 5 plays of the arm that reveals both; neither is dropped."""
    star = as_process("star(direction=out)", 2)
    runs = plays(star, 10, lambda arm, n: float(arm == 1 and n > 0))
    assert runs == [(0, 5), (1, 5)]


# --- exponential weights -------------------------------------------------------------------------


def after_one_loss(text: str, graph: str, arms: int, horizon: int = 100) -> list[float]:
    """pi of round 2 after arm 0 was played, lost, and nothing else was seen."""
    game = Game(text, as_process(graph, arms), horizon)
    game.play(0, {0: 0})
    return game.pi()


def share(loss: float, eta: float, arms: int) -> list[float]:
    """Weights of one arm with a loss and the others without."""
    weight = [math.exp(-eta * loss)] + [1.0] * (arms - 1)
    return [w / sum(weight) for w in weight]


def test_exp3_set_by_hand() -> None:
    """eta = sqrt(2 ln K / sum Q); the loss counts 1 / q, which on no edges is K."""
    eta = math.sqrt(2 * math.log(3) / (100 * 3))
    assert after_one_loss("exp3-set", "empty", 3) == pytest.approx(share(3, eta, 3), abs=1e-14)


@pytest.mark.parametrize(("r", "bound"), [(0.0, 3.0), (1.0, 1.0), (0.5, 1.75)])
def test_exp3_set_under_random_feedback_by_hand(r: float, bound: float) -> None:
    """Q = (1 - (1-r)^K) / r, and q = p + (1 - p) r."""
    eta, q = math.sqrt(2 * math.log(3) / (100 * bound)), 1 / 3 + 2 / 3 * r
    found = after_one_loss("exp3-set", f"random(r={r})", 3)
    assert found == pytest.approx(share(1 / q, eta, 3), abs=1e-14)


def test_exp3_ix_by_hand() -> None:
    gamma = math.sqrt(math.log(3) / 3)
    first = 1 / (1 / 3 + gamma)
    eta = math.sqrt(math.log(3) / (3 + first))  # Q_1 = 3 (1/3) / (1/3 + gamma)
    assert after_one_loss("exp3-ix", "empty", 3) == pytest.approx(share(first, eta, 3), abs=1e-14)


def test_exp3_g_by_hand() -> None:
    gamma = math.sqrt(1 / (3 * 100))
    want = [(1 - gamma) * q + gamma / 3 for q in share(3, 2 * gamma, 3)]
    assert after_one_loss("exp3-g", "empty", 3) == pytest.approx(want, abs=1e-14)


@pytest.mark.parametrize(("horizon", "gamma"), [(1, 0.5), (3, 0.5), (4, 0.5), (16, 0.25)])
def test_exp3_g_explores_at_most_half_of_the_time(horizon: int, gamma: float) -> None:
    """alpha = 1 on the complete graph: gamma = 1 / sqrt(T), up to 1/2."""
    game = Game("exp3-g", as_process("complete", 2), horizon)
    game.play(0, {0: 0, 1: 1})
    want = [(1 - gamma) * q + gamma / 2 for q in share(1, 2 * gamma, 2)]
    assert game.pi() == pytest.approx(want, abs=1e-14)


def test_exp3_res_of_two_arms_estimates_each_loss_by_itself() -> None:
    """G = 1: nothing is left to resample."""
    eta = math.sqrt(math.log(2) / (4 + 0.5))
    assert after_one_loss("exp3-res", "empty", 2) == pytest.approx(share(1, eta, 2), abs=1e-14)


def test_exp3_res_of_arms_that_all_are_seen_counts_each_loss_once() -> None:
    """The first arm of the permutation is seen, so that G = 1 whatever is drawn."""
    game = Game("exp3-res", as_process("random(r=1)", 4))
    game.play(1, {0: 0, 1: 1, 2: 1, 3: 1})
    eta = math.sqrt(math.log(4) / (16 + 0.25))
    assert game.pi() == pytest.approx(share(1, eta, 4), abs=1e-14)


@pytest.mark.parametrize("text", EVERY)
@pytest.mark.parametrize("reward", [0, 1])
def test_one_arm_is_played_for_sure(text: str, reward: int) -> None:
    for graph in ("empty", "random(r=0)", "random(r=1)"):
        game = Game(text, as_process(graph, 1))
        for _ in range(30):
            assert game.pi() == [1.0]
            game.play(0, {0: reward})


@pytest.mark.parametrize("text", EVERY)
@pytest.mark.parametrize("r", [0, 1])
def test_random_feedback_without_chance_is_the_empty_and_the_complete_graph(
    text: str, r: int
) -> None:
    """The same decisions, round by round, though one graph is a rate and the other a matrix."""
    rng = np.random.default_rng(r)
    graphs = f"random(r={r})", ("empty", "complete")[r]
    games = [Game(text, as_process(graph, 3)) for graph in graphs]
    for _ in range(60):
        rate, matrix = (game.pi() for game in games)
        assert rate == pytest.approx(matrix, abs=1e-12)
        action = int(rng.choice(3, p=np.array(rate) / sum(rate)))
        seen: dict[int, Any] = {i: int(rng.random() < 0.4) for i in range(3) if r or i == action}
        for game in games:
            game.play(action, seen)
