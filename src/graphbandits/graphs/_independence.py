"""Independent sets and clique covers: reductions, searches and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from graphbandits._jit import clock
from graphbandits._types import Floats, Ints
from graphbandits.graphs import _clique_kernels
from graphbandits.graphs import _sparse_kernels as kernels
from graphbandits.graphs._sparse_kernels import clique_sizes, swap
from graphbandits.graphs.dominating_sets import fractional_cover, integer_cover, integer_packing
from graphbandits.graphs.feedback import Feedback, SparseFeedback, matrices


class Budget:
    """Time limit or step limit of a search; steps of a part also count for its parent.

    Compilation time does not count. Searches that affect simulations use a step budget instead of a
    time limit, because with a time limit the results would depend on the machine.
    """

    def __init__(
        self, seconds: float = math.inf, steps: float = math.inf, parent: Budget | None = None
    ) -> None:
        self._end = clock() + seconds
        self._steps = steps
        self._parent = parent

    @property
    def timed(self) -> bool:
        return self._end < math.inf

    @property
    def seconds(self) -> float:
        """Remaining seconds."""
        return max(self._end - clock(), 0.0)

    @property
    def exhausted(self) -> bool:
        return self._steps <= 0 or (self.timed and self.seconds <= 0.0)

    def spend(self, steps: float = 1) -> None:
        self._steps -= steps
        if self._parent is not None:
            self._parent.spend(steps)

    def part(self, fraction: float) -> Budget:
        """Return a fraction of the remaining budget."""
        seconds = fraction * self.seconds if self.timed else math.inf
        return Budget(seconds, fraction * self._steps, self)


#: Components of at most this many vertices are searched on bit sets.
EXACT_LIMIT = 3000
#: In larger graphs, vertices with more neighbours are not tested for being simplicial.
SIMPLICIAL_DEGREE = 16

#: Called when the bounds of a component may have improved.
Improved = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Adjacency lists: ``column[start[v]:start[v+1]]`` are the neighbours of v, increasing."""

    start: Ints
    column: Ints

    @property
    def count(self) -> int:
        return len(self.start) - 1

    def sparse(self) -> Any:
        ones = np.ones(len(self.column), np.int8)
        return scipy.sparse.csr_array(
            (ones, self.column, self.start), shape=(self.count, self.count)
        )

    def matrix(self) -> NDArray[np.bool_]:
        """Return a dense matrix (n, n), for few vertices."""
        matrix = np.zeros((self.count, self.count), np.bool_)
        matrix[np.repeat(np.arange(self.count), np.diff(self.start)), self.column] = True
        return matrix

    def components(self, vertices: Ints) -> list[tuple[Ints, Adjacency]]:
        """Return the components of the subgraph of ``vertices``, renumbered, smallest first."""
        if not len(vertices):
            return []
        inner = self.sparse()
        if len(vertices) < self.count:
            inner = inner[vertices][:, vertices]
        _, label = scipy.sparse.csgraph.connected_components(inner, directed=False)
        order = np.argsort(label, kind="stable")
        ends = np.cumsum(np.bincount(label)).tolist()
        if len(ends) == 1:
            return [(vertices, adjacency_lists(inner))]
        inner = adjacency_lists(inner[order][:, order])  # components are diagonal blocks
        parts = []
        for first, last in zip([0, *ends[:-1]], ends, strict=True):
            start = inner.start[first : last + 1]
            column = inner.column[start[0] : start[-1]]
            own = Adjacency(start - start[0], column - first)
            parts.append((vertices[order[first:last]], own))
        return sorted(parts, key=lambda part: len(part[0]))


def reveal_matrix(graph: Feedback) -> Any:
    """Return a sparse matrix: row i has ones at the arms that i reveals, including i."""
    if isinstance(graph, SparseFeedback):
        ones = (graph.weight > 0.0).astype(np.int8)
        found = scipy.sparse.csr_array(
            (ones, graph.column, graph.start), shape=(graph.arms, graph.arms)
        )
        if not ones.all():
            found.eliminate_zeros()
        return found
    return scipy.sparse.csr_array((matrices(graph, 1)[0] > 0.0).astype(np.int8))


