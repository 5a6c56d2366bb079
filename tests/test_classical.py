"""Policies without a graph, by variances, by quantiles and by means: what they play and learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.oracles import exact_beliefs, p1_bruteforce
from scipy.special import betainc

from graphbandits import Agent, Bernoulli, BetaBernoulli, simulate
from graphbandits.graphs import from_matrix
from graphbandits.policies import Problem, View, as_policy
from graphbandits.rng import Keys
from graphbandits.testing.scenes import (
    Script,
    directed_ranks,
    directed_weights,
    lopsided_prior,
    rehearse,
)
from graphbandits.types import Floats

#: A policy that does not know of graphs, and the one with graphs that it is on the empty one.
SAME_WITHOUT_EDGES = [("ts", "ts-n"), ("ids", "ids-n"), ("v-ids", "v-ids-n")]
WITHOUT_GRAPH = ["ts", "ids", "v-ids", "bayes-ucb"]
MATRICES = {
    "directed, probabilities": directed_weights(),
    "directed ranks": directed_ranks(),
    "complete": np.ones((4, 4)),
    "empty": np.eye(4),
}
PRIORS = {"lopsided": lopsided_prior(4), "uniform": BetaBernoulli.of(4)}


def plays_only(script: Script) -> Script:
    """The same history with nothing seen but the arms played."""
    arms = np.arange(script.seen.shape[2])
    return replace(script, seen=(script.action[..., None] == arms).astype(np.int64))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("graph", MATRICES)
@pytest.mark.parametrize(("without", "with_graph"), SAME_WITHOUT_EDGES)
def test_on_any_graph_it_plays_as_with_no_edges(
    without: str, with_graph: str, graph: str, prior: str
) -> None:
    """Given the same plays, bit for bit."""
    matrix = MATRICES[graph]
    script = Script.of(matrix, trials=20, rounds=60, alike=False)
    here = rehearse(as_policy(without), script, from_matrix(matrix), PRIORS[prior])
    there = rehearse(
        as_policy(with_graph), plays_only(script), from_matrix(np.eye(4)), PRIORS[prior]
    )
    assert np.array_equal(here, there)


@pytest.mark.parametrize("name", WITHOUT_GRAPH)
def test_side_observations_change_nothing(name: str) -> None:
    """Nor does what they would have shown."""
    matrix, policy = directed_weights(), as_policy(name)
    script = Script.of(matrix, trials=20, rounds=60, alike=False)
    assert (script.seen != plays_only(script).seen).any()
    own = plays_only(script).seen.astype(bool)
    other = replace(script, reward=np.where(own, script.reward, 1 - script.reward))
    process, prior = from_matrix(matrix), lopsided_prior(4)
    here = rehearse(policy, script, process, prior)
    for history in (plays_only(script), other):
        assert np.array_equal(here, rehearse(policy, history, process, prior))


@pytest.mark.parametrize("name", ["greedy", "v-ids-n"])
def test_side_observations_are_learned_from(name: str) -> None:
    matrix, policy = directed_weights(), as_policy(name)
    script = Script.of(matrix, trials=20, rounds=60, alike=False)
    process, prior = from_matrix(matrix), lopsided_prior(4)
    here = rehearse(policy, script, process, prior)
    assert not np.array_equal(here, rehearse(policy, plays_only(script), process, prior))


@pytest.mark.parametrize("graph", ["complete", "star(direction=out)", "random(r=0.5)"])
def test_whole_runs_are_the_same_with_and_without_edges(graph: str) -> None:
    """Every trial has the same plays and the same regret in simulations, too."""

    def regret(name: str, graph: str) -> Floats:
        world = Bernoulli(lopsided_prior(5))
        found = simulate(name, world, graph, horizon=60, trials=30, seed=3, block=7, progress=False)
        return found[name].regret

    for name in WITHOUT_GRAPH:
        assert np.array_equal(regret(name, graph), regret(name, "empty"))
    for without, with_graph in SAME_WITHOUT_EDGES:
        assert np.array_equal(regret(without, graph), regret(with_graph, "empty"))


POSTERIORS = [(2, 12), (10, 41), (9, 39), (2, 16)]


def proposal(name: str, matrix: Floats, t: int = 1, prior: BetaBernoulli | None = None) -> Floats:
    """What a policy plays by these posteriors."""
    policy, process = as_policy(name), from_matrix(matrix)
    problem = Problem(prior or BetaBernoulli(*np.array(POSTERIORS, float).T), needs=policy.needs)
    keys = Keys(1)
    view = View(t, keys, problem, process.round(t, keys))
    return policy.propose(policy.init(problem, keys), view)[0]


@pytest.mark.parametrize(
    ("name", "statistic", "told"),
    [("ids", "h", False), ("v-ids", "v", False), ("v-ids-n", "v", True), ("ids-n", "h", True)],
)
def test_the_play_has_the_least_ratio_of_exact_statistics(
    name: str, statistic: str, told: bool
) -> None:
    """By search over pairs of arms, with alpha, Delta, h and v in rational numbers."""
    matrix = directed_weights()
    exact = exact_beliefs(POSTERIORS)
    informs = getattr(exact, statistic)
    gain = matrix @ informs if told else informs
    pi = proposal(name, matrix)
    least = p1_bruteforce(exact.delta, gain)
    assert (pi @ exact.delta) ** 2 / (pi @ gain) == pytest.approx(least, rel=1e-9)


def test_variances_lead_to_other_plays_than_information() -> None:
    for by_v, by_h in (("v-ids", "ids"), ("v-ids-n", "ids-n")):
        play = proposal(by_v, directed_weights())
        assert np.abs(play - proposal(by_h, directed_weights())).max() > 0.05


def test_ts_plays_the_exact_probabilities() -> None:
    exact = exact_beliefs(POSTERIORS).alpha
    assert proposal("ts", np.ones((4, 4))) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("t", [2, 5, 30, 1000, 10**6])
def test_bayes_ucb_plays_the_largest_quantile(t: int) -> None:
    """At the quantile of the arm played the others' distribution functions are above 1 - 1/t."""
    pi = proposal("bayes-ucb", np.eye(4), t)
    (best,) = np.flatnonzero(pi)
    assert pi[best] == 1.0
    a, b = np.array(POSTERIORS, float).T
    prior = BetaBernoulli(a, b)
    top = prior.quantile(prior.init(1), 1.0 - 1.0 / t)[0, best]
    chance = betainc(a, b, top)
    assert chance[best] == pytest.approx(1.0 - 1.0 / t, rel=1e-12)
    assert (np.delete(chance, best) > chance[best]).all()


