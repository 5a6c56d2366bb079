"""The four numbers that regret bounds scale with, of one 0/1 graph."""

from __future__ import annotations

import numpy as np

from graphbandits.errors import InputError, positive_number
from graphbandits.graphs.feedback import Feedback, Uniform
from graphbandits.graphs.invariants.adjacency import directed, either, mutual
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.bracket import Arms, Bracket, Progress
from graphbandits.graphs.invariants.cliques import cover_by_cliques
from graphbandits.graphs.invariants.dominating import Revealing, dominating_set, fractional
from graphbandits.graphs.invariants.independent import independent_set
from graphbandits.graphs.invariants.steady import check_deterministic
from graphbandits.graphs.loaders import GraphLike, make_process
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.types import Ints

#: Seconds that a search may take, unless the caller says otherwise.
TIME_LIMIT = 5.0


class _Watch:
    """Tells the caller of better bounds, and of no others."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._bounds: tuple[float, float] | None = None

    def __call__(self, lower: float, upper: float) -> None:
        before = self._bounds
        if before is not None:
            lower, upper = max(lower, before[0]), min(upper, before[1])
        if self._progress is not None and (lower, upper) != before:
            self._bounds = lower, upper
            self._progress(lower, upper)


def clique_cover(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """chi: the least number of cliques that the arms can be parted into; certificate: the cliques.

    A clique needs both directions: every member observes every other. The number is the chromatic
    number of the complement of the graph of mutual edges.

    >>> clique_cover("paper")
    Bracket(lower=2, upper=2, certificate=((0, 1, 2), (3, 4)))
    """
    feedback, allowance, watch = _one(graph), _allowed(time_limit), _Watch(progress)
    if isinstance(feedback, Uniform):
        count = _uniform_number(feedback, watch)
        alone = tuple((arm,) for arm in range(count))
        return Bracket(count, count, alone if count > 1 else (tuple(range(feedback.arms)),))
    lower, upper, label = cover_by_cliques(mutual(feedback), allowance, watch)
    return Bracket(lower, upper, _cliques(label))


def independence(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """The size of the largest set of arms without an edge either way; certificate: the set.

    >>> independence("paper").certificate
    (0, 3)
    """
    feedback, allowance, watch = _one(graph), _allowed(time_limit), _Watch(progress)
    if isinstance(feedback, Uniform):
        count = _uniform_number(feedback, watch)
        return Bracket(count, count, tuple(range(count)))
    lower, upper, found = independent_set(either(feedback), allowance, watch)
    return Bracket(lower, upper, _arms(found))


def domination(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """The size of the smallest set of arms that reveal all arms; certificate: the set.

    >>> domination("paper").certificate
    (2,)
    """
    feedback, allowance, watch = _one(graph), _allowed(time_limit), _Watch(progress)
    if isinstance(feedback, Uniform):
        count = _uniform_number(feedback, watch)
        return Bracket(count, count, tuple(range(count)))
    lower, upper, found = dominating_set(Revealing(directed(feedback)), allowance, watch)
    return Bracket(lower, upper, _arms(found))


def fractional_domination(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[float]:
    """The least sum of z >= 0 that reveals every arm once; certificate: z.

    The lower bound is the sum of y >= 0 of which every arm reveals at most 1. Bounds that agree to
    1e-9 of them are one number. Buccapatnam, Eryilmaz and Shroff (2014).

    >>> from graphbandits.graphs import as_process
    >>> round(fractional_domination(as_process("ring", arms=5), time_limit=1.0).upper, 9)
    1.666666667
    """
    feedback, allowance, watch = _one(graph), _allowed(time_limit), _Watch(progress)
    if isinstance(feedback, Uniform):
        count = float(_uniform_number(feedback, watch))
        one = (1.0,) + (0.0,) * (feedback.arms - 1)
        return Bracket(count, count, one if count == 1.0 else (1.0,) * feedback.arms)
    lower, upper, z = fractional(Revealing(directed(feedback)), allowance, watch)
    return Bracket(lower, upper, tuple(z.tolist()))


def _one(graph: GraphLike) -> Feedback:
    """The one 0/1 graph that is meant."""
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


def _allowed(time_limit: object) -> Allowance:
    return Allowance(seconds=positive_number(time_limit, "time_limit"))


def _uniform_number(feedback: Uniform, watch: _Watch) -> int:
    """All four numbers of a graph in which all reveal all, or each itself."""
    count = 1 if feedback.r[0] > 0.0 else feedback.arms
    watch(count, count)
    return count


def _arms(vertices: Ints) -> Arms:
    return tuple(vertices.tolist())


def _cliques(label: Ints) -> tuple[Arms, ...]:
    """The arms of each label, by their first one."""
    order = np.argsort(label, kind="stable")
    end = np.cumsum(np.bincount(label))
    start = np.concatenate([[0], end[:-1]])
    turn = np.argsort(order[start])
    arms = order.tolist()
    places = zip(start[turn].tolist(), end[turn].tolist(), strict=True)
    return tuple(tuple(arms[first:last]) for first, last in places)
