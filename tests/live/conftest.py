"""Fixtures of the tests of agents."""

from __future__ import annotations

import numpy as np
import pytest

from graphbandits import Agent


@pytest.fixture
def agent() -> Agent:
    """An agent with three named arms; only 'bob' also shows another arm, 'eve'."""
    matrix = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    agent = Agent("ids-n", ["ann", "bob", "eve"], matrix, seed=1, prior=[(1, 9), (9, 1), (1, 9)])
    assert agent.decide().arm == "bob"
    return agent
