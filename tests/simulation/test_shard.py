"""Tests of simulation/shard.py: recorded rounds."""

from __future__ import annotations

import numpy as np
import pytest

from graphbandits.simulation.shard import recorded_rounds


@pytest.mark.parametrize("horizon", [1, 2, 199, 200, 201, 1000, 10**6])
def test_recorded_rounds_are_few_and_include_the_ends(horizon: int) -> None:
    rounds = recorded_rounds(horizon)
    assert rounds[0] == 1
    assert rounds[-1] == horizon
    assert len(rounds) <= 200
    assert (np.diff(rounds) > 0).all()
