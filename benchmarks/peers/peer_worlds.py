"""Simulated worlds that every peer meets: means, and the outcome of every arm in every round.

Only NumPy is imported here, because the workers run this in the environments of the peers. A file
has the outcomes as bytes, so that no peer depends on the random numbers of its version of NumPy.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

EMPTY, GRAPH = "empty", "graph"
#: Arms of a clique in the graphs with more than five arms.
CLIQUE = 5


def neighbours(arms: int, kind: str) -> list[list[int]]:
    """Arms that each arm reveals, itself included.

    The graph of five arms is that of the paper: two triangles that share an arm. With more arms it
    consists of cliques of five. All are symmetric: a peer may read an edge in either direction.

    >>> neighbours(5, "graph")
    [[0, 1, 2], [0, 1, 2], [0, 1, 2, 3, 4], [2, 3, 4], [2, 3, 4]]
    >>> neighbours(3, "empty")
    [[0], [1], [2]]
    """
    if kind == EMPTY:
        return [[arm] for arm in range(arms)]
    if arms == 5:
        return [[0, 1, 2], [0, 1, 2], [0, 1, 2, 3, 4], [2, 3, 4], [2, 3, 4]]
    starts = [CLIQUE * (arm // CLIQUE) for arm in range(arms)]
    return [list(range(start, min(start + CLIQUE, arms))) for start in starts]


@dataclass(frozen=True)
class Worlds:
    """Trials on disk; a trial is read when it is needed, so that memory is that of the peer."""

    folder: Path
    arms: int
    rounds: int
    trials: int

    @classmethod
    def make(cls, folder: Path, arms: int, rounds: int, trials: int, seed: int) -> Worlds:
        """Draw theta ~ Uniform(0, 1) for each trial and arm, and all outcomes; write both."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "outcomes").open("wb") as file:
            means = []
            for trial in range(trials):
                rng = np.random.default_rng([seed, arms, trial])
                theta = rng.random(arms)
                outcomes = rng.random((rounds, arms)) < theta
                means.append(theta)
                file.write(outcomes.astype(np.uint8).tobytes())
        np.array(means).tofile(folder / "means")
        sizes = {"arms": arms, "rounds": rounds, "trials": trials}
        (folder / "sizes.json").write_text(json.dumps(sizes))
        return cls(folder, **sizes)

    @classmethod
    def read(cls, folder: Path) -> Worlds:
        """Worlds that :meth:`make` wrote."""
        return cls(folder, **json.loads((folder / "sizes.json").read_text()))

    def means(self, trial: int) -> Any:
        """Means of the arms in a trial."""
        return np.fromfile(
            self.folder / "means", np.float64, self.arms, offset=8 * trial * self.arms
        )

    def outcomes(self, trial: int) -> Any:
        """Outcomes of a trial: one row for each round, one column for each arm."""
        size = self.rounds * self.arms
        data = np.fromfile(self.folder / "outcomes", np.uint8, size, offset=trial * size)
        return data.reshape(self.rounds, self.arms)

    def digest(self) -> str:
        """Short checksum of the means and outcomes."""
        data = (self.folder / "means").read_bytes() + (self.folder / "outcomes").read_bytes()
        return hashlib.sha256(data).hexdigest()[:16]


def regret(theta: Any, played: list[int]) -> float:
    """Sum over the rounds of the best mean minus the mean of the arm that was played.

    >>> regret(np.array([0.5, 0.75]), [0, 1, 0])
    0.5
    """
    return float(np.sum(np.max(theta) - np.asarray(theta)[played]))
