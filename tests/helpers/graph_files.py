"""Graphs with names, their matrices and errors, for the tests of graph readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, Process, load_graph
from graphbandits.rng import Keys


def error_message(path: Path | str, **options: Any) -> str:
    """Return the error about a file: one line with its name."""
    with pytest.raises(InputError) as caught:
        load_graph(path, **options)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def array_bytes(array: Any, tmp_path: Path) -> bytes:
    np.save(tmp_path / "array.npy", np.asarray(array))
    return (tmp_path / "array.npy").read_bytes()


GRAPHML_HEAD = (
    '<?xml version="1.0"?>\n<graphml>\n<key id="p" for="edge" attr.name="probability"/>\n'
)
GRAPHML_BODY = (
    GRAPHML_HEAD
    + '<graph edgedefault="directed">\n<node id="a"/>\n<node id="b"/>\n{}\n</graph>\n</graphml>\n'
)
Named = tuple[list[str], Floats]


def matrix_of(process: Process, t: int = 1) -> Floats:
    return process.round(t, Keys(0)).reach(np.arange(process.arms))


def edges_of(names: list[str], matrix: Floats) -> list[tuple[str, str, float]]:
    """The edges between different arms."""
    return [
        (names[i], names[j], float(matrix[i, j])) for i, j in np.argwhere(matrix > 0.0) if i != j
    ]


def networkx_of(names: list[str], matrix: Floats) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from(edges_of(names, matrix), weight="probability")
    return graph


@st.composite
def named_graphs(draw: st.DrawFn, names: st.SearchStrategy[str]) -> Named:
    """Directed, weighted, with isolated arms and names of every kind."""
    known = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    arms = len(known)
    entries = st.sampled_from([0.0, 0.0, 1.0]) | st.floats(0.0, 1.0)
    values = draw(st.lists(entries, min_size=arms * arms, max_size=arms * arms))
    matrix = np.array(values).reshape(arms, arms)
    np.fill_diagonal(matrix, 1.0)
    return known, matrix


def texts(**options: object) -> st.SearchStrategy[str]:
    return st.text(st.characters(codec="utf-8", **options), min_size=1, max_size=8)  # type: ignore[arg-type]


#: Any text of a cell, except a lone \\r, which writers leave unquoted, and spaces around it.
cell_names = (
    texts(exclude_characters="\0\r\ufeff") | st.sampled_from(["Ann B.", "a,b", 'the "c"', "東 京"])
).filter(lambda text: text == text.strip())
#: What XML can hold.
xml_names = (
    texts(exclude_categories=["C"]) | st.sampled_from(["Ann B.", "<a & b>", "東 京 🙂"])
).filter(lambda text: text == text.strip())
any_names = (texts() | st.sampled_from(["Ann B.", "a\nb", "1", "1.0", "None", "nan"])).filter(
    lambda text: text == text.strip()
)


def assert_same_graph(process: Process, names: list[str], matrix: Floats) -> None:
    assert isinstance(process, Fixed)
    assert process.names == tuple(names)
    assert (matrix_of(process) == matrix).all()


GEPHI = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
