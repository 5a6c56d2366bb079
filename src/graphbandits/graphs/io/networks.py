"""Conversion from and to NetworkX, and reading of GraphML (Brandes et al. 2002).

The GraphML reader (graphml.graphdrawing.org) keeps line numbers for error messages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard
from xml.parsers import expat

import numpy as np

from graphbandits.errors import InputError, nearest
from graphbandits.graphs._shape import edge_arrays
from graphbandits.graphs.feedback import Feedback
from graphbandits.graphs.io._edge_builder import fixed_graph, probabilities
from graphbandits.graphs.io._graph_file import GraphFile
from graphbandits.graphs.processes import Fixed, Process

if TYPE_CHECKING:
    import networkx

#: Edge attributes that are probabilities by default; the first existing one is used.
ATTRIBUTES = ("probability", "weight")


def from_networkx(graph: networkx.Graph, probability: str | None = "auto") -> Fixed:
    """Convert a NetworkX graph to a fixed graph.

    Arms are the nodes in their order; the names are the nodes as texts, without surrounding
    whitespace. Undirected edges have both directions. Parallel edges must agree.

    Parameters
    ----------
    graph
        A NetworkX graph, directed or undirected.
    probability
        Edge attribute with the probability. "auto" uses ``probability``, or ``weight`` if no edge
        has ``probability``; None gives every edge probability 1. Edges without the attribute have
        probability 1.

    Returns
    -------
    Fixed

    Examples
    --------
    >>> import networkx
    >>> from_networkx(networkx.path_graph(["ann", "bob", "eve"])).names
    ('ann', 'bob', 'eve')
    """
    index = {node: i for i, node in enumerate(graph.nodes)}
    if not index:
        raise InputError("the NetworkX graph has no nodes: at least one is required")
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
            "; to ignore it, use Agent(..., weight=None) or as_process(graph, weight=None)",
            "attribute",
        )
    return fixed_graph(names, ends[:, 0], ends[:, 1], weight, not graph.is_directed())


def _has(graph: networkx.Graph, attribute: str) -> bool:
    return any(attribute in data for _, _, data in graph.edges(data=True))


def to_networkx(graph: Process | Feedback) -> networkx.DiGraph:
    """Convert a fixed graph, or the feedback of one round, to NetworkX.

    The result is directed, because the two directions of an edge may have different probabilities.
    Use ``to_undirected()`` if they do not. Nodes are the names of the arms, or 0, 1, ... without
    names. The edge attribute ``probability`` is the entry of the matrix. Self-loops, which every
    arm has, are omitted. :func:`from_networkx` is the inverse.

    Parameters
    ----------
    graph
        A fixed graph, or feedback that all trials share.

    Returns
    -------
    networkx.DiGraph

    Examples
    --------
    >>> from graphbandits.graphs import as_process
    >>> to_networkx(as_process("star", arms=3)).edges(data="probability")
    OutEdgeDataView([(0, 1, 1.0), (0, 2, 1.0), (1, 0, 1.0), (2, 0, 1.0)])
    """
    import networkx

    feedback = graph.feedback if isinstance(graph, Fixed) else graph
    names = graph.names if isinstance(graph, Fixed) else None
    if not is_feedback(feedback):
        raise InputError(
            "to_networkx needs a fixed graph or the feedback of one round: for a process that "
            "changes, pass process.round(t, Keys(seed)); for anything else, as_process(graph)"
        )
    if not feedback.shared:
        raise InputError("to_networkx needs one graph, but this feedback has one per trial")
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
    """Whether an object is the feedback of one round, and not a process."""
    return hasattr(graph, "reach") and hasattr(graph, "shared")


def from_graphml(
    path: str | os.PathLike[str] | GraphFile,
    *,
    probability: str | None = "auto",
    label: str | None = None,
) -> Fixed:
    r"""Read a fixed graph from a GraphML file of NetworkX, Gephi, igraph or yEd.

    Arms are the nodes in their order. The attribute ``edgedefault`` of the graph, or ``directed``
    of an edge, determines whether an edge has both directions.

    Parameters
    ----------
    path
        Path of the file, which may be gz-compressed.
    probability
        Edge attribute with the probability. "auto" uses ``probability``, or ``weight`` if no edge
        has ``probability``; None gives every edge probability 1. Edges without the attribute, and
        without a default in its key, have probability 1.
    label
        Node attribute with the names of the arms, distinct and not empty. None uses the node ids.

    Returns
    -------
    Fixed

    Raises
    ------
    InputError
        If the file is not valid GraphML; the message has the line number.

    Examples
    --------
    >>> import networkx
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     networkx.write_graphml(networkx.path_graph(["ann", "bob"]), Path(folder, "a.graphml"))
    ...     from_graphml(Path(folder, "a.graphml")).names
    ('ann', 'bob')
    """
    file = GraphFile.read(path)
    reader = _Reader(file)
    reader.read()
    nodes, edges, index = reader.nodes, reader.edges, reader.index
    if not index:
        raise InputError(f"{file.path} has no nodes: at least one is required")
    try:
        arm = np.fromiter((index[end] for ends in reader.ends for end in ends), np.int64)
    except KeyError as missing:
        k = next(k for k, ends in enumerate(reader.ends) if missing.args[0] in ends)
        raise InputError(
            f"{file.where(edges.lines[k])}: there is no node '{missing.args[0]}'"
        ) from None
    given: dict[int, str] = {}
    if probability is not None:
        names = ATTRIBUTES if probability == "auto" else (probability,)
        given = next(
            filter(None, (edges.values(name, probability != "auto") for name in names)), {}
        )
    at = list(given)
    weight = np.ones(len(edges.lines))
    weight[at] = probabilities(
        [{"true": "1", "false": "0"}.get(word, word) for word in given.values()],
        lambda k: file.place(edges.lines[at[k]]),
        "; probability=None ignores the attribute",
    )
    return fixed_graph(
        tuple(index) if label is None else _labels(nodes, tuple(index), label),
        arm[::2],
        arm[1::2],
        weight,
        ~np.array(reader.directed, np.bool_),
        lambda k: file.place(edges.lines[k]),
    )


@dataclass
class _Elements:
    """Nodes or edges: line numbers, keys of attributes, and data by key and element number."""

    what: str
    file: GraphFile
    lines: list[int] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    data: dict[str, dict[int, str]] = field(default_factory=dict)

    def values(self, name: str, required: bool = True) -> dict[int, str]:
        """Return the values of an attribute by element number, in increasing order."""
        keys = [key for key, known in self.keys.items() if known == name]
        if required and not keys:
            raise InputError(
                f"{self.file.path}: {self.what} have no attribute '{name}': "
                f"{nearest(str(name), self.keys.values())}"
            )
        values: dict[int, str] = {}
        for key in keys:
            if key in self.defaults:
                values = dict.fromkeys(range(len(self.lines)), self.defaults[key]) | values
            values |= self.data.get(key, {})
        return dict(sorted(values.items()))


def _labels(nodes: _Elements, ids: tuple[str, ...], label: str) -> tuple[str, ...]:
    values, seen = nodes.values(label), dict[str, int]()
    for k, (id, line) in enumerate(zip(ids, nodes.lines, strict=True)):
        if not values.get(k):
            article = "an empty" if k in values else "no"
            raise InputError(f"{nodes.file.where(line)}: the node '{id}' has {article} {label}")
        if values[k] in seen:
            raise InputError(
                f"{nodes.file.where(line)}: the {label} '{values[k]}' is already used in line "
                f"{seen[values[k]]}; names must be distinct"
            )
        seen[values[k]] = line
    return tuple(seen)


#: Elements with text content.
_TEXTS = ("data", "default", "NodeLabel")


class _Reader:
    """Handlers of the XML parser."""

    def __init__(self, file: GraphFile) -> None:
        self.file = file
        self.nodes, self.edges = _Elements("nodes", file), _Elements("edges", file)
        self.keys: set[str] = set()
        self.index: dict[str, int] = {}
        self.ends: list[tuple[str, str]] = []
        self.directed: list[bool] = []
        self.edgedefault: str | None = None
        self.open: list[str] = []
        self.element: _Elements | None = None
        self.key = ""
        self.text: list[str] = []
        self.outer: list[list[str]] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text.append

    def read(self) -> None:
        """Parse the file; error messages have the line number."""
        try:
            self.parser.Parse(self.file.data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise InputError(f"{self.file.where(error.lineno)}: not valid XML: {reason}") from None
        except InputError:
            raise
        except (LookupError, ValueError) as error:
            raise InputError(f"{self.file.path}: invalid XML encoding: {error}") from None
        if self.edgedefault is None:
            raise InputError(f"{self.file.path}: the file has no <graph> element")

    def error(self, message: str) -> InputError:
        """Return an error with the current line number."""
        return InputError(f"{self.file.where(self.parser.CurrentLineNumber)}: {message}")

    def start(self, tag: str, given: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        inside = self.open[-1] if self.open else ""
        self.open.append(name)
        # save the text of the enclosing element until this element ends
        self.outer.append(self.text[:] if inside in _TEXTS else [])
        self.text.clear()
        if not inside and name != "graphml":
            raise self.error(f"GraphML must start with <graphml>, not with <{name}>")
        try:
            if name == "edge" and inside == "graph":
                self.start_edge(given["source"], given["target"], given.get("directed"))
            elif name == "data" and inside in ("node", "edge"):
                self.key = given["key"]
                if self.key not in self.keys:
                    raise self.error(
                        f"there is no key '{self.key}': {nearest(self.key, self.keys)}"
                    )
            elif name == "node" and inside == "graph":
                self.start_node(given["id"])
            elif name == "key":
                self.key = given["id"]
                self.keys.add(self.key)
                for kind, elements in (("node", self.nodes), ("edge", self.edges)):
                    if given.get("for", "all") in (kind, "all"):
                        elements.keys[self.key] = given.get("attr.name", self.key)
            elif name == "graph":
                self.start_graph(given["edgedefault"])
            elif name == "hyperedge":
                raise self.error("<hyperedge> is not supported: an edge must have two ends")
        except KeyError as missing:
            raise self.error(f"<{name}> has no attribute {missing.args[0]}") from None

    def start_graph(self, edgedefault: str) -> None:
        if self.edgedefault is not None:
            raise self.error("second <graph>: a file must have one graph, without nested graphs")
        if edgedefault not in ("directed", "undirected"):
            raise self.error(f"edgedefault must be directed or undirected, not '{edgedefault}'")
        self.edgedefault = edgedefault

    def start_node(self, id: str) -> None:
        if not id.strip():
            raise self.error("a <node> has an empty id")
        if id in self.index:
            line = self.nodes.lines[self.index[id]]
            raise self.error(f"the node '{id}' is already defined in line {line}")
        self.index[id] = len(self.index)
        self.element = self.nodes
        self.element.lines.append(self.parser.CurrentLineNumber)

    def start_edge(self, source: str, target: str, directed: str | None) -> None:
        if directed not in ("true", "false", None):
            raise self.error(f"directed must be true or false, not '{directed}'")
        self.ends.append((source, target))
        self.directed.append((directed or self.edgedefault) in ("true", "directed"))
        self.element = self.edges
        self.element.lines.append(self.parser.CurrentLineNumber)

    def end(self, tag: str) -> None:
        name = self.open.pop()
        text = "".join(self.text).strip() if name in _TEXTS else ""
        if name == "data" and self.element is not None and self.key:
            self.element.data.setdefault(self.key, {})[len(self.element.lines) - 1] = text
        elif name in ("node", "edge"):
            self.element = None
        elif name == "default" and self.key:
            self.nodes.defaults[self.key] = self.edges.defaults[self.key] = text
        elif name == "NodeLabel" and self.element is self.nodes:
            # yEd writes labels as separate elements
            self.nodes.keys.setdefault("label", "label")
            labels = self.nodes.data.setdefault("label", {})
            labels[len(self.index) - 1] = labels.get(len(self.index) - 1) or text
        if name in ("key", "data"):
            self.key = ""
        self.text[:] = self.outer.pop()
