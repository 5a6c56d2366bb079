"""The least number of arms that reveal all, whole and fractional, of a directed graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from graphbandits.graphs.highs import fractional_cover, whole_cover
from graphbandits.graphs.invariants import dominating_kernels as kernels
from graphbandits.graphs.invariants.adjacency import Adjacency, rows
from graphbandits.graphs.invariants.allowance import Allowance
from graphbandits.graphs.invariants.clique_search import words_of
from graphbandits.graphs.invariants.parts import SEARCHED
from graphbandits.types import Floats, Ints

#: The two bounds of a linear program are the same number up to so much of it.
SAME = 1e-9
#: Up to so many arms HiGHS solves the linear program at once.
FEW_ARMS = 300
#: With more edges than these it has no end within seconds, and heeds its time limit late.
MOST_EDGES = 400_000
#: Arms of larger values in a fractional solution come first in a greedy one.
ROUNDED = (0.3, 0.5, 0.7, 0.9)
NOBODY = np.empty(0, np.int64)


class Revealing:
    """Who reveals whom, both ways round: ``forth`` rows are what an arm reveals, itself too."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = csr_array(matrix)
        self.forth, self.back = rows(self.matrix), rows(self.matrix.T)
        self._by_fewest = np.argsort(np.diff(self.back.start), kind="stable")
        self._by_least = np.argsort(np.diff(self.forth.start), kind="stable")

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints]:
        """As the kernels read them."""
        return self.forth.start, self.forth.column, self.back.start, self.back.column

    def greedy(self, before: Ints = NOBODY) -> Ints:
        """A dominating set, from the arms of ``before`` on."""
        chosen = np.empty(self.forth.count, np.int64)
        count = kernels.greedy_dominating(*self.arrays, before, chosen)
        return np.sort(chosen[:count])

    def sums(self, y: Floats, rows_of: Adjacency) -> Floats:
        """The sum of y over each row."""
        return np.add.reduceat(y[rows_of.column], rows_of.start[:-1])

    def duals(self) -> Floats:
        """y >= 0 of which every arm reveals at most 1, as large as is quick."""
        sizes = np.diff(self.forth.start)
        largest = np.maximum.reduceat(sizes[self.back.column], self.back.start[:-1])
        tries = [np.zeros(self.forth.count), 1.0 / largest]
        return max((self.feasible_duals(y) for y in tries), key=math.fsum)

    def primals(self) -> Floats:
        """z >= 0 that reveals every arm once, as small as is quick."""
        z = np.zeros(self.forth.count)
        z[self.greedy()] = 1.0
        fewest = np.diff(self.back.start)  # all that reveal an arm share it evenly
        spread = np.maximum.reduceat(1.0 / fewest[self.forth.column], self.forth.start[:-1])
        return min((self.feasible_primals(each) for each in (z, spread)), key=math.fsum)

    def feasible_duals(self, y: Floats) -> Floats:
        """Made smaller where an arm reveals more than 1 of it, then larger where there is room."""
        load = np.maximum(self.sums(np.maximum(y, 0.0), self.forth), 1.0)
        y = np.maximum(y, 0.0) / np.maximum.reduceat(load[self.back.column], self.back.start[:-1])
        kernels.raise_duals(*self.arrays, self._by_fewest, y)
        return y / max(float(self.sums(y, self.forth).max()), 1.0)  # but for rounding

    def feasible_primals(self, z: Floats) -> Floats:
        """Made larger at arms that are revealed less than once, then smaller where all is well."""
        z = np.maximum(z, 0.0)
        z = z + np.maximum(1.0 - self.sums(z, self.back), 0.0)
        kernels.lower_primals(*self.arrays, self._by_least, z)
        return z / min(float(self.sums(z, self.back).min()), 1.0)


def approach(
    graph: Revealing, z: Floats, y: Floats, allowance: Allowance, told: Callable[..., None]
) -> tuple[Floats, Floats]:
    """Better z and y of the fractional domination number, where there are too many arms for HiGHS.

    Primal and dual steps in turns, with steps for each arm (Chambolle and Pock 2011, Pock and
    Chambolle 2011); from time to time the means since the last time are made feasible.
    """
    step_z, step_y = 1.0 / np.diff(graph.forth.start), 1.0 / np.diff(graph.back.start)
    best_z, best_y = z, y
    turns = 32
    while not allowance.over and not _same(math.fsum(best_y), math.fsum(best_z)):
        mean_z, mean_y = np.zeros_like(z), np.zeros_like(y)
        done = 0
        while done < turns and not allowance.over:
            after = np.maximum(z - step_z * (1.0 - graph.sums(y, graph.forth)), 0.0)
            y = np.maximum(y + step_y * (1.0 - graph.sums(2.0 * after - z, graph.back)), 0.0)
            z = after
            mean_z += z
            mean_y += y
            done += 1
        z, y = mean_z / done, mean_y / done
        best_z = min(best_z, graph.feasible_primals(z), key=math.fsum)
        best_y = max(best_y, graph.feasible_duals(y), key=math.fsum)
        told(math.fsum(best_y), math.fsum(best_z))
        turns = min(2 * turns, 256)
    return best_z, best_y


