"""Tests of posteriors/one_dimensional.py: accuracy of alpha, Delta, h and v."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers.accuracy_checks import SETTINGS, TOLERANCES
from helpers.cases import each
from helpers.marginal_checks import (
    FAMILIES,
    assert_marginal_accurate,
    found_beliefs,
    marginal_errors,
    read_truth,
)

#: Below this an estimate need not see an error.
ROUNDING = {"simulation": 1e-12, "strict": 1e-10}
stored = cache(read_truth)


def check(family: str, every: int) -> None:
    for accuracy in SETTINGS:
        for case in stored(family)[::every]:
            got = found_beliefs(family, case.arms, accuracy)
            assert_marginal_accurate(family, case, got, accuracy)


@pytest.mark.parametrize("family", FAMILIES)
def test_some_exact_values_are_reproduced(family: str) -> None:
    check(family, every=10)


@pytest.mark.nightly
@pytest.mark.parametrize("family", FAMILIES)
def test_all_exact_values_are_reproduced(family: str) -> None:
    check(family, every=1)


@pytest.mark.parametrize("family", FAMILIES)
@each("accuracy", SETTINGS)
def test_error_estimate_is_not_below_the_error(family: str, accuracy: str) -> None:
    for case in stored(family)[:: 60 if family == "student" else 20]:
        got = found_beliefs(family, case.arms, accuracy, estimate=True)
        assert got.error is not None
        assert 0.0 <= got.error[0] <= TOLERANCES[accuracy], (case.name, got.error)
        found = marginal_errors(family, case, got, accuracy)
        true = max(float(np.max(error)) for error in found.values())
        assert true <= max(10.0 * got.error[0], ROUNDING[accuracy]), (case.name, true, got.error)
