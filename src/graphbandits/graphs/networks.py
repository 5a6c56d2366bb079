"""Graphs of NetworkX, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs.edge_table import fixed_graph, numbers, wrong_probability
from graphbandits.graphs.feedback import Feedback
from graphbandits.graphs.processes import Fixed, Process
from graphbandits.graphs.shape import edge_arrays

if TYPE_CHECKING:
    import networkx

#: Edge attributes that are probabilities without being told; the first one that occurs counts.
ATTRIBUTES = ("probability", "weight")


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
    nodes = list(graph.nodes)
    if not nodes:
        raise InputError("the NetworkX graph has no nodes: an arm is needed at least")
    index = {node: i for i, node in enumerate(nodes)}
    ends = [(index[u], index[v]) for u, v in graph.edges()]
    names = tuple(str(node) for node in nodes)
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    attribute = _attribute(graph) if probability == "auto" else probability

    def edge(k: int) -> str:
        return f"{names[ends[k][0]]} -> {names[ends[k][1]]}"

    weight = np.ones(len(ends))
    if attribute is not None:
        given = [p for _, _, p in graph.edges(data=attribute, default=1.0)]
        weight = numbers(given)
        wrong = wrong_probability(weight)
        if wrong is not None:
            raise InputError(
                f"the edge {edge(wrong)} has the {attribute} {given[wrong]!r}, which is no number "
                f"in [0, 1]; with probability=None the attribute does not count"
            )
        if ends and not any(attribute in data for _, _, data in graph.edges(data=True)):
            raise InputError(f"no edge of the NetworkX graph has the attribute '{attribute}'")
    return fixed_graph(
        names, pairs[:, 0], pairs[:, 1], weight, not graph.is_directed(), lambda k: ""
    )


def _attribute(graph: networkx.Graph) -> str | None:
    missing = object()
    for name in ATTRIBUTES:
        if any(p is not missing for _, _, p in graph.edges(data=name, default=missing)):
            return name
    return None


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
