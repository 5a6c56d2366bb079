"""What the baselines promise besides their formulas: what they ignore, refuse, and solve once."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import rel_entr

from graphbandits import Agent, simulate
from graphbandits.errors import InputError, NeedsError
from graphbandits.graphs import Process, RandomFeedback, RevealedErdosRenyi, dominating_sets
from graphbandits.graphs.prospect import Prospect
from graphbandits.policies import Needs
from graphbandits.policies.kl_kernels import upper_bound
from graphbandits.policies.ucb_lp import last_phase, observations
from graphbandits.types import Floats

WITHOUT_GRAPH = ["bayes-ucb", "ids", "kl-ucb", "moss", "ts", "ucb-tuned", "ucb1", "v-ids"]
DIRECTED = "revealed-er(p=0.5, directed=true)"


@pytest.mark.parametrize("policy", WITHOUT_GRAPH)
def test_policies_without_the_graph_learn_from_their_plays_only(policy: str) -> None:
    """Outcomes are functions of trial, round and arm: what is seen beside must not matter."""
    graphs = ("empty", "complete", "star(direction=out)", DIRECTED, "random(r=0.6)")
    regrets = [
        simulate(policy, graph=graph, arms=4, horizon=60, trials=6, seed=3, progress=False)[
            policy
        ].regret
        for graph in graphs
    ]
    for regret in regrets[1:]:
        np.testing.assert_array_equal(regret, regrets[0])


@pytest.mark.parametrize("policy", ["ucb-n", "ts-n", "greedy", "exp3-res", "exp3-ix"])
def test_policies_that_learn_from_side_observations_do(policy: str) -> None:
    """The mutant of the test above: it would notice."""
    here, there = (
        simulate(policy, graph=graph, arms=4, horizon=60, trials=6, seed=3, progress=False)
        for graph in ("empty", "complete")
    )
    assert (here[policy].final != there[policy].final).any()


@pytest.mark.parametrize(
    ("policy", "graph", "why"),
    [
        ("ucb-maxn", "random(r=0.25)", "needs a graph with entries 0 and 1 only"),
        ("ts-maxn", "random(r=0.25)", "needs a graph with entries 0 and 1 only"),
        ("eps-greedy-lp", "random(r=uniform)", "needs a graph with entries 0 and 1 only"),
        ("ucb-lp", "random(r=0.25)", "needs a graph with entries 0 and 1 only"),
        ("ucb-lp", "revealed-er", "needs a graph that is the same in every round"),
        ("exp3-set", "random(r=0.25, told=never)", "and this one is never told"),
        ("exp3-ix", "revealed-er(told=never)", "and this one is never told"),
        ("ids-n", "random(r=uniform, told=after)", "and this one is told after the play only"),
        ("ucb-maxn", "revealed-er(told=after)", "and this one is told after the play only"),
    ],
)
def test_a_need_that_is_not_met_is_refused_in_one_sentence(policy, graph, why) -> None:
    with pytest.raises(NeedsError) as refused:
        simulate(policy, graph=graph, arms=4, horizon=10, trials=2, progress=False)
    message = str(refused.value)
    assert message.startswith(f"policy '{policy}' needs ")
    assert why in message
    assert "\n" not in message
    named = message.split("policies that would do: ")[1].partition(" and ")[0].split(", ")
    assert named
    assert policy not in named
    simulate(named, graph=graph, arms=4, horizon=3, trials=2, progress=False)  # they would


def test_a_horizon_that_is_not_known_is_refused() -> None:
    for policy in ("moss", "exp3-set", "exp3-g", "ucb-lp"):
        with pytest.raises(NeedsError, match="needs to know the number of rounds"):
            Agent(policy, arms=3, graph="star", seed=1)


@pytest.mark.parametrize("told", ["after", "never"])
def test_what_is_told_later_is_still_observed(told: str) -> None:
    """ts-n is told nothing anyway: its regret is the same whenever others are told."""
    here, there = (
        simulate("ts-n", graph=graph, arms=4, horizon=40, trials=5, seed=2, progress=False)["ts-n"]
        for graph in ("random(r=uniform)", f"random(r=uniform, told={told})")
    )
    np.testing.assert_array_equal(here.regret, there.regret)


@pytest.mark.parametrize(
    "text",
    [
        "eps-greedy-lp(c=0)",
        "eps-greedy-lp(d=-1)",
        "eps-greedy-lp(c=inf)",
        "eps-greedy-lp(c=true)",
        "exp3-set(eta=0)",
        "exp3-g(gamma=1.5)",
        "exp3-g(eta=nan)",
    ],
)
def test_parameters_outside_their_range_are_refused(text: str) -> None:
    name, _, rest = text.partition("(")
    with pytest.raises(InputError, match=f"{name}: {rest.partition('=')[0]} must be a"):
        simulate(text, graph="star", horizon=5, trials=1, progress=False)


@pytest.fixture
def solved(monkeypatch) -> list[int]:
    """The number of arms of every linear program that is solved, from empty caches."""
    seen: list[int] = []
    solve = dominating_sets._solve

    def counted(matrix):
        seen.append(matrix.shape[0])
        return solve(matrix)

    monkeypatch.setattr(dominating_sets, "_solve", counted)
    dominating_sets._solve_packed.cache_clear()
    dominating_sets._BY_GRAPH.clear()
    return seen


def test_a_graph_is_solved_once(solved: list[int]) -> None:
    simulate(
        ["eps-greedy-lp", "ucb-lp", "eps-greedy-lp(c=2)"],
        graph="ring(directed=true)",
        arms=6,
        horizon=50,
        trials=20,
        block=3,
        progress=False,
    )
    assert solved == [6]


def test_revealed_graphs_are_solved_again_but_each_once(solved: list[int]) -> None:
    """There are eight undirected graphs of three arms."""
    graph = "revealed-er(p=0.5)"
    simulate("eps-greedy-lp", graph=graph, arms=3, horizon=80, trials=20, progress=False)
    assert solved == [3] * 8


def test_a_large_sparse_graph_has_its_dominating_set() -> None:
    """Stars of 30 arms: each needs its middle, and nothing else."""
    arms, size = 300, 30
    middle = np.arange(0, arms, size)
    matrix = np.eye(arms)
    for m in middle:
        matrix[m, m : m + size] = 1.0
    result = simulate("eps-greedy-lp", graph=matrix, horizon=10, trials=2, seed=1, progress=False)[
        "eps-greedy-lp"
    ]
    assert result.plays[middle].sum() == result.plays.sum() == 20  # eps_t = 1 for so long


@given(
    st.floats(0.0, 1.0),
    st.floats(1e-6, 30.0),
)
def test_the_bound_of_kl_ucb_is_the_root(p: float, most: float) -> None:
    q = upper_bound(p, most)
    assert p <= q <= 1.0

    def excess(x: float) -> float:
        return float(rel_entr(p, x) + rel_entr(1.0 - p, 1.0 - x)) - most

    last = np.nextafter(1.0, 0.0)
    if p >= last or excess(last) <= 0.0:
        assert q >= last
    else:
        root = brentq(excess, max(p, 1e-300), last, xtol=1e-15, rtol=1e-14)
        # where the divergence is flat its rounding moves the root
        slope = max((root - p) / (root * (1.0 - root)), 1e-300)
        assert abs(q - root) <= 1e-13 + 4e-15 / slope


def test_the_phases_of_ucb_lp_grow_and_end_in_time() -> None:
    for rounds in (1, 2, 3, 10, 11, 1000, 10**6):
        last = last_phase(rounds)
        assert (last < 0) == (rounds < 3)
        seen = [observations(rounds, phase) for phase in range(-1, last + 1)]
        assert seen == sorted(seen)
        assert all(rounds * 4.0**-phase >= np.e for phase in range(last + 1))


def test_exp3_res_says_where_its_guarantee_holds() -> None:
    policies = ["exp3-res", "exp3-set"]
    settings = simulate(
        policies, graph="random(r=0.25)", arms=5, horizon=1000, trials=1, progress=False
    ).settings["policies"]
    assert "0.863" in settings["exp3-res"]["note"]
    assert "note" not in settings["exp3-set"]


def test_the_best_arm_is_found_by_all_that_learn() -> None:
    """On a fixed, directed, weighted graph: regret per round falls from the first to the second
    half, by far more than its standard error."""
    matrix = np.array([[1, 0.5, 0, 0], [0, 1, 0, 0.9], [0.3, 0, 1, 0], [0, 0, 0.7, 1]])
    policies = ["ucb-n", "exp3-set", "exp3-ix", "exp3-g", "exp3-res", "kl-ucb", "ucb-tuned", "moss"]
    result = simulate(policies, graph=matrix, horizon=2000, trials=60, seed=5, progress=False)
    half = np.searchsorted(result.rounds, 1000)
    for policy in policies:
        regret = result[policy].regret
        change = 2.0 * regret[:, half] - regret[:, -1]  # first half minus second
        assert change.mean() > 4.0 * change.std(ddof=1) / np.sqrt(len(change)), policy


def test_ucb_lp_drops_no_arm_on_less_than_it_was_to_see() -> None:
    """Of 28 plays two are observed: one success, one failure."""
    agent, seen = Agent("ucb-lp", 2, "empty", seed=1, horizon=1000), set()
    for _ in range(28):
        decision = agent.decide()
        new = decision.arm not in seen
        agent.observe(decision, {decision.arm: int(decision.arm == 0)} if new else {})
        seen.add(decision.arm)
    assert agent.state["left"] == {0: True, 1: True}
    assert agent._state["phase"].tolist() == [1]


def test_ucb_lp_needs_no_matrix_of_all_arms() -> None:
    """One of 20,000 by 20,000 would be 3 GB."""
    tracemalloc.start()
    try:
        decision = Agent("ucb-lp", 20_000, "star", seed=1, horizon=1000).decide()
        assert tracemalloc.get_traced_memory()[1] < 10**9
    finally:
        tracemalloc.stop()
    assert (decision.arm, decision.probability) == (0, 1.0)


@pytest.mark.parametrize("width", [0.0, 5e-17, 1e-15, 1e-9, 1e-5])
def test_a_narrow_interval_of_r_has_the_step_of_its_middle(width: float) -> None:
    low, arms = 0.3, 5
    narrow = Prospect(RandomFeedback(arms, None, low, low + width)).independence(100)
    middle = Prospect(RandomFeedback(arms, low + width / 2.0)).independence(100)
    assert narrow == pytest.approx(middle, rel=1e-9)


def test_a_feedback_that_is_no_key_of_a_dictionary_has_its_dominating_set() -> None:
    @dataclass(frozen=True)  # equal by its fields, and so not hashable
    class Mine:
        matrix: Floats
        arms: int = 3
        deterministic: bool = True
        shared: bool = True

        def reach(self, action):
            return self.matrix[action]

    star = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    found = dominating_sets.fractional_dominating_set(Mine(star))  # type: ignore[arg-type]
    assert found.tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize("text", ["eps-greedy-lp(d=1e-200)", "eps-greedy-lp(c=1e308)"])
def test_a_huge_rate_explores_for_ever_without_a_warning(text: str) -> None:
    decision = Agent(text, arms=3, graph="empty", seed=1).decide()
    assert decision.probability == pytest.approx(1.0 / 3.0)


@pytest.mark.parametrize(
    "process",
    [
        RandomFeedback(3, [1.0] * 10),
        RandomFeedback(3, None, 1.0, 1.0),
        RevealedErdosRenyi(3, 1.0),
        RevealedErdosRenyi(3, 0.0),
        RandomFeedback(1, 0.5),
    ],
    ids=["r of each round", "r of an interval", "p = 1", "p = 0", "one arm"],
)
def test_graphs_that_do_not_change_are_known_as_such(process: Process) -> None:
    agent = Agent("ucb-lp", graph=process, arms=process.arms, seed=1, horizon=10)
    for _ in range(10):
        decision = agent.decide()
        agent.observe(decision, dict.fromkeys(decision.reveals, 1))


@pytest.mark.parametrize("text", ["exp3-set(eta=0.1)", "exp3-g(gamma=0.1)"])
def test_who_has_nothing_to_set_needs_no_horizon(text: str) -> None:
    assert Agent(text, arms=4, graph="star", seed=1).decide().probability == pytest.approx(0.25)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="exp3-g: with gamma=0 it would never learn"):
        Agent("exp3-g(gamma=0)", arms=3, seed=1)
    with pytest.raises(InputError, match=r"gamma must be a number in \[0, 1\], not True"):
        Agent("exp3-g(gamma=true)", arms=3, seed=1)
    with pytest.raises(InputError, match=r"Needs\(fixed=True\) is about a graph that is told"):
        Needs(fixed=True)
    with pytest.raises(InputError, match="horizon is a number of rounds up to 4294967295"):
        Agent("moss", arms=3, seed=1, horizon=10**400)
    with pytest.raises(InputError, match="horizon is a number of rounds up to 4294967295"):
        simulate("ts-n", graph="star", arms=3, horizon=10**20, trials=1)
