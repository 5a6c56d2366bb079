"""GraphML (Brandes et al. 2002, graphml.graphdrawing.org), read with the number of each line."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from xml.parsers import expat

import numpy as np

from graphbandits.errors import InputError, nearest
from graphbandits.graphs.io.edges import ATTRIBUTES, fixed_graph, probabilities
from graphbandits.graphs.io.files import GraphFile
from graphbandits.graphs.processes import Fixed


def from_graphml(
    path: str | os.PathLike[str] | GraphFile,
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
    file = GraphFile.read(path)
    reader = _Reader(file)
    reader.read()
    nodes, edges, index = reader.nodes, reader.edges, reader.index
    if not index:
        raise InputError(f"{file.path} has no node: an arm is needed at least")
    try:
        arm = np.fromiter((index[end] for ends in reader.ends for end in ends), np.int64)
    except KeyError as lost:
        k = next(k for k, ends in enumerate(reader.ends) if lost.args[0] in ends)
        raise InputError(
            f"{file.where(edges.lines[k])}: there is no node '{lost.args[0]}'"
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
        "; with probability=None the attribute does not count",
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
    """Nodes or edges: the line of each, the keys of attributes, and data by key and number."""

    what: str
    file: GraphFile
    lines: list[int] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    data: dict[str, dict[int, str]] = field(default_factory=dict)

    def values(self, name: str, required: bool = True) -> dict[int, str]:
        """Return the values of an attribute by the numbers of its elements, in order."""
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
            lack = "an empty" if k in values else "no"
            raise InputError(f"{nodes.file.where(line)}: the node '{id}' has {lack} {label}")
        if values[k] in seen:
            raise InputError(
                f"{nodes.file.where(line)}: the {label} '{values[k]}' was given in line "
                f"{seen[values[k]]} before; names must differ"
            )
        seen[values[k]] = line
    return tuple(seen)


#: Elements whose text is read.
_TEXTS = ("data", "default", "NodeLabel")


class _Reader:
    """Handlers of the parser, element by element."""

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
        """Parse the file; an error names its line."""
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

    def wrong(self, message: str) -> InputError:
        return InputError(f"{self.file.where(self.parser.CurrentLineNumber)}: {message}")

    def start(self, tag: str, given: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        inside = self.open[-1] if self.open else ""
        self.open.append(name)
        # what was read of an element whose text counts, until its inner ones are over
        self.outer.append(self.text[:] if inside in _TEXTS else [])
        self.text.clear()
        if not inside and name != "graphml":
            raise self.wrong(f"GraphML begins with <graphml>, not with <{name}>")
        try:
            if name == "edge" and inside == "graph":
                self.start_edge(given["source"], given["target"], given.get("directed"))
            elif name == "data" and inside in ("node", "edge"):
                self.key = given["key"]
                if self.key not in self.keys:
                    raise self.wrong(
                        f"no key is called '{self.key}': {nearest(self.key, self.keys)}"
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
                raise self.wrong("an edge has two ends; <hyperedge> is not read")
        except KeyError as missing:
            raise self.wrong(f"<{name}> has no attribute {missing.args[0]}") from None

    def start_graph(self, edgedefault: str) -> None:
        if self.edgedefault is not None:
            raise self.wrong("a second <graph>: a file has one, and none inside another")
        if edgedefault not in ("directed", "undirected"):
            raise self.wrong(f"edgedefault is directed or undirected, not '{edgedefault}'")
        self.edgedefault = edgedefault

    def start_node(self, id: str) -> None:
        if not id.strip():
            raise self.wrong("a <node> has an empty id")
        if id in self.index:
            line = self.nodes.lines[self.index[id]]
            raise self.wrong(f"the node '{id}' was given in line {line} before")
        self.index[id] = len(self.index)
        self.element = self.nodes
        self.element.lines.append(self.parser.CurrentLineNumber)

    def start_edge(self, source: str, target: str, directed: str | None) -> None:
        if directed not in ("true", "false", None):
            raise self.wrong(f"directed is true or false, not '{directed}'")
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
            # yEd has the label in an element of its own
            self.nodes.keys.setdefault("label", "label")
            labels = self.nodes.data.setdefault("label", {})
            labels[len(self.index) - 1] = labels.get(len(self.index) - 1) or text
        if name in ("key", "data"):
            self.key = ""
        self.text[:] = self.outer.pop()
