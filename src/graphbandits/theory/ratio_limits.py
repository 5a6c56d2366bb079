"""How large the information ratio of one round can be, and its sum over the rounds."""

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
from graphbandits.graphs.invariants._deterministic import clique_cover_numbers
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.rng import Keys
from graphbandits.theory.bounds import rate_limit

#: Distinct graphs whose clique covers are sought have this many entries together, K^2 each ...
ENTRIES = 10**6
#: ... and no more arms than this. What is not sought counts as K, which chi does not exceed.
MOST_ARMS = 2000
#: Draws of a random graph from which E chi is estimated, if the entries allow as many.
DRAWS = 1000
#: Up to here all graphs on K arms are gone through, 1024 of them, and E chi is exact.
ALL_GRAPHS = 5


def ratio_limit(graph: Feedback) -> Floats:
    """What psi_t = (alpha.Delta)^2 / (alpha.Gh) cannot exceed on this graph, one number a trial.

    chi(G)/2 for a graph of entries 0 and 1 (the proof of Theorem 2), K / (2 (K r + 1 - r)) where
    every other arm is seen with probability r (Theorem 3), and K/2 for any other matrix of
    probabilities (Lemma 2). Liu, Buccapatnam and Shroff (2018). One number where all trials share
    the graph.

    >>> from graphbandits.graphs import as_process
    >>> ratio_limit(as_process("paper").feedback), ratio_limit(UniformFeedback(0.25, count=5))
    (array([1.]), array([1.25]))
    """
    if isinstance(graph, UniformFeedback):
        return rate_limit(graph.arms, graph.r)
    if graph.deterministic:
        return clique_cover_numbers(graph) / 2.0
    return np.array([graph.arms / 2.0])


@dataclass(frozen=True, eq=False)
class Sums:
    """sum_{s <= t} of the limit of round s, after each of the rounds asked for.

    ``total`` is its mean over trials, with the standard error ``error`` where it is estimated;
    ``largest`` is t times the mean of the largest limit until then, None where it is not known,
    with the standard error ``largest_error``.
    """

    total: Floats
    largest: Floats | None
    deterministic: bool  # every graph has entries 0 and 1
    uniform: bool  # in every round all other arms are seen with one probability
    constant: bool = False
    error: Floats | None = None
    largest_error: Floats | None = None
    note: str = ""


def sums_of(process: Process, rounds: Ints, keys: Keys) -> Sums:
    """The sums of a process, over the trials of ``keys``.

    Exact wherever there is a formula: for a feedback that stays the same, for given sequences, for
    r uniform on an interval, and for random graphs of few arms. The graphs of any other process
    are gone through round by round.
    """
    fixed = fixed_feedback(process)
    if fixed is not None:
        return _constant(fixed, rounds)
    if isinstance(process, RandomFeedback) and not process.shared:
        return _random(process, rounds)
    if isinstance(process, RevealedErdosRenyi):
        if process.arms <= ALL_GRAPHS and not process.shared:
            return _over_all_graphs(process, rounds)
        if not process.shared or rounds[-1] > _graphs(process.arms):
            return _over_some_graphs(process, rounds, keys)
    return _walked(process, rounds, keys)


def _constant(graph: Feedback, rounds: Ints) -> Sums:
    total = ratio_limit(graph) * rounds
    return Sums(
        total, total, graph.deterministic, isinstance(graph, UniformFeedback), constant=True
    )


def _random(process: RandomFeedback, rounds: Ints) -> Sums:
    """r_t from a list, or drawn uniformly for each trial and round: then the mean of its limit."""
    arms = process.arms
    if isinstance(process.r, tuple):
        limits = rate_limit(arms, np.array(process.r))
        total = np.cumsum(limits)[rounds - 1]
        largest: Floats = np.maximum.accumulate(limits)[rounds - 1] * rounds
        return Sums(total, largest, process.deterministic, uniform=True)
    # K/(2 (K-1) (high-low)) log((1+(K-1) high) / (1+(K-1) low)), also where high is next to low
    base = 1.0 + (arms - 1) * process.low
    x = (arms - 1) * (process.high - process.low) / base
    mean = arms / (2.0 * base) * (math.log1p(x) / x if x > 0.0 else 1.0)
    return Sums(np.multiply(rounds, mean), None, process.deterministic, uniform=True)