def test_bayes_ucb_turns_from_the_best_known_to_the_unknown() -> None:
    """Its level rises with the rounds: the median first, then far into the tails."""
    arms = [(900.0, 500.0), (2.0, 2.0), (40.0, 30.0)]
    prior = BetaBernoulli(*np.array(arms).T)
    early, late = (proposal("bayes-ucb", np.eye(3), t, prior) for t in (2, 100))
    assert early.tolist() == [1.0, 0.0, 0.0]
    assert late.tolist() == [0.0, 1.0, 0.0]


def test_bayes_ucb_begins_evenly_whatever_the_prior() -> None:
    """1 - 1/t is 0 in round 1, below which no mean lies."""
    assert proposal("bayes-ucb", np.eye(4), 1).tolist() == [0.25] * 4


def test_equal_indices_share_the_play() -> None:
    prior = BetaBernoulli([2, 1, 4, 1], [4, 2, 8, 3])
    greedy = proposal("greedy", np.eye(4), 7, prior)
    assert greedy.tolist() == [1 / 3, 1 / 3, 1 / 3, 0.0]  # equal means, of different posteriors
    equal = BetaBernoulli([3, 5, 3, 3], [2, 9, 2, 2])
    assert proposal("bayes-ucb", np.eye(4), 7, equal).tolist() == [1 / 3, 0.0, 1 / 3, 1 / 3]


def test_greedy_plays_the_largest_mean_and_learns_from_all() -> None:
    agent = Agent("greedy", arms=["ann", "bob", "eve"], graph="complete", seed=1)
    for rewards in ((1, 0, 1), (1, 0, 0)):
        agent.observe(agent.decide(), dict(zip(["ann", "bob", "eve"], rewards, strict=True)))
    assert agent.decide().pi == {"ann": 1.0, "bob": 0.0, "eve": 0.0}
