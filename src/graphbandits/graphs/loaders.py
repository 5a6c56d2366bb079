"""The one front door for graphs: names, files, matrices, NetworkX, frames; each a process."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs.feedback import Dense, Sparse, Uniform
from graphbandits.graphs.io.edges import MOST_ARMS
from graphbandits.graphs.io.load import load_graph
from graphbandits.graphs.io.matrices import from_matrix, from_sparse
from graphbandits.graphs.io.networks import from_networkx
from graphbandits.graphs.io.tables import from_frame, is_frame
from graphbandits.graphs.named import Recipe, process_of
from graphbandits.graphs.processes import Fixed, GivenSequence, Process
from graphbandits.registry import build

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
    if isinstance(graph, Dense | Sparse | Uniform):
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
