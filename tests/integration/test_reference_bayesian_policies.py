"""Tests of Bayesian policies against reference implementations with exact posteriors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import helpers.reference_bayesian_policies as reference
import numpy as np
import pytest
from helpers.cases import case_named, each
from helpers.decision_cases import KINDS, accepted, random_process, sampled
from helpers.decision_checks import History, assert_matches_reference
from helpers.oracles import p1_bruteforce
from scipy.integrate import quad
from scipy.stats import beta

from graphbandits.graphs import Process, as_process

REFERENCES: dict[str, Callable[..., Any]] = {
    "greedy": reference.Greedy,
    "ts": reference.TS,
    "ts-n": reference.TSN,
    "ts-maxn": reference.TSMaxN,
    "bayes-ucb": reference.BayesUCB,
    "ids": reference.IDS,
    "ids-n": reference.IDSN,
    "v-ids": reference.VIDS,
    "v-ids-n": reference.VIDSN,
}
#: Policies that need no integrals.
CHEAP = ("greedy", "bayes-ucb")


def check_policy(
    text: str, process: Process, prior: list[tuple[int, int]], rounds: int, **options
) -> None:
    history = History(process, prior, rounds, rounds, **options)
    make = REFERENCES[text]
    tolerance = 1e-12 if text in CHEAP else 1e-9
    assert_matches_reference(text, history, lambda: make(process.arms, rounds, prior), tolerance)


def priors(rng: np.random.Generator, arms: int) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in rng.integers(1, 5, (arms, 2))]


def check_kind(text: str, kind: str) -> None:
    """Check different priors, with plays of the policy and with given plays."""
    for own in (True, False):
        rng = np.random.default_rng(40 + KINDS.index(kind))
        for seed in range(6):
            process = random_process(rng, kind)
            rounds = 200 if text in CHEAP and own else 30
            check_policy(text, process, priors(rng, process.arms), rounds, own=own, seed=seed)


@pytest.mark.parametrize("text", REFERENCES)
def test_decisions_match_reference_with_different_priors(text: str) -> None:
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
@each("arms", [1, 2, 3, 4])
def test_decisions_match_reference_with_equal_priors(text: str, arms: int) -> None:
    """All arms are equal in the first round, and some for many rounds: ties are shared."""
    for graph in ("empty", "complete", "star(direction=out)"):
        check_policy(text, as_process(graph, arms), [(1, 1)] * arms, 10, seed=arms)


@each("seed", range(5))
def test_reference_ratio_matches_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        arms = int(rng.integers(1, 7))
        delta, gain = rng.random(arms) + 0.01, rng.random(arms) + 0.01
        pi = np.array(reference.least_ratio(delta.tolist(), gain.tolist()))
        assert pi.sum() == pytest.approx(1.0, abs=1e-12)
        ratio = (pi @ delta) ** 2 / (pi @ gain)
        assert ratio == pytest.approx(p1_bruteforce(delta, gain), rel=1e-9)


def test_reference_variances_match_quadrature() -> None:
    """v_i = E[(E[theta_i | best] - E[theta_i])^2], by integrals over the best arm's value."""
    prior = [(1, 2), (3, 2), (2, 2)]
    policy = reference.VIDSN(3, 1, prior)
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


@each(("a", "b"), [(1, 1), (3, 2), (1, 9), (40, 3)])
@each("level", [0.5, 0.9, 0.999])
def test_reference_quantiles_match_scipy(a: int, b: int, level: float) -> None:
    assert reference.BayesUCB.quantile(a, b, level) == pytest.approx(
        beta(a, b).ppf(level), rel=1e-12
    )
