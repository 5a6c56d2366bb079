"""Feedback of one round: entry (i, j) of G is the probability of observing arm j by playing arm i.

There are three representations with one interface: dense, sparse and uniform. The diagonal of G is
1, because the played arm is always observed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Protocol, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer
from graphbandits.graphs import _feedback_kernels as kernels
from graphbandits.rng import Keys

T = TypeVar("T", bound=np.generic)

#: Fixed graphs of up to this many arms are stored as matrices, larger ones as rows of neighbours.
DENSE_LIMIT = 100


class RepeatedEdgeError(InputError):
    """An edge is given twice with different probabilities; ``edges`` has both positions."""

    def __init__(self, message: str, edges: tuple[int, int] = (0, 0)) -> None:
        super().__init__(message)
        self.edges = edges


class Feedback(Protocol):
    """Protocol of the feedback of one round, for each trial of a block.

    B is the number of trials of the block, K the number of arms.
    """

    @property
    def arms(self) -> int:
        """Number of arms, K."""

    @property
    def deterministic(self) -> bool:
        """Whether every entry is 0 or 1."""

    @property
    def shared(self) -> bool:
        """Whether all trials have the same entries."""

    def gain(self, h: Floats) -> Floats:
        """Return G h for each trial, (B, K), for the information h (B, K) of each arm's outcome."""

    def observed(self, pi: Floats) -> Floats:
        """Return G'pi, (B, K): the probability that each arm is observed if pi is the play."""

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        """Draw the arms observed in round t, for the arm played in each trial, ``action`` (B,).

        Returns
        -------
        trial, arm : ndarray
            One entry per observation, ordered by trial and arm. Trials are numbered from 0 within
            the block.
        """

    def reach(self, action: Ints) -> Floats:
        """Return the row of G of the played arm, ``action`` (B,), for each trial: (B, K)."""


@dataclass(frozen=True, eq=False)
class DenseFeedback:
    """Feedback as a dense matrix.

    Parameters
    ----------
    matrix
        Probabilities with ones on the diagonal: one matrix for all trials, (K, K) or (1, K, K), or
        one per trial, (B, K, K).
    """

    matrix: Floats

    def __post_init__(self) -> None:
        matrix = float_array(self.matrix, "a feedback matrix")
        if matrix.ndim not in (2, 3) or matrix.shape[-1] != matrix.shape[-2] or not matrix.size:
            raise InputError(
                f"a feedback matrix must be square, K x K; got the shape {matrix.shape}"
            )
        _check_probabilities(matrix, "feedback matrix")
        matrix = matrix[None] if matrix.ndim == 2 else matrix
        diagonal = np.diagonal(matrix, axis1=1, axis2=2)
        if not (diagonal == 1.0).all():
            trial, arm = np.argwhere(diagonal != 1.0)[0]
            raise InputError(
                "the diagonal of a feedback matrix must be 1, because the played arm is always "
                f"observed; entry ({arm}, {arm}) is {diagonal[trial, arm]:g}"
            )
        object.__setattr__(self, "matrix", matrix)

    @property
    def arms(self) -> int:
        return int(self.matrix.shape[-1])

    @property
    def deterministic(self) -> bool:
        return bool(np.isin(self.matrix, (0.0, 1.0)).all())

    @property
    def shared(self) -> bool:
        return len(self.matrix) == 1

    def gain(self, h: Floats) -> Floats:
        return _product(kernels.dense_gain, (self.matrix,), h, self.arms)

    def observed(self, pi: Floats) -> Floats:
        return _product(kernels.dense_observed, (self.matrix,), pi, self.arms)

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        action = _actions(action, self.arms, len(self.matrix))
        capacity = len(action) * self.arms
        return _revealed(kernels.dense_reveal, (self.matrix, action), capacity, keys, t)

    def reach(self, action: Ints) -> Floats:
        rows: Floats
        if len(self.matrix) == 1:
            rows = self.matrix[0].take(action, axis=0)  # faster than an index of arrays
        else:
            rows = self.matrix[np.arange(len(action)), action]
        return rows


