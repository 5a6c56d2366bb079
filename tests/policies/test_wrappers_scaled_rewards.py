"""Tests of policies/wrappers.py: rewards of any bounded interval, or of known noise."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.other_rewards import (
    GaussianWorld,
    OtherSupport,
    TwoNormals,
    TwoValued,
    TwoValuedWorld,
    eighths,
)

from graphbandits import Agent, Bernoulli, BetaBernoulli, simulate
from graphbandits._types import Floats, State
from graphbandits.errors import InputError, NeedsError
from graphbandits.graphs import Feedback, as_process
from graphbandits.policies import IndexPolicy, Policy, Problem, View, as_policy
from graphbandits.policies.index import counts, means
from graphbandits.posteriors import Observations
from graphbandits.posteriors.base import BINARY, COUNT, REAL, Support, interval
from graphbandits.registry import text_of
from graphbandits.rng import Keys
from graphbandits.simulation.loop import run_block
from graphbandits.simulation.plan import Plan
from graphbandits.worlds import World

NOISE_SCALED = ["ucb1", "ucb-n", "ucb-maxn", "moss"]
RANGE_SCALED = ["ucb-tuned", "kl-ucb", "ucb-lp", "exp3-set", "exp3-ix", "exp3-g", "exp3-res"]
SCALED = NOISE_SCALED + RANGE_SCALED
#: Policies that use the posterior, or only means: all rewards are accepted.
ANY_REWARD = ["ts-n", "ts", "ids-n", "ids", "v-ids-n", "v-ids", "bayes-ucb", "greedy", "uniform"]


class Plays:
    """Records pi of every round."""

    def __init__(self) -> None:
        self.pi: list[Floats] = []

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        self.pi.append(pi)

    def observed(self, t: int, seen: Observations) -> None:
        pass


def plays(policy: str | Policy, world: World, horizon: int = 80, graph: str = "paper") -> Floats:
    """Return pi of every round of every trial."""
    monitor, process = Plays(), as_process(graph, world.arms)
    last = np.array([horizon])
    run_block(as_policy(policy), world, process, horizon, Keys(4, 2, 6), last, monitor=monitor)
    return np.array(monitor.pi)


@each("text", SCALED)
def test_policy_plays_the_affine_image_of_a_problem_as_the_problem(text: str) -> None:
    """Rewards 1 + 4 y with the support [1, 5], or a stated range, give the pi of rewards y."""
    unit = plays(text, eighths(0.0, 1.0, 5))
    assert len(np.unique(unit.argmax(axis=2))) > 1  # the test has something to compare
    np.testing.assert_array_equal(plays(text, eighths(1.0, 4.0, 5)), unit)
    np.testing.assert_array_equal(plays(text, eighths(-64.0, 128.0, 5)), unit)
    stated = f"{text}(reward_range=[1, 5])"
    np.testing.assert_array_equal(plays(stated, eighths(1.0, 4.0, 5, REAL)), unit)


@each("text", SCALED)
def test_rewards_of_any_two_values_play_as_0_and_1(text: str) -> None:
    a, b = np.array([1.0, 2.0, 1.0, 3.0, 1.0]), np.array([1.0, 1.0, 2.0, 3.0, 4.0])
    unit = plays(text, Bernoulli(BetaBernoulli(a, b)))
    for low, high in ((0.1, 0.7), (-3.3, 1e9)):
        world = TwoValuedWorld(TwoValued(a, b, low=low, high=high))
        np.testing.assert_array_equal(plays(text, world), unit)


@each("text", ANY_REWARD)
def test_bayesian_policies_play_the_affine_image_of_a_problem_as_the_problem(text: str) -> None:
    """The regret is multiplied by the width; information stays the same."""
    a, b = np.array([1.0, 2.0, 1.0, 3.0, 1.0]), np.array([1.0, 1.0, 2.0, 3.0, 4.0])
    unit = plays(text, Bernoulli(BetaBernoulli(a, b)))
    wide = plays(text, TwoValuedWorld(TwoValued(a, b, low=-2.0, high=2.0)))
    np.testing.assert_allclose(wide, unit, atol=1e-12)


@each("text", NOISE_SCALED)
def test_noise_of_one_half_plays_as_rewards_in_the_unit_interval(text: str) -> None:
    """sigma = 1/2 is the constant of [0, 1] (Hoeffding); rewards 8 y have the constant 4."""
    unit = plays(text, eighths(0.0, 1.0, 5))
    np.testing.assert_array_equal(plays(f"{text}(noise=0.5)", eighths(0.0, 1.0, 5, REAL)), unit)
    np.testing.assert_array_equal(plays(f"{text}(noise=4)", eighths(0.0, 8.0, 5, REAL)), unit)


def test_index_with_noise_matches_formula() -> None:
    """X_i + 2 sigma sqrt(2 ln t / N_i)."""
    policy: Any = as_policy("ucb-n(noise=3)")
    problem = Problem(OtherSupport.of(2), None, policy.needs)
    state: State = {"count": np.array([[4.0, 9.0]]), "total": np.array([[2.0, -6.0]]) / 6.0}
    view = View(7, Keys(1), problem, as_process("empty", 2).feedback)
    bonus = 6.0 * np.sqrt(2.0 * np.log(7) / np.array([[4.0, 9.0]]))
    wanted = np.array([[2.0, -6.0]]) / np.array([[4.0, 9.0]]) + bonus
    np.testing.assert_allclose(6.0 * policy.indices(state, view), wanted, rtol=1e-14)


def test_wider_range_than_the_rewards_is_accepted() -> None:
    """A range [-1, 3] shrinks 0 and 1 to [1/4, 1/2]: the policy explores more."""
    world = Bernoulli(BetaBernoulli.of(5), fixed=[0.1, 0.2, 0.3, 0.4, 0.9])
    default, wide = (
        simulate(text, world, "empty", horizon=400, trials=20, seed=1, progress=False)[text].mean
        for text in ("ucb1", "ucb1(reward_range=[-1, 3])")
    )
    assert wide[-1] > default[-1] + 5.0


@each("text", SCALED)
def test_unbounded_rewards_are_refused_in_one_sentence(text: str) -> None:
    world = GaussianWorld(TwoNormals())
    with refuses(NeedsError) as caught:
        Plan.of(text, world, "complete", horizon=10, trials=2)
    message = str(caught.value)
    assert message.startswith(f"policy '{text}' needs rewards in a bounded interval, but these ")
    assert f"{text}(reward_range=[0, 5])" in message
    assert (f"{text}(noise=1)" in message) == (text in NOISE_SCALED)
    assert "\n" not in message
    with pytest.raises(NeedsError, match=re.escape(message)):
        Agent(text, 2, "complete", prior=world.prior, horizon=10, seed=1)
    suitable = message.split("suitable policies: ")[1].partition(" and ")[0].split(", ")
    assert not set(suitable) & set(SCALED)
    simulate(suitable, world, "complete", horizon=3, trials=2, progress=False)


def test_counts_are_refused_without_a_range() -> None:
    posterior = OtherSupport(np.ones(2), np.ones(2), rewards=COUNT)
    with refuses(NeedsError, match="policy 'ucb1' needs rewards in a bounded interval"):
        Agent("ucb1", prior=posterior, graph="empty", arms=2, seed=1)
    with refuses(NeedsError, match="policy 'ucb1' needs rewards in a bounded interval"):
        unbounded = OtherSupport(np.ones(2), np.ones(2), rewards=Support(-1.0, np.inf))
        Agent("ucb1", prior=unbounded, graph="empty", arms=2, seed=1)
    Agent("ucb1(reward_range=[0, 100])", prior=posterior, graph="empty", arms=2, seed=1)


def test_run_without_a_plan_is_refused_as_well() -> None:
    """``run_block`` does not check the problem, but the policy has no scale."""
    with refuses(NeedsError, match="policy 'exp3-ix' needs rewards in a bounded interval"):
        plays("exp3-ix", GaussianWorld(TwoNormals()), graph="complete")


@each("text", ["ucb1", "ucb-tuned", "ucb-lp", "exp3-g", "exp3-res"])
def test_reward_outside_the_stated_range_is_an_error(text: str) -> None:
    agent = Agent(
        f"{text}(reward_range=[0, 5])", 2, "complete", prior=TwoNormals(), horizon=50, seed=1
    )
    first = agent.decide()
    with refuses(InputError) as caught:
        agent.observe(first, {first.arm: 5.5})
    assert "5.5" in str(caught.value)
    assert "[0, 5]" in str(caught.value)
    assert agent.pending == (first.id,)  # the decision stays open
    with refuses(InputError):
        agent.observe(first, {first.arm: -0.25})
    agent.observe(first, {first.arm: 5.0})


def test_rewards_outside_the_declared_support_are_an_error() -> None:
    """The engine checks rewards of worlds; the policy does not rely on it."""
    policy: Any = as_policy("ucb-n")
    posterior = OtherSupport(np.ones(3), np.ones(3), rewards=interval(0, 1))
    seen = Observations(np.array([0, 0]), np.array([0, 2]), np.array([0.5, 1.25]))
    with refuses(
        InputError, match=r"policy 'ucb-n': the reward 1\.25 is outside the range \[0, 1\]"
    ):
        policy.scaled(seen, Problem(posterior, None, policy.needs))


def test_range_that_does_not_include_the_support_is_refused_before_the_run() -> None:
    with refuses(
        InputError, match=r"ucb1: reward_range=\[0\.5, 1\] does not include all rewards of the"
    ):
        Plan.of("ucb1(reward_range=[0.5, 1])", graph="paper", horizon=5, trials=1)
    with refuses(
        InputError, match=r"exp3-ix: reward_range=\[0, 0\.5\] does not include all rewards of"
    ):
        Agent("exp3-ix(reward_range=[0, 0.5])", arms=2, seed=1)
    world = eighths(1.0, 4.0, 5)
    with refuses(InputError):
        Plan.of("kl-ucb(reward_range=[0, 4])", world, "paper", horizon=5, trials=1)
    Plan.of("kl-ucb(reward_range=[0, 6])", world, "paper", horizon=5, trials=1)


@each(
    "text",
    [
        "ucb1(reward_range=5)",
        "ucb1(reward_range=[5, 0])",
        "ucb1(reward_range=[0, 0])",
        "ucb1(reward_range=[0, 1, 2])",
        "exp3-g(reward_range=[0, inf])",
        "exp3-set(reward_range=[nan, 1])",
        "kl-ucb(reward_range=[a, b])",
        "moss(reward_range=[-1e308, 1e308])",
        "moss(noise=0)",
        "ucb-n(noise=x)",
        "ucb-n(noise=1, reward_range=[0, 1])",
        "kl-ucb(noise=1)",
    ],
)
def test_invalid_scales_are_refused(text: str) -> None:
    with refuses(InputError):
        as_policy(text)


def test_text_forms_and_positional_parameters_are_unchanged() -> None:
    for name in SCALED:
        assert text_of(as_policy(name)) == name
        stated = f"{name}(reward_range=[0, 5])"
        assert text_of(as_policy(stated)) == stated
        assert as_policy(stated).reward_range == (0, 5)  # type: ignore[attr-defined]
    assert as_policy("exp3-set(0.3)") == as_policy("exp3-set(eta=0.3)")
    kind: Any = type(as_policy("exp3-g"))
    assert kind(0.1, 0.3) == as_policy("exp3-g(gamma=0.1, eta=0.3)")
    with refuses(InputError, match=r"cannot read the parameter of policy 'ucb1\(3\)'"):
        as_policy("ucb1(3)")


@each("text", ["ucb1", "ucb-tuned", "kl-ucb", "ucb1(noise=2)"])
def test_saved_totals_are_checked_against_the_scale(text: str) -> None:
    policy: Any = as_policy(text)
    posterior = OtherSupport(np.ones(2), np.ones(2), rewards=interval(2, 6))
    problem = Problem(posterior, None, policy.needs)
    state = policy.init(problem, Keys(1))
    seen = Observations(np.zeros(4, np.int64), np.arange(4) % 2, np.array([2.0, 6.0, 2.0, 6.0]))
    state["count"][0] = 2.0
    state["total"][0] = policy.scaled(seen, problem).reward[:2] * 2.0
    policy.check_state(state, problem)
    for change in (1.1, -1.1):
        wrong = {**state, "total": state["total"] + change}
        with refuses(InputError):
            policy.check_state(wrong, problem)


def test_totals_of_raw_rewards_may_have_rounding_errors() -> None:
    """eps-greedy-lp adds up rewards without a scale: ten rewards 0.1 are not exactly 1."""
    policy: Any = as_policy("eps-greedy-lp")
    posterior = OtherSupport(np.ones(1), np.ones(1), rewards=interval(0.1, 0.2))
    problem = Problem(posterior, None, policy.needs)
    state = {"count": np.array([[10.0]]), "total": np.array([[sum([0.1] * 10)]])}
    assert state["total"][0, 0] < 1.0
    policy.check_state(state, problem)


@dataclass(frozen=True)
class NeedsBinary(IndexPolicy):
    """A plug-in for 0 and 1 only."""

    accepts: ClassVar[Any] = BINARY

    def index(self, state: State, view: View) -> Floats:
        return means(state) / counts(state)


@dataclass(frozen=True)
class Undeclared(IndexPolicy):
    """A plug-in that does not declare the rewards that it accepts."""

    def index(self, state: State, view: View) -> Floats:
        return means(state)


@dataclass(frozen=True)
class WrongDeclaration(NeedsBinary):
    """A plug-in with a declaration that is not a support."""

    accepts: ClassVar[Any] = (0, 1)


def test_plugins_declare_the_rewards_that_they_accept() -> None:
    world = eighths(0.0, 1.0, 3)
    with refuses(NeedsError, match="policy 'NeedsBinary' needs each reward to be 0 or 1"):
        Plan.of(NeedsBinary(), world, "empty", horizon=3, trials=1)
    Plan.of(NeedsBinary(), graph="empty", arms=3, horizon=3, trials=1)
    with refuses(InputError, match="policy 'WrongDeclaration'"):
        as_policy(WrongDeclaration())
    for accepted in (world, GaussianWorld(TwoNormals())):
        simulate(Undeclared(), accepted, "empty", horizon=3, trials=2, progress=False)
