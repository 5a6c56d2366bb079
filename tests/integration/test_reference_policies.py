"""Tests of index, dominating-set and exponential-weight policies.

Decisions are compared with plain reference implementations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import helpers.reference_policies as reference
import numpy as np
import pytest
from helpers.cases import case_named, each
from helpers.decision_cases import KINDS, accepted, random_process, sampled
from helpers.decision_checks import History, assert_matches_reference, graphs_of

from graphbandits.graphs import DenseFeedback, Process, UniformFeedback, as_process
from graphbandits.graphs.dominating_sets import fractional_dominating_set
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.graphs.properties import GraphInfo


def total_quality(process: Process, horizon: int) -> float:
    """Return the sum of Q_t; for random undirected graphs the mean of the library is used."""
    fixed = fixed_feedback(process)
    if fixed is not None:
        return horizon * reference.quality(graphs_of(fixed)[0], process.arms)
    recipe: Any = process
    if hasattr(recipe, "r"):  # uniform on [0, 1]
        return horizon * math.fsum(1.0 / k for k in range(1, process.arms + 1))
    if recipe.directed:
        return float(horizon * process.arms)
    return GraphInfo(process).independence(horizon)


def independence(process: Process) -> int:
    """alpha(G), and K if the graph is not fixed."""
    fixed = fixed_feedback(process)
    if fixed is None or not fixed.deterministic:
        return process.arms
    matrix = fixed.reach(np.arange(process.arms))
    return reference.largest_independent_set(matrix.tolist())


@cache
def dominating(graph: Any, arms: int) -> list[float]:
    """Return z* of the library; tests/graphs checks that it is optimal."""
    feedback = (
        UniformFeedback(graph, arms) if isinstance(graph, float) else DenseFeedback(np.array(graph))
    )
    return fractional_dominating_set(feedback)[0].tolist()


#: text -> the reference implementation for a process and a horizon.
REFERENCES: dict[str, Callable[[Process, int], Any]] = {
    "uniform": lambda process, horizon: reference.Uniform(process.arms, horizon),
    "ucb-n": lambda process, horizon: reference.UCBN(process.arms, horizon),
    "ucb-maxn": lambda process, horizon: reference.UCBMaxN(process.arms, horizon),
    "ucb1": lambda process, horizon: reference.UCB1(process.arms, horizon),
    "ucb-tuned": lambda process, horizon: reference.UCBTuned(process.arms, horizon),
    "moss": lambda process, horizon: reference.MOSS(process.arms, horizon),
    "kl-ucb": lambda process, horizon: reference.KLUCB(process.arms, horizon),
    "eps-greedy-lp": lambda process, horizon: reference.EpsilonGreedyLP(
        process.arms, horizon, lambda graph: dominating(graph, process.arms)
    ),
    "eps-greedy-lp(c=0.7, d=0.4)": lambda process, horizon: reference.EpsilonGreedyLP(
        process.arms, horizon, lambda graph: dominating(graph, process.arms), c=0.7, d=0.4
    ),
    "ucb-lp": lambda process, horizon: reference.UCBLP(
        process.arms, horizon, dominating(graphs_of(fixed_feedback(process))[0], process.arms)
    ),
    "exp3-set": lambda process, horizon: reference.Exp3Set(
        process.arms, horizon, total_quality(process, horizon)
    ),
    "exp3-set(eta=0.3)": lambda process, horizon: reference.Exp3Set(
        process.arms, horizon, math.nan, eta=0.3
    ),
    "exp3-res": lambda process, horizon: reference.Exp3Res(process.arms, horizon),
    "exp3-ix": lambda process, horizon: reference.Exp3IX(process.arms, horizon),
    "exp3-g": lambda process, horizon: reference.Exp3G(
        process.arms, horizon, independence(process)
    ),
    "exp3-g(gamma=0.2)": lambda process, horizon: reference.Exp3G(
        process.arms, horizon, independence(process), gamma=0.2
    ),
    "exp3-g(eta=0.15)": lambda process, horizon: reference.Exp3G(
        process.arms, horizon, independence(process), eta=0.15
    ),
}


def check_policy(text: str, process: Process, horizon: int, **options: Any) -> None:
    prior = [(1, 1)] * process.arms
    history = History(process, prior, horizon, **{"rounds": horizon, **options})
    assert_matches_reference(text, history, lambda: REFERENCES[text](process, horizon))


def options_for_given_plays(text: str) -> dict[str, Any]:
    """Exponential weights divide by probabilities, which must not be 0."""
    return {"own": False, "least": 0.01 if text.startswith("exp3") else 0.0}


def check_kind(text: str, kind: str) -> None:
    """Check states that the policy reaches by its decisions, and by plays that it would not choose.

    The given plays leave arms unseen for long, and lead to ties of all sorts.
    """
    rng = np.random.default_rng(KINDS.index(kind))
    for seed, horizon in enumerate((250, 250, 60, 60, 60, 60, 30, 11, 3, 2, 1)):
        check_policy(text, random_process(rng, kind), horizon, seed=seed)
    if text == "ucb-lp":  # it follows phases, which given plays would break
        return
    rng = np.random.default_rng(20 + KINDS.index(kind))
    for seed in range(10):
        check_policy(
            text, random_process(rng, kind), 40, **options_for_given_plays(text), seed=100 + seed
        )


@pytest.mark.parametrize("text", REFERENCES)
def test_decisions_match_reference(text: str) -> None:
    for kind in sorted(sampled(tuple(REFERENCES))[text]):
        with case_named(kind):
            check_kind(text, kind)


@pytest.mark.nightly
def test_decisions_match_reference_on_all_kinds_of_graphs() -> None:
    for text, kinds in accepted(tuple(REFERENCES)).items():
        for kind in kinds:
            with case_named(f"{text}, {kind}"):
                check_kind(text, kind)


@each("text", REFERENCES)
def test_decisions_match_reference_with_one_and_two_arms(text: str) -> None:
    """ln 1 = 0 makes the steps of exponential weights vanish, and resampling ends at once."""
    for arms, graph in itertools.product((1, 2), ("empty", "complete", "path(directed=true)")):
        check_policy(text, as_process(graph, arms), 50, seed=arms)
        if text != "ucb-lp":
            check_policy(
                text, as_process(graph, arms), 50, **options_for_given_plays(text), seed=arms
            )


@each("text", REFERENCES)
def test_decisions_match_reference_before_horizon(text: str) -> None:
    check_policy(text, as_process("paper"), 1000, rounds=120, seed=4)


@each("own", [True, False])
def test_ucb_tuned_matches_reference_with_small_variance(own: bool) -> None:
    """V matters below 1/4: arms with means near 0 or 1 and many hundred observations."""
    for seed, means in enumerate([(0.97, 0.95), (0.05, 0.1, 0.02)]):
        process = as_process("empty", len(means))
        check_policy("ucb-tuned", process, 1500, own=own, means=means, seed=seed)
