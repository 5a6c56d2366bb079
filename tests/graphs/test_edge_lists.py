"""Tests of readers: text files with one edge per line."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from helpers.bad_input import check_refusal, refuses
from helpers.cases import each
from helpers.graph_files import assert_same_graph, error_message, matrix_of
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.errors import InputError, InputWarning
from graphbandits.graphs import as_process, from_edge_list, load_graph

Write = Callable[[str, str | bytes], Path]


@each(
    ("content", "line"),
    [
        ("source target\na b\n", 1),
        ("# x\n\nFromNodeId\tToNodeId\n1\t2\n", 3),
        ("from to weight\na b 0.5\n", 1),
        ("u v", 1),
        ("c d\na, b\n", 2),
        ("a ,b\n", 1),
        ("a; b; 0.5\n", 1),
        ("a b, 0.5\n", 1),
        ("a;b\n", 1),
        ("a b 0_1\n", 1),
        ("a b 0,5\n", 1),
        ("0 1 0\n1 0 1\n0 1 0\n", None),
        ("1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n", 1),
        ("%%MatrixMarket matrix coordinate\n2 2 1\n1 2 1\n", None),
        ("a b\nb c 0.5 x\n", 2),
        ("a b c d e\n", 1),
        ("a b 1.5\n", 1),
        ("a b -0.5\n", 1),
        ("# one\n\na b often # three\n", 3),
        ("a b 0,5\n", 1),
        ("a b 0.5\nc d\na b 0.25\n", 3),
        ("a b\na b 0.5\n", 2),
        ("a b 0.5\na b 0\n", 2),
        ("a b\na a 0.5\n", 2),
        ("a a 0\n", 1),
        (b"\xef\xbb\xbfa b\n\na b 7\n", 3),
    ],
)
def test_invalid_edge_list_is_rejected(
    write: Write, content: str | bytes, line: int | None
) -> None:
    message = error_message(write("edges.txt", content))
    check_refusal(message)
    assert (f"edges.txt, line {line}: " in message) == (line is not None)


def test_inapplicable_options_of_edge_list_are_rejected(write: Write) -> None:
    path = write("edges.txt", "a b\n")
    for option in ("source", "target", "label"):
        assert f"has no option {option}=" in error_message(path, **{option: "x"})
    assert "without column names" in error_message(path, probability="weight")
    with refuses(InputError):
        from_edge_list(path, directed="no")  # type: ignore[arg-type]


KARATE = nx.karate_club_graph()


def numbered(edges: Any, first: int = 0) -> str:
    return "".join(f"{u + first} {v + first}\n" for u, v, *_ in edges)


@each(
    ("content", "line", "counts"),
    [
        ("34 78\n" + numbered(KARATE.edges), 1, "34 78"),
        ("# karate\n\n34\t78 # counts\n" + numbered(KARATE.edges, 1), 3, "34\t78 # counts"),
        ("34 78\n" + numbered(KARATE.to_directed().edges), 1, "34 78"),
        ("% n, m:\n// 34 78\n 34 78\n" + numbered(KARATE.edges), 3, "34 78"),
        ("34 78\r\n" + numbered(KARATE.edges).replace("\n", " 0.5\r\n"), 1, "34 78"),
        ("40 78\n" + numbered(KARATE.edges, 1), 1, "40 78"),  # six nodes without an edge
        ("11 10\n" + numbered(nx.path_graph(11).edges, 1), 1, "11 10"),
        ("11 10\n" + numbered(((100 * u, v) for u, v in nx.star_graph(10).edges), 5), 1, "11 10"),
        (
            "100000 120000\n"
            + "".join(f"{i % 50000} {i % 49999 + 50000}\n" for i in range(120000)),
            1,
            "100000 120000",
        ),
    ],
)
def test_line_of_two_counts_gives_warning(
    write: Write, content: str, line: int, counts: str
) -> None:
    path = write("edges.txt", content)
    want = f"^{re.escape(str(path))}, line {line}: '{counts}' looks like the numbers of nodes and"
    with pytest.warns(InputWarning, match=want):
        warned = load_graph(path)
    lines = content.split("\n")
    path.write_text("\n".join([*lines[: line - 1], f"# {lines[line - 1]}", *lines[line:]]))
    assert set(load_graph(path).names or ()) <= set(warned.names or ())


def test_ordinary_edge_list_gives_no_warning(write: Write) -> None:
    for content in [
        "34 78\n",
        "0 0\n",
        "2 1\n0 2\n",
        "3 2\n1 2\n2 3\n",
        "5 3\n1 2\n2 3\n3 4\n",
        "34 78 1\n" + numbered(KARATE.edges),
        "34 77\n" + numbered(KARATE.edges),
        "34.0 78\n" + numbered(KARATE.edges),
        "34\n78\n" + numbered(KARATE.edges),
        f"{'9' * 30} 78\n" + numbered(KARATE.edges),
        numbered(KARATE.edges),
        numbered(reversed(list(KARATE.edges))),
        numbered(reversed(list(nx.path_graph(100).edges)), 1),
        numbered(((v, u) for u, v in nx.star_graph(50).edges), 1),
        numbered(nx.complete_graph(8).edges),
        numbered(nx.cycle_graph(12).edges, 1),
    ]:
        assert load_graph(write("edges.txt", content)).arms >= 1


SNAP = (
    "# Directed graph (each unordered pair of nodes is saved once): wiki-Vote.txt \r\n"
    "# Nodes: 4 Edges: 3\r\n"
    "# FromNodeId\tToNodeId\r\n"
    "30\t1412\r\n"
    "30\t3352\r\n"
    "3\t30\r\n"
)


@each("name", ["wiki.txt", "wiki.txt.gz", "wiki", "wiki.edges.gz"])
def test_snap_file_is_read(write: Write, name: str) -> None:
    content = SNAP.encode()
    process = as_process(write(name, gzip.compress(content) if name.endswith("gz") else content))
    want = np.eye(4)
    want[0, 1] = want[0, 2] = want[3, 0] = 1.0
    assert_same_graph(process, ["30", "1412", "3352", "3"], want)


@each(
    ("content", "directed", "both"),
    [
        ("a b\n", None, False),
        ("a b\n", False, True),
        ("# Undirected graph: ../com-amazon.txt\n# Nodes: 2\na\tb\n", None, True),
        ("# Undirected graph: ../com-amazon.txt\n# Nodes: 2\na\tb\n", True, False),
        ("\n#undirected graph\na b\n", None, True),
        ("a b\n# Undirected graph\n", None, False),
        ("% sym unweighted\n% 1 2 2\na b\n", None, True),
        ("% asym unweighted\na b\n", None, False),
        ("# an undirected graph\na b\n", None, False),
    ],
)
def test_lines_are_directed_by_default(
    write: Write, content: str, directed: bool | None, both: bool
) -> None:
    path = write("edges.txt", content)
    want = [[1, 1], [int(both), 1]]
    parameter = "" if directed is None else f", directed={directed}"
    for process in (
        from_edge_list(path, directed=directed),
        load_graph(path, directed=directed),
        as_process(f"file(path={path}{parameter})"),
    ):
        assert matrix_of(process).tolist() == want


fifty_examples = settings(max_examples=50, deadline=None, derandomize=True)


@pytest.fixture
def write_edges(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Write a graph file, byte by byte, and give its path."""

    def writer(content: str | bytes) -> Path:
        path = tmp_path / "edges.txt"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return writer


