"""Clique cover, independence and domination numbers, with bounds and certificates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import scipy

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_positive
from graphbandits.graphs import _clique_kernels as kernels
from graphbandits.graphs import _sparse_kernels as domination_kernels
from graphbandits.graphs._clique_kernels import bit_sets
from graphbandits.graphs._independence import (
    EXACT_LIMIT,
    Adjacency,
    Budget,
    adjacency_lists,
    cover_by_cliques,
    either_direction,
    independent_set,
    is_undirected,
    mutual_edges,
    reveal_matrix,
)
from graphbandits.graphs.dominating_sets import check_deterministic, fractional_cover, integer_cover
from graphbandits.graphs.feedback import (
    Feedback,
    UniformFeedback,
    cached_by_graph,
    is_feedback,
    matrices,
)
from graphbandits.graphs.loaders import GraphLike, make_process
from graphbandits.graphs.processes import fixed_feedback

#: Bounds with at most this relative difference are considered equal.
RELATIVE_TOLERANCE = 1e-9
#: Up to this many arms, HiGHS solves the linear program without a first-order method before it.
FEW_ARMS = 300
#: Above this number of edges, HiGHS takes more than a few seconds and exceeds its time limit.
MOST_EDGES = 400_000
#: Thresholds of a fractional solution: arms above one are tried first in the greedy algorithm.
THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
NO_ARMS = np.empty(0, np.int64)


class DominationProblem:
    """Arms that each arm reveals (``outgoing``) and that reveal it (``incoming``)."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = scipy.sparse.csr_array(matrix)
        self.outgoing = reveals = adjacency_lists(self.matrix)
        self.incoming = by = adjacency_lists(self.matrix.T)
        self.arrays = reveals.start, reveals.column, by.start, by.column
        self.arms = self.outgoing.count
        self._by_fewest = np.argsort(np.diff(self.incoming.start), kind="stable")
        self._by_least = np.argsort(np.diff(self.outgoing.start), kind="stable")

    def greedy(self, before: Ints = NO_ARMS) -> Ints:
        chosen = np.empty(self.arms, np.int64)
        count = domination_kernels.greedy_dominating(self.arrays, before, chosen)
        return np.sort(chosen[:count])

    def sums(self, y: Floats, neighbours: Adjacency) -> Floats:
        return np.add.reduceat(y[neighbours.column], neighbours.start[:-1])

    def initial_duals(self) -> Floats:
        """Return a feasible y by a fast heuristic: every arm reveals at most 1 of y."""
        sizes = np.diff(self.outgoing.start)
        largest = np.maximum.reduceat(sizes[self.incoming.column], self.incoming.start[:-1])
        tries = [np.zeros(self.arms), 1.0 / largest]
        return max((self.feasible_duals(y) for y in tries), key=math.fsum)

    def initial_primals(self) -> Floats:
        """Return a feasible z by a fast heuristic: every arm is revealed at least once."""
        z = np.zeros(self.arms)
        z[self.greedy()] = 1.0
        fewest = np.diff(self.incoming.start)  # in-neighbours share an arm equally
        spread = np.maximum.reduceat(1.0 / fewest[self.outgoing.column], self.outgoing.start[:-1])
        return min((self.feasible_primals(each) for each in (z, spread)), key=math.fsum)

    def feasible_duals(self, y: Floats) -> Floats:
        """Make y feasible: reduce it if an arm reveals more than 1, then increase it."""
        load = np.maximum(self.sums(np.maximum(y, 0.0), self.outgoing), 1.0)
        y = np.maximum(y, 0.0) / np.maximum.reduceat(
            load[self.incoming.column], self.incoming.start[:-1]
        )
        domination_kernels.raise_duals(self.arrays, self._by_fewest, y)
        return y / max(float(self.sums(y, self.outgoing).max()), 1.0)  # corrects rounding errors

    def feasible_primals(self, z: Floats) -> Floats:
        """Make z feasible: increase it at uncovered arms, then reduce it if possible."""
        z = np.maximum(z, 0.0)
        z = z + np.maximum(1.0 - self.sums(z, self.incoming), 0.0)
        domination_kernels.lower_primals(self.arrays, self._by_least, z)
        return z / min(float(self.sums(z, self.incoming).min()), 1.0)

    def primal_dual(
        self, budget: Budget, report: Callable[[float, float], None]
    ) -> tuple[Floats, Floats]:
        """Return feasible z and y close to the optimum, for graphs that are too large for HiGHS.

        Alternates primal and dual steps with one step size per arm (Chambolle and Pock 2011, Pock
        and Chambolle 2011). After every few steps their means are made feasible.
        """
        z, y = best_z, best_y = self.initial_primals(), self.initial_duals()
        step_z, step_y = 1.0 / np.diff(self.outgoing.start), 1.0 / np.diff(self.incoming.start)
        turns = 32
        while not budget.exhausted and not nearly_equal(math.fsum(best_y), math.fsum(best_z)):
            mean_z, mean_y = np.zeros_like(z), np.zeros_like(y)
            done = 0
            while done == 0 or (done < turns and not budget.exhausted):
                after = np.maximum(z - step_z * (1.0 - self.sums(y, self.outgoing)), 0.0)
                y = np.maximum(y + step_y * (1.0 - self.sums(2.0 * after - z, self.incoming)), 0.0)
                z = after
                mean_z += z
                mean_y += y
                done += 1
            z, y = mean_z / done, mean_y / done
            best_z = min(best_z, self.feasible_primals(z), key=math.fsum)
            best_y = max(best_y, self.feasible_duals(y), key=math.fsum)
            report(math.fsum(best_y), math.fsum(best_z))
            turns = min(2 * turns, 256)
        return best_z, best_y


