"""Tests of policies/bayesian.py: Thompson sampling and information-directed sampling."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.agents import whole_pi
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.joint_gain_cases import JOINT_POSTERIORS, state_of
from helpers.joint_gain_oracle import exact_gain
from helpers.oracles import exact_beliefs, p1_bruteforce
from helpers.other_rewards import GaussianWorld, TwoNormals
from helpers.proposals import POSTERIORS, proposal
from helpers.recorded_runs import Recorder

from graphbandits import Agent, BetaBernoulli, simulate
from graphbandits._types import State
from graphbandits.errors import InputError
from graphbandits.graphs import as_process, from_matrix
from graphbandits.graphs.properties import GraphInfo
from graphbandits.policies import Event, Problem, as_policy
from graphbandits.posteriors import Beliefs, Observations
from graphbandits.rng import Keys
from graphbandits.rules import ids_lp, ids_n, idsn_lp
from graphbandits.simulation.loop import update_state
from graphbandits.testing.scenarios import (
    History,
    asymmetric_prior,
    directed_ranks,
    directed_weights,
    replay,
)

#: A policy without graph, and the policy with graph that equals it on the empty graph.
SAME_WITHOUT_EDGES = [("ts", "ts-n"), ("ids", "ids-n"), ("v-ids", "v-ids-n")]
WITHOUT_GRAPH = ["ts", "ids", "v-ids", "bayes-ucb"]
MATRICES = {
    "directed, probabilities": directed_weights(),
    "directed ranks": directed_ranks(),
    "complete": np.ones((4, 4)),
    "empty": np.eye(4),
}
PRIORS = {"asymmetric": asymmetric_prior(4), "uniform": BetaBernoulli.of(4)}


def without_side_observations(script: History) -> History:
    """The same history with nothing seen but the arms played."""
    arms = np.arange(script.seen.shape[2])
    return replace(script, seen=(script.action[..., None] == arms).astype(np.int64))


@each("prior", PRIORS)
@each("graph", MATRICES)
@each(("without", "with_graph"), SAME_WITHOUT_EDGES)
def test_policies_without_graph_match_graph_policies_on_empty_graph(
    without: str, with_graph: str, graph: str, prior: str
) -> None:
    """Given the same plays, bit for bit."""
    matrix = MATRICES[graph]
    script = History.of(matrix, trials=20, rounds=60, alike=False)
    here = replay(as_policy(without), script, from_matrix(matrix), PRIORS[prior])
    there = replay(
        as_policy(with_graph),
        without_side_observations(script),
        from_matrix(np.eye(4)),
        PRIORS[prior],
    )
    assert np.array_equal(here, there)


@each("name", WITHOUT_GRAPH)
def test_policies_without_graph_ignore_side_observations(name: str) -> None:
    """Neither the observed neighbours nor their rewards matter."""
    matrix, policy = directed_weights(), as_policy(name)
    script = History.of(matrix, trials=20, rounds=60, alike=False)
    assert (script.seen != without_side_observations(script).seen).any()
    own = without_side_observations(script).seen.astype(bool)
    other = replace(script, reward=np.where(own, script.reward, 1 - script.reward))
    process, prior = from_matrix(matrix), asymmetric_prior(4)
    here = replay(policy, script, process, prior)
    for history in (without_side_observations(script), other):
        assert np.array_equal(here, replay(policy, history, process, prior))


@each("name", ["greedy", "v-ids-n"])
def test_greedy_and_v_ids_n_use_side_observations(name: str) -> None:
    matrix, policy = directed_weights(), as_policy(name)
    script = History.of(matrix, trials=20, rounds=60, alike=False)
    process, prior = from_matrix(matrix), asymmetric_prior(4)
    here = replay(policy, script, process, prior)
    assert not np.array_equal(
        here, replay(policy, without_side_observations(script), process, prior)
    )


@each(
    ("name", "statistic", "use_graph"),
    [("ids", "h", False), ("v-ids", "v", False), ("v-ids-n", "v", True), ("ids-n", "h", True)],
)
def test_play_minimizes_ratio_of_exact_statistics(
    name: str, statistic: str, use_graph: bool
) -> None:
    """By search over pairs of arms, with alpha, Delta, h and v in rational numbers."""
    matrix = directed_weights()
    exact = exact_beliefs(POSTERIORS)
    informs = getattr(exact, statistic)
    gain = matrix @ informs if use_graph else informs
    pi = proposal(name, matrix)
    least = p1_bruteforce(exact.delta, gain)
    assert (pi @ exact.delta) ** 2 / (pi @ gain) == pytest.approx(least, rel=1e-9)


def test_ts_plays_exact_alpha() -> None:
    exact = exact_beliefs(POSTERIORS).alpha
    assert proposal("ts", np.ones((4, 4))) == pytest.approx(exact, abs=1e-10)


@each("params", JOINT_POSTERIORS[:2])
@each(("name", "rule"), [("ids-n", ids_n), ("idsn-lp", idsn_lp), ("ids-lp", ids_lp)])
def test_policies_with_joint_gain_use_exact_gain(name: str, rule: Any, params: Any) -> None:
    """The rule applied to g of the oracle, on a graph whose plays reveal two arms."""
    arms = len(params)
    graph = as_process("path(directed=true)", arms)
    beliefs = BetaBernoulli.of(arms).beliefs(state_of(params), "strict")
    truth = exact_gain(params, graph.feedback.reach(np.arange(arms)))
    expected = rule(beliefs.alpha, beliefs.delta, beliefs.h, truth[None])[0]
    agent = Agent(f"{name}(gain=joint)", arms=arms, graph=graph, prior=params, seed=1)
    found = whole_pi(agent, agent.decide())
    assert found == pytest.approx(expected.tolist(), abs=1e-9)


@each("wrong", ["exact", "1", "true", "none"])
def test_wrong_gain_is_rejected(wrong: str) -> None:
    with refuses(InputError):
        as_policy(f"idsn-lp(gain={wrong})")


@dataclass(frozen=True, eq=False)
class CountsInformation(TwoNormals):
    """Counts how often h was computed."""

    computed: list[bool] = field(default_factory=list)

    def beliefs(self, state: State, variance: bool = False, information: bool = True) -> Beliefs:
        self.computed.append(information)
        return super().beliefs(state, variance, information)


@each(
    ("text", "needed"),
    [
        ("ts-n", False),
        ("ts", False),
        ("ts-maxn", False),
        ("v-ids", False),
        ("v-ids-n", False),
        ("ids", True),
        ("ids-n", True),
        ("ids-lp", True),
        ("idsn-lp", True),
    ],
)
def test_information_is_computed_only_if_the_rule_uses_it(text: str, needed: bool) -> None:
    posterior = CountsInformation()
    found = simulate(
        text, GaussianWorld(posterior), "complete", horizon=5, trials=3, progress=False
    )
    assert posterior.computed == [needed] * 5
    whole = GaussianWorld(TwoNormals())
    again = simulate(text, whole, "complete", horizon=5, trials=3, progress=False)
    np.testing.assert_array_equal(found[text].regret, again[text].regret)


@each("text", ["ts-n", "ts", "ids-n", "greedy", "bayes-ucb", "ts-n-sampled"])
def test_posterior_policies_pass_weights_to_the_posterior(text: str) -> None:
    def learned(posterior: Any, reward: list[float], weight: list[float] | None) -> State:
        policy, process = as_policy(text), as_process("empty", 2)
        problem = Problem(posterior, None, policy.needs, GraphInfo(process))
        zeros = np.zeros(len(reward), np.int64)
        weights = None if weight is None else np.array(weight)
        seen = Observations(zeros, zeros, np.array(reward), weights)
        event = Event(
            1, Keys(1), problem, process.feedback, np.array([[1.0, 0.0]]), zeros[:1], seen
        )
        return update_state(policy, policy.init(problem, Keys(1)), event)

    one = learned(BetaBernoulli.of(2), [0.25], [4.0])
    many = learned(BetaBernoulli.of(2), [0.0, 1.0, 0.0, 0.0], None)
    for name in ("a", "b"):
        np.testing.assert_array_equal(one[name], many[name])
    gaussian = learned(TwoNormals(), [0.5], [3.0])
    assert gaussian["precision"][0].tolist() == [4.0, 1.0]

    class Unweighted(BetaBernoulli):
        weighted: ClassVar[bool] = False

    with refuses(InputError, match="'Unweighted' cannot use an observation of weight 4"):
        learned(Unweighted.of(2), [0.25], [4.0])


def test_plugin_without_declaration_refuses_weights() -> None:
    """A policy that does not declare ``weighted`` would ignore the weights."""
    policy, process = Recorder(as_policy("ts-n"), as_policy("ts-n").needs), as_process("empty", 2)
    problem = Problem(BetaBernoulli.of(2), None, policy.needs, GraphInfo(process))
    zero = np.zeros(1, np.int64)
    seen = Observations(zero, zero, np.ones(1), np.array([2.0]))
    event = Event(1, Keys(1), problem, process.feedback, np.array([[1.0, 0.0]]), zero, seen)
    with refuses(InputError, match="'Recorder' cannot use an observation of weight 2"):
        update_state(policy, policy.init(problem, Keys(1)), event)
    assert policy.events == []