WriteEdges = Callable[[str | bytes], Path]


@each(
    ("content", "names", "matrix"),
    [
        ("a b\n", "a b", [[1, 1], [0, 1]]),
        ("a b\nb a\n", "a b", [[1, 1], [1, 1]]),
        ("a b 0.25\nb a 0.5\n", "a b", [[1, 0.25], [0.5, 1]]),
        ("a b 1e-3\n", "a b", [[1, 0.001], [0, 1]]),
        ("a b 0\n", "a b", [[1, 0], [0, 1]]),
        ("z y\nx z\n", "z y x", [[1, 1, 0], [0, 1, 0], [1, 0, 1]]),
        ("10 2\n2 1\n", "10 2 1", [[1, 1, 0], [0, 1, 1], [0, 0, 1]]),
        ("# comment\n\n   \na b # sure\n#c d\n", "a b", [[1, 1], [0, 1]]),
        ("a b#c\n", "a b#c", [[1, 1], [0, 1]]),
        ("a C# 0.5\n", "a C#", [[1, 0.5], [0, 1]]),
        ("a b #c\n", "a b", [[1, 1], [0, 1]]),
        ("#python #rust\na b\t#c#\n", "a b", [[1, 1], [0, 1]]),
        ("http://x.org/a#b y#\n", "http://x.org/a#b y#", [[1, 1], [0, 1]]),
        ("% asym\n// note\n  %x y\na b\n//c d\n", "a b", [[1, 1], [0, 1]]),
        ("u v 1\n", "u v", [[1, 1], [0, 1]]),
        ("\t a \t b   0.5  \n", "a b", [[1, 0.5], [0, 1]]),
        ("a b 0.5\na b 0.50\n", "a b", [[1, 0.5], [0, 1]]),
        ("a b\na b 1.0\n", "a b", [[1, 1], [0, 1]]),
        ("lonely\na b\n", "lonely a b", [[1, 0, 0], [0, 1, 1], [0, 0, 1]]),
        ("a b\nlonely\n", "a b lonely", [[1, 1, 0], [0, 1, 0], [0, 0, 1]]),
        ("a\n", "a", [[1]]),
        ("a a\n", "a", [[1]]),
        ("Zürich 東京 0.5\n東京 🙂\n", "Zürich 東京 🙂", [[1, 0.5, 0], [0, 1, 1], [0, 0, 1]]),
        (b"\xef\xbb\xbfa b\nb a\n", "a b", [[1, 1], [1, 1]]),
        (
            b"\xef\xbb\xbf# note\r\na b 0.5\r\n\r\nc\r\n",
            "a b c",
            [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]],
        ),
        ("a b\r\nb c 0.5\r\n", "a b c", [[1, 1, 0], [0, 1, 0.5], [0, 0, 1]]),
    ],
)
def test_edge_list_is_read(
    write_edges: WriteEdges, content: str | bytes, names: str, matrix: list
) -> None:
    path = write_edges(content)
    for process in (from_edge_list(path), as_process(path), as_process(f"file:{path}")):
        assert process.names == tuple(names.split())
        assert matrix_of(process).tolist() == matrix
        assert process.deterministic is bool(np.isin(matrix, (0, 1)).all())
        assert process.rounds is None