def dominating_weights(
    graph: DominationProblem, budget: Budget, report: Callable[[float, float], None]
) -> tuple[float, float, Floats]:
    """Return bounds on the fractional domination number, and z of the upper bound."""
    z, y = graph.initial_primals(), graph.initial_duals()
    report(math.fsum(y), max(math.fsum(y), math.fsum(z)))
    few = graph.matrix.nnz <= MOST_EDGES
    if not nearly_equal(math.fsum(y), math.fsum(z)):
        if graph.arms > FEW_ARMS:
            z, y = graph.primal_dual(budget.part(0.2 if few else 1.0), report)
        if few and not budget.exhausted:
            found = fractional_cover(graph.matrix.T.astype(np.float64), budget.seconds)
            if found is not None:
                z = min(z, graph.feasible_primals(found[0]), key=math.fsum)
                y = max(y, graph.feasible_duals(found[1]), key=math.fsum)
    lower, upper = math.fsum(y), math.fsum(z)
    if nearly_equal(lower, upper):
        lower = upper
    report(lower, upper)
    return lower, upper, z


def nearly_equal(lower: float, upper: float) -> bool:
    """Whether two bounds are equal up to a relative difference of ``RELATIVE_TOLERANCE``."""
    return upper - lower <= RELATIVE_TOLERANCE * upper


def minimum_dominating_set(
    graph: DominationProblem, budget: Budget, report: Callable[[int, int], None]
) -> tuple[int, int, Ints]:
    """Return bounds on the domination number, and the set of the upper bound."""
    chosen = graph.greedy()
    lower = round_up(math.fsum(graph.initial_duals()))
    report(lower, len(chosen))
    if lower < len(chosen) and graph.arms <= EXACT_LIMIT:
        lower, chosen = _search(graph, chosen, lower, budget.part(0.3), report)
    if lower < len(chosen) and graph.arms > FEW_ARMS:
        z, y = graph.primal_dual(budget.part(0.2), lambda *_: None)
        lower = max(lower, round_up(math.fsum(y)))
        order = np.argsort(-z, kind="stable")
        guided = [graph.greedy(order[z[order] > least]) for least in THRESHOLDS]
        chosen = min([chosen, *guided], key=len)
        report(lower, len(chosen))
    if lower < len(chosen) and graph.matrix.nnz <= MOST_EDGES and not budget.exhausted:
        x, bound = integer_cover(graph.matrix.T.astype(np.float64), budget.seconds)
        lower = max(lower, min(round_up(bound), len(chosen)))
        if x is not None and x.sum() < len(chosen):
            found = np.flatnonzero(x)
            if (graph.matrix[found].sum(axis=0) > 0).all():
                chosen = found
        report(lower, len(chosen))
    return lower, len(chosen), chosen


