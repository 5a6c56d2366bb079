"""One round's feedback: entry (i, j) is the probability to observe arm j by playing arm i.

Three representations behind one interface. Each has ones on its diagonal: you always observe
what you play. ``gain(h)`` is the vector G h, ``observed(pi)`` is G'pi, ``reveal`` says who is
observed, ``reach`` is the row of probabilities of the arms played.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer
from graphbandits.graphs import _feedback_kernels as kernels
from graphbandits.rng import Keys

T = TypeVar("T", bound=np.generic)

#: Up to here a fixed graph is kept as a matrix; above, as lists of neighbours.
DENSE_LIMIT = 100


class RepeatedEdgeError(InputError):
    """Two edges, by their numbers, that are one edge with different probabilities."""

    def __init__(self, message: str, edges: tuple[int, int] = (0, 0)) -> None:
        super().__init__(message)
        self.edges = edges


class Feedback(Protocol):
    """What playing an arm reveals, in one round."""

    @property
    def arms(self) -> int:
        """K."""

    @property
    def deterministic(self) -> bool:
        """Whether every entry is 0 or 1."""

    @property
    def shared(self) -> bool:
        """Whether all trials have the same entries."""

    def gain(self, h: Floats) -> Floats:
        """G h for each trial: (B, K) -> (B, K)."""

    def observed(self, pi: Floats) -> Floats:
        """G'pi: how likely each arm is to be observed if the play is drawn from ``pi``, (B, K)."""

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        """The observed (trial of the block, arm) pairs, ordered."""

    def reach(self, action: Ints) -> Floats:
        """Row ``action`` of G for each trial: (B, K)."""