def mutual_edges(graph: Feedback) -> Adjacency:
    """Return the graph of the arms that reveal each other."""
    matrix = reveal_matrix(graph)
    return _without_loops(matrix.multiply(matrix.T.tocsr()))


def either_direction(graph: Feedback) -> Adjacency:
    """Return the graph of the arms with an edge in at least one direction."""
    matrix = reveal_matrix(graph)
    return _without_loops(matrix.maximum(matrix.T.tocsr()))


def is_undirected(graph: Feedback) -> bool:
    matrix = reveal_matrix(graph)
    return bool((matrix != matrix.T.tocsr()).nnz == 0)


def adjacency_lists(matrix: Any) -> Adjacency:
    found = scipy.sparse.csr_array(matrix)
    found.sort_indices()
    return Adjacency(found.indptr.astype(np.int64), found.indices.astype(np.int64))


def _without_loops(matrix: Any) -> Adjacency:
    found = scipy.sparse.csr_array(matrix).tocoo()
    off = found.row != found.col
    ones = np.ones(int(off.sum()), np.int8)
    return adjacency_lists(
        scipy.sparse.csr_array((ones, (found.row[off], found.col[off])), shape=found.shape)
    )


@dataclass
class Component:
    """A connected component, the bounds on its number, and the certificate of one bound.

    ``found`` has the vertices of an independent set, or the clique label of each vertex.
    """

    vertices: Ints
    graph: Adjacency
    lower: int
    upper: int
    found: Ints

    @property
    def open(self) -> bool:
        return self.lower < self.upper


def reduce_graph(graph: Adjacency) -> tuple[Ints, Ints, list[Component]]:
    """Return the simplicial vertices, the clique label of each removed vertex, and components.

    Vertices that are not removed have the label -1. Each component has bounds on its independence
    number, which are also lower bounds on its cover number, and the independent set of the lower
    bound.
    """
    count = graph.count
    clique, degree, queue, taken = (np.empty(count, np.int64) for _ in range(4))
    most = count if count <= EXACT_LIMIT else SIMPLICIAL_DEGREE
    found = kernels.simplicial(graph.start, graph.column, most, clique, degree, queue, taken)
    components = []
    for vertices, own in graph.components(np.flatnonzero(clique < 0)):
        inside = np.empty(own.count, np.int64)
        dropped = int(kernels.peel(own.start, own.column, inside))
        chosen = np.flatnonzero(inside)
        components.append(Component(vertices, own, len(chosen), len(chosen) + dropped, chosen))
    return taken[:found], clique, components


def greedy_cover(graph: Adjacency) -> Ints:
    """Compute a greedy clique cover; return the clique label of each vertex."""
    clique = np.empty(graph.count, np.int64)
    kernels.greedy_cliques(graph.start, graph.column, clique)
    return clique


def search_components(
    taken: Ints,
    components: list[Component],
    search: Callable[[Component, Budget, Improved], None],
    budget: Budget,
    report: Callable[[int, int], None],
) -> tuple[int, int]:
    """Search the components whose bounds differ, smallest first; return bounds on the number.

    Each vertex of ``taken`` adds one to the number. The budget is divided among the components.
    """

    def bounds() -> tuple[int, int]:
        lower = len(taken) + sum(one.lower for one in components)
        return lower, len(taken) + sum(one.upper for one in components)

    def improved() -> None:
        report(*bounds())

    improved()
    remaining = [one for one in components if one.open]
    for k, one in enumerate(remaining):
        if budget.exhausted:
            break
        search(one, budget.part(1.0 / (len(remaining) - k)), improved)
        improved()
    return bounds()


#: Seed of the randomized searches.
SEED = 88172645463325252