def _over_all_graphs(process: RevealedErdosRenyi, rounds: Ints) -> Sums:
    """E chi, and the expectation of the largest of t values of chi, from all graphs there are."""
    arms = process.arms
    p = process.p**2 if process.directed else process.p  # of an edge both ways
    pairs = list(itertools.combinations(range(arms), 2))
    there = np.array(list(itertools.product((0.0, 1.0), repeat=len(pairs))))
    matrix = np.tile(np.eye(arms), (len(there), 1, 1))
    for edge, (i, j) in enumerate(pairs):
        matrix[:, i, j] = matrix[:, j, i] = there[:, edge]
    edges = there.sum(axis=1)
    weight = p**edges * (1.0 - p) ** (len(pairs) - edges)
    chi = clique_cover_numbers(DenseFeedback(matrix))
    below = np.array([weight[chi < count].sum() for count in range(1, arms + 1)])
    largest = (1.0 - below ** rounds[:, None]).sum(axis=1)  # of P(largest >= count)
    mean = float(weight @ chi)
    return Sums(np.multiply(rounds, mean / 2.0), largest / 2.0 * rounds, True, False)


def _over_some_graphs(process: RevealedErdosRenyi, rounds: Ints, keys: Keys) -> Sums:
    """E chi from draws: it does not depend on the round. The largest chi is not told by few."""
    draws = max(2, min(DRAWS, _graphs(process.arms)))
    if process.shared:
        graphs = [process.round(t, Keys(keys.seed)) for t in range(1, draws + 1)]
    else:
        graphs = [process.round(1, Keys(keys.seed, 0, draws))]
    chi = np.concatenate([clique_cover_numbers(graph) for graph in graphs])
    mean, error = float(chi.mean()), float(chi.std(ddof=1)) / math.sqrt(draws)
    total, error_of_total = np.multiply(rounds, mean / 2.0), np.multiply(rounds, error / 2.0)
    note = f"E chi from {draws} draws of the graph."
    return Sums(total, None, True, False, error=error_of_total, note=note)


def _walked(process: Process, rounds: Ints, keys: Keys) -> Sums:
    """Round by round, for as many of the trials as the budget of graphs allows, at least two."""
    last = int(rounds[-1])
    count = max(2, min(keys.trials, _graphs(process.arms) // last))
    some = Keys(keys.seed, keys.first_trial, count)
    covers = _Covers(process.arms)
    limits = np.empty((count, last))
    deterministic = uniform = shared = True
    previous: Feedback | None = None
    for t in range(1, last + 1):
        graph = process.round(t, some)
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
    found = Sums(until.mean(axis=0), largest.mean(axis=0), deterministic, uniform, note=covers.note)
    if shared:  # nothing is left to chance
        return found
    error, largest_error = (x.std(axis=0, ddof=1) / math.sqrt(count) for x in (until, largest))
    note = f"From the graphs of {count} trials. {covers.note}".strip()
    return replace(found, error=error, largest_error=largest_error, note=note)


def _graphs(arms: int) -> int:
    """How many distinct graphs are covered."""
    return ENTRIES // arms**2


@dataclass
class _Covers:
    """The limits of graphs, each computed once, while the budget lasts."""

    arms: int
    known: dict[bytes, float] = field(default_factory=dict)
    left_out: int = 0

    @property
    def note(self) -> str:
        """What was not computed."""
        if not self.left_out:
            return ""
        which = "1 graph" if self.left_out == 1 else f"{self.left_out} graphs"
        return f"chi of {which} was not sought, and counts as {self.arms}."

    def limits(self, graph: Feedback, trials: int) -> Floats:
        """One limit for all trials, or one for each."""
        if isinstance(graph, UniformFeedback) or not graph.deterministic:
            return ratio_limit(graph)
        if self.arms > MOST_ARMS:
            self.left_out += 1
            return np.array([self.arms / 2.0])
        found = []
        for matrix in matrices(graph, trials):
            key = np.packbits(matrix > 0.0).tobytes()
            if key not in self.known and len(self.known) < max(2, _graphs(self.arms)):
                self.known[key] = float(clique_cover_numbers(DenseFeedback(matrix))[0]) / 2.0
            self.left_out += key not in self.known
            found.append(self.known.get(key, self.arms / 2.0))
        return np.array(found)
