"""The four numbers that regret bounds scale with, of one 0/1 graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

import numpy as np

from graphbandits._types import Ints
from graphbandits.errors import InputError, check_positive
from graphbandits.graphs.feedback import Feedback, UniformFeedback
from graphbandits.graphs.invariants._adjacency import directed, either, mutual, undirected
from graphbandits.graphs.invariants._budget import Budget
from graphbandits.graphs.invariants._deterministic import check_deterministic
from graphbandits.graphs.invariants._domination import (
    Revealing,
    at_least,
    dominating_set,
    dominating_weights,
    same,
)
from graphbandits.graphs.invariants._independence import cover_by_cliques, independent_set
from graphbandits.graphs.loaders import GraphLike, make_process
from graphbandits.graphs.processes import fixed_feedback

T = TypeVar("T", int, float)

#: Called with the bounds whenever one of them has improved.
Progress = Callable[[float, float], None]
#: Arms, numbered from 0, in increasing order.
Arms = tuple[int, ...]
#: Default time limit of a search, in seconds.
TIME_LIMIT = 5.0


@dataclass(frozen=True)
class Bracket(Generic[T]):
    """``lower`` <= the number <= ``upper``, with the best set or cover that was found.

    ``certificate`` has the size of one of the two bounds and can be checked: the cliques of a cover
    (upper), the arms of an independent set (lower), of a dominating set (upper).

    >>> Bracket(2, 3, ((0, 1), (2,), (3,))).proved
    False
    """

    lower: T
    upper: T
    certificate: tuple[Arms, ...] | Arms | tuple[float, ...]

    @property
    def proved(self) -> bool:
        """Whether the bounds are equal, so that the number is known."""
        return self.lower == self.upper


@dataclass(frozen=True)
class GraphNumbers:
    """Brackets of the four numbers of a graph, which agree with each other.

    independence <= clique cover and fractional domination <= domination hold for both bounds, and
    so does domination <= independence if the graph is undirected.
    """

    clique_cover: Bracket[int]
    independence: Bracket[int]
    domination: Bracket[int]
    fractional_domination: Bracket[float]

    @property
    def proved(self) -> bool:
        """Whether all four numbers are known."""
        return all(getattr(self, field.name).proved for field in fields(self))


def graph_numbers(
    graph: GraphLike,
    time_limit: float = TIME_LIMIT,
    progress: Callable[[str], Progress | None] | None = None,
) -> GraphNumbers:
    """Compute all four numbers, and use the bounds of each for the others.

    Parameters
    ----------
    graph
        A graph that is the same in all rounds and trials, of entries 0 and 1.
    time_limit
        Seconds for each of the four searches.
    progress
        Called with the name of a number when its search starts. It returns the function to call
        whenever a bound improves, or None.

    Examples
    --------
    >>> numbers = graph_numbers("paper")
    >>> numbers.clique_cover.upper, numbers.independence.upper, numbers.domination.upper
    (2, 2, 1)
    """
    feedback = _one(graph)

    def watch(name: str) -> Progress | None:
        return progress(name) if progress is not None else None

    return _agreeing(
        feedback,
        clique_cover(feedback, time_limit, watch("clique cover")),
        independence(feedback, time_limit, watch("independence")),
        domination(feedback, time_limit, watch("domination")),
        fractional_domination(feedback, time_limit, watch("fractional domination")),
    )


def _agreeing(
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
    if not isinstance(feedback, UniformFeedback) and undirected(feedback):
        apart = _maximal(directed(feedback), apart)  # which is a dominating set
        revealing = min(revealing, apart, key=len)
    if len(revealing) < upper:
        inside = np.zeros(feedback.arms)
        inside[list(revealing)] = 1.0
        z, upper = tuple(inside.tolist()), float(len(revealing))
        lower = upper if same(lower, upper) else lower
    return GraphNumbers(
        Bracket(max(cover.lower, len(apart)), cover.upper, cover.certificate),
        Bracket(len(apart), min(independent.upper, cover.upper), apart),
        Bracket(max(dominating.lower, at_least(lower)), len(revealing), revealing),
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
    """chi: the least number of cliques that the arms can be partitioned into, with the cliques.

    A clique needs both directions: every member observes every other. The number is the chromatic
    number of the complement of the graph of mutual edges.

    >>> clique_cover("paper")
    Bracket(lower=2, upper=2, certificate=((0, 1, 2), (3, 4)))
    """
    feedback, budget, watch = _started(graph, time_limit, progress)
    if count := _uniform_number(feedback, watch):
        return Bracket(count, count, _cliques(np.arange(feedback.arms) % count))
    lower, upper, label = cover_by_cliques(mutual(feedback), budget, watch)
    return Bracket(lower, upper, _cliques(label))


def independence(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """The size of the largest set of arms without an edge in either direction, with the set.

    >>> independence("paper").certificate
    (0, 3)
    """
    feedback, budget, watch = _started(graph, time_limit, progress)
    if count := _uniform_number(feedback, watch):
        return Bracket(count, count, tuple(range(count)))
    lower, upper, found = independent_set(either(feedback), budget, watch)
    return Bracket(lower, upper, _arms(found))


def domination(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """The size of the smallest set of arms that reveal all arms, with the set.

    >>> domination("paper").certificate
    (2,)
    """
    feedback, budget, watch = _started(graph, time_limit, progress)
    if count := _uniform_number(feedback, watch):
        return Bracket(count, count, tuple(range(count)))
    lower, upper, found = dominating_set(Revealing(directed(feedback)), budget, watch)
    return Bracket(lower, upper, _arms(found))


def fractional_domination(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[float]:
    """The least sum of z >= 0 that reveals every arm once, with z.

    The lower bound is the sum of y >= 0 of which every arm reveals at most 1. Bounds that agree up
    to a share of 1e-9 are one number. Buccapatnam, Eryilmaz and Shroff (2014).

    >>> from graphbandits.graphs import as_process
    >>> round(fractional_domination(as_process("ring", arms=5), time_limit=1.0).upper, 9)
    1.666666667
    """
    feedback, budget, watch = _started(graph, time_limit, progress)
    if count := float(_uniform_number(feedback, watch)):
        return Bracket(count, count, tuple(float(arm < count) for arm in range(feedback.arms)))
    lower, upper, z = dominating_weights(Revealing(directed(feedback)), budget, watch)
    return Bracket(lower, upper, tuple(z.tolist()))


def _started(
    graph: GraphLike, time_limit: object, progress: Progress | None
) -> tuple[Feedback, Budget, Progress]:
    """The graph, the budget of its search and the function that reports better bounds."""
    feedback = _one(graph)
    known: list[tuple[float, float]] = []

    def watch(lower: float, upper: float) -> None:
        if known:
            lower, upper = max(lower, known[-1][0]), min(upper, known[-1][1])
        if progress is not None and [(lower, upper)] != known:
            known[:] = [(lower, upper)]
            progress(lower, upper)

    return feedback, Budget(seconds=check_positive(time_limit, "time_limit")), watch


def _one(graph: GraphLike) -> Feedback:
    """The 0/1 graph that is the same in all rounds and trials."""
    if hasattr(graph, "reach") and hasattr(graph, "gain"):
        feedback: Feedback | None = graph
    else:
        feedback = fixed_feedback(make_process(graph, None))
    if feedback is None:
        raise InputError(
            "this number is one of a graph that stays the same; the graph given may change from "
            "round to round: give one of its rounds"
        )
    if not feedback.shared:
        raise InputError(
            "this number is one of a single graph; the one given differs between trials: give the "
            "matrix of one of them"
        )
    check_deterministic(feedback)
    return feedback


def _uniform_number(feedback: Feedback, watch: Progress) -> int:
    """All four numbers if every arm reveals all arms, or only itself; 0 for any other graph."""
    if not isinstance(feedback, UniformFeedback):
        return 0
    count = 1 if feedback.r[0] > 0.0 else feedback.arms
    watch(count, count)
    return count


def _arms(vertices: Ints) -> Arms:
    return tuple(vertices.tolist())


def _cliques(label: Ints) -> tuple[Arms, ...]:
    """The arms of each label, ordered by the first one."""
    members: dict[int, list[int]] = {}
    for arm, clique in enumerate(label.tolist()):
        members.setdefault(clique, []).append(arm)
    return tuple(map(tuple, members.values()))
