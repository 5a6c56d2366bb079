"""Domination number and fractional domination number of a directed graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from graphbandits._types import Floats, Ints
from graphbandits.graphs import _domination_kernels as domination_kernels
from graphbandits.graphs._clique_kernels import bit_sets
from graphbandits.graphs._reductions import EXACT_LIMIT, Adjacency, Budget, adjacency_lists
from graphbandits.graphs.dominating_sets import fractional_cover, integer_cover

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
        self.outgoing, self.incoming = (
            adjacency_lists(self.matrix),
            adjacency_lists(self.matrix.T),
        )
        self.arrays = (
            self.outgoing.start,
            self.outgoing.column,
            self.incoming.start,
            self.incoming.column,
        )
        self.arms = self.outgoing.count
        self._by_fewest = np.argsort(np.diff(self.incoming.start), kind="stable")
        self._by_least = np.argsort(np.diff(self.outgoing.start), kind="stable")

    def greedy(self, before: Ints = NO_ARMS) -> Ints:
        """Compute a dominating set greedily, starting with the arms of ``before``."""
        chosen = np.empty(self.arms, np.int64)
        count = domination_kernels.greedy_dominating(self.arrays, before, chosen)
        return np.sort(chosen[:count])

    def sums(self, y: Floats, neighbours: Adjacency) -> Floats:
        """Return the sum of y over each row."""
        return np.add.reduceat(y[neighbours.column], neighbours.start[:-1])

    def initial_duals(self) -> Floats:
        """Return a feasible dual y by a fast heuristic: every arm reveals at most 1 of y."""
        sizes = np.diff(self.outgoing.start)
        largest = np.maximum.reduceat(sizes[self.incoming.column], self.incoming.start[:-1])
        tries = [np.zeros(self.arms), 1.0 / largest]
        return max((self.feasible_duals(y) for y in tries), key=math.fsum)

    def initial_primals(self) -> Floats:
        """Return a feasible primal z by a fast heuristic: every arm is revealed at least once."""
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
        step_z, step_y = (
            1.0 / np.diff(self.outgoing.start),
            1.0 / np.diff(self.incoming.start),
        )
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


def dominating_set(
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
