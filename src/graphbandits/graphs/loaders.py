"""Graphs from elsewhere: text, edge lists, NetworkX, arrays; each becomes a process."""

from __future__ import annotations

from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs.feedback import DENSE_LIMIT, Dense, Sparse, Uniform, from_edges
from graphbandits.graphs.named import Recipe
from graphbandits.graphs.processes import Fixed, GivenSequence, Process
from graphbandits.registry import build

if TYPE_CHECKING:
    import networkx

#: Anything that :func:`as_process` understands.
GraphLike = Any


def as_process(graph: GraphLike, arms: int | None = None) -> Process:
    """A graph process from a text, a file, a process, a feedback, a matrix, NetworkX or a list.

    >>> as_process("paper").arms
    5
    >>> as_process("star", arms=7).arms
    7
    """
    process = make_process(graph, arms)
    if arms is not None and process.arms != arms:
        name = f"graph '{graph}'" if isinstance(graph, str) else "the graph"
        raise InputError(f"{name} has {process.arms} arms, but {arms} were asked for")
    return process


def make_process(graph: GraphLike, arms: int | None) -> Process:
    """The same, but a graph that has a number of arms of its own keeps it."""
    if isinstance(graph, str):
        if graph == "file:":
            raise InputError("'file:' is followed by the path of an edge list: file:edges.txt")
        if graph.startswith("file:"):
            return from_edge_list(Path(graph.removeprefix("file:")))
        if Path(graph).is_file():
            raise InputError(f"'{graph}' is a file: write file:{graph}")
        recipe = build("graph", graph)
        process: Process = recipe.process(arms)
        return process
    if isinstance(graph, Recipe) and not isinstance(graph, type):
        return graph.process(arms)
    if isinstance(graph, Dense | Sparse | Uniform):
        return Fixed(graph)
    if isinstance(graph, Path):
        return from_edge_list(graph)
    if isinstance(graph, np.ndarray):
        return from_matrix(graph)
    if hasattr(graph, "round") and hasattr(graph, "deterministic"):
        given: Process = graph
        return given
    if hasattr(graph, "adjacency") and hasattr(graph, "is_directed"):
        return from_networkx(graph)
    if isinstance(graph, list | tuple) and graph:
        return from_matrix(graph) if _is_row(graph[0]) else _sequence(graph, arms)
    raise InputError(
        f"cannot make a graph of {type(graph).__name__}: give a text such as 'paper' or "
        "'file:edges.txt', a K x K matrix, a NetworkX graph, a list of these, or a process"
    )


def _is_row(value: GraphLike) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, list | tuple) and all(np.isscalar(entry) for entry in value)


def _sequence(graphs: list[GraphLike] | tuple[GraphLike, ...], arms: int | None) -> GivenSequence:
    members = [make_process(one, arms) for one in graphs]
    fixed = [member for member in members if isinstance(member, Fixed)]
    if len(fixed) < len(members):
        raise InputError("a sequence is a list of fixed graphs, one a round")
    names = {member.names for member in fixed} - {None}
    if len(names) > 1:
        raise InputError("the graphs of a sequence must have the same arms in the same order")
    return GivenSequence(tuple(member.feedback for member in fixed), names.pop() if names else None)


def from_matrix(matrix: GraphLike, names: tuple[str, ...] | None = None) -> Fixed:
    """A fixed graph from a K x K array of probabilities with ones on its diagonal.

    >>> from_matrix([[1, 0.5], [0, 1]]).deterministic
    False
    """
    dense = Dense(matrix)
    if not dense.shared:
        raise InputError(
            f"a fixed graph is one K x K matrix; for one a round give a list of "
            f"{len(dense.matrix)} matrices"
        )
    if dense.arms <= DENSE_LIMIT:
        return Fixed(dense, names)
    source, target = np.nonzero(dense.matrix[0])
    return Fixed(
        Sparse.from_edges(dense.arms, source, target, dense.matrix[0][source, target]), names
    )


def from_networkx(graph: networkx.Graph, probability: str = "probability") -> Fixed:
    """A fixed graph from NetworkX: nodes in their order, undirected edges both ways.

    An edge attribute of the name ``probability`` is its probability; without it the edge is sure.

    >>> import networkx
    >>> from_networkx(networkx.path_graph(["ann", "bob", "eve"])).names
    ('ann', 'bob', 'eve')
    """
    nodes = list(graph.nodes)
    if not nodes:
        raise InputError("the NetworkX graph has no nodes: an arm is needed at least")
    index = {node: i for i, node in enumerate(nodes)}
    source, target, weight = [], [], []
    for u, v, p in graph.edges(data=probability, default=1.0):
        if not isinstance(p, Real):
            raise InputError(f"the edge {u} - {v} has the {probability} {p!r}, which is no number")
        source.append(index[u])
        target.append(index[v])
        weight.append(float(p))
        if not graph.is_directed():
            source.append(index[v])
            target.append(index[u])
            weight.append(float(p))
    names = tuple(str(node) for node in nodes)
    return Fixed(
        from_edges(len(nodes), np.array(source, int), np.array(target, int), weight), names
    )


def from_edge_list(path: str | Path) -> Fixed:
    """A fixed graph from lines ``source target [probability]``; ``#`` starts a comment.

    Any words name the arms, in the order of their first appearance; a line is one direction; a
    line with one word names an arm without an edge. Self-loops are added.
    """
    index: dict[str, int] = {}
    source, target, weight = [], [], []
    seen: dict[tuple[int, int], float] = {}
    for number, line in enumerate(_read_text(Path(path)).split("\n"), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        where = f"{path}, line {number}"
        if len(words) > 3:
            raise InputError(
                f"{where}: a line is 'source target [probability]'; this one has {len(words)} words"
            )
        if len(words) == 1 and "," in words[0].strip(","):
            raise InputError(f"{where}: words are parted by spaces, not by commas: '{words[0]}'")
        ends = [index.setdefault(word, len(index)) for word in words[:2]]
        if len(ends) == 1:
            continue
        try:
            p = float(words[2]) if len(words) == 3 else 1.0
        except ValueError:
            p = float("nan")
        if not 0.0 <= p <= 1.0:
            raise InputError(f"{where}: a probability is a number in [0, 1], not '{words[2]}'")
        edge = ends[0], ends[1]
        if seen.setdefault(edge, p) != p:
            raise InputError(
                f"{where}: the edge {words[0]} -> {words[1]} was given before with {seen[edge]:g}"
            )
        if ends[0] == ends[1] and p != 1.0:
            raise InputError(f"{where}: an arm that is played is always observed, not with {p:g}")
        source.append(ends[0])
        target.append(ends[1])
        weight.append(p)
    if not index:
        raise InputError(f"{path} holds no edges: a line is 'source target [probability]'")
    feedback = from_edges(len(index), np.array(source, int), np.array(target, int), weight)
    return Fixed(feedback, tuple(index))


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read the graph file {path}: {reason}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError(f"the graph file {path} is not text: give lines 'source target'")
    return text.replace("\r\n", "\n").replace("\r", "\n")
