"""The four numbers of a 0/1 graph that appear in regret bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

import numpy as np

from graphbandits._types import Ints
from graphbandits.errors import InputError, check_positive
from graphbandits.graphs.feedback import Feedback, UniformFeedback
from graphbandits.graphs.invariants._adjacency import (
    either_direction,
    is_undirected,
    mutual_edges,
    reveal_matrix,
)
from graphbandits.graphs.invariants._budget import Budget
from graphbandits.graphs.invariants._deterministic import check_deterministic
from graphbandits.graphs.invariants._domination import (
    DominationProblem,
    dominating_set,
    dominating_weights,
    nearly_equal,
    round_up,
)
from graphbandits.graphs.invariants._independence import cover_by_cliques, independent_set
from graphbandits.graphs.loaders import GraphLike, make_process
from graphbandits.graphs.processes import fixed_feedback

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
