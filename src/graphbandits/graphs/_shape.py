"""Basic properties of a graph: edges, density, degrees, connected components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.graphs.feedback import Feedback, SparseFeedback, UniformFeedback, matrices

#: Most edges that are listed: as Python objects, more edges would take gigabytes.
MOST_EDGES = 10_000_000


def edge_arrays(feedback: Feedback, trial: int = 0) -> tuple[Ints, Ints, Floats]:
    """Return sources, targets and probabilities of the edges of one trial, without self-loops.

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
            empty = np.empty(0, np.int64)
            return empty, empty, np.empty(0)
        if feedback.arms**2 > MOST_EDGES:
            raise InputError(
                f"cannot list the edges of a dense graph of {feedback.arms} arms "
                f"({feedback.arms**2} entries): at most {MOST_EDGES} entries"
            )
        matrix = matrices(feedback, trial + 1)[0 if feedback.shared else trial]
        source, target = np.nonzero(matrix)
        weight = matrix[source, target]
    is_edge = (source != target) & (weight > 0.0)
    return source[is_edge], target[is_edge], weight[is_edge]


@dataclass(frozen=True, eq=False)
class Shape:
    """Number of edges, density, degrees and components of a graph, without self-loops.

    ``edges`` counts an edge with both directions once if the graph is undirected. ``density`` is
    the fraction of possible edges that exist, ``out_degree`` and ``in_degree`` have the number of
    other arms that each arm reveals and is revealed by. For probabilities, these are expected
    values. ``components`` is the number of weakly connected components.

    >>> from graphbandits.graphs import as_process
    >>> shape = Shape.of(as_process("star(out)", arms=4).feedback)
    >>> shape.edges, shape.directed, shape.density, shape.out_degree.tolist(), shape.components
    (3, True, 0.25, [3.0, 0.0, 0.0, 0.0], 1)
    """

    arms: int
    edges: int
    directed: bool
    density: float
    out_degree: Floats
    in_degree: Floats
    components: int

    @classmethod
    def of(cls, feedback: Feedback, trial: int = 0) -> Shape:
        """Compute the properties of the graph of one trial."""
        arms = feedback.arms
        pairs = arms * (arms - 1)
        if isinstance(feedback, UniformFeedback):  # without a matrix
            r = float(feedback.r[0 if feedback.shared else trial])
            joined = r > 0.0 and arms > 1
            degree = np.full(arms, (arms - 1) * r)
            edges = pairs // 2 if joined else 0
            density, components = r if pairs else 0.0, 1 if joined else arms
            return cls(arms, edges, False, density, degree, degree, components)
        source, target, weight = edge_arrays(feedback, trial)
        forward, back = np.argsort(source * arms + target), np.argsort(target * arms + source)
        mutual = (source[forward] == target[back]).all() and (target[forward] == source[back]).all()
        directed = not (mutual and (weight[forward] == weight[back]).all())
        graph = scipy.sparse.coo_array((weight, (source, target)), shape=(arms, arms))
        return cls(
            arms=arms,
            edges=len(source) if directed else len(source) // 2,
            directed=bool(directed),
            density=float(weight.sum()) / pairs if pairs else 0.0,
            out_degree=np.bincount(source, weight, arms).astype(np.float64),
            in_degree=np.bincount(target, weight, arms).astype(np.float64),
            components=int(scipy.sparse.csgraph.connected_components(graph, directed=False)[0]),
        )
