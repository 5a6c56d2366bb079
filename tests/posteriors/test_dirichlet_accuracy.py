"""Tests of posteriors/dirichlet.py: accuracy of alpha, Delta, h, v and rho."""

from __future__ import annotations

import math
import warnings
from functools import cache

import numpy as np
import pytest
from helpers.accuracy_checks import LEAST, SETTINGS, TOLERANCES, WITH_VARIANCE
from helpers.cases import each
from helpers.dirichlet_cases import CASES, DirichletCase, case, read_exact
from helpers.dirichlet_oracle import ExactBeliefs, exact_dirichlet

from graphbandits.posteriors import Beliefs, BetaBernoulli, Dirichlet

EXACT = cache(read_exact)


def beliefs(some: DirichletCase, accuracy: str, estimate: bool = False) -> Beliefs:
    posterior = Dirichlet(some.weights, tuple(some.values.tolist()), accuracy)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        return posterior.beliefs(posterior.init(trials=1), variance=True, estimate=estimate)


def errors(got: Beliefs, exact: ExactBeliefs, spread: float, accuracy: str) -> dict[str, float]:
    """The largest error of each statistic, on its scale."""
    found = {}
    for name in WITH_VARIANCE:
        scale = {"delta": spread, "v": spread**2}.get(name, 1.0)
        mine, truth = getattr(got, name)[0], getattr(exact, name)
        unit = scale * np.ones_like(truth)
        if accuracy == "strict":
            unit = np.where(truth > LEAST * scale, truth, np.inf)
        found[name] = float((np.abs(mine - truth) / unit).max())
    found["rho"] = abs(float(got.rho[0]) - exact.rho) / (spread + abs(exact.rho))
    return found


def assert_accurate(some: DirichletCase, exact: ExactBeliefs, accuracy: str) -> None:
    got = beliefs(some, accuracy)
    assert got.alpha.sum() == pytest.approx(1.0, abs=1e-12)
    for name, error in errors(got, exact, some.spread, accuracy).items():
        assert error <= TOLERANCES[accuracy], (name, error, some)


def test_the_fixture_has_all_cases() -> None:
    assert len(EXACT()) == CASES >= 1000


@pytest.mark.parametrize("accuracy", SETTINGS)
def test_some_stored_exact_values_are_reproduced(accuracy: str) -> None:
    for number in range(0, CASES, 8):
        assert_accurate(case(number), EXACT()[number], accuracy)


@pytest.mark.nightly
@pytest.mark.parametrize("accuracy", SETTINGS)
def test_stored_exact_values_are_reproduced(accuracy: str) -> None:
    for number in range(CASES):
        assert_accurate(case(number), EXACT()[number], accuracy)


@each("number", [0, 7, 123])
def test_the_fixture_is_that_of_the_oracle(number: int) -> None:
    some = case(number)
    exact = exact_dirichlet(some.weights, some.values)
    for name in WITH_VARIANCE:
        assert (getattr(exact, name) == getattr(EXACT()[number], name)).all()


@each("accuracy", SETTINGS)
@each("number", range(0, CASES, 200))
def test_error_estimate_covers_the_error(number: int, accuracy: str) -> None:
    some = case(number)
    got = beliefs(some, accuracy, estimate=True)
    assert got.error is not None
    true = errors(got, EXACT()[number], some.spread, accuracy)
    assert max(true.values()) <= max(10.0 * float(got.error[0]), 1e-12)
    assert got.error[0] <= TOLERANCES[accuracy]


@each("accuracy", SETTINGS)
@each("seed", range(6))
def test_two_values_agree_with_beta_arms(seed: int, accuracy: str) -> None:
    """Weights that are not whole, from 0.2 to 1e9: the other family is an independent truth."""
    rng = np.random.default_rng([3, seed])
    for most in (1.0, 3.0, 9.0):
        a, b = 10.0 ** rng.uniform(math.log10(0.2), most, (2, int(rng.integers(2, 6))))
        other = BetaBernoulli(a, b)
        truth = other.beliefs(other.init(trials=1), "strict", variance=True)
        exact = ExactBeliefs(
            *(getattr(truth, name)[0] for name in WITH_VARIANCE), float(truth.rho[0])
        )
        assert_accurate(
            DirichletCase(np.stack([b, a], axis=1), np.array([0.0, 1.0])), exact, accuracy
        )


@each("seed", range(6))
def test_real_weights_agree_for_all_widths_of_panels(seed: int) -> None:
    """Weights that are not whole, one of them up to 1e9: strict and finer panels agree."""
    rng = np.random.default_rng([4, seed])
    m, arms = int(rng.integers(3, 7)), int(rng.integers(2, 5))
    values = np.sort(rng.standard_normal(m))
    weights = 10.0 ** rng.uniform(-1.0, (0.5, 1.0, 4.0)[seed % 3], (arms, m))
    if seed % 2:
        weights[:, int(rng.integers(m))] = 10.0 ** rng.uniform(1.0, 9.0)
    some = DirichletCase(np.maximum(weights, 0.2), values)
    fast, strict = beliefs(some, "simulation"), beliefs(some, "strict", estimate=True)
    truth = ExactBeliefs(
        *(getattr(strict, name)[0] for name in WITH_VARIANCE), float(strict.rho[0])
    )
    assert strict.error is not None
    assert strict.error[0] <= 1e-10
    for name, error in errors(fast, truth, some.spread, "simulation").items():
        assert error <= 1e-10, (name, error, some)
