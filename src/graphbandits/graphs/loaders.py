"""Conversion of names, files, matrices, NetworkX graphs and data frames to graph processes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._files import to_npz
from graphbandits.errors import InputError
from graphbandits.graphs.edges import MAX_ARMS
from graphbandits.graphs.feedback import DenseFeedback, SparseFeedback, UniformFeedback
from graphbandits.graphs.named import Recipe, build_process
from graphbandits.graphs.processes import (
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
)
from graphbandits.graphs.readers import (
    GraphFile,
    from_csv,
    from_edge_list,
    from_frame,
    from_graphml,
    from_matrix,
    from_networkx,
    from_npy,
    from_sparse,
    is_frame,
)
from graphbandits.registry import build, register

#: Anything that :func:`as_process` accepts.
GraphLike = Any


def as_process(graph: GraphLike, arms: int | None = None, weight: str | None = "auto") -> Process:
    """Convert a graph description to a graph process.

    Parameters
    ----------
    graph
        A text such as "paper" or "file:edges.txt", a path, a K x K matrix (dense or scipy sparse),
        a NetworkX graph, a data frame of edges, one-round feedback, a process, or a list of fixed
        graphs with one graph per round.
    arms
        Number of arms. None uses the number of the graph, or 5 if the graph has none. A graph with
        another number of arms is an error.
    weight
        For a NetworkX graph: the edge attribute with the probabilities. None ignores all
        attributes: every edge has probability 1.

    Returns
    -------
    Process

    Examples
    --------
    >>> as_process("paper").arms, as_process("star", arms=7).arms
    (5, 7)
    """
    process = make_process(graph, arms, weight)
    if arms is not None and process.arms != arms:
        name = f"graph '{graph}'" if isinstance(graph, str) else "the graph"
        raise InputError(f"{name} has {process.arms} arms, but arms={arms} was given")
    return process


def make_process(graph: GraphLike, arms: int | None, weight: str | None = "auto") -> Process:
    """As :func:`as_process`, but a graph with a fixed number of arms, such as a file, keeps it."""
    if isinstance(arms, int) and arms > MAX_ARMS:
        raise InputError(f"arms must be at most {MAX_ARMS}, not {arms}")
    is_network = hasattr(graph, "adjacency") and hasattr(graph, "is_directed")
    if weight != "auto" and not is_network:
        raise InputError(
            f"weight={weight!r} names an edge attribute of a NetworkX graph: remove it, because "
            "the graph is of another kind"
        )
    if isinstance(graph, str):
        if graph == "file:":
            raise InputError("'file:' needs the path of a graph file, such as file:edges.txt")
        if graph.startswith("file:"):
            return load_graph(graph.removeprefix("file:"))
        # unlike Path.is_file, it accepts texts that are too long for a file name
        if os.path.isfile(graph):
            raise InputError(f"'{graph}' is a file: use file:{graph}")
        return build_process(build("graph", graph), arms)
    if is_frame(graph):  # first: a column may have the name of any attribute tested below
        return from_frame(graph)
    if isinstance(graph, Recipe) and not isinstance(graph, type):
        return build_process(graph, arms)
    if isinstance(graph, DenseFeedback | SparseFeedback | UniformFeedback):
        return Fixed(graph)
    if isinstance(graph, os.PathLike):
        return load_graph(graph)
    if isinstance(graph, np.ndarray):
        return from_matrix(graph)
    if hasattr(graph, "round") and hasattr(graph, "deterministic"):
        process: Process = graph
        return process
    if is_network:
        return from_networkx(graph, weight)
    if hasattr(graph, "tocoo"):
        return from_sparse(graph)
    if isinstance(graph, list | tuple) and graph:
        return from_matrix(graph) if _is_row(graph[0]) else _sequence(graph, arms)
    raise InputError(
        f"cannot convert {type(graph).__name__} to a graph: give a text such as 'paper' or "
        "'file:edges.txt', a K x K matrix (dense or scipy sparse), a NetworkX graph, a data frame "
        "of edges, a list of these, or a process"
    )


def _is_row(value: GraphLike) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, list | tuple) and all(np.isscalar(entry) for entry in value)


def _sequence(graphs: list[GraphLike] | tuple[GraphLike, ...], arms: int | None) -> GivenSequence:
    members = [make_process(one, arms) for one in graphs]
    fixed = [member for member in members if isinstance(member, Fixed)]
    if len(fixed) < len(members):
        raise InputError("a sequence of graphs must be a list of fixed graphs, one per round")
    names = {member.names for member in fixed} - {None}
    if len(names) > 1:
        raise InputError("the graphs of a sequence must have the same arms in the same order")
    return GivenSequence(tuple(member.feedback for member in fixed), names.pop() if names else None)


@register("graph", "file")
@dataclass(frozen=True)
class File:
    """Graph from a file: edge list, CSV, GraphML or .npy; short form file:edges.txt.

    Parameters
    ----------
    path
        Path of the file.
    directed, source, target, probability, label
        Options of :func:`load_graph`.
    """

    path: str
    directed: bool | None = None
    source: str | None = None
    target: str | None = None
    probability: str | None = "auto"
    label: str | None = None

    @classmethod
    def examples(cls) -> list[File]:
        return [cls(str(Path(__file__).parent / "friends.csv"))]

    def process(self, arms: int | None) -> Process:
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
    """Read a fixed graph from a file; extension and first bytes determine the format.

    ``.csv`` and ``.tsv`` files are tables (:func:`from_csv`), ``.npy`` files and the ``.npz`` files
    of scipy are matrices (:func:`from_npy`), ``.graphml`` files and files that start like XML are
    GraphML (:func:`from_graphml`). Any other text file is an edge list (:func:`from_edge_list`).
    Only regular files are read. A file may be gz-compressed, up to 1 GiB of decompressed data.

    Parameters
    ----------
    path
        Path of the file; a leading ``~`` is the home directory.
    directed
        Whether an edge has one direction only (edge lists and tables). None follows the file.
    source, target
        Names of the columns with the played and the observed arm (tables). None selects them by
        their usual names.
    probability
        Name of the column or edge attribute with the probabilities; "auto" selects it by its usual
        names, None gives every edge probability 1.
    label
        Node attribute with the names of the arms (GraphML). None uses the node ids.
    """
    file = GraphFile.read(path)
    options = {"directed": directed, "source": source, "target": target, "label": label}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if probability != "auto":
        given["probability"] = probability
    kind, reader, allowed = _reader(file)
    for option in (name for name in given if name not in allowed):
        accepted = ", ".join(allowed) if allowed else "none"
        raise InputError(
            f"{file.path} is {kind}, which has no option {option}=; its options: {accepted}"
        )
    try:
        return reader(file, **given)
    except MemoryError:
        raise InputError(f"{file.path}: not enough memory for the graph") from None


def _reader(file: GraphFile) -> tuple[str, Callable[..., Fixed], tuple[str, ...]]:
    """Return the format of a file, the function that reads it, and the options that it accepts."""
    if file.ending in (".npy", ".npz") or file.data.startswith(b"\x93NUMPY"):
        return "a matrix", from_npy, ()
    if file.ending == ".graphml" or file.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "GraphML", from_graphml, ("probability", "label")
    if file.ending in (".csv", ".tsv"):
        return "a table", from_csv, ("directed", "source", "target", "probability")
    return "an edge list", from_edge_list, ("directed", "probability")


Arrays = dict[str, NDArray[Any]]

_FEEDBACKS = DenseFeedback, SparseFeedback, UniformFeedback
_PROCESSES = Fixed, GivenSequence, RandomFeedback, RevealedErdosRenyi
#: Classes by their names in files.
_KINDS = {cls.__name__: cls for cls in (*_FEEDBACKS, *_PROCESSES)}


def pack(value: object, arrays: Arrays, path: str = "graph") -> Any:
    """Convert a process to JSON; add its arrays to ``arrays``, with their paths as keys.

    >>> from graphbandits.graphs import as_process
    >>> arrays: Arrays = {}
    >>> pack(as_process("paper"), arrays)["kind"], list(arrays)
    ('Fixed', ['graph/feedback/matrix'])
    """
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return {"array": path}
    if type(value) in _KINDS.values():
        fields = {name: pack(part, arrays, f"{path}/{name}") for name, part in vars(value).items()}
        return {"kind": type(value).__name__, "fields": fields}
    if isinstance(value, tuple):
        return [pack(item, arrays, f"{path}/{i}") for i, item in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(f"cannot save a graph of type {type(value).__name__}")


def unpack(config: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if isinstance(config, dict) and "array" in config:
        return arrays[config["array"]]
    if isinstance(config, dict):
        fields = {name: unpack(value, arrays) for name, value in config["fields"].items()}
        return _KINDS[config["kind"]](**fields)
    if isinstance(config, list):
        return tuple(unpack(item, arrays) for item in config)
    return config


def pack_process(process: Process, text: str | None, arrays: Arrays) -> Any:
    """Convert a process to JSON; a process class of a plug-in is stored as its text."""
    try:
        return pack(process, arrays)
    except InputError:
        if text is None:
            raise
        return {"text": text, "arms": process.arms}


def unpack_process(config: Any, arrays: Mapping[str, NDArray[Any]]) -> Process:
    """Restore a process from the result of :func:`pack_process`.

    >>> unpack_process({"text": "star", "arms": 4}, {}).arms
    4
    """
    if "text" in config:
        return as_process(config["text"], config["arms"])
    process: Process = unpack(config, arrays)
    return process


def fingerprint(process: Process) -> str | None:
    """Return the sha256 hash of a process, including names; None for classes of plug-ins."""
    arrays: Arrays = {}
    try:
        config = pack(process, arrays)
    except InputError:
        return None
    return hashlib.sha256(to_npz(config, arrays)).hexdigest()
