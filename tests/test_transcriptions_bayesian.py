"""Bayesian policies against exact posteriors, decision by decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import helpers.reference_bayesian_policies as written
import numpy as np
import pytest
from helpers.decision_checks import Game, History, assert_follows
from helpers.oracles import p1_bruteforce
from scipy.integrate import quad
from scipy.stats import beta
from test_transcriptions import KINDS, cases, random_process

from graphbandits.graphs import Process, as_process

WRITTEN: dict[str, Callable[..., Any]] = {
    "greedy": written.Greedy,
    "ts": written.TS,
    "ts-n": written.TSN,
    "ts-maxn": written.TSMaxN,
    "bayes-ucb": written.BayesUCB,
    "ids": written.IDS,
    "ids-n": written.IDSN,
    "v-ids": written.VIDS,
    "v-ids-n": written.VIDSN,
}
#: Those that need no integrals.
CHEAP = ("greedy", "bayes-ucb")


def check(text: str, process: Process, prior: list[tuple[int, int]], rounds: int, **how) -> None:
    history = History(process, prior, rounds, rounds, **how)
    make = WRITTEN[text]
    tolerance = 1e-12 if text in CHEAP else 1e-9
    assert_follows(text, history, lambda: make(process.arms, rounds, prior), tolerance)


def priors(rng: np.random.Generator, arms: int) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in rng.integers(1, 5, (arms, 2))]


@pytest.mark.parametrize("own", [True, False], ids=["own", "given"])
@pytest.mark.parametrize(("text", "kind"), cases(WRITTEN))
def test_priors_that_differ(text: str, kind: str, own: bool) -> None:
    rng = np.random.default_rng(40 + KINDS.index(kind))
    for seed in range(6):
        process = random_process(rng, kind)
        rounds = 200 if text in CHEAP and own else 30
        check(text, process, priors(rng, process.arms), rounds, own=own, seed=seed)


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("arms", [1, 2, 3, 4])
def test_equal_priors(text: str, arms: int) -> None:
    """All arms are alike in the first round, and some for long: they share."""
    for graph in ("empty", "complete", "star(direction=out)"):
        check(text, as_process(graph, arms), [(1, 1)] * arms, 10, seed=arms)


# --- the oracle itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_closed_form_of_the_ratio_is_the_minimum_by_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        arms = int(rng.integers(1, 7))
        delta, gain = rng.random(arms) + 0.01, rng.random(arms) + 0.01
        pi = np.array(written.least_ratio(delta.tolist(), gain.tolist()))
        assert pi.sum() == pytest.approx(1.0, abs=1e-12)
        ratio = (pi @ delta) ** 2 / (pi @ gain)
        assert ratio == pytest.approx(p1_bruteforce(delta, gain), rel=1e-9)


def test_the_variances_are_those_of_quadrature() -> None:
    """v_i = E[(E[theta_i | best] - E[theta_i])^2], by integrals over the best arm's value."""
    prior = [(1, 2), (3, 2), (2, 2)]
    policy = written.VIDSN(3, 1, prior)
    arms = [beta(a, b) for a, b in prior]

    def others(x: float, *left_out: int) -> float:
        return float(np.prod([arms[k].cdf(x) for k in range(3) if k not in left_out]))

    def partial(i: int, x: float) -> float:
        a, b = prior[i]
        return a / (a + b) * float(beta(a + 1, b).cdf(x))  # the integral of y f_i(y) up to x

    v = [0.0] * 3
    for j in range(3):
        chance = quad(lambda x, j=j: arms[j].pdf(x) * others(x, j), 0.0, 1.0)[0]
        for i in range(3):
            moment = quad(
                lambda x, i=i, j=j: (
                    arms[j].pdf(x)
                    * (x * others(x, j) if i == j else partial(i, x) * others(x, i, j))
                ),
                0.0,
                1.0,
            )[0]
            v[i] += chance * (moment / chance - arms[i].mean()) ** 2
    assert policy.variances(policy.beliefs()) == pytest.approx(v, rel=1e-9)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 2), (1, 9), (40, 3)])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_quantiles_by_bisection(a: int, b: int, level: float) -> None:
    assert written.BayesUCB.quantile(a, b, level) == pytest.approx(beta(a, b).ppf(level), rel=1e-12)


# --- corners, by hand ----------------------------------------------------------------------------


def test_quantiles_of_the_first_round_are_all_equal() -> None:
    """1 - 1/t = 0 at t = 1, of any posterior; then the prior counts where nothing was seen."""
    game = Game("bayes-ucb", as_process("empty", 2), prior=[(1, 1), (1, 5)])
    assert game.pi() == [0.5, 0.5]
    game.play(0, {0: 1})
    assert game.pi() == [1.0, 0.0]  # medians of Beta(2, 1) and Beta(1, 5): 0.71 and 0.13


def test_policies_without_the_graph_learn_from_their_plays_only() -> None:
    """Both arms won, and one was played: Beta(2, 1) beats Beta(1, 1) with probability 2/3."""
    for text, first in (("ts", 2 / 3), ("ts-n", 1 / 2)):
        game = Game(text, as_process("complete", 2))
        game.play(0, {0: 1, 1: 1})
        assert game.pi() == pytest.approx([first, 1 - first], abs=1e-9)
    game = Game("bayes-ucb", as_process("complete", 2))
    game.play(0, {0: 0, 1: 0})
    assert game.pi() == [0.0, 1.0]


@pytest.mark.parametrize("text", ["ids", "v-ids"])
def test_information_without_the_graph_is_that_of_the_empty_graph(text: str) -> None:
    """Whatever the graph shows beside the play."""
    prior = [(1, 2), (3, 2), (2, 2)]
    games = [Game(text, as_process(graph, 3), prior=prior) for graph in ("empty", "complete")]
    for action, won in [(0, 1), (1, 0), (1, 1), (2, 0)]:
        alone, shown = (game.pi() for game in games)
        assert alone == shown
        games[0].play(action, {action: won})
        games[1].play(action, {i: won if i == action else 1 - won for i in range(3)})


def test_greedy_learns_from_all_and_shares_ties() -> None:
    game = Game("greedy", as_process("complete", 3))
    assert game.pi() == pytest.approx([1 / 3] * 3, abs=1e-15)
    game.play(0, {0: 0, 1: 1, 2: 1})
    assert game.pi() == [0.0, 0.5, 0.5]


def test_ts_maxn_by_hand() -> None:
    """Arm 0 lost, the others won; it is the best with probability 1/15.

    Where it reveals the others they are better themselves, and only it reveals itself; where they
    reveal it, one of them is played instead.
    """
    for direction, want in (("out", [1 / 15, 7 / 15, 7 / 15]), ("in", [0.0, 0.5, 0.5])):
        game = Game("ts-maxn", as_process(f"star(direction={direction})", 3))
        game.play(0, {0: 0, 1: 1, 2: 1})
        assert game.pi() == pytest.approx(want, abs=1e-9)
    first = Game("ts-maxn", as_process("star(direction=out)", 3)).pi()
    assert first == pytest.approx([2 / 3, 1 / 6, 1 / 6], abs=1e-9)


@pytest.mark.parametrize("text", WRITTEN)
def test_one_arm_is_played_for_sure(text: str) -> None:
    game = Game(text, as_process("empty", 1), prior=[(2, 3)])
    for reward in (0, 1, 1, 0):
        assert game.pi() == [1.0]
        game.play(0, {0: reward})
