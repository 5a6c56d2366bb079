"""What is seen of a graph at a glance: edges, density, degrees, parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.graphs.feedback import Feedback, SparseFeedback, UniformFeedback, matrices

#: So many edges, each with an object of its own in a text or in NetworkX, take gigabytes.
MOST_EDGES = 10_000_000


def edge_arrays(feedback: Feedback, trial: int = 0) -> tuple[Ints, Ints, Floats]:
    """Sources, targets and probabilities of the edges between different arms, in one trial.

    >>> from graphbandits.graphs import as_process
    >>> [part.tolist() for part in edge_arrays(as_process("edges(1>2:0.5 3>2)").feedback)]
    [[0, 2], [1, 1], [0.5, 1.0]]
    """
    if isinstance(feedback, SparseFeedback):
        source = np.repeat(np.arange(feedback.arms), np.diff(feedback.start))
        target, weight = feedback.column, feedback.weight
    else:
        if (
            isinstance(feedback, UniformFeedback)
            and feedback.r[0 if feedback.shared else trial] == 0.0
        ):
            nothing = np.empty(0, np.int64)
            return nothing, nothing, np.empty(0)
        if feedback.arms**2 > MOST_EDGES:
            raise InputError(
                f"{feedback.arms} arms that may all be joined have {feedback.arms**2} edges: too "
                "many to list"
            )
        matrix = matrices(feedback, trial + 1)[0 if feedback.shared else trial]
        source, target = np.nonzero(matrix)
        weight = matrix[source, target]
    there = (source != target) & (weight > 0.0)
    return source[there], target[there], weight[there]


@dataclass(frozen=True, eq=False)
class Shape:
    """Edges of a graph: those both ways count once if it is undirected; self-loops do not count.

    ``density`` is the share of the possible edges that are there; ``seen`` is how many other arms
    playing an arm shows, ``seen_by`` how many others show it. By probabilities all three are
    expected values. ``parts`` are the arms joined by edges, whatever their direction.

    >>> from graphbandits.graphs import as_process
    >>> shape = Shape.of(as_process("star(out)", arms=4).feedback)
    >>> shape.edges, shape.directed, shape.density, shape.seen.tolist(), shape.parts
    (3, True, 0.25, [3.0, 0.0, 0.0, 0.0], 1)
    """

    arms: int
    edges: int
    directed: bool
    density: float
    seen: Floats
    seen_by: Floats
    parts: int

    @classmethod
    def of(cls, feedback: Feedback, trial: int = 0) -> Shape:
        """The shape of one trial's graph."""
        arms = feedback.arms
        pairs = arms * (arms - 1)
        if isinstance(feedback, UniformFeedback):  # never a matrix
            r = float(feedback.r[0 if feedback.shared else trial])
            joined = r > 0.0 and arms > 1
            seen = np.full(arms, (arms - 1) * r)
            edges = pairs // 2 if joined else 0
            return cls(arms, edges, False, r if pairs else 0.0, seen, seen, 1 if joined else arms)
        source, target, weight = edge_arrays(feedback, trial)
        there, back = np.argsort(source * arms + target), np.argsort(target * arms + source)
        mutual = (source[there] == target[back]).all() and (target[there] == source[back]).all()
        directed = not (mutual and (weight[there] == weight[back]).all())
        graph = coo_array((weight, (source, target)), shape=(arms, arms))
        return cls(
            arms=arms,
            edges=len(source) if directed else len(source) // 2,
            directed=bool(directed),
            density=float(weight.sum()) / pairs if pairs else 0.0,
            seen=np.bincount(source, weight, arms).astype(np.float64),
            seen_by=np.bincount(target, weight, arms).astype(np.float64),
            parts=int(connected_components(graph, directed=False)[0]),
        )