@dataclass(frozen=True, eq=False)
class SparseFeedback:
    """Feedback as a sparse matrix in CSR format, shared by all trials; see :meth:`from_edges`.

    Parameters
    ----------
    start
        Row i is ``column[start[i]:start[i+1]]``, (K + 1,).
    column
        Observed arms of all rows; each row has its self-loop.
    weight
        Probability of each entry of ``column``.
    """

    start: Ints
    column: Ints
    weight: Floats
    shared: ClassVar[bool] = True

    def __post_init__(self) -> None:
        start, column = (np.array(part, np.int64) for part in (self.start, self.column))
        weight = float_array(self.weight, "a sparse graph")
        arms = len(start) - 1
        _check_probabilities(weight, "sparse graph")
        row = np.repeat(np.arange(arms), np.maximum(np.diff(start), 0)) if arms > 0 else start
        valid = arms > 0 and start[0] == 0 and (np.diff(start) >= 1).all()
        valid = valid and start[-1] == len(column) == len(weight) == len(row)
        valid = valid and column.min() >= 0 and column.max() < arms
        if not valid or (weight[column == row] == 1.0).sum() != arms:
            raise InputError(
                "a sparse graph must have rows column[start[i]:start[i+1]] of valid arms, each "
                "with its self-loop: build it with SparseFeedback.from_edges"
            )
        self.__dict__.update(start=start, column=column, weight=weight)

    @classmethod
    def from_edges(
        cls, arms: int, source: object, target: object, weight: object = 1.0
    ) -> SparseFeedback:
        """Build the graph from a list of edges; self-loops are added.

        Parameters
        ----------
        arms
            Number of arms.
        source, target
            Played and observed arm of each edge, numbered from 0.
        weight
            Probability of each edge, or one for all edges.

        Examples
        --------
        >>> import numpy as np
        >>> star = SparseFeedback.from_edges(3, source=[0, 0], target=[1, 2])
        >>> star.gain(np.array([[0.1, 0.2, 0.4]]))
        array([[0.7, 0.2, 0.4]])
        """
        check_integer(arms, "the number of arms")
        ends = _arm_numbers(source, arms), _arm_numbers(target, arms)
        weights = float_array(weight, "an edge list")
        if not weights.size:
            weights = np.ones(())
        if ends[0].shape != ends[1].shape or weights.shape not in ((), ends[0].shape):
            raise InputError(
                "source, target and weight must have one entry per edge; got "
                f"{len(ends[0])} sources, {len(ends[1])} targets and {weights.size} probabilities"
            )
        _check_probabilities(weights, "edge list")
        edges = len(ends[0])
        # sort edges by row and column; added self-loops come after those in the list
        row, column = (np.append(part, np.arange(arms)) for part in ends)
        order = np.argsort(row * arms + column, kind="stable")
        start = np.append(0, np.cumsum(np.bincount(row)))
        column = column[order]
        chance = np.ones(edges + arms)
        if weights.ndim or weights != 1.0:
            edge = order < edges
            chance[edge] = weights[order[edge]] if weights.ndim else weights
        new = np.ones(edges + arms, np.bool_)
        np.not_equal(column[1:], column[:-1], out=new[1:])
        new[start[:-1]] = True
        repeated = np.flatnonzero(~new)
        conflicts = repeated[chance[repeated] != chance[repeated - 1]]
        if conflicts.size:
            first = conflicts[order[conflicts].argmin()]
            i, j = np.searchsorted(start, first, side="right") - 1, column[first]
            raise RepeatedEdgeError(
                f"the edge {i} -> {j} is given twice with different probabilities"
                + ("; the played arm is always observed, with probability 1" if i == j else ""),
                (int(order[first - 1]), int(order[first])),
            )
        kept = new & (chance > 0.0)
        if not kept.all():
            start = np.concatenate([[0], np.cumsum(kept)])[start]
            column, chance = column[kept], chance[kept]
        sparse = object.__new__(cls)  # valid by construction: skip the checks
        sparse.__dict__.update(start=start, column=column, weight=chance)
        return sparse

    @property
    def arms(self) -> int:
        return len(self.start) - 1

    @property
    def deterministic(self) -> bool:
        return bool(np.isin(self.weight, (0.0, 1.0)).all())

    @property
    def _arrays(self) -> tuple[Ints, Ints, Floats]:
        return self.start, self.column, self.weight

    def gain(self, h: Floats) -> Floats:
        return _product(kernels.sparse_gain, self._arrays, h, self.arms)

    def observed(self, pi: Floats) -> Floats:
        return _product(kernels.sparse_observed, self._arrays, pi, self.arms)

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        action = _actions(action, self.arms)
        capacity = int((self.start[action + 1] - self.start[action]).sum())
        return _revealed(kernels.sparse_reveal, (*self._arrays, action), capacity, keys, t)

    def reach(self, action: Ints) -> Floats:
        rows = np.zeros((len(action), self.arms))
        for b, i in enumerate(action):
            edges = slice(self.start[i], self.start[i + 1])
            rows[b, self.column[edges]] = self.weight[edges]
        return rows

    def to_dense(self) -> DenseFeedback:
        return DenseFeedback(self.reach(np.arange(self.arms)))


