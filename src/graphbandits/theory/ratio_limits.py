"""Upper bounds on the information ratio of one round, and their sums over rounds."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.graphs import (
    DenseFeedback,
    Feedback,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
    UniformFeedback,
)
from graphbandits.graphs.feedback import matrices
from graphbandits.graphs.numbers import clique_cover_numbers
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.rng import Keys
from graphbandits.theory.bounds import rate_limit

#: Most matrix entries, K^2 per graph, of all distinct graphs whose clique cover is computed.
ENTRIES = 10**6
#: Most arms of graphs whose clique cover is computed; above, chi <= K is used.
MOST_ARMS = 2000
#: Most random graphs from which E chi is estimated; ``ENTRIES`` may reduce the number.
DRAWS = 1000
#: Up to this many arms, E chi is exact: all graphs are enumerated (1024 for five arms).
ALL_GRAPHS = 5


def ratio_limit(graph: Feedback, scale: float = 1.0) -> Floats:
    """Return an upper bound on psi_t = (alpha.Delta)^2 / (alpha.Gh) on a graph.

    The bound is chi(G)/2 for a graph of entries 0 and 1 (proof of Theorem 2),
    K / (2 (K r + 1 - r)) if every other arm is observed with probability r (Theorem 3), and K/2 for
    any other matrix of probabilities (Lemma 2). Liu, Buccapatnam and Shroff (2018).

    Parameters
    ----------
    graph
        Feedback of one round.
    scale
        Constant of the rewards, whose square is a factor of the bound: 1 for rewards in [0, 1],
        high - low for [low, high], 2 sigma for rewards with the sub-Gaussian constant sigma.

    Returns
    -------
    ndarray
        One number per trial, or one number if all trials share the graph.

    Examples
    --------
    >>> from graphbandits.graphs import as_process
    >>> ratio_limit(as_process("paper").feedback), ratio_limit(UniformFeedback(0.25, count=5))
    (array([1.]), array([1.25]))
    """
    if isinstance(graph, UniformFeedback):
        limit = rate_limit(graph.arms, graph.r)
    elif graph.deterministic:
        limit = clique_cover_numbers(graph) / 2.0
    else:
        limit = np.array([graph.arms / 2.0])
    return limit if scale == 1.0 else scale**2 * limit


@dataclass(frozen=True, eq=False)
class LimitSums:
    """Sum of the ratio limits of rounds s <= t, after each of the requested rounds t.

    ``total`` is the mean of the sum over trials, and ``error`` its standard error if it is
    estimated. ``largest`` is t times the mean of the largest limit up to round t, None if unknown,
    with the standard error ``largest_error``.
    """

    total: Floats
    largest: Floats | None
    deterministic: bool  # every graph has entries 0 and 1
    uniform: bool  # in every round all other arms are observed with one probability
    constant: bool = False
    error: Floats | None = None
    largest_error: Floats | None = None
    note: str = ""


def limit_sums(process: Process, rounds: Ints, keys: Keys) -> LimitSums:
    """Return the sums of ratio limits of a process, over the trials of ``keys``.

    They are exact for fixed feedback, given sequences, r uniform on an interval, and random graphs
    of few arms. The graphs of any other process are evaluated round by round.
    """
    fixed = fixed_feedback(process)
    if fixed is not None:
        return _constant(fixed, rounds)
    if isinstance(process, RandomFeedback) and not process.shared:
        return _random(process, rounds)
    if isinstance(process, RevealedErdosRenyi):
        if process.arms <= ALL_GRAPHS and not process.shared:
            return _over_all_graphs(process, rounds)
        if not process.shared or rounds[-1] > _most_graphs(process.arms):
            return _over_some_graphs(process, rounds, keys)
    return _round_by_round(process, rounds, keys)


def _constant(graph: Feedback, rounds: Ints) -> LimitSums:
    total = ratio_limit(graph) * rounds
    return LimitSums(
        total, total, graph.deterministic, isinstance(graph, UniformFeedback), constant=True
    )


def _random(process: RandomFeedback, rounds: Ints) -> LimitSums:
    """Return the sums for r_t from a list, or the mean for r_t drawn uniformly."""
    arms = process.arms
    if isinstance(process.r, tuple):
        limits = rate_limit(arms, np.array(process.r))
        total = np.cumsum(limits)[rounds - 1]
        largest: Floats = np.maximum.accumulate(limits)[rounds - 1] * rounds
        return LimitSums(total, largest, process.deterministic, uniform=True)
    # K/(2 (K-1) (high-low)) log((1+(K-1) high) / (1+(K-1) low)), stable if high is close to low
    base = 1.0 + (arms - 1) * process.low
    x = (arms - 1) * (process.high - process.low) / base
    mean = arms / (2.0 * base) * (math.log1p(x) / x if x > 0.0 else 1.0)
    return LimitSums(np.multiply(rounds, mean), None, process.deterministic, uniform=True)


def _over_all_graphs(process: RevealedErdosRenyi, rounds: Ints) -> LimitSums:
    """Compute E chi and the expected maximum of t values of chi by enumerating all graphs."""
    arms = process.arms
    p = process.p**2 if process.directed else process.p  # probability of a mutual edge
    pairs = list(itertools.combinations(range(arms), 2))
    has_edge = np.array(list(itertools.product((0.0, 1.0), repeat=len(pairs))))
    matrix = np.tile(np.eye(arms), (len(has_edge), 1, 1))
    for edge, (i, j) in enumerate(pairs):
        matrix[:, i, j] = matrix[:, j, i] = has_edge[:, edge]
    edges = has_edge.sum(axis=1)
    weight = p**edges * (1.0 - p) ** (len(pairs) - edges)
    chi = clique_cover_numbers(DenseFeedback(matrix))
    below = np.array([weight[chi < count].sum() for count in range(1, arms + 1)])
    largest = (1.0 - below ** rounds[:, None]).sum(axis=1)  # sum of P(largest >= count)
    mean = float(weight @ chi)
    return LimitSums(np.multiply(rounds, mean / 2.0), largest / 2.0 * rounds, True, False)


def _over_some_graphs(process: RevealedErdosRenyi, rounds: Ints, keys: Keys) -> LimitSums:
    """Estimate E chi, which is the same in all rounds; a sample does not give the largest chi."""
    draws = max(2, min(DRAWS, _most_graphs(process.arms)))
    if process.shared:
        graphs = [process.round(t, Keys(keys.seed)) for t in range(1, draws + 1)]
    else:
        graphs = [process.round(1, Keys(keys.seed, 0, draws))]
    chi = np.concatenate([clique_cover_numbers(graph) for graph in graphs])
    mean, error = float(chi.mean()), float(chi.std(ddof=1)) / math.sqrt(draws)
    total, error_of_total = np.multiply(rounds, mean / 2.0), np.multiply(rounds, error / 2.0)
    note = f"E chi is estimated from {draws} random graphs."
    return LimitSums(total, None, True, False, error=error_of_total, note=note)


def _round_by_round(process: Process, rounds: Ints, keys: Keys) -> LimitSums:
    """Evaluate the graphs of each round, for at least two trials within the limit of graphs."""
    last = int(rounds[-1])
    count = max(2, min(keys.trials, _most_graphs(process.arms) // last))
    selected = Keys(keys.seed, keys.first_trial, count)
    covers = _Covers(process.arms)
    limits = np.empty((count, last))
    deterministic = uniform = shared = True
    previous: Feedback | None = None
    for t in range(1, last + 1):
        graph = process.round(t, selected)
        if graph is previous:
            limits[:, t - 1] = limits[:, t - 2]
            continue
        previous = graph
        limits[:, t - 1] = covers.limits(graph, count)
        deterministic = deterministic and graph.deterministic
        uniform = uniform and isinstance(graph, UniformFeedback)
        shared = shared and graph.shared
    until = np.cumsum(limits, axis=1)[:, rounds - 1]
    largest = np.maximum.accumulate(limits, axis=1)[:, rounds - 1] * rounds
    found = LimitSums(
        until.mean(axis=0), largest.mean(axis=0), deterministic, uniform, note=covers.note
    )
    if shared:  # exact
        return found
    error, largest_error = (x.std(axis=0, ddof=1) / math.sqrt(count) for x in (until, largest))
    note = f"Estimated from the graphs of {count} trials. {covers.note}".strip()
    return replace(found, error=error, largest_error=largest_error, note=note)


def _most_graphs(arms: int) -> int:
    """Return the largest number of distinct graphs whose clique cover is computed."""
    return ENTRIES // arms**2


@dataclass
class _Covers:
    """Cache of ratio limits of graphs, up to a maximum number of graphs."""

    arms: int
    known: dict[bytes, float] = field(default_factory=dict)
    left_out: int = 0

    @property
    def note(self) -> str:
        """Number of graphs whose limit was not computed, as a text."""
        if not self.left_out:
            return ""
        which = "1 graph" if self.left_out == 1 else f"{self.left_out} graphs"
        return f"chi of {which} was not computed; the upper bound {self.arms} is used."

    def limits(self, graph: Feedback, trials: int) -> Floats:
        """Return one limit for all trials, or one per trial."""
        if isinstance(graph, UniformFeedback) or not graph.deterministic:
            return ratio_limit(graph)
        if self.arms > MOST_ARMS:
            self.left_out += 1
            return np.array([self.arms / 2.0])
        found = []
        for matrix in matrices(graph, trials):
            key = np.packbits(matrix > 0.0).tobytes()
            if key not in self.known and len(self.known) < max(2, _most_graphs(self.arms)):
                self.known[key] = float(clique_cover_numbers(DenseFeedback(matrix))[0]) / 2.0
            self.left_out += key not in self.known
            found.append(self.known.get(key, self.arms / 2.0))
        return np.array(found)
