"""Tests of policies/wrappers.py: exploration floors and scaled rewards."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.bad_input import refused, refuses
from helpers.cases import each
from helpers.made_up_results import same
from helpers.other_rewards import (
    GaussianWorld,
    OtherSupport,
    TwoNormals,
    TwoValued,
    TwoValuedWorld,
    eighths,
)

from graphbandits import Agent, Bernoulli, BetaBernoulli, load_plugin, simulate
from graphbandits._types import Floats, State
from graphbandits.errors import InputError, NeedsError
from graphbandits.graphs import Feedback, as_process
from graphbandits.policies import IndexPolicy, Policy, Problem, View, as_policy
from graphbandits.policies.index import counts, means
from graphbandits.policies.information_directed import IDSN
from graphbandits.policies.wrappers import ExplorationFloor
from graphbandits.posteriors import Observations
from graphbandits.posteriors.base import BINARY, COUNT, REAL, Support, interval
from graphbandits.registry import text_of
from graphbandits.rng import Keys
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.loop import run_block
from graphbandits.simulation.plan import Plan, describe_policy
from graphbandits.worlds import World

PRIOR = [(1, 9), (9, 1), (3, 5), (2, 2)]
GRAPH = "edges(1>2 1>3 3>4)"


def pi_of(policy: str, **options: object) -> dict[object, float]:
    pi = Agent(policy, 4, GRAPH, prior=PRIOR, seed=1).decide(**options).pi  # type: ignore[call-overload]
    assert pi is not None
    return dict(pi)


def test_mass_is_spread_over_eligible_arms() -> None:
    among = [0, 2, 3]
    plain = pi_of("ids-n", among=among)
    mixed = pi_of("floor(policy=ids-n, mass=0.3)", among=among)
    assert mixed == pytest.approx({arm: 0.7 * plain.get(arm, 0.0) + 0.1 for arm in among})


def test_mass_is_spread_over_a_dominating_set() -> None:
    """Arm 1 reveals 1, 2 and 3, and arm 3 reveals 3 and 4: these two observe every arm."""
    plain = pi_of("ids-n")
    mixed = pi_of("floor(policy=ids-n, mass=0.2, over=dominating-set)")
    assert mixed == pytest.approx(
        {
            arm: 0.8 * plain.get(arm, 0.0) + (0.1 if arm in (0, 2) else 0.0)
            for arm in plain.keys() | {0, 2}
        }
    )


@each("over", ["arms", "dominating-set"])
@each("graph", ["random(r=0.3)", "revealed-er(p=0.3, directed=true)", "paper"])
def test_every_arm_can_be_observed(graph: str, over: str) -> None:
    floor = as_policy(f"floor(policy=greedy, mass=0.1, over={over})")
    least = []

    class Least:
        def decided(self, t: int, graph: object, pi: np.ndarray) -> None:
            least.append(graph.observed(pi).min())  # type: ignore[attr-defined]

    simulate(floor, graph=graph, arms=5, horizon=20, trials=4, monitor=lambda *_: Least())
    assert min(least) > 0.1 / 5 * 0.29


def test_exp3_divides_by_the_probability_of_the_mixture() -> None:
    """Without edges, a loss of 1 that was seen counts 1/pi, with the pi of the mixture."""
    agent = Agent("floor(policy=exp3-set(eta=0.7), mass=0.25)", 3, "empty", seed=1)
    lost = dict.fromkeys(range(3), 0.0)
    for _ in range(6):
        decision = agent.decide()
        agent.observe(decision, {decision.arm: 0})
        lost[decision.arm] += 1.0 / decision.probability  # type: ignore[operator]
    assert agent.state["loss"] == pytest.approx(lost, rel=1e-12)
    assert len(set(lost.values())) == 3


def test_floor_declares_what_its_policy_declares() -> None:
    floor = ExplorationFloor(IDSN(gain="joint"), 0.1)
    assert floor == as_policy("floor(policy=ids-n(gain=joint), mass=0.1)")
    assert text_of(floor) == "floor(policy='ids-n(gain=joint)', mass=0.1)"
    assert as_policy(text_of(floor)) == floor
    assert text_of(as_policy("floor")) == "floor(policy=ids-n, mass=0.02)"
    for again in (copy.deepcopy(floor), pickle.loads(pickle.dumps(floor))):
        assert again == floor
        assert again.inner == IDSN(gain="joint")
    assert floor.needs == IDSN.needs
    assert as_policy("floor(policy=ts-n)").needs.graph == "never"
    assert as_policy("floor(policy=ts-n, over=dominating-set)").needs.graph == "before"
    assert as_policy("floor(policy=ts-n)").incremental is True
    assert not getattr(as_policy("floor(policy=exp3-ix)"), "incremental", False)
    assert not getattr(as_policy("floor(policy=ucb-lp)"), "restrictable", True)


def test_source_of_the_policy_inside_counts(tmp_path) -> None:
    """Results of a floor depend on the source of its policy, also if that is in a file."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "from graphbandits import register\n"
        "from graphbandits.policies.thompson import TSN\n"
        "@register('policy', 'mine-inside')\n"
        "@dataclass(frozen=True)\n"
        "class Mine(TSN):\n"
        "    'Thompson sampling.'\n"
    )
    load_plugin(file)
    mine = as_policy("floor(policy=mine-inside)")
    assert describe_policy(mine, 3, 5)["plugin"] == "mine.py"
    plan = Plan.of(mine, graph="paper", horizon=5, trials=2)
    assert len(series_of(plan, text_of(mine)).facts["code"]) == 1
    results = simulate(mine, graph="paper", horizon=5, trials=4, workers=2, parallel="processes")
    again = simulate(mine, graph="paper", horizon=5, trials=4)
    same(results, again)


