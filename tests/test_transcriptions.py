"""Index policies, dominating sets and exponential weights, decision by decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import helpers.reference_policies as written
import numpy as np
import pytest
from helpers.decision_checks import History, assert_follows, graphs_of
from scipy.optimize import linprog

from graphbandits.graphs import Dense, Process, Uniform, as_process, from_matrix
from graphbandits.graphs.dominating_sets import fractional_dominating_set
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.graphs.prospect import Prospect
from graphbandits.policies import as_policy
from graphbandits.policies.base import unmet
from graphbandits.types import Floats


def random_matrix(rng: np.random.Generator, arms: int, kind: str) -> Floats:
    """Zeros and ones, directed or not, of any density, or probabilities; ones on the diagonal."""
    matrix = (rng.random((arms, arms)) < rng.random()).astype(np.float64)
    if kind == "undirected":
        matrix = np.maximum(np.triu(matrix, 1), np.triu(matrix, 1).T)
    if kind == "probabilities":
        matrix *= rng.random((arms, arms)).round(2)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def random_process(rng: np.random.Generator, kind: str) -> Process:
    arms = int(rng.integers(1, 8))
    if kind in ("directed", "undirected", "probabilities"):
        return from_matrix(random_matrix(rng, arms, kind))
    if kind.startswith("revealed"):
        directed = str(kind == "revealed directed").lower()
        return as_process(f"revealed-er(p={rng.random():.2f}, directed={directed})", arms)
    rate = {"one r": f"{rng.random():.2f}", "r drawn": "uniform", "r = 0": "0", "r = 1": "1"}
    return as_process(f"random(r={rate[kind]})", arms)


KINDS = [
    "directed",
    "undirected",
    "probabilities",
    "revealed directed",
    "revealed undirected",
    "one r",
    "r drawn",
    "r = 0",
    "r = 1",
]


# --- what is known of the graphs beforehand, by the transcription's own means --------------------


def total_quality(process: Process, horizon: int) -> float:
    """The sum of Q_t; the mean over random undirected graphs is taken as the library has it."""
    fixed = fixed_feedback(process)
    if fixed is not None:
        return horizon * written.quality(graphs_of(fixed)[0], process.arms)
    recipe: Any = process
    if hasattr(recipe, "r"):  # uniform on [0, 1]
        return horizon * math.fsum(1.0 / k for k in range(1, process.arms + 1))
    if recipe.directed:
        return float(horizon * process.arms)
    return Prospect(process).independence(horizon)


def independence(process: Process) -> int:
    """alpha(G), and K where the graph is not fixed."""
    fixed = fixed_feedback(process)
    if fixed is None or not fixed.deterministic:
        return process.arms
    matrix = fixed.reach(np.arange(process.arms))
    return written.largest_independent_set(matrix.tolist())


@cache
def dominating(graph: Any, arms: int) -> list[float]:
    """The z* that is given; that it is one is checked below."""
    feedback = Uniform(graph, arms) if isinstance(graph, float) else Dense(np.array(graph))
    return fractional_dominating_set(feedback)[0].tolist()


#: text -> the transcription for a process and a horizon.
WRITTEN: dict[str, Callable[[Process, int], Any]] = {
    "uniform": lambda process, horizon: written.Uniform(process.arms, horizon),
    "ucb-n": lambda process, horizon: written.UCBN(process.arms, horizon),
    "ucb-maxn": lambda process, horizon: written.UCBMaxN(process.arms, horizon),
    "ucb1": lambda process, horizon: written.UCB1(process.arms, horizon),
    "ucb-tuned": lambda process, horizon: written.UCBTuned(process.arms, horizon),
    "moss": lambda process, horizon: written.MOSS(process.arms, horizon),
    "kl-ucb": lambda process, horizon: written.KLUCB(process.arms, horizon),
    "eps-greedy-lp": lambda process, horizon: written.EpsilonGreedyLP(
        process.arms, horizon, lambda graph: dominating(graph, process.arms)
    ),
    "eps-greedy-lp(c=0.7, d=0.4)": lambda process, horizon: written.EpsilonGreedyLP(
        process.arms, horizon, lambda graph: dominating(graph, process.arms), c=0.7, d=0.4
    ),
    "ucb-lp": lambda process, horizon: written.UCBLP(
        process.arms, horizon, dominating(graphs_of(fixed_feedback(process))[0], process.arms)
    ),
    "exp3-set": lambda process, horizon: written.Exp3Set(
        process.arms, horizon, total_quality(process, horizon)
    ),
    "exp3-set(eta=0.3)": lambda process, horizon: written.Exp3Set(
        process.arms, horizon, math.nan, eta=0.3
    ),
    "exp3-res": lambda process, horizon: written.Exp3Res(process.arms, horizon),
    "exp3-ix": lambda process, horizon: written.Exp3IX(process.arms, horizon),
    "exp3-g": lambda process, horizon: written.Exp3G(process.arms, horizon, independence(process)),
    "exp3-g(gamma=0.2)": lambda process, horizon: written.Exp3G(
        process.arms, horizon, independence(process), gamma=0.2
    ),
    "exp3-g(eta=0.15)": lambda process, horizon: written.Exp3G(
        process.arms, horizon, independence(process), eta=0.15
    ),
}


def check(text: str, process: Process, horizon: int, **how: Any) -> None:
    prior = [(1, 1)] * process.arms
    history = History(process, prior, horizon, **{"rounds": horizon, **how})
    assert_follows(text, history, lambda: WRITTEN[text](process, horizon))


def given_plays(text: str) -> dict[str, Any]:
    """Exponential weights divide by probabilities, so that these must not vanish."""
    return {"own": False, "least": 0.01 if text.startswith("exp3") else 0.0}


def cases(policies: Iterable[str]) -> list[Any]:
    """Each policy with each kind of graph that it may be played on."""
    rng = np.random.default_rng(0)
    processes = {kind: random_process(rng, kind) for kind in KINDS}
    for kind in ("probabilities", "one r", "r drawn"):  # one arm has no probabilities
        while processes[kind].deterministic:
            processes[kind] = random_process(rng, kind)
    return [
        pytest.param(text, kind, id=f"{text}-{kind}")
        for text in policies
        for kind in KINDS
        if not unmet(as_policy(text).needs, processes[kind], 10)
    ]


@pytest.mark.parametrize(("text", "kind"), cases(WRITTEN))
def test_its_own_decisions(text: str, kind: str) -> None:
    """The states that a policy really reaches, over many rounds, on many graphs."""
    rng = np.random.default_rng(KINDS.index(kind))
    for seed, horizon in enumerate((250, 250, 60, 60, 60, 60, 30, 11, 3, 2, 1)):
        check(text, random_process(rng, kind), horizon, seed=seed)


# ucb-lp plays by a plan of its own
GIVEN = [case for case in cases(WRITTEN) if case.values[0] != "ucb-lp"]


@pytest.mark.parametrize(("text", "kind"), GIVEN)
def test_given_histories(text: str, kind: str) -> None:
    """Plays that the policy would not choose: arms unseen for long, and ties of all sorts."""
    rng = np.random.default_rng(20 + KINDS.index(kind))
    for seed in range(10):
        check(text, random_process(rng, kind), 40, **given_plays(text), seed=100 + seed)


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("arms", [1, 2])
def test_one_arm_and_two(text: str, arms: int) -> None:
    """ln 1 = 0 makes the steps of exponential weights vanish, and resampling ends at once."""
    for graph in ("empty", "complete", "path(directed=true)"):
        check(text, as_process(graph, arms), 50, seed=arms)
        if text != "ucb-lp":
            check(text, as_process(graph, arms), 50, **given_plays(text), seed=arms)


@pytest.mark.parametrize("text", WRITTEN)
def test_a_horizon_that_is_not_reached(text: str) -> None:
    check(text, as_process("paper"), 1000, rounds=120, seed=4)


@pytest.mark.parametrize("own", [True, False], ids=["own", "given"])
def test_ucb_tuned_where_the_variance_is_small(own: bool) -> None:
    """Below 1/4 V matters: arms that nearly always win, seen many hundred times."""
    for seed, means in enumerate([(0.97, 0.95), (0.05, 0.1, 0.02)]):
        process = as_process("empty", len(means))
        check("ucb-tuned", process, 1500, own=own, means=means, seed=seed)


# --- z* ------------------------------------------------------------------------------------------


def assert_optimal(z: Floats, matrix: Floats) -> None:
    """Non-negative, every arm is revealed once or more, and no lighter z does it."""
    arms = len(matrix)
    assert z.shape == (arms,)
    assert (z >= 0.0).all()
    assert ((z == 0.0) | (z >= 1e-9)).all()
    assert (z @ matrix >= 1.0 - 1e-9).all(), (z, matrix)
    best = linprog(np.ones(arms), A_ub=-matrix.T, b_ub=-np.ones(arms), bounds=(0.0, None))
    assert best.success
    assert z.sum() == pytest.approx(best.fun, abs=1e-9), (z, matrix)
    # a proof without a solver's word: a packing of the same weight
    packing = linprog(-np.ones(arms), A_ub=matrix, b_ub=np.ones(arms), bounds=(0.0, None))
    assert z.sum() == pytest.approx(-packing.fun, abs=1e-9)


@pytest.mark.parametrize("kind", ["directed", "undirected"])
@pytest.mark.parametrize("arms", range(1, 9))
def test_the_dominating_set_is_feasible_and_of_least_weight(arms: int, kind: str) -> None:
    rng = np.random.default_rng(arms)
    for _ in range(15):
        matrix = random_matrix(rng, arms, kind)
        found = fractional_dominating_set(Dense(matrix))
        assert found.shape == (1, arms)
        assert_optimal(found[0], matrix)


@pytest.mark.parametrize("arms", range(1, 9))
def test_dominating_sets_of_the_empty_and_the_complete_graph(arms: int) -> None:
    for empty in (Dense(np.eye(arms)), Uniform(0.0, arms), as_process("empty", arms).feedback):
        assert fractional_dominating_set(empty)[0] == pytest.approx(np.ones(arms), abs=1e-12)
    for complete in (Dense(np.ones((arms, arms))), Uniform(1.0, arms)):
        assert_optimal(fractional_dominating_set(complete)[0], np.ones((arms, arms)))


def test_dominating_sets_that_are_known() -> None:
    paper = fractional_dominating_set(as_process("paper").feedback)
    assert paper[0].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]
    ring = fractional_dominating_set(as_process("ring", 5).feedback)  # a fraction, and unique
    assert ring[0] == pytest.approx(np.full(5, 1 / 3), abs=1e-9)
    out = fractional_dominating_set(as_process("star(direction=out)", 4).feedback)
    assert out[0] == pytest.approx(np.array([1.0, 0.0, 0.0, 0.0]), abs=1e-12)
    inwards = fractional_dominating_set(as_process("star(direction=in)", 4).feedback)
    assert inwards[0] == pytest.approx(np.array([0.0, 1.0, 1.0, 1.0]), abs=1e-12)


def test_each_trial_has_the_dominating_set_of_its_graph() -> None:
    rng = np.random.default_rng(2)
    each = np.stack([random_matrix(rng, 5, "directed") for _ in range(6)])
    found = fractional_dominating_set(Dense(each))
    assert found.shape == (6, 5)
    for matrix, z in zip(each, found, strict=True):
        assert_optimal(z, matrix)
        assert z.tolist() == fractional_dominating_set(Dense(matrix))[0].tolist()


def test_many_arms_have_a_dominating_set_too() -> None:
    ring = as_process("ring(directed=true)", 150).feedback  # as lists of neighbours
    z = fractional_dominating_set(ring)[0]
    assert_optimal(z, ring.reach(np.arange(150)))