def fractional(
    graph: Revealing, allowance: Allowance, report: Callable[[float, float], None]
) -> tuple[float, float, Floats]:
    """Bounds on the fractional domination number, and z of the upper one."""
    z, y = graph.primals(), graph.duals()
    report(math.fsum(y), max(math.fsum(y), math.fsum(z)))
    count, edges = graph.forth.count, graph.matrix.nnz
    if not _same(math.fsum(y), math.fsum(z)):
        if count > FEW_ARMS:
            share = 0.2 if edges <= MOST_EDGES else 1.0
            z, y = approach(graph, z, y, allowance.part(share), report)
        if edges <= MOST_EDGES and not allowance.over:
            found = fractional_cover(graph.matrix.T.astype(np.float64), allowance.seconds)
            if found is not None:
                z = min(z, graph.feasible_primals(found[0]), key=math.fsum)
                y = max(y, graph.feasible_duals(found[1]), key=math.fsum)
    lower, upper = math.fsum(y), math.fsum(z)
    if _same(lower, upper):
        lower = upper
    report(lower, upper)
    return lower, upper, z


def _same(lower: float, upper: float) -> bool:
    return upper - lower <= SAME * upper


def dominating_set(
    graph: Revealing, allowance: Allowance, report: Callable[[int, int], None]
) -> tuple[int, int, Ints]:
    """Bounds on the domination number, and the set of the upper one."""
    chosen = graph.greedy()
    lower = _whole(math.fsum(graph.duals()))
    report(lower, len(chosen))
    search = DominatingSearch(graph, chosen) if graph.forth.count <= SEARCHED else None
    if search is not None and lower < len(chosen):
        search.run(allowance.part(0.3), lower, lambda: report(lower, search.best))
        chosen = search.chosen
        if search.finished:
            lower = len(chosen)
            report(lower, lower)
    if lower < len(chosen) and graph.forth.count > FEW_ARMS:
        z, y = graph.primals(), graph.duals()
        z, y = approach(graph, z, y, allowance.part(0.2), lambda *_: None)
        lower = max(lower, _whole(math.fsum(y)))
        order = np.argsort(-z, kind="stable")
        guided = [graph.greedy(order[z[order] > least]) for least in ROUNDED]
        chosen = min([chosen, *guided], key=len)
        report(lower, len(chosen))
    if lower < len(chosen) and graph.matrix.nnz <= MOST_EDGES and not allowance.over:
        x, bound = whole_cover(graph.matrix.T.astype(np.float64), allowance.seconds)
        lower = max(lower, min(_whole(bound), len(chosen)))
        if x is not None and x.sum() < len(chosen):
            found = np.flatnonzero(x)
            if (graph.matrix[found].sum(axis=0) > 0).all():
                chosen = found
        report(lower, len(chosen))
    return lower, len(chosen), chosen


def _whole(bound: float) -> int:
    """The least whole number that is not below it, but for rounding."""
    return max(1, math.ceil(bound - 1e-6))


class DominatingSearch:
    """Branch and bound on bit sets, from a dominating set to ever smaller ones."""

    def __init__(self, graph: Revealing, chosen: Ints) -> None:
        count, most = graph.forth.count, len(chosen) + 1
        self._reveals = words_of(graph.forth.matrix())
        self._by = words_of(graph.back.matrix())
        words = self._reveals.shape[1]
        self._unseen = np.zeros((most + 1, words), np.uint64)
        self._allowed = np.zeros_like(self._unseen)
        self._unseen[0] = self._allowed[0] = words_of(np.ones((1, count), np.bool_))[0]
        self._listed = np.zeros((most + 1, count), np.int64)
        self._place, self._sizes, self._chosen = (np.zeros(most + 1, np.int64) for _ in range(3))
        self._best = np.concatenate([chosen, [0, 0]])
        self._state = np.array([0, len(chosen), 1])
        self._chunk = max(1, 20_000_000 // (count * count))
        self.finished = False

    @property
    def best(self) -> int:
        """The size of the smallest set found."""
        return int(self._state[kernels.BEST])

    @property
    def chosen(self) -> Ints:
        """Its arms."""
        return np.sort(self._best[: self.best])

    def run(self, allowance: Allowance, enough: int, told: Callable[[], None]) -> None:
        """Go on until none is smaller, ``enough`` arms do, or the allowance is over."""
        while not self.finished and not allowance.over:
            self.finished = kernels.dominating_search(
                self._reveals,
                self._by,
                self._unseen,
                self._allowed,
                self._listed,
                self._place,
                self._sizes,
                self._chosen,
                self._best,
                self._state,
                enough,
                self._chunk,
            )
            allowance.spend(1)
            told()
