"""Tests of posteriors/beta_bernoulli.py.

Means and quantiles compared with ball arithmetic and closed forms.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from flint import arb, ctx
from helpers.cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv

from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.beta_bernoulli import beta_quantile

wide = st.floats(-3.0, 9.0).map(lambda power: min(max(10.0**power, 1e-3), 1e9))


def distribution(a: float, b: float, x: float) -> float:
    """P(theta <= x) in ball arithmetic."""
    with ctx.workprec(400):
        return float(arb(x).beta_lower(arb(a), arb(b), regularized=1))


def test_quantile_that_boost_computes_wrong() -> None:
    """Beta(1000, 1e9) is Gamma(1000)/1e9 but for parts in a million."""
    level = np.array([0.01, 0.3, 0.5, 0.9, 0.999])
    theta = beta_quantile(np.array(1000.0), np.array(1e9), level)
    assert np.abs(theta / 1e-6 - 1.0).max() < 4.0 / math.sqrt(1000)
    assert [distribution(1000.0, 1e9, x) for x in theta] == pytest.approx(level, abs=1e-9)


def test_quantiles_in_middle_of_range_equal_boost() -> None:
    rng = np.random.default_rng(1)
    a, b = np.exp(rng.uniform(np.log(0.5), np.log(1e5), (2, 30)))
    u = rng.random((50, 30))
    assert (beta_quantile(a, b, u) == betaincinv(a, b, u)).all()


@each(("a", "b"), [(0.5, 0.5), (1.0, 7.25), (40.5, 2.0), (301.0, 700.0), (1e6, 2e6), (0.1, 3000.0)])
@each("level", [0.001, 0.5, 0.9, 1.0 - 1e-5, 1.0 - 1e-7])
def test_distribution_at_quantile_equals_level(a: float, b: float, level: float) -> None:
    """To the resolution of floats, and in the upper tail also relative to 1 - level."""
    posterior = BetaBernoulli([a, 1.0], [b, 1.0])
    theta = posterior.quantile(posterior.init(trials=1), level)[0]
    below, above = (distribution(a, b, float(np.nextafter(theta[0], end))) for end in (0.0, 1.0))
    slack = 1e-8 * min(level, 1.0 - level)
    assert below - slack <= level <= above + slack
    assert theta[1] == pytest.approx(level, rel=1e-14)


def test_quantiles_with_b_one_match_closed_form() -> None:
    """Beta(a, 1) has F = x^a, and Beta(1, b) its mirror image."""
    shapes = np.array([0.5, 1.0, 2.0, 17.25, 1e4])
    level = 0.9375
    upwards, downwards = (
        BetaBernoulli(*pair) for pair in ((shapes, np.ones(5)), (np.ones(5), shapes))
    )
    exact = level ** (1.0 / shapes)
    assert upwards.quantile(upwards.init(1), level)[0] == pytest.approx(exact, rel=1e-13)
    exact = -np.expm1(np.log(0.0625) / shapes)
    assert downwards.quantile(downwards.init(1), level)[0] == pytest.approx(exact, rel=1e-13)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(wide, wide), min_size=1, max_size=8), st.floats(0.0, 1.0))
def test_equal_posteriors_have_equal_quantiles_at_any_position(
    arms: list[tuple[float, float]], level: float
) -> None:
    """A quantile depends on (a, b) and the level only, not on other trials and arms."""
    a, b = np.array([arms, arms[::-1], arms[:1] * len(arms)]).transpose(2, 0, 1)
    posterior = BetaBernoulli.of(len(arms))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = [posterior.quantile({"a": a, "b": b}, level), posterior.mean({"a": a, "b": b})]
    for found, alone in zip(
        values,
        (lambda one: one.quantile(one.init(1), level), lambda one: one.mean(one.init(1))),
        strict=True,
    ):
        assert found.shape == a.shape
        assert ((found >= 0.0) & (found <= 1.0)).all()
        assert (found[0] == found[1, ::-1]).all()
        assert (found[2] == found[0, 0]).all()
        single = [alone(BetaBernoulli([p], [q]))[0, 0] for p, q in arms]
        assert found[0].tolist() == single


@settings(max_examples=150, deadline=None)
@given(wide, wide, st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)).map(sorted))
def test_quantiles_increase_with_level(a: float, b: float, levels: list[float]) -> None:
    posterior = BetaBernoulli([a], [b])
    low, high = (posterior.quantile(posterior.init(1), level)[0, 0] for level in levels)
    assert low <= high * (1.0 + 1e-9) + 1e-300


def test_equal_ratios_of_integers_have_equal_means() -> None:
    """One division, correctly rounded: 1/3, 2/6 and 7/21 are one number."""
    posterior = BetaBernoulli([1, 2, 7, 50, 1], [2, 4, 14, 100, 3])
    mean = posterior.mean(posterior.init(trials=1))[0]
    assert mean.tolist() == [1 / 3] * 4 + [0.25]