@dataclass(frozen=True, eq=False)
class UniformFeedback:
    """Feedback in which every arm that is not played is observed with the same probability r.

    G h = (1-r) h + r sum(h) is computed without a matrix.

    Parameters
    ----------
    r
        One probability for all trials, or one per trial.
    count
        Number of arms.
    """

    r: Floats
    count: int

    def __init__(self, r: object, count: int) -> None:
        rate = np.atleast_1d(float_array(r, "the probability r"))
        if rate.ndim != 1 or not rate.size:
            raise InputError(f"r must be one number, or one per trial; got the shape {rate.shape}")
        _check_probabilities(rate, "probability r")
        self.__dict__.update(r=rate, count=check_integer(count, "the number of arms"))

    @property
    def arms(self) -> int:
        return self.count

    @property
    def deterministic(self) -> bool:
        return self.count == 1 or bool(np.isin(self.r, (0.0, 1.0)).all())

    @property
    def shared(self) -> bool:
        return len(self.r) == 1

    def rate(self, trial: int = 0) -> float:
        return float(self.r[0 if self.shared else trial])

    def gain(self, h: Floats) -> Floats:
        return _product(kernels.uniform_gain, (self.r,), h, self.arms)

    def observed(self, pi: Floats) -> Floats:
        return _product(kernels.uniform_observed, (self.r,), pi, self.arms)

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        action = _actions(action, self.count, len(self.r))
        capacity = len(action) * self.count
        return _revealed(kernels.uniform_reveal, (self.r, self.count, action), capacity, keys, t)

    def reach(self, action: Ints) -> Floats:
        rows = np.repeat(np.broadcast_to(self.r, len(action))[:, None], self.count, axis=1)
        rows[np.arange(len(action)), action] = 1.0
        return rows


def from_edges(
    arms: int, source: object, target: object, weight: object = 1.0
) -> DenseFeedback | SparseFeedback:
    """Build a fixed graph from its edges: dense up to ``DENSE_LIMIT`` arms, sparse above."""
    sparse = SparseFeedback.from_edges(arms, source, target, weight)
    return sparse.to_dense() if arms <= DENSE_LIMIT else sparse


def is_feedback(graph: object) -> TypeGuard[Feedback]:
    """Whether an object is the feedback of one round, and not a process."""
    return hasattr(graph, "reach") and hasattr(graph, "shared")


def matrices(graph: Feedback, trials: int) -> Floats:
    """Return G as one matrix for all trials (1, K, K), or one per trial (B, K, K)."""
    if isinstance(graph, DenseFeedback):
        return graph.matrix
    if graph.shared:
        return graph.reach(np.arange(graph.arms))[None]
    rows = [graph.reach(np.full(trials, arm)) for arm in range(graph.arms)]
    return np.stack(rows, axis=1)


def subgraph(graph: Feedback, arms: Ints, trials: int = 1, rows: slice = slice(None)) -> Feedback:
    """Return the feedback among ``arms``, in increasing order: its arm i is ``arms[i]``.

    ``rows`` are the rows of the trials in a block of ``trials``; a graph that all trials share has
    no rows. The work of a sparse graph is proportional to the number of edges of these arms.
    """
    part = slice(None) if graph.shared else rows
    if isinstance(graph, UniformFeedback):
        return UniformFeedback(graph.r[part], len(arms))
    if isinstance(graph, SparseFeedback):
        counts = graph.start[arms + 1] - graph.start[arms]
        ends = np.cumsum(counts)
        edge = np.arange(ends[-1]) + np.repeat(graph.start[arms] - (ends - counts), counts)
        row, target = np.repeat(np.arange(len(arms)), counts), graph.column[edge]
        column = np.minimum(np.searchsorted(arms, target), len(arms) - 1)
        kept = arms[column] == target
        start = np.append(0, np.cumsum(np.bincount(row[kept])))  # each row has its self-loop
        sparse = object.__new__(SparseFeedback)  # valid by construction: skip the checks
        sparse.__dict__.update(start=start, column=column[kept], weight=graph.weight[edge[kept]])
        return sparse
    matrix = matrices(graph, trials)[part][:, arms[:, None], arms]
    dense = object.__new__(DenseFeedback)  # entries of valid feedback: skip the checks
    dense.__dict__.update(matrix=np.ascontiguousarray(matrix))
    return dense


