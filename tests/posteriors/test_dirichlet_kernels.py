"""Tests of posteriors/_dirichlet_kernels.py: contour integrals compared with proven digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb
from helpers.cases import each
from helpers.dirichlet_contour_oracle import contour_value
from scipy.interpolate import BSpline
from scipy.stats import beta

from graphbandits.posteriors._dirichlet_kernels import (
    CHUNK,
    FINE,
    WORK_ROWS,
    angle_lane,
    cos_sin_lane,
    fill_after,
    lower_tail_of,
)

#: The log density is rounded relative to about sqrt(total weight).
ROUNDING = 1e-15


def after_densities(c: np.ndarray, v: np.ndarray, x: float) -> tuple[np.ndarray, float]:
    """f^k(x) without the factor exp(-level), and the level."""
    a, out = np.empty((2, len(c)))
    level, _ = fill_after(c, v, v - x, 0.0, FINE, a, out, np.empty((WORK_ROWS, CHUNK)))
    return out * c.sum(), level


def lower_tail(c: np.ndarray, v: np.ndarray, x: float, order: int) -> tuple[float, float]:
    a, out = np.empty((2, len(c)))
    work = np.empty((WORK_ROWS, CHUNK))
    return lower_tail_of(c, v, v - x, float(order), a, out, work)


def random_mean(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights from 0.1 to 1e9, any spacing, and x in the middle, in a tail or next to a value."""
    while True:
        m = int(rng.integers(2, 8))
        v = np.sort(
            (
                rng.random(m),
                np.arange(m) / (m - 1.0),
                rng.standard_normal(m),
                10.0 ** rng.uniform(-6.0, 0.0, m),
            )[int(rng.integers(4))]
        )
        most = (1.0, 3.0, 5.0, 9.0)[int(rng.integers(4))]
        c = 10.0 ** rng.uniform(-1.0, most, m)
        if rng.random() < 0.5:
            c[int(rng.integers(m))] = 10.0 ** rng.uniform(1.0, 9.0)
        mean = (c * v).sum() / c.sum()
        sd = math.sqrt((c * (v - mean) ** 2).sum() / c.sum() / (c.sum() + 1.0))
        x = (
            mean + sd * rng.uniform(-13.0, 13.0),
            v[0] + (v[-1] - v[0]) * rng.random(),
            v[int(rng.integers(m))] + sd * 10.0 ** rng.uniform(-6.0, 0.0),
        )[int(rng.integers(3))]
        if v[0] < x < v[-1] and after_densities(c, v, x)[1] < 200.0:
            return c, v, float(x)


def relative_error(factor: float, level: float, exact: arb) -> float:
    return abs(float((arb(factor) * (-arb(level)).exp() - exact) / exact))


def check_densities(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    for _ in range(10):
        c, v, x = random_mean(rng)
        found, level = after_densities(c, v, x)
        k = int(rng.integers(len(c)))
        error = relative_error(found[k], level, contour_value(c, v, x, 0, k))
        assert error <= 1e-12 + 4.0 * ROUNDING * math.sqrt(c.sum()), (c, v, x, k, error)


def check_lower_tails(seed: int) -> None:
    rng = np.random.default_rng([2, seed])
    for _ in range(10):
        c, v, x = random_mean(rng)
        if x > (c * v).sum() / c.sum():  # the other tail
            c, v, x = c[::-1].copy(), -v[::-1].copy(), -x
        for order in (1, 2):
            error = relative_error(*lower_tail(c, v, x, order), contour_value(c, v, x, order, 0))
            assert error <= 1e-12 + 4.0 * ROUNDING * math.sqrt(c.sum()), (c, v, x, order, error)


def test_some_integrals_match_proven_digits() -> None:
    check_densities(seed=0)
    check_lower_tails(seed=0)


@pytest.mark.nightly
@each("seed", range(1, 20))
def test_more_integrals_match_proven_digits(seed: int) -> None:
    check_densities(seed)
    check_lower_tails(seed)


@each(("a", "b"), [(1.0, 1.0), (0.1, 0.3), (5.0, 3.0), (0.5, 700.0), (300.0, 200.5)])
def test_two_values_give_a_beta_distribution(a: float, b: float) -> None:
    c, v = np.array([b, a]), np.array([0.0, 1.0])
    for x in beta(a, b).ppf([1e-6, 0.01, 0.3, 0.5, 0.8, 0.999]):
        if not 1e-200 < x < 1.0 - 1e-6:
            continue
        found, level = after_densities(c, v, x)
        exact = np.array([beta(a, b + 1.0).pdf(x), beta(a + 1.0, b).pdf(x)])
        assert found * math.exp(-level) == pytest.approx(exact, rel=1e-11)
        if x < a / (a + b):
            factor, level = lower_tail(c, v, x, 1)
            assert factor * math.exp(-level) == pytest.approx(beta(a, b).cdf(x), rel=1e-11)


def test_unit_weights_give_a_b_spline() -> None:
    v = np.array([-1.0, 0.5, 0.75, 2.0, 4.0])
    c = np.ones(5)
    spline = BSpline.basis_element(v, extrapolate=False)
    for x in (-0.9, 0.1, 0.6, 1.1, 3.7):
        found, level = after_densities(c, v, x)
        density = found.mean() * math.exp(-level)
        assert density == pytest.approx(4.0 * spline(x) / (v[-1] - v[0]), rel=1e-12)


def test_densities_after_outcomes_agree_with_updated_weights() -> None:
    """f^k from the weights c is f from the weights c + e_k."""
    v, c = np.array([0.0, 1.0, 3.0, 3.5]), np.array([0.7, 12.0, 2.5, 300.0])
    for x in (2.9, 3.1, 3.3):
        found, level = after_densities(c, v, x)
        for k in range(4):
            more = c + np.eye(4)[k]
            new, new_level = after_densities(more, v, x)
            density = new @ more / more.sum() * math.exp(-new_level)
            assert found[k] * math.exp(-level) == pytest.approx(density, rel=1e-11)


def test_elementary_functions_are_accurate() -> None:
    rng = np.random.default_rng(3)
    y, x = 10.0 ** rng.uniform(-12.0, 12.0, (2, 2000)) * rng.choice([-1.0, 1.0], (2, 2000))
    for one, other in zip(y, x, strict=True):
        assert angle_lane(one, other) == pytest.approx(math.atan2(one, other), rel=1e-15)
    for angle in rng.uniform(-50.0, 50.0, 2000):
        cosine, sine = cos_sin_lane(angle)
        assert (cosine, sine) == pytest.approx((math.cos(angle), math.sin(angle)), abs=1e-15)
