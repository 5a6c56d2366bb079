"""The one front door for graphs: names, files, matrices, NetworkX, frames; each a process."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits.errors import InputError, check_bool
from graphbandits.graphs.feedback import DenseFeedback, SparseFeedback, UniformFeedback
from graphbandits.graphs.io._edge_builder import MOST_ARMS
from graphbandits.graphs.io._graph_file import GraphFile
from graphbandits.graphs.io.edge_lists import from_edge_list
from graphbandits.graphs.io.edge_tables import from_csv, from_frame, is_frame
from graphbandits.graphs.io.matrices import from_matrix, from_npy, from_sparse
from graphbandits.graphs.io.networks import from_graphml, from_networkx
from graphbandits.graphs.named import Recipe, process_of
from graphbandits.graphs.processes import Fixed, GivenSequence, Process
from graphbandits.registry import build, register

#: Anything that :func:`as_process` understands.
GraphLike = Any


def as_process(graph: GraphLike, arms: int | None = None) -> Process:
    """A graph process from a text, a file, a matrix, NetworkX, a frame, a process or a list.

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
    if isinstance(arms, int) and arms > MOST_ARMS:
        raise InputError(f"arms must be at most {MOST_ARMS}, not {arms}")
    if isinstance(graph, str):
        if graph == "file:":
            raise InputError("'file:' is followed by the path of a graph: file:edges.txt")
        if graph.startswith("file:"):
            return load_graph(graph.removeprefix("file:"))
        if os.path.isfile(graph):  # unlike that of Path, it bears a text too long for a name
            raise InputError(f"'{graph}' is a file: write file:{graph}")
        return process_of(build("graph", graph), arms)
    if is_frame(graph):  # first, for a column may have any name that is asked for below
        return from_frame(graph)
    if isinstance(graph, Recipe) and not isinstance(graph, type):
        return process_of(graph, arms)
    if isinstance(graph, DenseFeedback | SparseFeedback | UniformFeedback):
        return Fixed(graph)
    if isinstance(graph, os.PathLike):
        return load_graph(graph)
    if isinstance(graph, np.ndarray):
        return from_matrix(graph)
    if hasattr(graph, "round") and hasattr(graph, "deterministic"):
        given: Process = graph
        return given
    if hasattr(graph, "adjacency") and hasattr(graph, "is_directed"):
        return from_networkx(graph)
    if hasattr(graph, "tocoo"):
        return from_sparse(graph)
    if isinstance(graph, list | tuple) and graph:
        return from_matrix(graph) if _is_row(graph[0]) else _sequence(graph, arms)
    raise InputError(
        f"cannot make a graph of {type(graph).__name__}: give a text such as 'paper' or "
        "'file:edges.txt', a K x K matrix (dense or scipy sparse), a NetworkX graph, a frame of "
        "edges, a list of these, or a process"
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


@register("graph", "file")
@dataclass(frozen=True)
class File:
    """A graph from a file: edge list, CSV, GraphML or .npy; in short, file:edges.txt.

    The parameters are those of :func:`load_graph`.
    """

    path: str
    directed: bool | None = None
    source: str | None = None
    target: str | None = None
    probability: str | None = "auto"
    label: str | None = None

    @classmethod
    def examples(cls) -> list[File]:
        """Of these the contract is tried: a small file that comes with the package."""
        return [cls(str(Path(__file__).parent / "io" / "friends.csv"))]

    def __post_init__(self) -> None:
        if self.directed is not None:
            check_bool(self.directed, "file: directed")

    def process(self, arms: int | None) -> Process:
        """The graph of the file, whatever the number of arms asked for."""
        return load_graph(**vars(self))


def load_graph(
    path: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    source: str | None = None,
    target: str | None = None,
    probability: str | None = "auto",
    label: str | None = None,
) -> Fixed:
    r"""A fixed graph from a file, by its ending and its first bytes.

    ``.csv`` and ``.tsv`` are tables (:func:`from_csv`), ``.npy`` is a matrix, and so is a ``.npz``
    of scipy (:func:`from_npy`), ``.graphml`` and anything that begins as XML is GraphML
    (:func:`from_graphml`), and any other text is a list of edges (:func:`from_edge_list`). The
    options are those of these functions; one that the file has no use for is refused. Blanks around
    a name do not count, and ``~`` is the home directory.

    Only regular files are read. Each may be compressed with gz; what unpacks to more than 1 GiB
    (``graphbandits._io.MOST_UNPACKED``) is refused.

    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.csv")
    ...     written = path.write_text("source,target,weight\nann,bob,0.5\n")
    ...     load_graph(path, probability=None, directed=False).feedback.reach(np.arange(2))
    array([[1., 1.],
           [1., 1.]])
    """
    file = GraphFile.read(path)
    options = {"directed": directed, "source": source, "target": target, "label": label}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if probability != "auto":
        given["probability"] = probability
    kind, reader, allowed = _reader(file)
    for option in (name for name in given if name not in allowed):
        has = f"it takes {', '.join(allowed)}" if allowed else "it takes no options"
        raise InputError(f"{file.path} is {kind}, which takes no {option}=: {has}")
    try:
        return reader(file, **given)
    except MemoryError:
        raise InputError(f"{file.path}: the graph does not fit into memory") from None


def _reader(file: GraphFile) -> tuple[str, Callable[..., Fixed], tuple[str, ...]]:
    """Return the kind of a file, the function that reads it, and the options that it takes."""
    if file.ending in (".npy", ".npz") or file.data.startswith(b"\x93NUMPY"):
        return "a matrix", from_npy, ()
    if file.ending == ".graphml" or file.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "GraphML", from_graphml, ("probability", "label")
    if file.ending in (".csv", ".tsv"):
        return "a table", from_csv, ("directed", "source", "target", "probability")
    return "a list of edges", from_edge_list, ("directed", "probability")
