"""Fixtures of the tests of figures: simulated results."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.figures import FOUR, NAMES

from graphbandits import Results, simulate
from graphbandits.graphs import Fixed, from_matrix
from graphbandits.simulation.results import PolicyResult


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(FOUR, graph="paper", horizon=80, trials=60)


@pytest.fixture(scope="module")
def directed() -> Fixed:
    matrix = np.eye(6)
    for i, j, p in [(0, 1, 0.9), (1, 2, 0.3), (2, 0, 0.5), (0, 3, 1), (3, 4, 0.1), (4, 3, 0.8)]:
        matrix[i, j] = p
    matrix[4, 5] = 0.6
    return Fixed(from_matrix(matrix).feedback, NAMES)


@pytest.fixture(scope="module")
def named(directed: Fixed) -> Results:
    plays = np.array([40, 10, 20, 0, 25, 5])
    other = np.array([5, 5, 5, 5, 40, 40])
    policies = {
        name: PolicyResult.from_trials(np.array([[1.0, 2.0], [2.0, 3.5]]) + i, p)
        for i, (name, p) in enumerate({"ids_$a$": plays, "ts-n": other}.items())
    }
    return Results(np.array([1, 2]), policies, NAMES, {})
