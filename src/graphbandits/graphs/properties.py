"""What is known before the first round: GraphInfo, and arms that a play may reveal."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.graphs._clique_kernels import independence_bound
from graphbandits.graphs._independence import is_undirected
from graphbandits.graphs.feedback import (
    DENSE_LIMIT,
    DenseFeedback,
    Feedback,
    SparseFeedback,
    UniformFeedback,
    matrices,
)
from graphbandits.graphs.numbers import independence_number
from graphbandits.graphs.processes import (
    GivenSequence,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
    fixed_feedback,
    restricted_process,
)
from graphbandits.rng import Keys


class Rows(NamedTuple):
    """Rows of G as lists: playing i in trial t may reveal ``arm[start[t, i]:start[t, i + 1]]``.

    ``chance`` has the probability of each entry of ``arm``. ``start`` has one row if all trials
    share the graph.
    """

    start: Ints
    arm: Ints
    chance: Floats


def rows_of(graph: Feedback, trials: int) -> Rows:
    """Return the rows of a graph as lists."""
    if isinstance(graph, SparseFeedback):
        return Rows(graph.start[None], graph.column, graph.weight)
    matrix = matrices(graph, trials)
    trial, row, arm = np.nonzero(matrix)
    ends = np.cumsum(np.count_nonzero(matrix, axis=2)).reshape(matrix.shape[:2])
    start = np.concatenate([np.append(0, ends[:-1, -1])[:, None], ends], axis=1)
    return Rows(start, arm, matrix[trial, row, arm])


def count_outcomes(graph: Feedback, trials: int = 1) -> float:
    """Return the sum of 2^|N| over the sets N of arms that may be observed.

    If trials differ, this is the largest of their sums. A set that several plays may reveal counts
    once: the sum is 3^K if every play reveals every arm with a probability in (0, 1). For plays
    that may reveal the same arms, some of them with certainty, all sets between the smallest and
    the largest count, or the sets of each play separately if these are fewer.

    >>> from graphbandits.graphs import as_process
    >>> count_outcomes(as_process("paper").feedback), count_outcomes(UniformFeedback(0.25, count=5))
    (48.0, 243.0)
    """
    if isinstance(graph, UniformFeedback):
        rates = graph.r if graph.arms > 1 else np.zeros(1)
        return max(_uniform(float(r), graph.arms) for r in np.unique(rates))
    rows = rows_of(graph, trials)
    return max(_count(start, rows.arm, rows.chance) for start in rows.start)


def at_most_outcomes(graph: Feedback, trials: int, limit: float) -> bool:
    """Whether there are at most ``limit`` outcomes; does not count them if a bound suffices."""
    if isinstance(graph, DenseFeedback) and 2.0 * graph.arms * 3.0 ** (graph.arms - 1) <= limit:
        return True
    return count_outcomes(graph, trials) <= limit


def most_outcomes(process: Process) -> float:
    """Return the largest number of outcomes (:func:`count_outcomes`) of any graph of a process."""
    arms = process.arms
    fixed = fixed_feedback(process)
    if fixed is not None:
        return count_outcomes(fixed)
    if isinstance(process, GivenSequence):
        return max(count_outcomes(feedback) for feedback in process.feedbacks)
    if isinstance(process, RandomFeedback):
        return _uniform(0.5, arms)
    # K distinct sets of K - 1 arms, and the set of all arms
    if process.deterministic:
        return _power(2, arms - 1) * (arms + 1)
    return 2 * arms * _power(3, arms - 1)


def _power(base: int, exponent: int) -> float:
    return float(base**exponent) if exponent < 600 else np.inf


def _uniform(r: float, arms: int) -> float:
    if r == 0.0:
        return 2.0 * arms
    return _power(2 if r == 1.0 else 3, arms)


def _count(start: Ints, arm: Ints, chance: Floats) -> float:
    """Count the outcomes of one trial; plays that may reveal the same arms are grouped."""
    groups = defaultdict[tuple[int, ...], list[set[int]]](list)
    for begin, end in pairwise(start.tolist()):
        revealed, certain = arm[begin:end], chance[begin:end] == 1.0
        groups[tuple(revealed.tolist())].append(set(revealed[certain].tolist()))
    total = 0.0
    for arms, certain_sets in groups.items():
        together, *separately = (
            _power(2, len(certain_set)) * _power(3, len(arms) - len(certain_set))
            for certain_set in (set.intersection(*certain_sets), *certain_sets)
        )
        total += min(together, sum(separately))
    return total


#: Number of random graphs that estimate the expected independence number, by the largest number of
#: arms. More arms need fewer graphs, because their numbers vary less.
DRAWS = {40: 2000, 100: 200, 500: 10}
#: Search nodes for each random graph, times the number of arms.
DRAWN_WORK = 1_000_000
#: For narrower intervals of r the midpoint is used: differences of powers would cancel.
NARROW = 1e-6


@dataclass(frozen=True, eq=False)
class GraphInfo:
    """Properties of a graph process that policies may use before the first round."""

    _process: Process
    _sums: dict[int, float] = field(default_factory=dict, repr=False)

    @cached_property
    def fixed(self) -> Feedback | None:
        """Feedback, if it is the same in every round; None if it may change."""
        return fixed_feedback(self._process)

    @cached_property
    def independence_number(self) -> int:
        """Independence number of a fixed 0/1 graph, directed or undirected; K for any other graph.

        If the search exceeds its step budget, this is the best upper bound that was found.
        """
        graph = self.fixed
        if graph is None or not graph.deterministic:
            return self._process.arms
        return independence_number(graph)

    @cached_property
    def outcomes(self) -> float:
        """Largest number of joint outcomes of the observed arms in one round, over all graphs."""
        return most_outcomes(self._process)

    def among(self, arms: Ints) -> GraphInfo:
        """Return the properties of the graphs among some of the arms, in increasing order."""
        return GraphInfo(restricted_process(self._process, arms))

    def independence(self, rounds: int) -> float:
        """Return the sum of Q_t over rounds 1 to ``rounds``; its expectation for random graphs.

        Q_t bounds sum_i p_i / q_i for every p: it is the independence number of an undirected 0/1
        graph, (1 - (1-r)^K) / r for random feedback, and K for any other graph. If the search for
        an independence number exceeds its step budget, the best upper bound that was found is used.
        Alon, Cesa-Bianchi, Gentile and Mansour (2013).
        """
        if rounds not in self._sums:
            self._sums[rounds] = self._sum(rounds)
        return self._sums[rounds]

    def _sum(self, rounds: int) -> float:
        process = self._process
        if self.fixed is not None:
            return rounds * _bound(self.fixed)
        if isinstance(process, GivenSequence):
            each = [_bound(feedback) for feedback in process.feedbacks[:rounds]]
            return float(sum(each)) * rounds / len(each)
        if isinstance(process, RandomFeedback):
            return rounds * _random_bound(process, rounds)
        if isinstance(process, RevealedErdosRenyi):
            return rounds * _drawn_bound(process.arms, process.p, process.directed)
        return float(rounds * process.arms)


def _bound(feedback: Feedback) -> float:
    if isinstance(feedback, UniformFeedback):
        return float(_uniform_bound(feedback.r, feedback.arms)[0])
    if not feedback.deterministic or not is_undirected(feedback):
        return float(feedback.arms)
    return float(independence_number(feedback))


def _uniform_bound(r: object, arms: int) -> Floats:
    """Return (1 - (1-r)^K) / r, which is K at r = 0."""
    rate = np.asarray(r, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):  # log(0) at r = 1, 0/0 at r = 0
        bound: Floats = -np.expm1(arms * np.log1p(-rate)) / rate
    return np.where(rate > 0.0, bound, float(arms))


def _random_bound(process: RandomFeedback, rounds: int) -> float:
    """Return the mean of Q over the rounds, or over r uniform on [low, high]."""
    if process.r is not None:
        return float(_uniform_bound(process.r, process.arms)[:rounds].mean())
    if process.high - process.low < NARROW:
        return float(_uniform_bound((process.low + process.high) / 2.0, process.arms))
    power = np.arange(1.0, process.arms + 1)
    each = ((1.0 - process.low) ** power - (1.0 - process.high) ** power) / power
    return float(each.sum() / (process.high - process.low))


@lru_cache(maxsize=256)
def _drawn_bound(arms: int, p: float, directed: bool) -> float:
    """Estimate the mean from graphs of a separate seed; K if directed or above 500 arms."""
    if p in (0.0, 1.0):
        return float(arms if p == 0.0 else 1)
    if directed or arms > max(DRAWS):
        return float(arms)
    draws = next(count for most, count in DRAWS.items() if arms <= most)
    if arms <= DENSE_LIMIT:
        drawn = RevealedErdosRenyi(arms, p).round(1, Keys(2013, trials=draws))
        graphs = list(matrices(drawn, draws))
    else:
        process = RevealedErdosRenyi(arms, p, shared=True)
        graphs = [matrices(process.round(t, Keys(2013)), 1)[0] for t in range(1, draws + 1)]
    return float(np.mean([independence_bound(one > 0.0, DRAWN_WORK // arms) for one in graphs]))