def round_up(bound: float) -> int:
    """Round a lower bound up to an integer, with a tolerance for rounding errors."""
    return max(1, math.ceil(bound - 1e-6))


def _search(
    graph: DominationProblem,
    chosen: Ints,
    lower: int,
    budget: Budget,
    report: Callable[[int, int], None],
) -> tuple[int, Ints]:
    """Search for smaller dominating sets by branch and bound on bit sets."""
    most = len(chosen) + 2
    reveals, by = bit_sets(graph.outgoing.matrix()), bit_sets(graph.incoming.matrix())
    unseen = np.zeros((most, reveals.shape[1]), np.uint64)
    unseen[0] = bit_sets(np.ones((1, graph.arms), np.bool_))[0]
    order = np.zeros((most, graph.arms), np.int64)
    place, sizes, members = np.zeros((3, most), np.int64)
    stack = unseen, unseen.copy(), order, place, sizes, members
    best, state = np.concatenate([chosen, [0, 0]]), np.array([0, len(chosen), 1])
    chunk, finished = max(1, 20_000_000 // graph.arms**2), False
    while not finished and not budget.exhausted:
        finished = domination_kernels.dominating_search(
            reveals, by, stack, best, state, lower, chunk
        )
        size = int(state[domination_kernels.BEST])
        budget.spend()
        report(size if finished else lower, size)
    chosen = np.sort(best[: state[domination_kernels.BEST]])
    return (len(chosen) if finished else lower), chosen


#: Steps of a search, each of a few milliseconds.
STEPS = 100
#: Search nodes for each graph if trials have different graphs.
SMALL_NODES = 10_000
#: Cached numbers of small graphs; there are 1024 undirected graphs of five arms.
CACHE_SIZE = 2**16

_COVERS_BY_GRAPH: WeakKeyDictionary[Feedback, Ints] = WeakKeyDictionary()


def independence_number(graph: Feedback) -> int:
    """Return the size of the largest set of arms without edges in either direction.

    The graph must have entries 0 and 1 and be shared by all trials. If the search exceeds its step
    budget, the result is the best upper bound that was found. It does not depend on the clock.
    """
    if isinstance(graph, UniformFeedback):
        return 1 if graph.r[0] > 0.0 else graph.arms
    return independent_set(either_direction(graph), Budget(steps=STEPS), lambda *_: None)[1]


def clique_cover_numbers(graph: Feedback) -> Ints:
    """Return the clique cover number of a 0/1 graph, or an upper bound, one number per trial.

    The result does not depend on the clock. A graph that all trials share gets a longer search than
    each of many graphs. Up to 40 arms both are exact, with rare exceptions.
    """
    check_deterministic(graph)
    if isinstance(graph, UniformFeedback):
        return np.where(graph.r > 0.0, 1, graph.arms)
    if not graph.shared:
        edges = matrices(graph, 1) > 0.0  # cached by their bits: an audit asks in every round
        packed = np.packbits((edges & edges.transpose(0, 2, 1)).reshape(len(edges), -1), axis=1)
        return np.array([_small_cover_number(graph.arms, row.tobytes()) for row in packed])
    return cached_by_graph(_COVERS_BY_GRAPH, graph, _cover_number)


@lru_cache(maxsize=CACHE_SIZE)
def _small_cover_number(arms: int, bits: bytes) -> int:
    """Return the number of the graph of packed mutual edges."""
    edges = np.unpackbits(np.frombuffer(bits, np.uint8), count=arms * arms)
    found = np.empty(1, np.int64)
    kernels.cover_numbers(edges.astype(np.bool_).reshape(1, arms, arms), SMALL_NODES, found)
    return int(found[0])


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
    """

    lower: T
    upper: T
    certificate: tuple[Arms, ...] | Arms | tuple[float, ...]

    @property
    def proved(self) -> bool:
        return self.lower == self.upper


@dataclass(frozen=True)
class GraphNumbers:
    """Consistent bounds on the four numbers of a graph.

    Both bounds satisfy independence <= clique cover and fractional domination <= domination. For
    undirected graphs they also satisfy domination <= independence.
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
        The certificate is a tuple of cliques; arms are numbered from 0.

    Examples
    --------
    >>> clique_cover("paper")
    Bracket(lower=2, upper=2, certificate=((0, 1, 2), (3, 4)))
    """
    feedback, budget, report, count = _start_search(graph, time_limit, progress)
    if count:
        return Bracket(count, count, _cliques(np.arange(feedback.arms) % count))
    lower, upper, label = cover_by_cliques(mutual_edges(feedback), budget, report)
    return Bracket(lower, upper, _cliques(label))


def independence(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """Compute the independence number: the size of the largest set of arms without edges.

    Arms of an independent set, the certificate, have no edge in either direction. The parameters
    are those of :func:`clique_cover`.

    >>> independence("paper").certificate
    (0, 3)
    """
    feedback, budget, report, count = _start_search(graph, time_limit, progress)
    if count:
        return Bracket(count, count, tuple(range(count)))
    lower, upper, found = independent_set(either_direction(feedback), budget, report)
    return Bracket(lower, upper, _arms(found))


def domination(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """Compute the domination number: the size of the smallest set of arms that reveals all arms.

    The certificate is this set. The parameters are those of :func:`clique_cover`.

    >>> domination("paper").certificate
    (2,)
    """
    feedback, budget, report, count = _start_search(graph, time_limit, progress)
    if count:
        return Bracket(count, count, tuple(range(count)))
    problem = DominationProblem(reveal_matrix(feedback))
    lower, upper, found = minimum_dominating_set(problem, budget, report)
    return Bracket(lower, upper, _arms(found))


def fractional_domination(
    graph: GraphLike, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[float]:
    """Compute the fractional domination number: the least sum of z >= 0 that reveals every arm.

    Every arm i needs sum of z_j >= 1 over the arms j that reveal it; z is the certificate. The
    lower bound is the sum of a dual solution y >= 0, of which every arm reveals at most 1. Bounds
    that agree up to a relative difference of 1e-9 are considered equal. Buccapatnam, Eryilmaz and
    Shroff (2014). The parameters are those of :func:`clique_cover`.
    """
    feedback, budget, report, count = _start_search(graph, time_limit, progress)
    if count:
        weights = tuple(float(arm < count) for arm in range(feedback.arms))
        return Bracket(float(count), float(count), weights)
    lower, upper, z = dominating_weights(DominationProblem(reveal_matrix(feedback)), budget, report)
    return Bracket(lower, upper, tuple(z.tolist()))


def _start_search(
    graph: GraphLike, time_limit: object, progress: Progress | None
) -> tuple[Feedback, Budget, Progress, int]:
    """Return the graph, the budget of its search and the function that reports better bounds.

    The last value is the number if every arm reveals all arms, or only itself; 0 for other graphs.
    """
    feedback = _fixed_graph(graph)
    known: list[tuple[float, float]] = []

    def report(lower: float, upper: float) -> None:
        if known:
            lower, upper = max(lower, known[-1][0]), min(upper, known[-1][1])
        if progress is not None and [(lower, upper)] != known:
            known[:] = [(lower, upper)]
            progress(lower, upper)

    budget, count = Budget(seconds=check_positive(time_limit, "time_limit")), 0
    if isinstance(feedback, UniformFeedback):
        count = 1 if feedback.rate() > 0.0 else feedback.arms
        report(count, count)
    return feedback, budget, report, count


def _fixed_graph(graph: GraphLike) -> Feedback:
    """Convert to a 0/1 graph that is the same in all rounds and trials, or raise an error."""
    feedback = graph if is_feedback(graph) else fixed_feedback(make_process(graph, None))
    if feedback is None or not feedback.shared:
        raise InputError(
            "this number is defined for one graph, but the given graph may change from round to "
            "round, or differs between trials: pass the graph of one round and trial"
        )
    check_deterministic(feedback)
    return feedback


def _arms(vertices: Ints) -> Arms:
    return tuple(vertices.tolist())


def _cliques(label: Ints) -> tuple[Arms, ...]:
    """Return the arms of each label, ordered by the first arm."""
    members: dict[int, list[int]] = {}
    for arm, clique in enumerate(label.tolist()):
        members.setdefault(clique, []).append(arm)
    return tuple(map(tuple, members.values()))
