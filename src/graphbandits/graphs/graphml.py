"""GraphML (Brandes et al. 2002, graphml.graphdrawing.org), read with the number of each line."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from xml.parsers import expat

import numpy as np

from graphbandits.errors import InputError, nearest
from graphbandits.graphs.edge_table import fixed_graph, probabilities
from graphbandits.graphs.networks import ATTRIBUTES
from graphbandits.graphs.processes import Fixed
from graphbandits.graphs.sources import GraphFile


def from_graphml(
    path: str | os.PathLike[str],
    *,
    probability: str | None = "auto",
    label: str | None = None,
) -> Fixed:
    r"""A fixed graph from GraphML, as NetworkX, Gephi, igraph and yEd write it.

    Arms are the nodes in their order, named by their ids, or by the node attribute ``label``, which
    every node must have, not empty and no two the same. ``edgedefault``, or ``directed`` of an
    edge, says whether an edge goes both ways. The edge attribute ``probability`` is the
    probability, and where no edge has it, ``weight``; ``probability=`` says another,
    ``probability=None`` makes every edge sure, and so is an edge without the attribute (and without
    a default in its key).

    >>> import networkx
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     networkx.write_graphml(networkx.path_graph(["ann", "bob"]), Path(folder, "a.graphml"))
    ...     from_graphml(Path(folder, "a.graphml")).names
    ('ann', 'bob')
    """
    return read_graphml(GraphFile.read(path), probability, label)


def read_graphml(file: GraphFile, probability: str | None, label: str | None) -> Fixed:
    """The same from a file that has been read."""
    nodes, edges = _Reader(file).read()
    if not len(nodes):
        raise InputError(f"{file.path} has no node: an arm is needed at least")
    index = {id: i for i, id in enumerate(nodes.ids)}
    for ends in (edges.source, edges.target):
        lost = next((k for k, end in enumerate(ends) if end not in index), None)
        if lost is not None:
            raise InputError(f"{file.where(edges.lines[lost])}: there is no node '{ends[lost]}'")
    source, target = (
        np.fromiter(map(index.__getitem__, ends), np.int64, len(edges))
        for ends in (edges.source, edges.target)
    )
    given = _weights(edges, probability, file)
    place = list(given)
    weight = np.ones(len(edges))
    weight[place] = probabilities(
        list(given.values()),
        lambda k: f"{file.where(edges.lines[place[k]])}: ",
        "; with probability=None the attribute does not count",
    )
    names = tuple(nodes.ids) if label is None else _labels(nodes, label, file)
    both = ~np.array(edges.directed, np.bool_)
    return fixed_graph(
        names, source, target, weight, both, lambda k: f"{file.where(edges.lines[k])}: "
    )


@dataclass
class _Key:
    name: str
    default: str | None = None


@dataclass
class _Things:
    """Nodes or edges, by number: on which line each begins, and its data by key."""

    lines: list[int] = field(default_factory=list)
    keys: dict[str, _Key] = field(default_factory=dict)
    data: dict[str, dict[int, str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lines)

    def names(self) -> list[str]:
        """What the attributes are called."""
        return [key.name for key in self.keys.values()]

    def values(self, name: str) -> dict[int, str]:
        """The values of an attribute, by the number of the thing, in order."""
        values: dict[int, str] = {}
        for id, key in self.keys.items():
            if key.name == name:
                if key.default is not None:
                    values = dict.fromkeys(range(len(self)), key.default) | values
                values |= self.data.get(id, {})
        return dict(sorted(values.items()))


@dataclass
class _Nodes(_Things):
    ids: dict[str, int] = field(default_factory=dict)


@dataclass
class _Edges(_Things):
    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    directed: list[bool] = field(default_factory=list)


def _weights(edges: _Edges, probability: str | None, file: GraphFile) -> dict[int, str]:
    """The edges that have a probability, and how it is written."""
    if probability is None:
        return {}
    if probability != "auto" and probability not in edges.names():
        raise InputError(
            f"{file.path}: edges have no attribute '{probability}': "
            f"{nearest(str(probability), edges.names())}"
        )
    for name in ATTRIBUTES if probability == "auto" else (probability,):
        if values := edges.values(name):
            words = {"true": "1", "false": "0"}  # the booleans of GraphML
            return {k: words.get(word, word) for k, word in values.items()}
    return {}


def _labels(nodes: _Nodes, label: str, file: GraphFile) -> tuple[str, ...]:
    if label not in nodes.names():
        raise InputError(
            f"{file.path}: nodes have no attribute '{label}': {nearest(str(label), nodes.names())}"
        )
    values, seen = nodes.values(label), dict[str, int]()
    for k, (id, line) in enumerate(zip(nodes.ids, nodes.lines, strict=True)):
        if not values.get(k):
            lack = "an empty" if k in values else "no"
            raise InputError(f"{file.where(line)}: the node '{id}' has {lack} {label}")
        if values[k] in seen:
            raise InputError(
                f"{file.where(line)}: the {label} '{values[k]}' was given in line "
                f"{seen[values[k]]} before; names must differ"
            )
        seen[values[k]] = line
    return tuple(seen)


#: Elements whose text is read.
_TEXTS = ("data", "default", "NodeLabel")


class _Reader:
    """What the parser meets, element by element."""

    def __init__(self, file: GraphFile) -> None:
        self.file, self.nodes, self.edges = file, _Nodes(), _Edges()
        self.keys: dict[str, _Key] = {}
        self.edgedefault: str | None = None
        self.open: list[str] = []
        self.thing: _Things | None = None
        self.key = ""
        self.text: list[str] = []
        self.outer: list[list[str]] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text.append

    def read(self) -> tuple[_Nodes, _Edges]:
        """Nodes and edges; an error has the line on which it is."""
        try:
            self.parser.Parse(self.file.data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise InputError(f"{self.file.where(error.lineno)}: no XML: {reason}") from None
        except InputError:
            raise
        except (LookupError, ValueError) as error:
            raise InputError(f"{self.file.path}: the encoding of this XML: {error}") from None
        if self.edgedefault is None:
            raise InputError(f"{self.file.path}: there is no <graph> in this file")
        return self.nodes, self.edges

    def wrong(self, message: str) -> InputError:
        return InputError(f"{self.file.where(self.parser.CurrentLineNumber)}: {message}")

    def start(self, tag: str, given: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        inside = self.open[-1] if self.open else ""
        self.open.append(name)
        # what was read of an element whose text counts, until its inner ones are over
        self.outer.append(self.text[:] if inside in _TEXTS else [])
        self.text.clear()
        try:
            if not inside and name != "graphml":
                raise self.wrong(f"GraphML begins with <graphml>, not with <{name}>")
            if name == "edge" and inside == "graph":
                self.start_edge(given)
            elif name == "data" and inside in ("node", "edge"):
                self.key = given["key"]
                if self.key not in self.keys:
                    raise self.wrong(
                        f"no key is called '{self.key}': {nearest(self.key, self.keys)}"
                    )
            elif name == "node" and inside == "graph":
                self.start_node(given["id"])
            elif name == "key":
                self.start_key(given)
            elif name == "graph":
                self.start_graph(given["edgedefault"])
            elif name == "hyperedge":
                raise self.wrong("an edge has two ends; <hyperedge> is not read")
        except KeyError as missing:
            raise self.wrong(f"<{name}> has no attribute {missing.args[0]}") from None

    def start_key(self, given: dict[str, str]) -> None:
        self.key = given["id"]
        key = self.keys[self.key] = _Key(given.get("attr.name", self.key))
        for kind, things in (("node", self.nodes), ("edge", self.edges)):
            if given.get("for", "all") in (kind, "all"):
                things.keys[self.key] = key

    def start_graph(self, edgedefault: str) -> None:
        if self.edgedefault is not None:
            raise self.wrong("a second <graph>: a file has one, and none inside another")
        if edgedefault not in ("directed", "undirected"):
            raise self.wrong(f"edgedefault is directed or undirected, not '{edgedefault}'")
        self.edgedefault = edgedefault

    def start_node(self, id: str) -> None:
        known = self.nodes.ids
        if not id.strip():
            raise self.wrong("a <node> has an empty id")
        if id in known:
            raise self.wrong(f"the node '{id}' was given in line {known[id]} before")
        known[id] = self.parser.CurrentLineNumber
        self.nodes.lines.append(known[id])
        self.thing = self.nodes

    def start_edge(self, given: dict[str, str]) -> None:
        directed = given.get("directed")
        if directed not in ("true", "false", None):
            raise self.wrong(f"directed is true or false, not '{directed}'")
        edges = self.thing = self.edges
        edges.source.append(given["source"])
        edges.target.append(given["target"])
        edges.directed.append((directed or str(self.edgedefault == "directed").lower()) == "true")
        edges.lines.append(self.parser.CurrentLineNumber)

    def end(self, tag: str) -> None:
        name = self.open.pop()
        text = "".join(self.text).strip() if name in _TEXTS else ""
        if name == "data" and self.thing is not None and self.key:
            self.thing.data.setdefault(self.key, {})[len(self.thing) - 1] = text
        elif name in ("node", "edge"):
            self.thing = None
        elif name == "default" and self.key:
            self.keys[self.key].default = text
        elif name == "NodeLabel" and self.thing is self.nodes:
            # yEd has the label in an element of its own
            self.nodes.keys.setdefault("label", _Key("label"))
            labels = self.nodes.data.setdefault("label", {})
            labels[len(self.nodes) - 1] = labels.get(len(self.nodes) - 1) or text
        if name in ("key", "data"):
            self.key = ""
        self.text[:] = self.outer.pop()
