"""Properties of a graph process that are known before the first round, without random draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.graphs._clique_kernels import independence_bound
from graphbandits.graphs._outcome_space import most_outcomes
from graphbandits.graphs._reductions import is_undirected
from graphbandits.graphs.feedback import DENSE_LIMIT, Feedback, UniformFeedback, matrices
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

#: Number of random graphs that estimate the expected independence number, by the largest number of
#: arms. More arms need fewer graphs, because their numbers vary less.
DRAWS = {40: 2000, 100: 200, 500: 10}
#: Search nodes for each random graph, times the number of arms.
DRAWN_WORK = 1_000_000
#: For narrower intervals of r the midpoint is used: differences of powers would cancel.
NARROW = 1e-6


@dataclass(frozen=True, eq=False)
class GraphInfo:
    """Properties of a graph process that policies may use before the first round.

    Examples
    --------
    >>> from graphbandits.graphs import as_process
    >>> GraphInfo(as_process("paper")).independence(rounds=100)
    200.0
    """

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
        """Return the properties of the graphs among some of the arms.

        Parameters
        ----------
        arms
            Numbers of the arms, in increasing order.

        Returns
        -------
        GraphInfo

        Examples
        --------
        >>> from graphbandits.graphs import as_process
        >>> star = GraphInfo(as_process("star", 5))
        >>> star.independence_number, star.among(np.array([0, 3, 4])).independence_number
        (4, 2)
        """
        return GraphInfo(restricted_process(self._process, arms))

    def independence(self, rounds: int) -> float:
        """Return the sum of Q_t over rounds 1 to ``rounds``; its expectation for random graphs.

        Q_t bounds sum_i p_i / q_i for every p: it is the independence number of an undirected 0/1
        graph, (1 - (1-r)^K) / r for random feedback, and K for any other graph. If the search for
        an independence number exceeds its step budget, the best upper bound that was found is used.
        Alon, Cesa-Bianchi, Gentile and Mansour (2013).

        Parameters
        ----------
        rounds
            Number of rounds.

        Returns
        -------
        float

        Examples
        --------
        >>> from graphbandits.graphs import as_process
        >>> GraphInfo(as_process("random(r=uniform)", 3)).independence(rounds=60)  # 1 + 1/2 + 1/3
        110.0
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
    """Return Q of one round."""
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
