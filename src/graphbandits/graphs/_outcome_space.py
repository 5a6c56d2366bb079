"""Arms that each play may reveal, as lists, and the number of distinct joint outcomes."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.graphs.feedback import (
    DenseFeedback,
    Feedback,
    SparseFeedback,
    UniformFeedback,
    matrices,
)
from graphbandits.graphs.processes import GivenSequence, Process, RandomFeedback, fixed_feedback


class Rows(NamedTuple):
    """Rows of G as lists: playing i in trial t may reveal ``arm[start[t, i]:start[t, i + 1]]``.

    ``chance`` has the probability of each entry of ``arm``. ``start`` has one row if all trials
    share the graph.
    """

    start: Ints
    arm: Ints
    chance: Floats


def rows_of(graph: Feedback, trials: int) -> Rows:
    """Return the rows of a graph as lists.

    >>> from graphbandits.graphs import as_process
    >>> rows_of(as_process("star(direction=out)", 3).feedback, trials=1)[:2]
    (array([[0, 3, 4, 5]]), array([0, 1, 2, 1, 2]))
    """
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
    """Whether there are at most ``limit`` outcomes; does not count them if a bound suffices.

    >>> graph = UniformFeedback(0.25, count=5)
    >>> at_most_outcomes(graph, 1, 243), at_most_outcomes(graph, 1, 242)
    (True, False)
    """
    if isinstance(graph, DenseFeedback) and 2.0 * graph.arms * 3.0 ** (graph.arms - 1) <= limit:
        return True
    return count_outcomes(graph, trials) <= limit


def most_outcomes(process: Process) -> float:
    """Return the largest number of outcomes (:func:`count_outcomes`) of any graph of a process.

    >>> from graphbandits.graphs import as_process
    >>> most_outcomes(as_process("revealed-er(p=0.5)", 4))  # 4 sets of 3 arms and one of 4
    40.0
    """
    arms = process.arms
    fixed = fixed_feedback(process)
    if fixed is not None:
        return count_outcomes(fixed)
    if isinstance(process, GivenSequence):
        return max(count_outcomes(feedback) for feedback in process.feedbacks)
    if isinstance(process, RandomFeedback):
        return _uniform(0.5, arms)
    # K distinct sets of K - 1 arms, and the set of all arms
    return (
        _power(2, arms - 1) * (arms + 1)
        if process.deterministic
        else 2 * arms * _power(3, arms - 1)
    )


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
