"""Tests of testing/posteriors.py: valid posteriors of every form pass."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import each
from helpers.plain_posteriors import VALID_POSTERIORS
from helpers.valid_policies import temporarily_registered

from graphbandits.testing import cases


def check_valid(posterior: Any) -> None:
    """Real rewards and counts, heavy tails, other scales than 1, unknown variances."""
    with temporarily_registered("posterior", [type(posterior)]):
        for case in cases("posterior", posterior):
            case.require()


@each("posterior", [VALID_POSTERIORS[2], VALID_POSTERIORS[6]])
def test_some_valid_posteriors_pass(posterior: Any) -> None:
    check_valid(posterior)


@pytest.mark.nightly
@each("posterior", VALID_POSTERIORS)
def test_valid_posteriors_pass(posterior: Any) -> None:
    check_valid(posterior)
