"""The four numbers of a 0/1 graph that appear in regret bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_positive
from graphbandits.graphs import _colouring_kernels as kernels
from graphbandits.graphs._domination import (
    DominationProblem,
    dominating_set,
    dominating_weights,
    nearly_equal,
    round_up,
)
from graphbandits.graphs._independence import cover_by_cliques, independent_set
from graphbandits.graphs._reductions import (
    Budget,
    either_direction,
    is_undirected,
    mutual_edges,
    reveal_matrix,
)
from graphbandits.graphs.feedback import Feedback, UniformFeedback, cached_by_graph, matrices
from graphbandits.graphs.loaders import GraphLike, make_process
from graphbandits.graphs.processes import fixed_feedback

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


T = TypeVar("T", int, float)

#: Called with the lower and upper bound whenever one of them improves.
Progress = Callable[[float, float], None]
#: Arms, numbered from 0, in increasing order.
Arms = tuple[int, ...]
#: Default time limit of a search, in seconds.
TIME_LIMIT = 5.0


@dataclass(frozen=True)
class Bracket(Generic[T]):
    """Lower and upper bound on a number, with the best set or cover that was found.

    Parameters
    ----------
    lower, upper
        Bounds on the number.
    certificate
        Proof of one of the bounds, whose size equals the bound: the cliques of a cover (upper), the
        arms of an independent set (lower), the arms of a dominating set (upper), or the weights of
        a fractional dominating set (upper).

    Examples
    --------
    >>> Bracket(2, 3, ((0, 1), (2,), (3,))).proved
    False
    """

    lower: T
    upper: T
    certificate: tuple[Arms, ...] | Arms | tuple[float, ...]

    @property
    def proved(self) -> bool:
        """Whether the bounds are equal."""
        return self.lower == self.upper


@dataclass(frozen=True)
class GraphNumbers:
    """Consistent bounds on the four numbers of a graph.

    Both bounds satisfy independence <= clique cover and fractional domination <= domination. For
    undirected graphs they also satisfy domination <= independence.

    Parameters
    ----------
    clique_cover, independence, domination, fractional_domination
        Bounds on each number.
    """

    clique_cover: Bracket[int]
    independence: Bracket[int]
    domination: Bracket[int]
    fractional_domination: Bracket[float]

    @property
    def proved(self) -> bool:
        """Whether the bounds of all four numbers are equal."""
        return all(getattr(self, field.name).proved for field in fields(self))


def graph_numbers(
    graph: GraphLike,
    time_limit: float = TIME_LIMIT,
    progress: Callable[[str], Progress | None] | None = None,
) -> GraphNumbers:
    """Compute all four numbers; the bounds of each number improve those of the others.

    Parameters
    ----------
    graph
        A graph of entries 0 and 1 that is the same in all rounds and trials.
    time_limit
        Time limit of each of the four searches, in seconds.
    progress
        Called with the name of a number when its search starts. It returns the function to call
        whenever a bound improves, or None.

    Returns
    -------
    GraphNumbers

    Examples
    --------
    >>> numbers = graph_numbers("paper")
    >>> numbers.clique_cover.upper, numbers.independence.upper, numbers.domination.upper
    (2, 2, 1)
    """
    feedback = _fixed_graph(graph)

    def callback(name: str) -> Progress | None:
        return progress(name) if progress is not None else None

    return _make_consistent(
        feedback,
        clique_cover(feedback, time_limit, callback("clique cover")),
        independence(feedback, time_limit, callback("independence")),
        domination(feedback, time_limit, callback("domination")),
        fractional_domination(feedback, time_limit, callback("fractional domination")),
    )


def _make_consistent(
    feedback: Feedback,
    cover: Bracket[int],
    independent: Bracket[int],
    dominating: Bracket[int],
    fractional: Bracket[float],
) -> GraphNumbers:
    """Apply fractional domination <= domination, domination <= independence <= clique cover."""
    apart: Arms = independent.certificate  # type: ignore[assignment]
    revealing: Arms = dominating.certificate  # type: ignore[assignment]
    z: tuple[float, ...] = fractional.certificate  # type: ignore[assignment]
    lower, upper = fractional.lower, fractional.upper
    if not isinstance(feedback, UniformFeedback) and is_undirected(feedback):
        apart = _maximal(reveal_matrix(feedback), apart)  # which is a dominating set
        revealing = min(revealing, apart, key=len)
    if len(revealing) < upper:
        inside = np.zeros(feedback.arms)
        inside[list(revealing)] = 1.0
        z, upper = tuple(inside.tolist()), float(len(revealing))
        lower = upper if nearly_equal(lower, upper) else lower
    return GraphNumbers(
        Bracket(max(cover.lower, len(apart)), cover.upper, cover.certificate),
        Bracket(len(apart), min(independent.upper, cover.upper), apart),
        Bracket(max(dominating.lower, round_up(lower)), len(revealing), revealing),
        Bracket(lower, upper, z),
    )


def _maximal(matrix: Any, arms: Arms) -> Arms:
    """Add arms to an independent set until every other arm has a neighbour in it."""
    inside = np.zeros(matrix.shape[0], np.int64)
    inside[list(arms)] = 1
    while len(free := np.flatnonzero(matrix @ inside == 0)):
        inside[free[0]] = 1
    return _arms(np.flatnonzero(inside))


def clique_cover(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """Compute the clique cover number chi: the least number of cliques that partition the arms.

    In a clique, every arm reveals every other arm. The number is the chromatic number of the
    complement of the graph of mutual edges.

    Parameters
    ----------
    graph
        A graph of entries 0 and 1 that is the same in all rounds and trials.
    time_limit
        Time limit in seconds.
    progress
        Called with the lower and upper bound whenever one of them improves.

    Returns
    -------
    Bracket
        The certificate is a tuple of cliques.

    Examples
    --------
    >>> clique_cover("paper")
    Bracket(lower=2, upper=2, certificate=((0, 1, 2), (3, 4)))
    """
    feedback, budget, report = _start_search(graph, time_limit, progress)
    if count := _uniform_number(feedback, report):
        return Bracket(count, count, _cliques(np.arange(feedback.arms) % count))
    lower, upper, label = cover_by_cliques(mutual_edges(feedback), budget, report)
    return Bracket(lower, upper, _cliques(label))


def independence(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """Compute the independence number: the size of the largest set of arms without edges.

    Arms of an independent set have no edge in either direction.

    Parameters
    ----------
    graph
        A graph of entries 0 and 1 that is the same in all rounds and trials.
    time_limit
        Time limit in seconds.
    progress
        Called with the lower and upper bound whenever one of them improves.

    Returns
    -------
    Bracket
        The certificate is a tuple of arms, numbered from 0.

    Examples
    --------
    >>> independence("paper").certificate
    (0, 3)
    """
    feedback, budget, report = _start_search(graph, time_limit, progress)
    if count := _uniform_number(feedback, report):
        return Bracket(count, count, tuple(range(count)))
    lower, upper, found = independent_set(either_direction(feedback), budget, report)
    return Bracket(lower, upper, _arms(found))


def domination(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """Compute the domination number: the size of the smallest set of arms that reveals all arms.

    Parameters
    ----------
    graph
        A graph of entries 0 and 1 that is the same in all rounds and trials.
    time_limit
        Time limit in seconds.
    progress
        Called with the lower and upper bound whenever one of them improves.

    Returns
    -------
    Bracket
        The certificate is a tuple of arms, numbered from 0.

    Examples
    --------
    >>> domination("paper").certificate
    (2,)
    """
    feedback, budget, report = _start_search(graph, time_limit, progress)
    if count := _uniform_number(feedback, report):
        return Bracket(count, count, tuple(range(count)))
    lower, upper, found = dominating_set(DominationProblem(reveal_matrix(feedback)), budget, report)
    return Bracket(lower, upper, _arms(found))


def fractional_domination(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[float]:
    """Compute the fractional domination number: the least sum of z >= 0 that reveals every arm.

    Every arm i needs sum of z_j >= 1 over the arms j that reveal it. The lower bound is the sum of
    a dual solution y >= 0, of which every arm reveals at most 1. Bounds that agree up to a relative
    difference of 1e-9 are considered equal. Buccapatnam, Eryilmaz and Shroff (2014).

    Parameters
    ----------
    graph
        A graph of entries 0 and 1 that is the same in all rounds and trials.
    time_limit
        Time limit in seconds.
    progress
        Called with the lower and upper bound whenever one of them improves.

    Returns
    -------
    Bracket
        The certificate is the tuple z.

    Examples
    --------
    >>> from graphbandits.graphs import as_process
    >>> round(fractional_domination(as_process("ring", arms=5), time_limit=1.0).upper, 9)
    1.666666667
    """
    feedback, budget, report = _start_search(graph, time_limit, progress)
    if count := float(_uniform_number(feedback, report)):
        return Bracket(count, count, tuple(float(arm < count) for arm in range(feedback.arms)))
    lower, upper, z = dominating_weights(DominationProblem(reveal_matrix(feedback)), budget, report)
    return Bracket(lower, upper, tuple(z.tolist()))


def _start_search(
    graph: GraphLike, time_limit: object, progress: Progress | None
) -> tuple[Feedback, Budget, Progress]:
    """Return the graph, the budget of its search and the function that reports better bounds."""
    feedback = _fixed_graph(graph)
    known: list[tuple[float, float]] = []

    def report(lower: float, upper: float) -> None:
        if known:
            lower, upper = max(lower, known[-1][0]), min(upper, known[-1][1])
        if progress is not None and [(lower, upper)] != known:
            known[:] = [(lower, upper)]
            progress(lower, upper)

    return feedback, Budget(seconds=check_positive(time_limit, "time_limit")), report


def _fixed_graph(graph: GraphLike) -> Feedback:
    """Convert to a 0/1 graph that is the same in all rounds and trials, or raise an error."""
    if hasattr(graph, "reach") and hasattr(graph, "gain"):
        feedback: Feedback | None = graph
    else:
        feedback = fixed_feedback(make_process(graph, None))
    if feedback is None:
        raise InputError(
            "this number is defined for a fixed graph, but the given graph may change from round "
            "to round: pass the graph of one round"
        )
    if not feedback.shared:
        raise InputError(
            "this number is defined for one graph, but the given graph differs between trials: "
            "pass the matrix of one trial"
        )
    check_deterministic(feedback)
    return feedback


def _uniform_number(feedback: Feedback, report: Progress) -> int:
    """Return the number if every arm reveals all arms, or only itself; 0 for other graphs."""
    if not isinstance(feedback, UniformFeedback):
        return 0
    count = 1 if feedback.r[0] > 0.0 else feedback.arms
    report(count, count)
    return count


def _arms(vertices: Ints) -> Arms:
    return tuple(vertices.tolist())


def _cliques(label: Ints) -> tuple[Arms, ...]:
    """Return the arms of each label, ordered by the first arm."""
    members: dict[int, list[int]] = {}
    for arm, clique in enumerate(label.tolist()):
        members.setdefault(clique, []).append(arm)
    return tuple(map(tuple, members.values()))
