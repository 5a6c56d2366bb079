"""Counts of observations, for each trial."""

from __future__ import annotations

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints


@kernel()
def add_counts(count: Floats, total: Floats, trial: Ints, arm: Ints, reward: Floats) -> None:
    """Add (1, y) to (count, total) for each observation."""
    for k in range(trial.size):
        count[trial[k], arm[k]] += 1.0
        total[trial[k], arm[k]] += reward[k]