def test_agent_with_a_floor(tmp_path) -> None:
    place = tmp_path / "a.db"
    with Agent("ids-n", 4, GRAPH, prior=PRIOR, seed=1, floor=0.1, store=place) as agent:
        first = agent.decide()
        assert text_of(agent.policy) == "floor(policy=ids-n, mass=0.1)"
    with Agent(store=place) as agent:
        assert agent.decision(first.id).pi == first.pi
        assert len(first.pi or {}) == 4
        agent.set_policy("floor(policy=ts-n, mass=0.2)")
        agent.observe(first, dict.fromkeys(first.reveals, 1))
        agent.verify()
    refused(lambda: Agent("ids-n", 4, GRAPH, prior=PRIOR, store=place), "contradicts")


@each(
    "arguments",
    [
        {"policy": "ids-n", "floor": 0},
        {"policy": "ids-n", "floor": 1},
        {"policy": "ids-n", "floor": float("nan")},
        {"policy": "ids-n", "floor": "much"},
        {"policy": "ids-n", "floor": 0.1, "floor_over": "dominating"},
        {"policy": "ids-n", "floor_over": "dominating-set"},
        {"policy": "ts-n-sampled", "floor": 0.1},
        {"policy": "floor(policy=ids-n)", "floor": 0.1},
        {"policy": "floor(policy=ids-m)"},
        {"policy": None, "floor": 0.1},
    ],
)
def test_invalid_floor_is_refused(arguments) -> None:
    refused(lambda: Agent(**arguments, arms=3))


def test_dominating_set_needs_the_graph_before() -> None:
    graph = as_process("random(r=0.5, graph_known=after)", 4)
    policy = "floor(policy=ts-n, over=dominating-set)"
    refused(lambda: simulate(policy, graph=graph, horizon=5, trials=2), "before the decision")


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


@each("text", SCALED)
def test_unbounded_rewards_are_refused_in_one_sentence(text: str) -> None:
    world = GaussianWorld(TwoNormals())
    with refuses(NeedsError) as caught:
        Plan.of(text, world, "complete", horizon=10, trials=2)
    message = str(caught.value)
    assert message.startswith(f"policy '{text}' needs rewards in a bounded interval, but ")
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
    with refuses(NeedsError, match="ucb1.* in a bounded interval"):
        Agent("ucb1", prior=posterior, graph="empty", arms=2, seed=1)
    with refuses(NeedsError, match="ucb1.* in a bounded interval"):
        unbounded = OtherSupport(np.ones(2), np.ones(2), rewards=Support(-1.0, np.inf))
        Agent("ucb1", prior=unbounded, graph="empty", arms=2, seed=1)
    Agent("ucb1(reward_range=[0, 100])", prior=posterior, graph="empty", arms=2, seed=1)


def test_run_without_a_plan_is_refused_as_well() -> None:
    """``run_block`` does not check the problem, but the policy has no scale."""
    with refuses(NeedsError, match="exp3-ix.* in a bounded interval"):
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
