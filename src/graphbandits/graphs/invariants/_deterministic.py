"""Numbers that simulations depend on: searches with a step budget, the same on every machine."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.graphs.feedback import Feedback, UniformFeedback, cached_by_graph, matrices
from graphbandits.graphs.invariants import _colouring_kernels as kernels
from graphbandits.graphs.invariants._adjacency import either, mutual
from graphbandits.graphs.invariants._budget import Budget
from graphbandits.graphs.invariants._independence import cover_by_cliques, independent_set

#: Steps of a search, each of some milliseconds.
STEPS = 100
#: Nodes of the search in each of the trials' own graphs.
SMALL_NODES = 10_000
#: Numbers of small graphs that are cached; there are 1024 undirected graphs of five arms.
KEPT = 2**16

_COVERS: dict[int, dict[bytes, int]] = {}
_COVERS_BY_GRAPH: WeakKeyDictionary[Feedback, Ints] = WeakKeyDictionary()


def independence_number(graph: Feedback) -> int:
    """The size of the largest set of arms no two of which have an edge, in either direction.

    Defined for a 0/1 graph that all trials share. If the search does not end within its steps, the
    least upper bound found. It does not depend on the clock.

    >>> from graphbandits.graphs import as_process
    >>> independence_number(as_process("paper").feedback)
    2
    """
    check_deterministic(graph)
    if not graph.shared:
        raise InputError("the independence number is one of a graph that all trials share")
    if isinstance(graph, UniformFeedback):
        return 1 if graph.r[0] > 0.0 else graph.arms
    return independent_set(either(graph), Budget(steps=STEPS), lambda *_: None)[1]


def clique_cover_numbers(graph: Feedback) -> Ints:
    """chi of a 0/1 graph, or the least upper bound found, one number for each of its trials.

    It does not depend on the clock. One graph for all trials gets a longer search than each of
    many; up to 40 arms both are exact but for rare exceptions.

    >>> from graphbandits.graphs import DenseFeedback
    >>> clique_cover_numbers(DenseFeedback(np.stack([np.eye(3), np.ones((3, 3))])))
    array([3, 1])
    """
    check_deterministic(graph)
    if isinstance(graph, UniformFeedback):
        return np.where(graph.r > 0.0, 1, graph.arms)
    if not graph.shared:
        return _each(matrices(graph, 1))
    return cached_by_graph(_COVERS_BY_GRAPH, graph, _cover_number)


def check_deterministic(graph: Feedback) -> None:
    """Check that all entries are 0 or 1."""
    if not graph.deterministic:
        raise InputError(
            "this number is one of a graph of entries 0 and 1, and the one given has probabilities"
        )


def _each(stack: Floats) -> Ints:
    """The number of each matrix, cached by its bits: an audit asks in every round."""
    trials, arms, _ = stack.shape
    there = stack > 0.0
    there &= there.transpose(0, 2, 1)
    packed = np.packbits(there.reshape(trials, -1), axis=1)
    size, data = packed.shape[1], packed.tobytes()
    keys = [data[k : k + size] for k in range(0, len(data), size)]
    known = _COVERS.setdefault(arms, {})
    # read once: another thread may clear the cache at any moment
    numbers = {key: known.get(key) for key in keys}
    place = {key: k for k, key in enumerate(keys) if numbers[key] is None}
    if place:
        new = there[list(place.values())]
        found = np.empty(len(new), np.int64)
        kernels.cover_numbers(new, SMALL_NODES, found)
        computed = dict(zip(place, found.tolist(), strict=True))
        if len(known) >= KEPT:
            known.clear()
        known.update(computed)
        numbers |= computed
    return np.array([numbers[key] for key in keys])


def _cover_number(graph: Feedback) -> Ints:
    return np.array([cover_by_cliques(mutual(graph), Budget(steps=STEPS), lambda *_: None)[1]])