def degeneracy_order(matrix: NDArray[np.bool_]) -> Ints:
    """Return the vertices in degeneracy order: the vertex of least degree comes last."""
    count = len(matrix)
    degree = matrix.sum(axis=1)
    order = np.empty(count, np.int64)
    for place in range(count - 1, -1, -1):
        v = int(degree.argmin())
        order[place] = v
        degree -= matrix[v]
        degree[v] = 4 * count
    return order


class CliqueSearch:
    """Branch and bound for a clique of more than ``known`` vertices of a graph (n, n)."""

    def __init__(self, matrix: NDArray[np.bool_], known: int = 0) -> None:
        count = len(matrix)
        self._order = degeneracy_order(matrix)
        self._adjacent = _clique_kernels.bit_sets(matrix[np.ix_(self._order, self._order)])
        self._chunk = max(1, 20_000_000 // (count * count))
        colours = int(_clique_kernels.new_stack(self._adjacent, 1, 0)[2].max())
        # the number of colours bounds the depth and keeps the stack small
        self._stack = _clique_kernels.new_stack(self._adjacent, colours + 2, known)
        self._best = np.zeros(colours + 2, np.int64)
        self._state = np.array([0, known, 0])
        self.finished = bool(self._stack[3][0] < 0)

    def set_known(self, size: int) -> None:
        """Set the lower bound: only cliques larger than this are searched."""
        if size > self.best:
            self._state[_clique_kernels.BEST], self._state[_clique_kernels.SIZE] = size, 0

    @property
    def best(self) -> int:
        return int(self._state[_clique_kernels.BEST])

    @property
    def clique(self) -> Ints:
        """Largest clique that this search found, in increasing order."""
        return np.sort(self._order[self._best[: self._state[_clique_kernels.SIZE]]])

    @property
    def upper(self) -> int:
        return _clique_kernels.upper_bound(self._stack, self._state)

    def run(self, budget: Budget, improved: Improved) -> None:
        """Search until the tree is complete or the budget is used up."""
        while not self.finished and not budget.exhausted:
            self.finished = _clique_kernels.clique_search(
                self._adjacent, self._stack, self._best, self._state, self._chunk
            )
            budget.spend()
            improved()


class Colouring:
    """Exact search (DSATUR with backtracking, starting from a clique) and tabu search."""

    def __init__(self, matrix: NDArray[np.bool_], clique: Ints) -> None:
        count = len(matrix)
        degree = matrix.sum(axis=1)
        first = np.zeros(count, np.bool_)
        first[clique] = True
        self._order = np.lexsort((-degree, ~first))  # first the clique, then by decreasing degree
        own = matrix[np.ix_(self._order, self._order)]
        start = np.concatenate([[0], np.cumsum(own.sum(axis=1))])
        self._rows = start, np.nonzero(own)[1].astype(np.int32)
        self._chunk = max(1, 1_000_000 // count)
        self._clique = len(clique)
        self._best = np.arange(count)
        self._state = np.array([self._clique, count, 0])
        self._seed = SEED
        self._stack = _clique_kernels.new_colour_stack(
            self._rows, np.arange(self._clique), int(degree.max(initial=0)) + 2
        )
        self.finished = False

    @property
    def best(self) -> int:
        return int(self._state[_clique_kernels.COLOUR_BEST])

    @property
    def colours(self) -> Ints:
        out = np.empty_like(self._best)
        out[self._order] = self._best
        return out

    def set_known(self, colours: Ints) -> None:
        """Set the best known colouring: only those with fewer colours are searched."""
        if (used := int(colours.max()) + 1) < self.best:
            self._best, self._state[_clique_kernels.COLOUR_BEST] = colours[self._order], used

    def run(self, budget: Budget, improved: Improved, enough: int = 0) -> None:
        """Search until the best is proved, has ``enough`` colours, or the budget is used up."""
        while not self.finished and self.best > enough and not budget.exhausted:
            self.finished = _clique_kernels.dsatur(
                self._rows,
                self._stack,
                self._best,
                self._state,
                self._clique,
                enough,
                self._chunk,
            )
            budget.spend()
            improved()

    def improve(self, budget: Budget, improved: Improved, enough: int) -> None:
        """Reduce the number of colours by tabu search, down to ``enough``."""
        while self.best > enough and not budget.exhausted:
            colours = self.best - 1
            sizes = np.bincount(self._best, minlength=self.best)
            # the smallest class is dissolved, and the last class takes its colour
            least = int(sizes.argmin())
            colour = self._best.copy()
            colour[colour == least] = colours + 1
            colour[colour == colours] = least
            gone = np.flatnonzero(colour == colours + 1)
            colour[gone] = np.arange(len(gone)) % colours
            near = np.zeros((len(colour), colours), np.int32)
            conflicts = _clique_kernels.count_conflicts(self._rows, colour, near)
            state = np.array([conflicts, 0, self._seed, conflicts])
            barred = np.zeros(near.shape, np.int64)
            done = conflicts == 0
            while not done and not budget.exhausted:
                done = _clique_kernels.tabu(
                    self._rows, colour, near, barred, state, self._chunk // 10 + 1
                )
                budget.spend()
            self._seed = int(state[_clique_kernels.SEED])
            if done:
                self._best, self._state[_clique_kernels.COLOUR_BEST] = colour, colours
                improved()


#: Above this number of edges, the cliques are not listed.
MOST_EDGES = 100_000
#: Programs with more cliques or entries take more than a few seconds and exceed the time limit.
MOST_CLIQUES = 20_000
MOST_ENTRIES = 400_000
#: Weights are rounded to multiples of 1 / SCALE to make the bounds exact.
SCALE = 10**7
#: Rounding errors of HiGHS.
ROUNDING = 1e-6
#: Vertices with more neighbours are not tested for triangles.
TRIANGLE_DEGREE = 64
#: The integer program is solved if its relaxation leaves a relative gap of at most this size.
LARGEST_GAP = 0.1


class CliqueProgram:
    """Integer program over the cliques of a component, and its linear relaxation.

    If there are few maximal cliques, all are listed. Otherwise the list has a clique for each edge,
    which suffices for bounds on the independence number. If all maximal cliques, at most
    ``visits``, were visited, ``sizes`` has the size of the largest clique of each vertex.
    """

    def __init__(self, graph: Adjacency, budget: Budget, visits: float = math.inf) -> None:
        self.sizes: Ints | None = None
        self.complete = False
        self._matrix: Any = None
        self._z = self._y = np.empty(0)
        if len(graph.column) > 2 * MOST_EDGES:
            return
        bounds = graph.start.tolist()
        column = graph.column.tolist()
        near = [set(column[i:j]) for i, j in pairwise(bounds)]
        cliques = self._maximal(near, budget.part(0.8), visits) or _one_for_each_edge(near, budget)
        entries = np.array([v for clique in cliques for v in clique], np.int64)
        if cliques and len(cliques) <= MOST_CLIQUES and len(entries) <= MOST_ENTRIES:
            column = np.repeat(np.arange(len(cliques)), [len(clique) for clique in cliques])
            shape = graph.count, len(cliques)
            self._matrix = scipy.sparse.csr_array(
                (np.ones(len(entries)), (entries, column)), shape=shape
            )

    def _maximal(self, near: list[set[int]], budget: Budget, visits: float) -> list[list[int]]:
        """List all maximal cliques; empty if there are too many."""
        import networkx  # slow to import, rarely needed

        graph = networkx.from_dict_of_lists(dict(enumerate(near)))
        cliques: list[list[int]] = []
        sizes = [1] * len(near)
        for k, clique in enumerate(networkx.find_cliques(graph)):
            for v in clique:
                sizes[v] = max(sizes[v], len(clique))
            if k <= MOST_CLIQUES:
                cliques.append(clique)
            if k >= visits or (k % 256 == 0 and budget.exhausted):
                return []
        self.sizes = np.array(sizes)
        self.complete = len(cliques) <= MOST_CLIQUES
        return cliques if self.complete else []

    def _relax(self, budget: Budget) -> bool:
        """Solve the relaxation; return whether a solution was found."""
        if self._matrix is not None and not len(self._z) and not budget.exhausted:
            self._z, self._y = fractional_cover(self._matrix, budget.seconds) or (self._z, self._y)
        return len(self._z) > 0

    def bound_cover(self, part: Component, budget: Budget) -> None:
        """Improve the lower bound on the cover number, and round the relaxation to a cover."""
        if self.sizes is not None:
            part.lower = max(part.lower, clique_size_bound(self.sizes))
        if not self._relax(budget):
            return
        if self.complete:
            # y / (the largest sum of y over a clique) is a fractional independent set
            weight = np.floor(self._y * SCALE).astype(np.int64)
            heaviest = int((self._matrix.T.astype(np.int64) @ weight).max())
            part.lower = max(part.lower, -(-int(weight.sum()) // heaviest))
        self._cover_by(part, self._z)

    def solve_cover(self, part: Component, budget: Budget) -> None:
        if part.open and self.complete and not budget.exhausted:
            x, bound = integer_cover(self._matrix, budget.seconds)
            if x is not None:
                self._cover_by(part, x)
            part.lower = max(part.lower, min(math.ceil(bound - ROUNDING), part.upper))

    def _cover_by(self, part: Component, x: Floats) -> None:
        """Build a cover greedily from cliques in decreasing order of x."""
        label, used = np.full(part.graph.count, -1), 0
        cliques = self._matrix.T.tocsr()
        for k in np.lexsort((-np.diff(cliques.indptr), -x)).tolist():
            clique = cliques.indices[cliques.indptr[k] : cliques.indptr[k + 1]]
            clique = clique[label[clique] < 0]
            if len(clique):
                label[clique] = used
                used += 1
        if used < part.upper:
            part.found, part.upper = label, used

    def bound_independence(self, part: Component, budget: Budget) -> None:
        if self._relax(budget):
            upper = float(self._z.sum() / (self._matrix @ self._z).min())
            part.upper = min(part.upper, math.floor(upper + ROUNDING))

    def solve_independence(self, part: Component, budget: Budget) -> None:
        """Search by integer programming, if the gap is small."""
        gap = part.upper - part.lower
        if (
            not 0 < gap <= max(1.0, LARGEST_GAP * part.upper)
            or not len(self._z)
            or budget.exhausted
        ):
            return
        x, bound = integer_packing(self._matrix.T, budget.seconds)
        valid = x is not None and not (part.graph.sparse() @ x)[x > 0.0].any()
        if x is not None and valid and x.sum() > part.lower:
            part.found, part.lower = np.flatnonzero(x), int(x.sum())
        if bound < part.upper:
            part.upper = max(part.lower, math.floor(bound + ROUNDING))


def _one_for_each_edge(near: list[set[int]], budget: Budget) -> list[list[int]]:
    """Return cliques that together have all edges; empty if the budget is used up."""
    cliques: list[list[int]] = []
    done: list[set[int]] = [{v} for v in range(len(near))]
    order = sorted(range(len(near)), key=lambda v: len(near[v]))
    rank = np.argsort(order).tolist()
    for u in order:
        if budget.exhausted:
            return []
        while left := near[u] - done[u]:
            clique, common = [u], near[u]
            while common:  # prefer new edges of u, then vertices of low degree
                v = min(left or common, key=rank.__getitem__)
                clique.append(v)
                common, left = common & near[v], left & near[v]
            cliques.append(clique)
            for v in clique:
                done[v].update(clique)
    return cliques


def clique_size_bound(sizes: Ints) -> int:
    """Return a lower bound on the cover number from the largest clique size of each vertex.

    A clique of k vertices is the sum of 1/k over them, so there are at least sum 1 / sizes[v].
    """
    many = enumerate(np.bincount(sizes).tolist())
    return math.ceil(sum((Fraction(n, size) for size, n in many if n), Fraction(0)))


def fractional_matching(graph: Adjacency) -> tuple[int, Ints]:
    """Return twice the size of a largest fractional matching, and a cover by pairs and vertices.

    A largest matching between two copies of the graph consists of paths and cycles. Every second
    edge of them is a pair of the cover; odd cycles leave one vertex unpaired. Balinski (1965).
    """
    after = scipy.sparse.csgraph.maximum_bipartite_matching(graph.sparse(), perm_type="column")
    heads = np.setdiff1d(np.arange(graph.count), after)
    following, label, used = after.tolist(), [-1] * graph.count, 0
    # first paths from their first vertex, then cycles
    for v in [*heads.tolist(), *range(graph.count)]:
        while v >= 0 and label[v] < 0:
            u = following[v]
            label[v] = used
            if u >= 0 and label[u] < 0:
                label[u] = used
                u = following[u]
            used += 1
            v = u
    return int((after >= 0).sum()), np.array(label)


def matching_bound(graph: Adjacency, twice: int) -> int:
    """Return a lower bound on the cover number; fractional matchings have at most ``twice`` / 2.

    Compared with one clique per vertex, a clique of s vertices saves
    s - 1 = floor(s/2) + ceil(s/2) - 1. The first terms sum to the size of a matching. The other
    terms are at most max (ceil(s/2) - 1) / s over s <= k for each vertex whose cliques have at most
    k vertices, which is 0 for k = 2.
    """
    sizes = np.empty(graph.count, np.int64)
    clique_sizes(graph.start, graph.column, TRIANGLE_DEGREE, sizes)
    rest, share = Fraction(0), Fraction(0)
    for size, many in enumerate(np.bincount(sizes).tolist()):
        if size:
            share = max(share, Fraction((size + 1) // 2 - 1, size))
            rest += many * share
    return max(clique_size_bound(sizes), graph.count - twice // 2 - math.floor(rest))


#: Above this number of vertices, a fractional matching takes longer than all other steps.
MOST_MATCHED = 200_000
#: Visited neighbours per step of the local search.
VISITS = 1_000_000


def independent_set(
    graph: Adjacency, budget: Budget, report: Callable[[int, int], None]
) -> tuple[int, int, Ints]:
    """Return bounds on the independence number, and the set of the lower bound."""
    taken, _, components = reduce_graph(graph)
    for one in components:
        one.upper = min(one.upper, int(greedy_cover(one.graph).max()) + 1)
    lower, upper = search_components(taken, components, _search_set, budget, report)
    found = [taken, *(one.vertices[one.found] for one in components)]
    return lower, upper, np.sort(np.concatenate(found))


def _search_set(part: Component, budget: Budget, improved: Improved) -> None:
    count = part.graph.count
    if count > EXACT_LIMIT:
        if count <= MOST_MATCHED:
            # bound of the linear program with z_i + z_j <= 1 on edges
            part.upper = min(part.upper, count - -(-fractional_matching(part.graph)[0] // 2))
            improved()
        if budget.timed:
            enlarge(part, budget.part(0.1), improved)
            _solve(part, budget.part(0.6), improved)
            enlarge(part, budget, improved)
        return
    apart = ~part.graph.matrix() & ~np.eye(count, dtype=np.bool_)
    search = CliqueSearch(apart, part.lower)

    def searched() -> None:
        part.upper = min(part.upper, search.upper)
        if search.best > part.lower:
            part.lower, part.found = search.best, search.clique
        improved()

    searched()
    if not budget.timed:
        search.run(budget, searched)
        return
    search.run(budget.part(0.02), searched)
    if part.open:
        enlarge(part, budget.part(0.05), improved)
        _solve(part, budget.part(0.5), improved)
    if part.open:
        search.set_known(part.lower)
        search.run(budget.part(0.6), searched)
    if part.open:
        enlarge(part, budget.part(0.5), improved)
        # each clique of a cover has at most one vertex of the set
        cover = Colouring(apart, np.empty(0, np.int64))
        cover.set_known(greedy_cover(part.graph))
        cover.improve(budget, improved, part.lower)
        part.upper = min(part.upper, cover.best)


def enlarge(part: Component, budget: Budget, improved: Improved) -> None:
    """Search for a larger independent set by swaps, until it has ``part.upper`` vertices."""
    graph = part.graph
    inside, barred = np.zeros((2, graph.count), np.int64)
    inside[part.found] = 1
    state = np.array([0, SEED])
    while part.open and not budget.exhausted:
        gained = swap(graph.start, graph.column, inside, barred, state, VISITS)
        budget.spend()
        if gained > 0:
            part.lower, part.found = part.lower + gained, np.flatnonzero(inside)
            improved()


def _solve(part: Component, budget: Budget, improved: Improved) -> None:
    """Bound the number by the linear program over cliques, then solve the integer program."""
    if part.open and not budget.exhausted:
        program = CliqueProgram(part.graph, budget, MOST_CLIQUES)
        program.bound_independence(part, budget)
        improved()
        program.solve_independence(part, budget)
        improved()


def cover_by_cliques(
    graph: Adjacency, budget: Budget, report: Callable[[int, int], None]
) -> tuple[int, int, Ints]:
    """Return bounds on the clique cover number, and the clique label of each vertex."""
    taken, clique, components = reduce_graph(graph)
    for one in components:
        one.found = greedy_cover(one.graph)
        one.upper = int(one.found.max()) + 1
    lower, upper = search_components(taken, components, _search_cover, budget, report)
    used = len(taken)
    for one in components:
        clique[one.vertices] = used + one.found
        used += one.upper
    return lower, upper, clique


def _search_cover(part: Component, budget: Budget, improved: Improved) -> None:
    count = part.graph.count
    if count > EXACT_LIMIT:
        twice = count
        if count <= MOST_MATCHED:
            twice, pairs = fractional_matching(part.graph)
            if (upper := int(pairs.max()) + 1) < part.upper:
                part.upper, part.found = upper, pairs
        part.lower = max(part.lower, matching_bound(part.graph, twice))
        improved()
        if part.open and budget.timed:
            program = CliqueProgram(part.graph, budget)
            program.bound_cover(part, budget)
            improved()
            program.solve_cover(part, budget)
        return
    apart = ~part.graph.matrix() & ~np.eye(count, dtype=np.bool_)
    independent = CliqueSearch(apart)

    def larger() -> None:
        part.lower = max(part.lower, independent.best)
        improved()

    larger()
    independent.run(budget.part(0.05 if budget.timed else 0.25), larger)
    colouring = Colouring(apart, independent.clique)
    colouring.set_known(part.found)

    def fewer() -> None:
        if colouring.best < part.upper:
            part.upper, part.found = colouring.best, colouring.colours
        if colouring.finished:
            part.lower = part.upper
        improved()

    fewer()
    colouring.run(budget.part(0.05), fewer, part.lower)
    if part.open and not budget.timed:
        colouring.improve(budget.part(0.08), fewer, part.lower)
    elif part.open:
        program = CliqueProgram(part.graph, budget.part(0.4))
        program.bound_cover(part, budget.part(0.4))
        improved()
        if program.sizes is None:  # too many cliques to list
            largest = CliqueSearch(part.graph.matrix())
            largest.run(budget.part(0.3), improved)
            part.lower = max(part.lower, -(-count // largest.upper))
            improved()
        colouring.set_known(part.found)
        colouring.improve(budget.part(0.2), fewer, part.lower)
        program.solve_cover(part, budget.part(0.7))
        colouring.set_known(part.found)
        colouring.improve(budget.part(0.5), fewer, part.lower)
    if part.open:
        colouring.run(budget, fewer, part.lower)
