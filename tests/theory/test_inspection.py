"""Tests of theory/inspection.py: decisions of any posterior, and what a prior expects."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refused
from helpers.cases import each
from helpers.other_rewards import TwoNormals
from helpers.reward_families import FAMILIES
from scipy.special import ndtri
from scipy.stats import beta, norm

from graphbandits import inspect_decision, inspect_prior
from graphbandits.posteriors import BetaBernoulli, Normal
from graphbandits.registry import build
from graphbandits.theory import inspection
from graphbandits.theory.inspection import DRAWS, LEVELS

STAR = "star(direction=out)"


def test_two_normal_arms_have_statistics_in_closed_form() -> None:
    """alpha = Phi(gap / spread); h by Gauss-Hermite quadrature in the helper."""
    found = inspect_decision(
        [{"mean": 0.3, "sd": 0.2}, "mean=0,sd=1"], "empty", posterior="normal(noise=0.7)"
    )
    model = TwoNormals((0.3, 0.0), (0.2, 1.0), 0.7)
    exact = model.beliefs(model.init(1), variance=True)
    assert found.alpha == pytest.approx(exact.alpha[0].tolist(), rel=1e-8)
    assert found.alpha[0] == pytest.approx(norm.cdf(0.3 / math.hypot(0.2, 1.0)), rel=1e-8)
    assert found.delta == pytest.approx(exact.delta[0].tolist(), rel=1e-8)
    assert found.h == pytest.approx(exact.h[0].tolist(), rel=1e-6)
    assert found.rho == pytest.approx(exact.rho[0], rel=1e-8)
    if found.v is not None:
        assert exact.v is not None
        assert found.v == pytest.approx(exact.v[0].tolist(), rel=1e-6)
    assert found.posterior == "normal"
    assert found.parameters == [{"mean": 0.3, "sd": 0.2}, {"mean": 0.0, "sd": 1.0}]


def test_scale_and_shift_of_the_rewards_scale_and_shift_regret_only() -> None:
    """alpha and h have no unit; delta has that of the rewards, psi its square."""
    arms = [(0.5, 1.0), (0.0, 2.0), (-1.0, 0.5)]
    one = inspect_decision(arms, STAR, posterior="normal(noise=1.5)")
    moved = [(4.0 * mean + 8.0, 4.0 * sd) for mean, sd in arms]
    other = inspect_decision(moved, STAR, posterior="normal(noise=6)")
    assert other.alpha == pytest.approx(one.alpha, rel=1e-8)
    assert other.h == pytest.approx(one.h, rel=1e-7)
    assert other.delta == pytest.approx([4.0 * x for x in one.delta], rel=1e-7)
    assert other.rho == pytest.approx(4.0 * one.rho + 8.0, rel=1e-8)
    assert other.psi == pytest.approx(16.0 * one.psi, rel=1e-6)
    for name, pi in one.pi.items():
        assert other.pi[name] == pytest.approx(pi, abs=1e-6), name


def test_beta_arms_may_be_given_in_any_form() -> None:
    expected = inspect_decision([(3, 7), (2, 2)], STAR)
    for arms in (["3,7", "2,2"], [{"a": 3, "b": 7}, "a=2,b=2"], ["a=3,b=7", (2, 2)]):
        assert inspect_decision(arms, STAR) == expected  # type: ignore[arg-type]
    assert inspect_decision(["b=2,a=2", (3, 7)], STAR).alpha[0] == pytest.approx(expected.alpha[1])


@each("family", list(FAMILIES))
def test_decision_of_every_family_is_consistent(family: str) -> None:
    given = FAMILIES[family]
    found = inspect_decision([{}, {}, {}], STAR, posterior=given.posterior)
    assert found.alpha == pytest.approx([1 / 3] * 3, abs=1e-8)  # equal arms
    assert len(set(found.delta)) <= 3
    assert found.delta == pytest.approx([found.delta[0]] * 3, rel=1e-8)
    assert found.gain["bound"] == pytest.approx([3 * found.h[0], found.h[0], found.h[0]], rel=1e-8)
    assert (found.gain["joint"] is not None) == given.joint
    assert (found.joint_ratio is not None) == given.joint
    if not given.joint:
        assert "'information'" in found.gain["reason"]
        assert not any("joint" in name for name in found.pi)
    # a posterior does not know that the means of its world change
    assert (found.limit is not None) == (given.bounds or family == "bernoulli-switch")
    for pi in found.pi.values():
        assert sum(pi) == pytest.approx(1.0, abs=1e-9)
        assert min(pi) >= 0.0
    json.dumps(found.to_dict(), allow_nan=False)


@each("family", list(FAMILIES))
def test_sampled_gain_of_an_empty_graph_estimates_h(family: str) -> None:
    given = FAMILIES[family]
    found = inspect_decision([{}, {}], "empty", posterior=given.posterior, samples=200, seed=3)
    sampled = found.sampled
    assert sampled is not None
    for i in range(2):
        assert abs(sampled["gain"][i] - found.h[i]) < 5.0 * sampled["standard_error"][i] + 1e-9


@each(
    ("arms", "how", "words"),
    [
        ([(1, 1)] * 2, {"posterior": "norml"}, ["unknown posterior 'norml'", "'normal'"]),
        ([(0, 1), (math.nan, 1)], {"posterior": "normal"}, ["mean", "nan"]),
        ([(0, 1)] * 3, {"graph": "edges(1-2)"}, []),
        ([(0, 1, 2, 3)] * 2, {"posterior": "normal"}, ["mean, sd, noise"]),
        ([{"sigma": 1}] * 2, {"posterior": "normal"}, ["no parameter 'sigma'"]),
        ([(0, None)] * 2, {"posterior": "normal"}, ["must be numbers"]),
        (["noise=1", "noise=2"], {"posterior": "normal"}, ["noise"]),
        ([(0, 1)] * 4, {"graph": "paper", "posterior": "normal"}, ["5 arms", "4"]),
    ],
)
def test_bad_decisions_are_refused(arms: Any, how: dict[str, Any], words: list[str]) -> None:
    how = {"graph": "star"} | how
    if not words:  # a graph may have more arms than edges
        assert len(inspect_decision(arms, **(how | {"posterior": "normal"})).alpha) == 3
        return
    refused(lambda: inspect_decision(arms, **how), *words)


# Prior predictive ---------------------------------------------------------------------------------


def test_prior_of_beta_arms_is_that_of_the_beta_distribution() -> None:
    found = inspect_prior("beta-bernoulli(a=2, b=6)", arms=2)
    assert found.mean == 0.25
    assert found.mean_quantiles == pytest.approx(beta.ppf(LEVELS, 2, 6), rel=1e-8)
    assert found.probabilities is not None
    chance = found.probabilities["1"]
    error = math.sqrt(0.25 * 0.75 / found.draws)
    assert abs(chance - 0.25) < 5.0 * error
    assert chance + found.probabilities["0"] == pytest.approx(1.0)
    assert found.reward_sd == pytest.approx(math.sqrt(chance * (1.0 - chance)), rel=1e-9)
    assert found.draws == DRAWS // 2
    assert found.rewards == "binary"
    # of two independent arms: 0.25 + E|difference| / 2, by quadrature
    x = np.linspace(0.0, 1.0, 200_001)
    best = np.trapezoid(1.0 - beta.cdf(x, 2, 6) ** 2, x)
    assert found.best == pytest.approx(best, abs=1e-8)


def test_prior_of_normal_arms_is_that_of_the_normal_distribution() -> None:
    """A reward is N(mean, sd^2 + noise^2); the best of two arms is mean + sd / sqrt(pi)."""
    found = inspect_prior("normal(mean=1, sd=2, noise=1.5)", arms=2)
    spread = 2.5
    assert found.mean == 1.0
    assert found.mean_quantiles == pytest.approx(1.0 + 2.0 * ndtri(LEVELS), rel=1e-12)
    assert found.reward_sd == pytest.approx(spread, abs=5.0 * spread / math.sqrt(2 * found.draws))
    for level, value in zip(LEVELS, found.reward_quantiles, strict=True):
        exact = 1.0 + spread * ndtri(level)
        density = norm.pdf(exact, 1.0, spread)
        error = math.sqrt(level * (1.0 - level) / found.draws) / density
        assert abs(value - exact) < 5.0 * error
    assert found.best == pytest.approx(1.0 + 2.0 / math.sqrt(math.pi), abs=1e-8)
    assert found.probabilities is None
    assert found.rewards == "real"


@each("family", list(FAMILIES))
def test_prior_of_every_family_is_finite_and_reproducible(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = FAMILIES[family]
    monkeypatch.setattr(inspection, "DRAWS", 10_000)
    found = inspect_prior(given.posterior, arms=3, seed=4)
    assert found == inspect_prior(given.posterior, arms=3, seed=4)
    assert found.reward_quantiles != inspect_prior(given.posterior, arms=3, seed=5).reward_sd
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.mean_quantiles == sorted(found.mean_quantiles)
    assert found.reward_quantiles == sorted(found.reward_quantiles)
    assert found.best >= found.mean
    assert inspect_prior(found.posterior, arms=3, seed=4) == found  # its text is the prior


def test_prior_may_be_a_pair_an_object_or_a_text() -> None:
    expected = inspect_prior("beta-bernoulli(a=2, b=5)", arms=3)
    assert inspect_prior("2,5", arms=3) == expected
    assert inspect_prior("a=2,b=5", arms=3) == expected
    assert inspect_prior(BetaBernoulli.of(3, 2, 5)) == expected
    assert inspect_prior(Normal.of(4)).arms == 4


@each(
    ("given", "how", "words"),
    [
        (5, {}, ["a posterior must be a text", "5"]),
        (BetaBernoulli, {}, ["a posterior must be a text"]),
        (build("world", "gaussian", 2), {}, ["a posterior must be a text"]),
        ("norml", {}, ["unknown posterior 'norml'"]),
        ("2,x", {}, ["two numbers A,B"]),
        ("", {}, ["posterior ''"]),
        ("normal", {"arms": 0}, ["arms", "at least 1"]),
        ("normal", {"seed": -1}, ["seed", "at least 0"]),
    ],
)
def test_bad_priors_are_refused(given: Any, how: dict[str, Any], words: list[str]) -> None:
    refused(lambda: inspect_prior(given, **how), *words)
