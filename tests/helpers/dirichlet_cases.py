"""Random posteriors of Dirichlet arms with their exact statistics, stored in a fixture.

The cases follow from their number, so the fixture has the exact values only, which are those of
``exact_dirichlet`` in the same order.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from helpers.dirichlet_oracle import ExactBeliefs

FIXTURE = Path(__file__).parents[1] / "fixtures" / "dirichlet_beliefs.json"
CASES = 1000


@dataclass(frozen=True)
class DirichletCase:
    """Weights (K, m) of the arms and the values (m,)."""

    weights: np.ndarray
    values: np.ndarray

    @property
    def spread(self) -> float:
        """The largest standard deviation of a mean."""
        total = self.weights.sum(axis=1)
        mean = (self.weights * self.values).sum(axis=1) / total
        square = (self.weights * (self.values - mean[:, None]) ** 2).sum(axis=1)
        return float(np.sqrt(square / total / (total + 1.0)).max())


def case(number: int) -> DirichletCase:
    """Several kinds of spacing; few or many observations, equal arms, one large weight."""
    rng = np.random.default_rng([20, number])
    m, arms = int(rng.integers(2, 7)), int(rng.integers(2, 5))
    values = (
        np.arange(1.0, m + 1.0),
        np.sort(rng.choice(120, m, replace=False)) - 20.0,
        np.sort(rng.choice(257, m, replace=False)) / 128.0 - 1.0,
        np.cumsum(2.0 ** -rng.integers(0, 11, m)),  # few bits: the rationals stay small
    )[int(rng.integers(4))]
    weights = 1.0 + rng.integers(0, (1, 2, 5, 12)[int(rng.integers(4))], (arms, m))
    if rng.random() < 0.3:
        weights[int(rng.integers(arms))] = weights[0]
    if rng.random() < 0.2:
        weights[:, int(rng.integers(m))] += float(rng.integers(0, 25))
    return DirichletCase(weights, values)


def read_exact() -> list[ExactBeliefs]:
    """The exact values of all cases, in their order."""
    return [
        ExactBeliefs(*(np.array(row[name]) for name in ("alpha", "delta", "h", "v")), row["rho"])
        for row in json.loads(FIXTURE.read_text())
    ]
