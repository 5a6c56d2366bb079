"""One round's feedback: entry (i, j) is the probability to observe arm j by playing arm i.

Three representations behind one interface. Each has ones on its diagonal: you always observe
what you play. ``gain(h)`` is the vector G h, ``reveal`` says who is observed, ``reach`` is the
row of probabilities of the arms played.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs import feedback_kernels as kernels
from graphbandits.rng import Keys
from graphbandits.types import Floats, Ints

#: Up to here a fixed graph is kept as a matrix; above, as lists of neighbours.
DENSE_LIMIT = 100


class Feedback(Protocol):
    """What playing an arm reveals, in one round."""

    @property
    def arms(self) -> int:
        """K."""

    @property
    def deterministic(self) -> bool:
        """Whether every entry is 0 or 1."""

    def gain(self, h: Floats) -> Floats:
        """G h for each trial: (B, K) -> (B, K)."""

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        """The observed (trial of the block, arm) pairs, ordered."""

    def reach(self, action: Ints) -> Floats:
        """Row ``action`` of G for each trial: (B, K)."""


@dataclass(frozen=True, eq=False)
class Dense:
    """A matrix for each trial (B, K, K), or one for all (1, K, K); given as (K, K) too.

    >>> import numpy as np
    >>> graph = Dense(np.array([[1.0, 0.5], [0.0, 1.0]]))
    >>> graph.gain(np.array([[0.1, 0.2]]))
    array([[0.2, 0.2]])
    """

    matrix: Floats

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix)
        if matrix.ndim not in (2, 3) or matrix.shape[-1] != matrix.shape[-2] or not matrix.size:
            raise InputError(
                f"a feedback matrix is square, K x K; this one has the shape {matrix.shape}"
            )
        matrix = _real(matrix, "a feedback matrix")
        matrix = matrix[None] if matrix.ndim == 2 else matrix
        _check_probabilities(matrix, "feedback matrix")
        diagonal = np.diagonal(matrix, axis1=1, axis2=2)
        if not (diagonal == 1.0).all():
            arm = int(np.argwhere(diagonal != 1.0)[0, 1])
            raise InputError(
                f"a feedback matrix has ones on its diagonal, for the arm played is always "
                f"observed; entry ({arm}, {arm}) is {matrix[0, arm, arm]:g}"
            )
        object.__setattr__(self, "matrix", np.ascontiguousarray(matrix))

    @property
    def arms(self) -> int:
        return int(self.matrix.shape[-1])

    @property
    def deterministic(self) -> bool:
        return bool(np.isin(self.matrix, (0.0, 1.0)).all())

    def gain(self, h: Floats) -> Floats:
        out = np.empty_like(h)
        kernels.dense_gain(self.matrix, h, out)
        return out

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        trial = np.empty(len(action) * self.arms, np.int64)
        arm = np.empty_like(trial)
        key = keys.key("reveal")
        count = kernels.dense_reveal(self.matrix, action, key, keys.first_trial, t, trial, arm)
        return trial[:count], arm[:count]

    def reach(self, action: Ints) -> Floats:
        which = np.zeros_like(action) if len(self.matrix) == 1 else np.arange(len(action))
        rows: Floats = self.matrix[which, action]
        return rows


@dataclass(frozen=True, eq=False)
class Sparse:
    """Rows of neighbours shared by all trials: row i is ``column[start[i]:start[i+1]]``.

    Build it with :meth:`from_edges`, which adds the self-loops.

    >>> import numpy as np
    >>> star = Sparse.from_edges(3, source=[0, 0], target=[1, 2])
    >>> star.gain(np.array([[0.1, 0.2, 0.4]]))
    array([[0.7, 0.2, 0.4]])
    """

    start: Ints
    column: Ints
    weight: Floats

    @classmethod
    def from_edges(cls, arms: int, source: object, target: object, weight: object = 1.0) -> Sparse:
        """Edges with probabilities; self-loops are added, a repeated edge must agree."""
        source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
        weight = np.broadcast_to(np.asarray(weight, np.float64), source.shape)
        _check_probabilities(weight, "edge list")
        if (
            source.size
            and not 0 <= min(source.min(), target.min()) <= max(source.max(), target.max()) < arms
        ):
            raise InputError(f"edges join arms 0 to {arms - 1}; an edge goes outside")
        loops = np.arange(arms)
        other = (source != target) & (weight > 0.0)
        source = np.concatenate([source[other], loops])
        target = np.concatenate([target[other], loops])
        weight = np.concatenate([weight[other], np.ones(arms)])
        place, index, inverse = np.unique(
            source * arms + target, return_index=True, return_inverse=True
        )
        if not (weight[index][inverse] == weight).all():
            raise InputError("an edge is given twice with different probabilities")
        row = place // arms
        start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=arms))])
        return cls(start, place % arms, weight[index])

    @property
    def arms(self) -> int:
        return len(self.start) - 1

    @property
    def deterministic(self) -> bool:
        return bool((self.weight == 1.0).all())

    def gain(self, h: Floats) -> Floats:
        out = np.empty_like(h)
        kernels.sparse_gain(self.start, self.column, self.weight, h, out)
        return out

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        most = int((self.start[action + 1] - self.start[action]).sum())
        trial, arm = np.empty(most, np.int64), np.empty(most, np.int64)
        count = kernels.sparse_reveal(
            self.start,
            self.column,
            self.weight,
            action,
            keys.key("reveal"),
            keys.first_trial,
            t,
            trial,
            arm,
        )
        return trial[:count], arm[:count]

    def reach(self, action: Ints) -> Floats:
        rows = np.zeros((len(action), self.arms))
        for b, i in enumerate(action):
            edges = slice(self.start[i], self.start[i + 1])
            rows[b, self.column[edges]] = self.weight[edges]
        return rows

    def to_dense(self) -> Dense:
        """The same graph as a matrix."""
        return Dense(self.reach(np.arange(self.arms)))


@dataclass(frozen=True, eq=False)
class Uniform:
    """Every other arm with the same probability r: G h = (1-r) h + r sum(h), never a matrix.

    >>> import numpy as np
    >>> Uniform(0.5, count=2).gain(np.array([[0.1, 0.2]]))
    array([[0.2 , 0.25]])
    """

    r: Floats
    count: int

    def __init__(self, r: object, count: int) -> None:
        rate = np.atleast_1d(np.asarray(r, np.float64))
        _check_probabilities(rate, "probability r")
        object.__setattr__(self, "r", rate)
        object.__setattr__(self, "count", count)

    @property
    def arms(self) -> int:
        return self.count

    @property
    def deterministic(self) -> bool:
        return bool(np.isin(self.r, (0.0, 1.0)).all())

    def gain(self, h: Floats) -> Floats:
        out = np.empty_like(h)
        kernels.uniform_gain(self.r, h, out)
        return out

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        trial = np.empty(len(action) * self.count, np.int64)
        arm = np.empty_like(trial)
        key = keys.key("reveal")
        count = kernels.uniform_reveal(
            self.r, self.count, action, key, keys.first_trial, t, trial, arm
        )
        return trial[:count], arm[:count]

    def reach(self, action: Ints) -> Floats:
        rows = np.repeat(np.broadcast_to(self.r, len(action))[:, None], self.count, axis=1)
        rows[np.arange(len(action)), action] = 1.0
        return rows


def from_edges(arms: int, source: object, target: object, weight: object = 1.0) -> Dense | Sparse:
    """A fixed graph from its edges, as a matrix where it is small."""
    sparse = Sparse.from_edges(arms, source, target, weight)
    return sparse.to_dense() if arms <= DENSE_LIMIT else sparse


def _real(matrix: object, what: str) -> Floats:
    try:
        return np.asarray(matrix, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} holds numbers in [0, 1]; this one holds something else") from None


def _check_probabilities(values: Floats, what: str) -> None:
    wrong = ~((values >= 0.0) & (values <= 1.0))  # NaN is wrong too
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"{what}: entries are probabilities in [0, 1]; entry {place} is {values[wrong][0]:g}"
        )
