"""Tests of posteriors/normal.py: accuracy on stored posteriors."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.accuracy_checks import SETTINGS, TOLERANCES
from helpers.marginal_cases import read_truth
from helpers.marginal_checks import assert_marginal_accurate, found_beliefs, marginal_errors

FAMILY = "student"
STORED = read_truth(FAMILY)
#: Below this an estimate need not see an error.
ROUNDING = {"simulation": 1e-12, "strict": 1e-10}


@pytest.mark.parametrize("accuracy", SETTINGS)
def test_some_exact_values_are_reproduced(accuracy: str) -> None:
    for case in STORED[:10]:
        assert_marginal_accurate(FAMILY, case, found_beliefs(FAMILY, case.arms, accuracy), accuracy)


@pytest.mark.oracle
@pytest.mark.parametrize("accuracy", SETTINGS)
def test_all_exact_values_are_reproduced(accuracy: str) -> None:
    for case in STORED:
        assert_marginal_accurate(FAMILY, case, found_beliefs(FAMILY, case.arms, accuracy), accuracy)


@pytest.mark.oracle
@pytest.mark.parametrize("accuracy", SETTINGS)
def test_error_estimate_is_not_below_the_error(accuracy: str) -> None:
    for case in STORED[::10]:
        got = found_beliefs(FAMILY, case.arms, accuracy, estimate=True)
        assert got.error is not None
        assert 0.0 <= got.error[0] <= TOLERANCES[accuracy], (case.name, got.error)
        found = marginal_errors(FAMILY, case, got, accuracy)
        true = max(float(np.max(error)) for error in found.values())
        assert true <= max(10.0 * got.error[0], ROUNDING[accuracy]), (case.name, true, got.error)
