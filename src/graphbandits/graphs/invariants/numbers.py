"""The four numbers that regret bounds scale with, of one 0/1 graph."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from graphbandits.graphs.domination import fractional_dominating_set
from graphbandits.graphs.feedback import Feedback
from graphbandits.graphs.invariants.bracket import Arms, Bracket, Progress
from graphbandits.graphs.revealers import matrices
from graphbandits.types import Floats, Ints

#: Seconds that a search may take, unless the caller says otherwise.
TIME_LIMIT = 5.0


def clique_cover(
    graph: Feedback, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """chi: the least number of cliques that the arms can be parted into; certificate: the cliques.

    A clique needs both directions: every member observes every other.
    """
    matrix = matrices(graph, 1)[0]
    cliques = _greedy_cliques(matrix * matrix.T)
    independent = _greedy_independent(np.maximum(matrix * matrix.T, 0))
    return Bracket(len(independent), len(cliques), cliques)


def independence(
    graph: Feedback, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """The size of the largest set of arms without an edge either way; certificate: the set."""
    matrix = matrices(graph, 1)[0]
    either = np.maximum(matrix, matrix.T)
    found = _greedy_independent(either)
    return Bracket(len(found), len(_greedy_cliques(either)), found)


def domination(
    graph: Feedback, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[int]:
    """The size of the smallest set of arms that reveal all arms; certificate: the set."""
    matrix = matrices(graph, 1)[0]
    left, chosen = np.ones(len(matrix), bool), []
    while left.any():
        chosen.append(int((matrix[:, left]).sum(axis=1).argmax()))
        left &= matrix[chosen[-1]] == 0.0
    least = int(np.ceil(fractional_domination(graph).lower - 1e-7))
    return Bracket(least, len(chosen), tuple(sorted(chosen)))


def fractional_domination(
    graph: Feedback, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Bracket[float]:
    """The least sum of z >= 0 that reveals every arm once: certificate: z."""
    z = fractional_dominating_set(graph)[0]
    return Bracket(float(z.sum()), float(z.sum()), tuple(z.tolist()))


def clique_cover_numbers(graph: Feedback) -> Ints:
    """chi of a 0/1 graph, or the least upper bound found, one number for each of its trials.

    It does not depend on the clock: the same graph has the same number in every run.
    """
    packed = np.packbits(matrices(graph, 1) > 0.0, axis=-1)
    return np.array([_number(graph.arms, matrix.tobytes()) for matrix in packed])


@lru_cache(maxsize=2**16)
def _number(arms: int, bits: bytes) -> int:
    rows = np.frombuffer(bits, np.uint8).reshape(arms, -1)
    matrix = np.unpackbits(rows, axis=1, count=arms).astype(np.float64)
    return len(_greedy_cliques(matrix * matrix.T))


def _greedy_cliques(mutual: Floats) -> tuple[Arms, ...]:
    cliques: list[list[int]] = []
    for arm in np.argsort(mutual.sum(axis=1), kind="stable"):
        for clique in cliques:
            if mutual[arm, clique].all():
                clique.append(int(arm))
                break
        else:
            cliques.append([int(arm)])
    return tuple(tuple(sorted(clique)) for clique in cliques)


def _greedy_independent(either: Floats) -> Arms:
    chosen: list[int] = []
    for arm in np.argsort(either.sum(axis=1), kind="stable"):
        if not either[arm, chosen].any():
            chosen.append(int(arm))
    return tuple(sorted(chosen))
