"""Graph numbers used in simulations: searches with a step budget, independent of the machine."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.graphs.feedback import Feedback, UniformFeedback, cached_by_graph, matrices
from graphbandits.graphs.invariants import _colouring_kernels as kernels
from graphbandits.graphs.invariants._adjacency import either_direction, mutual_edges
from graphbandits.graphs.invariants._budget import Budget
from graphbandits.graphs.invariants._independence import cover_by_cliques, independent_set

#: Steps of a search, each of a few milliseconds.
STEPS = 100
#: Search nodes for each graph if trials have different graphs.
SMALL_NODES = 10_000
#: Cached numbers of small graphs; there are 1024 undirected graphs of five arms.
CACHE_SIZE = 2**16

_COVERS: dict[int, dict[bytes, int]] = {}
_COVERS_BY_GRAPH: WeakKeyDictionary[Feedback, Ints] = WeakKeyDictionary()


def independence_number(graph: Feedback) -> int:
    """Return the size of the largest set of arms without edges in either direction.

    The graph must have entries 0 and 1 and be shared by all trials. If the search exceeds its step
    budget, the result is the best upper bound that was found. It does not depend on the clock.

    >>> from graphbandits.graphs import as_process
    >>> independence_number(as_process("paper").feedback)
    2
    """
    check_deterministic(graph)
    if not graph.shared:
        raise InputError(
            "the independence number needs one graph, but this graph differs between trials"
        )
    if isinstance(graph, UniformFeedback):
        return 1 if graph.r[0] > 0.0 else graph.arms
    return independent_set(either_direction(graph), Budget(steps=STEPS), lambda *_: None)[1]


def clique_cover_numbers(graph: Feedback) -> Ints:
    """Return the clique cover number of a 0/1 graph, or an upper bound, one number per trial.

    The result does not depend on the clock. A graph that all trials share gets a longer search than
    each of many graphs. Up to 40 arms both are exact, with rare exceptions.

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
            "this number is defined for graphs of entries 0 and 1; the given graph has other "
            "probabilities"
        )


def _each(stack: Floats) -> Ints:
    """Return the number of each matrix, cached by its bits: an audit needs it in every round."""
    trials, arms, _ = stack.shape
    edges = stack > 0.0
    edges &= edges.transpose(0, 2, 1)
    packed = np.packbits(edges.reshape(trials, -1), axis=1)
    size, data = packed.shape[1], packed.tobytes()
    keys = [data[k : k + size] for k in range(0, len(data), size)]
    known = _COVERS.setdefault(arms, {})
    # read once: another thread may clear the cache at any time
    numbers = {key: known.get(key) for key in keys}
    place = {key: k for k, key in enumerate(keys) if numbers[key] is None}
    if place:
        new = edges[list(place.values())]
        found = np.empty(len(new), np.int64)
        kernels.cover_numbers(new, SMALL_NODES, found)
        computed = dict(zip(place, found.tolist(), strict=True))
        if len(known) >= CACHE_SIZE:
            known.clear()
        known.update(computed)
        numbers |= computed
    return np.array([numbers[key] for key in keys])


def _cover_number(graph: Feedback) -> Ints:
    return np.array(
        [cover_by_cliques(mutual_edges(graph), Budget(steps=STEPS), lambda *_: None)[1]]
    )