@dataclass(frozen=True, eq=False)
class DenseFeedback:
    """A matrix for each trial (B, K, K), or one for all (1, K, K); given as (K, K) too.

    >>> import numpy as np
    >>> graph = DenseFeedback(np.array([[1.0, 0.5], [0.0, 1.0]]))
    >>> graph.gain(np.array([[0.1, 0.2]]))
    array([[0.2, 0.2]])
    """

    matrix: Floats

    def __post_init__(self) -> None:
        matrix = _numbers(self.matrix, "a feedback matrix")
        if matrix.ndim not in (2, 3) or matrix.shape[-1] != matrix.shape[-2] or not matrix.size:
            raise InputError(
                f"a feedback matrix is square, K x K; this one has the shape {matrix.shape}"
            )
        _check_probabilities(matrix, "feedback matrix")
        matrix = matrix[None] if matrix.ndim == 2 else matrix
        diagonal = np.diagonal(matrix, axis1=1, axis2=2)
        if not (diagonal == 1.0).all():
            trial, arm = np.argwhere(diagonal != 1.0)[0]
            raise InputError(
                f"a feedback matrix has ones on its diagonal, for the arm played is always "
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
        room = len(action) * self.arms
        return _revealed(kernels.dense_reveal, (self.matrix, action), room, keys, t)

    def reach(self, action: Ints) -> Floats:
        which = np.zeros_like(action) if len(self.matrix) == 1 else np.arange(len(action))
        rows: Floats = self.matrix[which, action]
        return rows


@dataclass(frozen=True, eq=False)
class SparseFeedback:
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
    shared: ClassVar[bool] = True

    def __post_init__(self) -> None:
        start, column = (np.array(part, np.int64) for part in (self.start, self.column))
        weight = _numbers(self.weight, "a sparse graph")
        arms = len(start) - 1
        _check_probabilities(weight, "sparse graph")
        row = np.repeat(np.arange(arms), np.maximum(np.diff(start), 0)) if arms > 0 else start
        sound = arms > 0 and start[0] == 0 and (np.diff(start) >= 1).all()
        sound = sound and start[-1] == len(column) == len(weight) == len(row)
        sound = sound and column.min() >= 0 and column.max() < arms
        if not sound or (weight[column == row] == 1.0).sum() != arms:
            raise InputError(
                "a sparse graph has rows column[start[i]:start[i+1]] of arms in range, each with "
                "its self-loop: build it with Sparse.from_edges"
            )
        self.__dict__.update(start=start, column=column, weight=weight)

    @classmethod
    def from_edges(
        cls, arms: int, source: object, target: object, weight: object = 1.0
    ) -> SparseFeedback:
        """Edges with probabilities; self-loops are added, a repeated edge must agree."""
        check_integer(arms, "the number of arms")
        ends = _arm_numbers(source, arms), _arm_numbers(target, arms)
        given = _numbers(weight, "an edge list")
        if not given.size:
            given = np.ones(())
        if ends[0].shape != ends[1].shape or given.shape not in ((), ends[0].shape):
            raise InputError(
                f"an edge has a source, a target and a probability; got {len(ends[0])} sources, "
                f"{len(ends[1])} targets and {given.size} probabilities"
            )
        _check_probabilities(given, "edge list")
        edges = len(ends[0])
        # the edges by row and column, and a loop after those that repeat it
        row, column = (np.append(part, np.arange(arms)) for part in ends)
        order = np.argsort(row * arms + column, kind="stable")
        start = np.append(0, np.cumsum(np.bincount(row)))
        column = column[order]
        chance = np.ones(edges + arms)
        if given.ndim or given != 1.0:
            edge = order < edges
            chance[edge] = given[order[edge]] if given.ndim else given
        new = np.ones(edges + arms, np.bool_)
        np.not_equal(column[1:], column[:-1], out=new[1:])
        new[start[:-1]] = True
        again = np.flatnonzero(~new)
        wrong = again[chance[again] != chance[again - 1]]
        if wrong.size:
            first = wrong[order[wrong].argmin()]
            i, j = np.searchsorted(start, first, side="right") - 1, column[first]
            raise RepeatedEdgeError(
                f"the edge {i} -> {j} is given twice with different probabilities"
                + ("; an arm that is played is always observed" if i == j else ""),
                (int(order[first - 1]), int(order[first])),
            )
        there = new & (chance > 0.0)
        if not there.all():
            start = np.concatenate([[0], np.cumsum(there)])[start]
            column, chance = column[there], chance[there]
        sparse = object.__new__(cls)  # right by construction: no need for a second check
        sparse.__dict__.update(start=start, column=column, weight=chance)
        return sparse

    @property
    def arms(self) -> int:
        return len(self.start) - 1

    @property
    def deterministic(self) -> bool:
        return bool(np.isin(self.weight, (0.0, 1.0)).all())

    def gain(self, h: Floats) -> Floats:
        return _product(kernels.sparse_gain, (self.start, self.column, self.weight), h, self.arms)

    def observed(self, pi: Floats) -> Floats:
        arrays = self.start, self.column, self.weight
        return _product(kernels.sparse_observed, arrays, pi, self.arms)

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        action = _actions(action, self.arms)
        room = int((self.start[action + 1] - self.start[action]).sum())
        arrays = self.start, self.column, self.weight, action
        return _revealed(kernels.sparse_reveal, arrays, room, keys, t)

    def reach(self, action: Ints) -> Floats:
        rows = np.zeros((len(action), self.arms))
        for b, i in enumerate(action):
            edges = slice(self.start[i], self.start[i + 1])
            rows[b, self.column[edges]] = self.weight[edges]
        return rows

    def to_dense(self) -> DenseFeedback:
        """The same graph as a matrix."""
        return DenseFeedback(self.reach(np.arange(self.arms)))


@dataclass(frozen=True, eq=False)
class UniformFeedback:
    """Every other arm with the same probability r: G h = (1-r) h + r sum(h), never a matrix.

    >>> import numpy as np
    >>> UniformFeedback(0.5, count=2).gain(np.array([[0.1, 0.2]]))
    array([[0.2 , 0.25]])
    """

    r: Floats
    count: int

    def __init__(self, r: object, count: int) -> None:
        rate = np.atleast_1d(_numbers(r, "the probability r"))
        if rate.ndim != 1 or not rate.size:
            raise InputError(f"r is one number, or one for each trial; got the shape {rate.shape}")
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

    def gain(self, h: Floats) -> Floats:
        return _product(kernels.uniform_gain, (self.r,), h, self.arms)

    def observed(self, pi: Floats) -> Floats:
        return _product(kernels.uniform_observed, (self.r,), pi, self.arms)

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        action = _actions(action, self.count, len(self.r))
        room = len(action) * self.count
        return _revealed(kernels.uniform_reveal, (self.r, self.count, action), room, keys, t)

    def reach(self, action: Ints) -> Floats:
        rows = np.repeat(np.broadcast_to(self.r, len(action))[:, None], self.count, axis=1)
        rows[np.arange(len(action)), action] = 1.0
        return rows


def from_edges(
    arms: int, source: object, target: object, weight: object = 1.0
) -> DenseFeedback | SparseFeedback:
    """A fixed graph from its edges, as a matrix where it is small."""
    sparse = SparseFeedback.from_edges(arms, source, target, weight)
    return sparse.to_dense() if arms <= DENSE_LIMIT else sparse


def matrices(graph: Feedback, trials: int) -> Floats:
    """G as a matrix for all trials (1, K, K), or one for each (B, K, K).

    >>> matrices(UniformFeedback(0.5, 2), trials=7)
    array([[[1. , 0.5],
            [0.5, 1. ]]])
    """
    if isinstance(graph, DenseFeedback):
        return graph.matrix
    if graph.shared:
        return graph.reach(np.arange(graph.arms))[None]
    rows = [graph.reach(np.full(trials, arm)) for arm in range(graph.arms)]
    return np.stack(rows, axis=1)


def best_revealers(graph: Feedback, first: Floats, score: Floats) -> Floats:
    """Pass the probability of each arm on to the arms of largest score that reveal it, evenly.

    pi_j = sum_i first_i 1{j in argmax over {k: G(k, i) = 1} of score_k} / (how many there are),
    for a 0/1 graph. On an undirected graph the arms that reveal i are i and its neighbours.

    >>> import numpy as np
    >>> star = DenseFeedback(np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> best_revealers(star, np.array([[0.0, 1.0, 0.0]]), np.array([[0.7, 0.4, 0.9]]))
    array([[1., 0., 0.]])
    """
    pi = np.empty_like(first)
    if isinstance(graph, SparseFeedback):
        kernels.sparse_revealers(graph.start, graph.column, graph.weight, first, score, pi)
        return pi
    if isinstance(graph, UniformFeedback):  # never a matrix: all reveal all, or each itself
        top = (score == score.max(axis=1, keepdims=True)).astype(np.float64)
        return np.where(graph.r[:, None] > 0.0, top / top.sum(axis=1, keepdims=True), first)
    kernels.dense_revealers(matrices(graph, len(first)), first, score, pi)
    return pi


def remembered(
    known: WeakKeyDictionary[Feedback, NDArray[T]],
    graph: Feedback,
    compute: Callable[[Any], NDArray[T]],
) -> NDArray[T]:
    """The read-only result of ``compute`` for a graph, kept as long as a graph that trials share.

    >>> from graphbandits.graphs import as_process
    >>> star, asked = as_process("star", arms=3).feedback, []
    >>> known = WeakKeyDictionary()
    >>> for _ in range(2):
    ...     found = remembered(known, star, lambda graph: asked.append(graph) or np.ones(1))
    >>> len(asked)
    1
    """
    try:
        found = known.get(graph)
    except TypeError:  # the feedback of a plug-in, which need not be hashable
        return compute(graph)
    if found is None:
        found = compute(graph)
        found.setflags(write=False)
        if graph.shared:
            known[graph] = found
    return found


def _numbers(values: object, what: str) -> Floats:
    """A copy of the values as floats in C order, so that the caller's array may change."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{what}: the rows differ in length") from None
    if array.dtype == object and all(isinstance(value, Real) for value in array.flat):
        array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{what} holds numbers in [0, 1]; this one holds {array.dtype}")
    return np.array(array, np.float64, order="C")


def _arm_numbers(values: object, arms: int) -> Ints:
    array = np.atleast_1d(np.asarray(values))
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InputError(f"edges join arms by their numbers 0 to {arms - 1}, given as a list")
    if array.min() < 0 or array.max() >= arms:
        raise InputError(f"edges join arms 0 to {arms - 1}; an edge goes outside")
    numbers = np.ascontiguousarray(array, np.int64)
    # for read-only arrays a kernel would be compiled a second time
    return numbers if numbers.flags.writeable else numbers.copy()


def _product(
    kernel: Callable[..., None], graph: tuple[NDArray[Any], ...], values: Floats, arms: int
) -> Floats:
    """G h or G'pi: checked here, since kernels do not check where they read."""
    rows = np.ascontiguousarray(values, np.float64)
    trials = len(graph[0]) if len(graph) == 1 else 1  # rows of neighbours are shared
    if rows.ndim != 2 or rows.shape[1] != arms or trials not in (1, len(rows)):
        raise InputError(
            f"there is one row for each of the graph's trials and {arms} columns in it; the shape "
            f"given is {rows.shape}"
        )
    out = np.empty_like(rows)
    kernel(*graph, rows, out)
    return out


def _revealed(
    kernel: Callable[..., int], graph: tuple[Any, ...], room: int, keys: Keys, t: int
) -> tuple[Ints, Ints]:
    trial, arm = np.empty(room, np.int64), np.empty(room, np.int64)
    count = kernel(*graph, keys.key("reveal"), keys.first_trial, t, trial, arm)
    return trial[:count], arm[:count]


def _actions(action: Ints, arms: int, trials: int = 1) -> Ints:
    """One arm in range for each trial."""
    played = np.ascontiguousarray(action, np.int64)
    inside = played.ndim == 1 and trials in (1, len(played))
    if not inside or (played.size and not 0 <= played.min() <= played.max() < arms):
        raise InputError(f"actions are one arm from 0 to {arms - 1} for each trial, not {action}")
    return played


def wrong_probability(values: Floats) -> tuple[int, ...] | None:
    """The place of the first entry that is no probability.

    >>> wrong_probability(np.array([[0.0, 1.0], [np.nan, 2.0]]))
    (1, 0)
    """
    wrong = ~((values >= 0.0) & (values <= 1.0))  # NaN is wrong too
    return tuple(np.argwhere(wrong)[0].tolist()) if wrong.any() else None


def _check_probabilities(values: Floats, what: str) -> None:
    place = wrong_probability(values)
    if place is not None:
        raise InputError(
            f"{what}: entries are probabilities in [0, 1]; entry {place} is {values[place]:g}"
        )
