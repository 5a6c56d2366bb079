"""Matrices of graph processes, and a check of frequencies."""

from __future__ import annotations

import numpy as np

from graphbandits._types import Floats
from graphbandits.graphs import Feedback, Process
from graphbandits.rng import Keys

DIRECTED = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [0.25, 0.0, 1.0]])
ONE_WAY = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])


def feedback_matrix(feedback: Feedback) -> Floats:
    """K x K of a feedback that all trials share."""
    return feedback.reach(np.arange(feedback.arms))


def trial_matrices(process: Process, t: int, keys: Keys) -> Floats:
    """(B, K, K): the matrix of each trial of the block in round t."""
    feedback = process.round(t, keys)
    rows = [feedback.reach(np.full(keys.trials, i)) for i in range(process.arms)]
    return np.stack(rows, axis=1)


def assert_frequency(draws: Floats, p: Floats | float) -> None:
    """The mean of 0/1 draws on axis 0 is p, up to 4.5 standard errors."""
    p = np.broadcast_to(p, draws.shape[1:])
    error = np.abs(draws.mean(axis=0) - p)
    assert (error <= 4.5 * np.sqrt(p * (1.0 - p) / len(draws))).all(), (error, p)
