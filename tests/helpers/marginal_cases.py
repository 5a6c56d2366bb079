"""Random posteriors of the families with one-dimensional densities, and their stored truth.

The truth was computed in extended precision by ``tests/helpers/marginal_oracle.py`` of commit
6d75f8e, which shared nothing with the package.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FIXTURES = Path(__file__).parents[1] / "fixtures"
#: The families that have a file of posteriors and truths.
FAMILIES = ("normal", "student", "gamma")
#: Parameters of an arm, in the order of the kernels.
Arms = list[list[float]]


@dataclass(frozen=True)
class MarginalCase:
    """Parameters of the arms, and the exact statistics.

    Attributes
    ----------
    name : str
        Unique name.
    arms : list of list of float
        Parameters of the posterior of each arm.
    truth : dict of str to ndarray
        alpha, delta, h and v.
    """

    name: str
    arms: Arms
    truth: dict[str, np.ndarray]


def read_truth(family: str) -> list[MarginalCase]:
    """Read the stored cases of a family."""
    stored = json.loads((FIXTURES / f"{family}_truth.json").read_text())
    return [
        MarginalCase(
            name,
            case["arms"],
            {key: np.array(case[key]) for key in ("alpha", "delta", "h", "v")},
        )
        for name, case in stored.items()
    ]
