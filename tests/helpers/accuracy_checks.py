"""Assertions of the documented accuracy of alpha, Delta, h and v.

Strict: relative 1e-8 for what is above 1e-30.  Simulation: absolute 1e-10.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphbandits.posteriors import Beliefs
from helpers.wide_range_cases import Case
from helpers.wide_range_oracle import WideBeliefs

SETTINGS = ("simulation", "strict")
TOLERANCES = {"simulation": 1e-10, "strict": 1e-8}
QUANTITIES = ("alpha", "delta", "h")
WITH_VARIANCE = (*QUANTITIES, "v")
LEAST = 1e-30


def errors(got: np.ndarray, truth: np.ndarray, accuracy: str) -> np.ndarray:
    """Absolute errors for simulation; for strict relative errors, 0 below the smallest value."""
    apart = np.abs(got - truth)
    if accuracy == "simulation":
        return apart
    compared = truth > LEAST
    return np.where(compared, apart / np.where(compared, truth, 1.0), 0.0)


def information_of(alpha: np.ndarray) -> float:
    """The entropy of alpha, the largest entry taken as 1 minus the others: none is lost in it."""
    others = np.sort(alpha)[:-1]
    rest = min(math.fsum(others), 1.0 - 1.0 / alpha.size)
    small = math.fsum(-v * math.log(v) for v in others if v > 0.0)
    return small - (1.0 - rest) * math.log1p(-rest)


def assert_valid(got: Beliefs, accuracy: str, case: object) -> None:
    """Assert general properties: a distribution, non-negative, h within its bounds."""
    alpha, delta, h = (getattr(got, name)[0] for name in QUANTITIES)
    assert np.isfinite([alpha, delta, h]).all(), case
    assert min(alpha.min(), delta.min(), h.min()) >= 0.0, case
    assert math.fsum(alpha) == pytest.approx(1.0, abs=1e-12), case
    assert delta.max() <= 1.0, case
    assert h.max() <= math.log(2.0) * (1.0 + 1e-12), case
    entropy = information_of(alpha)
    slack = 1e-10 if accuracy == "simulation" else 1e-8 * entropy + LEAST
    assert h.max() <= entropy + slack, (h.max(), entropy, case)


def known(truth: WideBeliefs) -> tuple[str, ...]:
    """The quantities of which the truth is known: stored ones have no v."""
    return QUANTITIES if truth.v is None else WITH_VARIANCE


def assert_accurate(got: Beliefs, case: Case, truth: WideBeliefs, accuracy: str) -> None:
    """Assert the documented accuracy and the general properties of beliefs."""
    assert_valid(got, accuracy, case)
    for name in known(truth):
        mine, exact = getattr(got, name)[0], getattr(truth, name)
        error = errors(mine, exact, accuracy)
        worst = int(np.argmax(error))
        assert error[worst] <= TOLERANCES[accuracy], (
            f"{case.name}: {name}[{worst}] = {mine[worst]!r}, truth {exact[worst]!r}, "
            f"error {error[worst]:.2g}; {case.params}"
        )
