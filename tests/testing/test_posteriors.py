"""Tests of testing/posteriors.py: valid posteriors of every form pass."""

from __future__ import annotations

from typing import Any

from helpers.loops import each
from helpers.plain_posteriors import VALID_POSTERIORS
from helpers.valid_policies import temporarily_registered

from graphbandits.testing import cases


@each("posterior", VALID_POSTERIORS)
def test_valid_posteriors_pass(posterior: Any) -> None:
    """Real rewards and counts, heavy tails, other scales than 1, unknown variances."""
    with temporarily_registered("posterior", [type(posterior)]):
        for case in cases("posterior", posterior):
            case.require()