@each("content", ["", "\n\n", "# nothing\n", b"\xef\xbb\xbf", "  \t\r\n"])
def test_empty_file_is_rejected(write_edges: WriteEdges, content: str | bytes) -> None:
    path = write_edges(content)
    with refuses(InputError) as caught:
        from_edge_list(path)
    assert str(path) in str(caught.value)


plain_words = st.text(
    st.characters(codec="utf-8", exclude_characters="#%/,;\0\ufeff", exclude_categories=["Z", "C"]),
    min_size=1,
    max_size=6,
)


@fifty_examples
@given(st.data())
def test_edge_list_round_trip(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    names = data.draw(st.lists(plain_words, min_size=1, max_size=6, unique=True))
    arms = len(names)
    entries = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0])
    values = data.draw(st.lists(entries, min_size=arms * arms, max_size=arms * arms))
    matrix = np.array(values).reshape(arms, arms)
    np.fill_diagonal(matrix, 1.0)
    lines = list(names)
    for i, j in data.draw(st.permutations(list(np.ndindex(arms, arms)))):
        p = float(matrix[i, j])
        lines.append(f"{names[i]} {names[j]}" + (f" {p!r}" if p < 1.0 else ""))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    path = tmp_path_factory.mktemp("graph") / "edges.txt"
    path.write_bytes(end.join(lines).encode())
    process = from_edge_list(path)
    assert process.names == tuple(names)
    assert (matrix_of(process) == matrix).all()
