"""Tests of helpers/wide_range_oracle.py.

Parameters from 1e-3 to 1e9 against exact rationals, closed forms and theorems.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx

from helpers.cases import each
from helpers.oracles import exact_beliefs
from helpers.wide_range_cases import (
    Params,
    largest_disagreement,
    led,
    log_uniform,
    observed,
    read_fixture,
)
from helpers.wide_range_oracle import WideBeliefs, wide_beliefs


def kl(p: arb, q: arb) -> arb:
    return p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()


def assert_agree(got: WideBeliefs, want: object, case: object) -> None:
    apart = largest_disagreement(got, want)  # type: ignore[arg-type]
    assert apart <= 1e-14, (apart, case)


@each(
    "case",
    [
        [(1, 2), (4, 4), (12, 9)],
        [(301, 1), (1, 301)],
        [(701, 701), (731, 671), (3, 1)],
        [(1, 901), (1, 890), (2, 700)],
        [(7, 2), (400, 200), (1, 1), (60, 25), (3, 8)],
        [(1400, 600), (1100, 900)],  # alpha near 1e-24
        [(700, 300), (350, 650), (2, 3)],
    ],
)
def test_oracle_matches_exact_rationals(case: list[tuple[int, int]]) -> None:
    assert_agree(wide_beliefs(case), exact_beliefs(case), case)


@each(
    "shapes",
    [
        [1e-3, 1e-3],
        [1e-3, 1.0, 1e9],
        [2.5, 1e6, 3e6, 7.0],
        [1e9, 9e8],
        [0.001 * 3.9**k for k in range(20)],
    ],
)
def test_arms_with_b_one_match_closed_form(shapes: list[float]) -> None:
    """Beta(a_i, 1): the largest is Beta(A, 1), A = sum a_i, whichever arm it is.

    So alpha_j = a_j / A, M_jj = A / (A+1) and M_ji = m_i A / (A+1), as theta_i / x given
    theta_i < x is Beta(a_i, 1) again.
    """
    with ctx.workprec(400):
        a = [arb(shape) for shape in shapes]
        total = sum(a, arb(0))
        rho = total / (total + 1)
        h, v = [], []
        for shape in a:
            mean, share = shape / (shape + 1), shape / total
            h.append(float(share * kl(rho, mean) + (1 - share) * kl(mean * rho, mean)))
            v.append(float(share * (rho - mean) ** 2 + (1 - share) * (mean * rho - mean) ** 2))
        want = WideBeliefs(
            alpha=np.array([float(shape / total) for shape in a]),
            delta=np.array([float(rho - shape / (shape + 1)) for shape in a]),
            h=np.array(h),
            rho=float(rho),
            v=np.array(v),
        )
    assert_agree(wide_beliefs([(shape, 1.0) for shape in shapes]), want, shapes)


def pair_integral(one: tuple[float, float], other: tuple[float, float]) -> arb:
    """W_12 = B(a + c, b + d) / (B(a, b) B(c, d)) for two arms."""
    (a, b), (c, d) = [tuple(arb(v) for v in pair) for pair in (one, other)]

    def log_beta(p: arb, q: arb) -> arb:
        return p.lgamma() + q.lgamma() - (p + q).lgamma()

    return (log_beta(a + c, b + d) - log_beta(a, b) - log_beta(c, d)).exp()


TWO_ARMS: list[Params] = [
    [(1e-3, 1e9), (2e-3, 8e8)],
    [(1e-3, 1e-3), (5e8, 4e8)],
    [(500000.0, 500000.0), (500100.0, 499900.0)],
    [(3.7, 9e8), (0.5, 1e8)],
    [(7e8, 3.7), (1e9 - 1, 0.5)],
    [(0.004, 0.7), (13.25, 900.5)],
    led(5, 1e6, 2, 0.4, 3.0),
    led(10, 1e8, 2, -1.0, 1.0),
]


@each("case", TWO_ARMS)
def test_two_arms_match_closed_forms(case: Params) -> None:
    """P(theta_1 > theta_2) grows by W / a_1 with a_1 + 1; h, v, Delta follow from alpha and W."""
    got = wide_beliefs(case)
    assert got.v is not None
    (a, b), other = case
    more = wide_beliefs([(a + 1.0, b), other])
    with ctx.workprec(400):
        w = pair_integral(*case)
        assert more.alpha[0] - got.alpha[0] == pytest.approx(float(w / a), rel=1e-14, abs=3e-16)
        sizes = [arb(p) + arb(q) for p, q in case]
        means = [arb(p) / size for (p, _), size in zip(case, sizes, strict=True)]
        alpha = [arb(value) for value in got.alpha]
        rho = alpha[0] * means[0] + alpha[1] * means[1] + w / sizes[0] + w / sizes[1]
        for i, (mean, size) in enumerate(zip(means, sizes, strict=True)):
            won, lost = mean + w / size / alpha[i], mean - w / size / alpha[1 - i]
            h = alpha[i] * kl(won, mean) + alpha[1 - i] * kl(lost, mean)
            assert got.h[i] == pytest.approx(float(h), rel=1e-13)
            v = (w / size) ** 2 * (1 / alpha[i] + 1 / alpha[1 - i])
            assert got.v[i] == pytest.approx(float(v), rel=1e-13)
            assert got.delta[i] == pytest.approx(float(rho - mean), abs=1e-15)


@each(
    "case",
    [
        observed(3, 3, 1e3, 1e6),
        observed(4, 3, 1e5, 1e8, whole=False),
        [(1e-3, 1e-3), (1.0, 2.0), (4e3, 1e3)],
        [(0.003, 1e6), (1.7, 1e9 - 1), (2e-3, 300.0)],
        [(1e6, 0.003), (1e9 - 1, 1.7), (300.0, 2e-3)],
    ],
)
def test_one_observation_keeps_expected_mean_and_reduces_entropy_by_h(case: Params) -> None:
    """alpha and rho are martingales under an observation of an arm, and by Bayes' rule

    h_i = I(best arm; Y_i) = sum_y P(Y_i = y) KL(alpha given Y_i = y || alpha).
    """
    here = wide_beliefs(case)
    for i, (a, b) in enumerate(case):
        ahead = wide_beliefs([*case[:i], (a + 1.0, b), *case[i + 1 :]])
        behind = wide_beliefs([*case[:i], (a, b + 1.0), *case[i + 1 :]])
        parts = [(a / (a + b), ahead), (b / (a + b), behind)]
        assert sum(p * after.alpha for p, after in parts) == pytest.approx(here.alpha, rel=4e-15)
        assert sum(p * after.rho for p, after in parts) == pytest.approx(here.rho, rel=4e-15)
        seen = here.alpha > 1e-30
        information, rounding = 0.0, 1e-30
        for p, after in parts:
            change = (after.alpha[seen] - here.alpha[seen]) / here.alpha[seen]
            # The change has a relative rounding error of 1e-16 / change.
            terms = here.alpha[seen] * ((1.0 + change) * np.log1p(change) - change)
            information += p * math.fsum(terms)
            rounding += p * math.fsum(here.alpha[seen] * np.abs(change)) * 1e-15
        assert abs(here.h[i] - information) <= rounding + 1e-14 * information


@each("seed", range(300, 308))
def test_doubling_the_panels_changes_nothing(seed: int) -> None:
    case = log_uniform(seed, 2 + seed % 4)
    assert_agree(wide_beliefs(case), wide_beliefs(case, resolution=2), case)


@each("case", [[(1.0, 1.0)], [(9e-4, 1.0), (1.0, 1.0)], [(1.0, 2e9), (1.0, 1.0)]])
def test_oracle_rejects_parameters_outside_its_range(case: Params) -> None:
    with pytest.raises(ValueError, match="from 1e-3 to 1e9"):
        wide_beliefs(case)


@pytest.mark.nightly
def test_fixture_matches_oracle() -> None:
    for case, truth in read_fixture()[::4]:
        apart = largest_disagreement(wide_beliefs(case.params), truth)
        assert apart <= 1e-12, (apart, case.name)
