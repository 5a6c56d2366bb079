"""Graphs of NetworkX, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs.feedback import Feedback
from graphbandits.graphs.io.edges import ATTRIBUTES, fixed_graph, probabilities
from graphbandits.graphs.processes import Fixed, Process
from graphbandits.graphs.shape import edge_arrays

if TYPE_CHECKING:
    import networkx


def from_networkx(graph: networkx.Graph, probability: str | None = "auto") -> Fixed:
    """A fixed graph from NetworkX: nodes in their order, undirected edges both ways.

    The edge attribute ``probability`` is the probability; where no edge has it, ``weight`` is. An
    edge without it is sure. ``probability=`` says another attribute, and ``probability=None``
    makes every edge sure. Parallel edges must agree. Names are the nodes as texts, without blanks
    around them.

    >>> import networkx
    >>> from_networkx(networkx.path_graph(["ann", "bob", "eve"])).names
    ('ann', 'bob', 'eve')
    """
    index = {node: i for i, node in enumerate(graph.nodes)}
    if not index:
        raise InputError("the NetworkX graph has no nodes: an arm is needed at least")
    names = [str(node) for node in index]
    ends = np.array([(index[u], index[v]) for u, v in graph.edges()], np.int64).reshape(-1, 2)
    weight = np.ones(len(ends))
    attribute = probability
    if probability == "auto":
        attribute = next(filter(lambda name: _has(graph, name), ATTRIBUTES), None)
    elif probability is not None and len(ends) and not _has(graph, probability):
        raise InputError(f"no edge of the NetworkX graph has the attribute '{probability}'")
    if attribute is not None:
        given = [p for _, _, p in graph.edges(data=attribute, default=1.0)]
        weight = probabilities(
            given,
            lambda k: (
                f"the edge {names[ends[k, 0]]} -> {names[ends[k, 1]]} has the {attribute} "
                f"{given[k]!r}: "
            ),
            "; with probability=None the attribute does not count",
            "attribute",
        )
    return fixed_graph(names, ends[:, 0], ends[:, 1], weight, not graph.is_directed())


def _has(graph: networkx.Graph, attribute: str) -> bool:
    return any(attribute in data for _, _, data in graph.edges(data=True))


def to_networkx(graph: Process | Feedback) -> networkx.DiGraph:
    """A fixed graph, or the feedback of one round, for NetworkX.

    Always directed, since the way back may have another probability; ``to_undirected()`` where it
    has not. Nodes are the names of the arms, or 0, 1, ... where they have none, in the order of the
    arms; the edge attribute ``probability`` is the entry of the matrix. Self-loops, which every
    arm has, are left out. :func:`from_networkx` takes it back.

    >>> from graphbandits.graphs import as_process
    >>> to_networkx(as_process("star", arms=3)).edges(data="probability")
    OutEdgeDataView([(0, 1, 1.0), (0, 2, 1.0), (1, 0, 1.0), (2, 0, 1.0)])
    """
    import networkx

    feedback = graph.feedback if isinstance(graph, Fixed) else graph
    names = graph.names if isinstance(graph, Fixed) else None
    if not is_feedback(feedback):
        raise InputError(
            "to_networkx takes a fixed graph or the feedback of one round: of a process that "
            "changes, give process.round(t, Keys(seed)); of anything else, as_process(graph)"
        )
    if not feedback.shared:
        raise InputError("to_networkx takes one graph, but this feedback has one for each trial")
    nodes: Sequence[object] = names or range(feedback.arms)
    source, target, weight = edge_arrays(feedback)
    result = networkx.DiGraph()
    result.add_nodes_from(nodes)
    result.add_edges_from(
        (nodes[i], nodes[j], {"probability": p})
        for i, j, p in zip(source.tolist(), target.tolist(), weight.tolist(), strict=True)
    )
    return result


def is_feedback(graph: object) -> TypeGuard[Feedback]:
    """Whether it is the feedback of one round, and not a process."""
    return hasattr(graph, "reach") and hasattr(graph, "shared")