def best_in_neighbours(graph: Feedback, first: Floats, score: Floats) -> Floats:
    """Move the probability of each arm to its in-neighbours of largest score, in equal shares.

    pi_j = sum_i first_i 1{j in argmax over {k: G(k, i) = 1} of score_k} / (how many there are),
    for a 0/1 graph. The in-neighbours of i are the arms that reveal it, including i.
    """
    pi = np.empty_like(first)
    if isinstance(graph, SparseFeedback):
        kernels.sparse_in_neighbours(*graph._arrays, first, score, pi)
        return pi
    if isinstance(graph, UniformFeedback):  # every arm reveals all arms, or only itself
        top = (score == score.max(axis=1, keepdims=True)).astype(np.float64)
        return np.where(graph.r[:, None] > 0.0, top / top.sum(axis=1, keepdims=True), first)
    kernels.dense_in_neighbours(matrices(graph, len(first)), first, score, pi)
    return pi


def cached_by_graph(
    cache: WeakKeyDictionary[Feedback, NDArray[T]],
    graph: Feedback,
    compute: Callable[[Any], NDArray[T]],
) -> NDArray[T]:
    """Return the read-only result of ``compute``, cached if all trials share the graph.

    >>> graph, cache = UniformFeedback(0.5, 2), WeakKeyDictionary()
    >>> first, second = (cached_by_graph(cache, graph, lambda _: np.ones(1)) for _ in range(2))
    >>> first is second
    True
    """
    try:
        result = cache.get(graph)
    except TypeError:  # the feedback class of a plug-in may not be hashable
        return compute(graph)
    if result is None:
        result = compute(graph)
        result.setflags(write=False)
        if graph.shared:
            cache[graph] = result
    return result


def float_array(values: object, what: str) -> Floats:
    """Copy the values to a float array in C order; later changes by the caller have no effect."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{what} must have rows of equal length") from None
    if array.dtype == object and all(isinstance(value, Real) for value in array.flat):
        array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{what} must hold numbers in [0, 1], not {array.dtype}")
    return np.array(array, np.float64, order="C")


def _arm_numbers(values: object, arms: int) -> Ints:
    array = np.atleast_1d(np.asarray(values))
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InputError(f"the ends of edges must be a list of arm numbers from 0 to {arms - 1}")
    if array.min() < 0 or array.max() >= arms:
        outside = array.min() if array.min() < 0 else array.max()
        raise InputError(
            f"the ends of edges must be arm numbers from 0 to {arms - 1}; got {outside}"
        )
    numbers = np.ascontiguousarray(array, np.int64)
    # copy read-only arrays, for which Numba would compile a kernel a second time
    return numbers if numbers.flags.writeable else numbers.copy()


def _product(
    kernel: Callable[..., None], graph: tuple[NDArray[Any], ...], values: Floats, arms: int
) -> Floats:
    """Compute G h or G'pi; check the shape, because kernels do not check bounds."""
    rows = np.ascontiguousarray(values, np.float64)
    trials = len(graph[0]) if len(graph) == 1 else 1  # sparse graphs are shared
    if rows.ndim != 2 or rows.shape[1] != arms or trials not in (1, len(rows)):
        raise InputError(
            f"expected one row per trial of the graph and {arms} columns; got the shape "
            f"{rows.shape}"
        )
    out = np.empty_like(rows)
    kernel(*graph, rows, out)
    return out


def _revealed(
    kernel: Callable[..., int], graph: tuple[Any, ...], capacity: int, keys: Keys, t: int
) -> tuple[Ints, Ints]:
    trial, arm = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    count = kernel(*graph, keys.key("reveal"), keys.first_trial, t, trial, arm)
    return trial[:count], arm[:count]


def _actions(action: Ints, arms: int, trials: int = 1) -> Ints:
    played = np.ascontiguousarray(action, np.int64)
    valid = played.ndim == 1 and trials in (1, len(played))
    if not valid or (played.size and not 0 <= played.min() <= played.max() < arms):
        raise InputError(f"action must have one arm from 0 to {arms - 1} per trial, not {action}")
    return played


def first_invalid_probability(values: Floats) -> tuple[int, ...] | None:
    """Return the index of the first entry outside of [0, 1], or None."""
    invalid = ~((values >= 0.0) & (values <= 1.0))  # NaN is invalid, too
    return tuple(np.argwhere(invalid)[0].tolist()) if invalid.any() else None


def _check_probabilities(values: Floats, what: str) -> None:
    index = first_invalid_probability(values)
    if index is not None:
        raise InputError(
            f"{what}: entries must be probabilities in [0, 1]; entry {index} is {values[index]:g}"
        )
