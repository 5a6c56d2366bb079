"""Tests of policies/wrappers.py: the mixture, what it declares, and what it learns."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from helpers.bad_input import refused
from helpers.cases import each
from helpers.made_up_results import same

from graphbandits import Agent, load_plugin, simulate
from graphbandits.graphs import as_process
from graphbandits.policies import as_policy
from graphbandits.policies.information_directed import IDSN
from graphbandits.policies.wrappers import ExplorationFloor
from graphbandits.registry import text_of
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.plan import Plan, describe_policy

PRIOR = [(1, 9), (9, 1), (3, 5), (2, 2)]
GRAPH = "edges(1>2 1>3 3>4)"


def pi_of(policy: str, **options: object) -> dict[object, float]:
    pi = Agent(policy, 4, GRAPH, prior=PRIOR, seed=1).decide(**options).pi  # type: ignore[call-overload]
    assert pi is not None
    return dict(pi)


def test_mass_is_spread_over_all_arms() -> None:
    plain, mixed = pi_of("ids-n"), pi_of("floor(policy=ids-n, mass=0.2)")
    assert mixed == pytest.approx({arm: 0.8 * plain.get(arm, 0.0) + 0.05 for arm in range(4)})


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


def test_policy_learns_as_without_a_floor() -> None:
    """The state depends on what was observed, not on the floor."""
    states = []
    for policy in ("ids-n", "floor(policy=ids-n, mass=0.5)"):
        agent = Agent(policy, 4, GRAPH, prior=PRIOR, seed=1)
        for _ in range(5):
            agent.observe(agent.decide(among=[0]), {0: 0, 1: 1, 2: 1})
        states.append(agent.state)
    assert states[0] == states[1]


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


def test_batches_of_a_floored_agent_differ() -> None:
    agent = Agent("greedy", 3, prior=[(9, 1), (1, 9), (1, 9)], seed=3, floor=0.9)
    assert {decision.arm for decision in agent.decide(40)} == {0, 1, 2}
    assert agent.decide(2, distinct=True, pending="expected")[1].probability is not None


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
