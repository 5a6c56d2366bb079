"""Graphs from files, frames and sparse matrices: what is written is what is read."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits import Agent
from graphbandits.errors import InputError
from graphbandits.graphs import (
    Dense,
    Fixed,
    Process,
    RandomFeedback,
    Sparse,
    Uniform,
    as_process,
    from_csv,
    from_edge_list,
    from_frame,
    from_graphml,
    from_matrix,
    from_networkx,
    from_npy,
    from_sparse,
    load_graph,
    to_networkx,
)
from graphbandits.graphs.io.files import GraphFile
from graphbandits.graphs.io.tables import names_edges
from graphbandits.graphs.loaders import File
from graphbandits.registry import build, text_of
from graphbandits.rng import Keys
from graphbandits.types import Floats

few = settings(max_examples=40, deadline=None, derandomize=True)

Named = tuple[list[str], Floats]


def matrix_of(process: Process) -> Floats:
    return process.round(1, Keys(0)).reach(np.arange(process.arms))


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


#: Whatever a cell can hold, but a lone \\r, which writers leave unquoted, and spaces around it.
cells = (
    texts(exclude_characters="\0\r\ufeff") | st.sampled_from(["Ann B.", "a,b", 'the "c"', "東 京"])
).filter(lambda text: text == text.strip())
#: What XML can hold.
xml = (texts(exclude_categories=["C"]) | st.sampled_from(["Ann B.", "<a & b>", "東 京 🙂"])).filter(
    lambda text: text == text.strip()
)
anything = (texts() | st.sampled_from(["Ann B.", "a\nb", "1", "1.0", "None", "nan"])).filter(
    lambda text: text == text.strip()
)
#: What parts no words and starts no comment.
words = texts(exclude_characters="#%/,;\0\ufeff", exclude_categories=["Z", "C"])


def same(process: Process, names: list[str], matrix: Floats) -> None:
    assert isinstance(process, Fixed)
    assert process.names == tuple(names)
    assert (matrix_of(process) == matrix).all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


Write = Callable[[str, str | bytes], Path]


# Round trips


@few
@given(named_graphs(cells), st.sampled_from(",;\t"), st.booleans(), st.booleans(), st.data())
def test_a_table_of_edges_is_read_back(
    folder: Path, graph: Named, delimiter: str, all_quoted: bool, packed: bool, data: st.DataObject
) -> None:
    names, matrix = graph
    rows = [["", *edge, ""] for edge in edges_of(names, matrix)]
    rows = [["", name, "", "", "note"] for name in names] + data.draw(st.permutations(rows))
    out = io.StringIO()
    # a cell with a line end is not quoted by itself everywhere
    csv.writer(
        out,
        delimiter=delimiter,
        quoting=csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL,
        lineterminator=data.draw(st.sampled_from(["\n", "\r\n", "\n\n"])),
    ).writerows([["id", "Source", "TARGET", "Weight", "note"], *rows])
    path = folder / ("edges.csv.gz" if packed else "edges.csv")
    content = out.getvalue().encode(data.draw(st.sampled_from(["utf-8", "utf-8-sig"])))
    path.write_bytes(gzip.compress(content) if packed else content)
    same(as_process(f"file:{path}"), names, matrix)


@few
@given(named_graphs(cells), st.sampled_from(["zeros", "ones"]), st.booleans())
def test_an_adjacency_table_is_read_back(
    folder: Path, graph: Named, diagonal: str, sided: bool
) -> None:
    names, matrix = graph
    written = matrix - (np.eye(len(names)) if diagonal == "zeros" else 0.0)
    frame = pd.DataFrame(written, names, names)
    path = folder / "adjacency.csv"
    if sided:
        frame.to_csv(path)
        same(as_process(path), names, matrix)
    elif not names_edges(names):  # else they are columns
        frame.to_csv(path, index=False)
        same(from_csv(path), names, matrix)


@few
@given(named_graphs(cells), st.sampled_from(["zeros", "ones"]))
def test_a_matrix_file_is_read_back(folder: Path, graph: Named, diagonal: str) -> None:
    names, matrix = graph
    written = matrix - (np.eye(len(names)) if diagonal == "zeros" else 0.0)
    np.save(folder / "graph.npy", written)
    np.savetxt(folder / "graph.csv", written, delimiter=",", fmt="%.17g")
    for name in ("graph.npy", "graph.csv"):
        process = as_process(f"file:{folder / name}")
        assert process.names is None
        assert (matrix_of(process) == matrix).all()


@few
@given(named_graphs(xml), st.booleans())
def test_graphml_is_read_back(folder: Path, graph: Named, pretty: bool) -> None:
    names, matrix = graph
    path = folder / "graph.graphml"
    nx.write_graphml(networkx_of(names, matrix), path, prettyprint=pretty)
    same(as_process(path), names, matrix)
    same(from_networkx(nx.read_graphml(path)), names, matrix)


@few
@given(named_graphs(anything))
def test_networkx_is_read_back(graph: Named) -> None:
    names, matrix = graph
    fixed = from_matrix(matrix, names)
    there = to_networkx(fixed)
    assert type(there) is nx.DiGraph
    assert list(there) == names
    assert nx.number_of_selfloops(there) == 0
    assert nx.utils.graphs_equal(there, networkx_of(names, matrix))
    same(as_process(there), names, matrix)


@few
@given(named_graphs(anything), st.data())
def test_frames_are_read_back(graph: Named, data: st.DataObject) -> None:
    names, matrix = graph
    rows = [(name, None, None) for name in names] + edges_of(names, matrix)
    columns = dict(zip(["from", "to", "p"], map(list, zip(*rows, strict=True)), strict=True))
    columns["to"] = [str(name) if name is not None else None for name in columns["to"]]
    schema = {"from": pl.String, "to": pl.String, "p": pl.Float64}
    frames = [
        pd.DataFrame(columns),
        pd.DataFrame(columns, dtype=object),
        pd.DataFrame(columns).astype({"from": "category", "p": "Float64"}),
        pl.DataFrame(columns, schema=schema),
        pl.DataFrame(columns, schema=schema).to_arrow(),
    ]
    for frame in frames:
        same(as_process(frame), names, matrix)


@few
@given(
    named_graphs(anything),
    st.sampled_from(["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]),
    st.booleans(),
)
def test_sparse_matrices_are_read_back(graph: Named, kind: str, diagonal: bool) -> None:
    names, matrix = graph
    given = matrix - (0.0 if diagonal else np.eye(len(names)))
    for make in (sp.coo_array, sp.coo_matrix):
        same(from_sparse(make(given).asformat(kind), names), names, matrix)
        process = as_process(make(given).asformat(kind))
        assert process.names is None
        assert (matrix_of(process) == matrix).all()


@few
@given(named_graphs(words))
def test_an_edge_list_is_what_networkx_reads(folder: Path, graph: Named) -> None:
    names, matrix = graph
    path = folder / "edges.txt.gz"
    nx.write_edgelist(networkx_of(names, matrix), path, data=["probability"])
    if edges_of(names, matrix):
        there = nx.read_edgelist(path, create_using=nx.DiGraph, data=[("probability", float)])
        same(
            load_graph(path),
            list(there),
            nx.to_numpy_array(there, weight="probability") + np.eye(len(there)),
        )


# Edge lists of SNAP

SNAP = (
    "# Directed graph (each unordered pair of nodes is saved once): wiki-Vote.txt \r\n"
    "# Nodes: 4 Edges: 3\r\n"
    "# FromNodeId\tToNodeId\r\n"
    "30\t1412\r\n"
    "30\t3352\r\n"
    "3\t30\r\n"
)


@pytest.mark.parametrize("name", ["wiki.txt", "wiki.txt.gz", "wiki", "wiki.edges.gz"])
def test_a_file_of_snap(write: Write, name: str) -> None:
    content = SNAP.encode()
    process = as_process(write(name, gzip.compress(content) if name.endswith("gz") else content))
    want = np.eye(4)
    want[0, 1] = want[0, 2] = want[3, 0] = 1.0
    same(process, ["30", "1412", "3352", "3"], want)


@pytest.mark.parametrize(
    ("content", "directed", "both"),
    [
        ("a b\n", None, False),
        ("a b\n", True, False),
        ("a b\n", False, True),
        ("# Undirected graph: ../com-amazon.txt\n# Nodes: 2\na\tb\n", None, True),
        ("# Undirected graph: ../com-amazon.txt\n# Nodes: 2\na\tb\n", True, False),
        ("\n#undirected graph\na b\n", None, True),
        ("# Directed graph\na b\n", None, False),
        ("a b\n# Undirected graph\n", None, False),
        ("% sym unweighted\n% 1 2 2\na b\n", None, True),
        ("% sym unweighted\na b\n", True, False),
        ("% asym unweighted\na b\n", None, False),
        ("# an undirected graph\na b\n", None, False),
    ],
)
def test_a_line_is_one_direction_unless_it_is_said(
    write: Write, content: str, directed: bool | None, both: bool
) -> None:
    path = write("edges.txt", content)
    want = [[1, 1], [int(both), 1]]
    said = "" if directed is None else f", directed={directed}"
    for process in (
        from_edge_list(path, directed=directed),
        load_graph(path, directed=directed),
        as_process(f"file(path={path}{said})"),
    ):
        assert matrix_of(process).tolist() == want


def test_an_undirected_edge_may_be_given_from_both_ends(write: Write) -> None:
    path = write("edges.txt", "a b 0.5\nb a 0.5\na a\n")
    assert matrix_of(from_edge_list(path, directed=False)).tolist() == [[1, 0.5], [0.5, 1]]
    path = write("edges.csv", "u,v,p\na,b,0.5\nb,a,0.5\na,a,1\n")
    assert matrix_of(from_csv(path, directed=False)).tolist() == [[1, 0.5], [0.5, 1]]


def test_the_third_word_may_be_left_aside(write: Write) -> None:
    path = write("edges.txt", "a b 17\nb a since-1990\n")
    assert matrix_of(from_edge_list(path, probability=None)).tolist() == [[1, 1], [1, 1]]


# CSV

GEPHI = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("content", "options", "names", "matrix"),
    [
        ("source,target\na,b\n", {}, "a b", [[1, 1], [0, 1]]),
        ("FROM,To\nb,a\n", {}, "b a", [[1, 1], [0, 1]]),
        ("src,dst,p\na,b,0.5\n", {}, "a b", [[1, 0.5], [0, 1]]),
        ("u;v;weight\na;b;0.5\n", {}, "a b", [[1, 0.5], [0, 1]]),
        ("FromNodeId\tToNodeId\na\tb\n", {}, "a b", [[1, 1], [0, 1]]),
        ("target,source\na,b\n", {}, "b a", [[1, 1], [0, 1]]),
        (",source,target,weight\n0,a,b,0.5\n1,b,a,1\n", {}, "a b", [[1, 0.5], [1, 1]]),
        ("weight,probability,to,from\n9,0.5,b,a\n", {}, "a b", [[1, 0.5], [0, 1]]),
        ("weight,p,to,from\n9,0.5,b,a\n", {}, "a b", [[1, 0.5], [0, 1]]),
        ("u,source,target\nx,a,b\n", {}, "a b", [[1, 1], [0, 1]]),
        ("source,target,weight\na,b,9\n", {"probability": None}, "a b", [[1, 1], [0, 1]]),
        ("source,target,chance\na,b,0.5\n", {"probability": "chance"}, "a b", [[1, 0.5], [0, 1]]),
        ("x,y\na,b\n", {"source": "y", "target": "x"}, "b a", [[1, 1], [0, 1]]),
        ("x,to\na,b\n", {"source": "x"}, "a b", [[1, 1], [0, 1]]),
        ("source,target\na,b\n", {"source": "target", "target": "source"}, "b a", [[1, 1], [0, 1]]),
        ("source,target\na,b\n", {"directed": False}, "a b", [[1, 1], [1, 1]]),
        ("source, target , p\n a , b , 0.5 \n", {}, "a b", [[1, 0.5], [0, 1]]),
        ('source,target\n"a", "b"\n', {}, "a b", [[1, 1], [0, 1]]),
        ("source,target,p\na,b,0.5\na,b,0.50\na,a,1\n", {}, "a b", [[1, 0.5], [0, 1]]),
        ("source,target,p\na,,\nb,,7\n", {}, "a b", [[1, 0], [0, 1]]),
        ("\n\nsource,target\n\na,b\n,\n\n", {}, "a b", [[1, 1], [0, 1]]),
        ("source,target\ra,b\r", {}, "a b", [[1, 1], [0, 1]]),
        ("source,target\ntarget,5\n", {}, "target 5", [[1, 1], [0, 1]]),
        (",from,to\nfrom,1,0.5\nto,0,1\n", {}, "from to", [[1, 0.5], [0, 1]]),
        ("id_1,id_2\na,b\n", {}, "a b", [[1, 1], [0, 1]]),
        ("node_2,node_1\na,b\n", {}, "b a", [[1, 1], [0, 1]]),
        ("source_id,target_id\na,b\n", {}, "a b", [[1, 1], [0, 1]]),
        ("to_id,from_id\na,b\n", {}, "b a", [[1, 1], [0, 1]]),
        ("source,target\na,NA\n", {}, "a NA", [[1, 1], [0, 1]]),
        ("Source,Target\na,b\n", {"source": "TARGET", "target": "source"}, "b a", [[1, 1], [0, 1]]),
        ("x,X,y\na,c,b\n", {"source": "x", "target": "Y"}, "a b", [[1, 1], [0, 1]]),
        ("Source,Target,Type\na,b,Undirected\n", {}, "a b", [[1, 1], [1, 1]]),
        ("Source,Target,Type\na,b,directed\n", {}, "a b", [[1, 1], [0, 1]]),
        ("Source,Target,type\na,b,UNDIRECTED\nc,a,Directed\nd,,\n", {}, "a b c d", GEPHI),
        ("Source,Target,Type\na,b,Undirected\n", {"directed": True}, "a b", [[1, 1], [0, 1]]),
        ("Source,Target,Type\na,b,Directed\n", {"directed": False}, "a b", [[1, 1], [1, 1]]),
        ("Source,Target,Type\na,b,friend\n", {}, "a b", [[1, 1], [0, 1]]),
        ("sep=;\nsource;target;p\na;b;0.5\n", {}, "a b", [[1, 0.5], [0, 1]]),
        ('\ufeff"sep=;"\r\nsource;target\r\na;b,c\r\n', {}, "a b,c", [[1, 1], [0, 1]]),
        ("# of,whom\n\n#note\nsource,target\na,#b\n", {}, "a #b", [[1, 1], [0, 1]]),
        ('source,target,"note; a; b; c"\na,b,x\n', {}, "a b", [[1, 1], [0, 1]]),
        ("source;target;a, b, c, d\na;b;x\n", {}, "a b", [[1, 1], [0, 1]]),
        ('x,y,"a;b;c;d"\na,b,"c"\n', {"source": "x", "target": "y"}, "a b", [[1, 1], [0, 1]]),
    ],
)
def test_a_table(
    write: Write, content: str, options: dict, names: str, matrix: list[list[float]]
) -> None:
    path = write("edges.csv", content)
    said = "".join(f", {key}={value}" for key, value in options.items())
    for process in (
        from_csv(path, **options),
        load_graph(path, **options),
        as_process(f"file(path={path}{said})"),
        as_process(write("edges.tsv", content), arms=len(matrix))
        if not options
        else from_csv(path, **options),
    ):
        same(process, names.split(), np.array(matrix))


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("1,0.5\n0,1\n", None),
        ("0;0.5\n0;0\n", None),
        ("0\t0.5\n0\t0\n", None),
        ("a,b\n1,0.5\n0,1\n", "a b"),
        ("2,1\n1,0.5\n0,1\n", "2 1"),
        (",a,b\na,1,0.5\nb,0,1\n", "a b"),
        (",0,1\n0,1,0.5\n1,0,1\n", "0 1"),
        ("arm,a,b\na,0,0.5\nb,0,0\n", "a b"),
        ("a,1,0.5\nb,0,1\n", "a b"),
        ("0,0,0.5\n1,0,0\n", "0 1"),
        ('"","Ann B.",é\n"Ann B.",1,.5\né,0,1e0\n', "Ann_B. é"),
        ("from,weight\n1,0.5\n0,1\n", "from weight"),
        (";Doe, J;Roe, K\nDoe, J;0;0.5\nRoe, K;0;0\n", "Doe,_J Roe,_K"),
        ("#1,#2\n1,0.5\n0,1\n", "#1 #2"),
    ],
)
def test_an_adjacency_table(write: Write, content: str, names: str | None) -> None:
    process = load_graph(write("graph.csv", content))
    known = None if names is None else tuple(name.replace("_", " ") for name in names.split())
    assert process.names == known
    assert matrix_of(process).tolist() == [[1, 0.5], [0, 1]]


def test_an_adjacency_table_of_one_arm(write: Write) -> None:
    assert load_graph(write("graph.csv", ",a\na,0\n")).names == ("a",)
    assert load_graph(write("graph.csv", "0\n")).arms == 1


def test_a_large_adjacency_table_is_kept_as_lists(write: Write) -> None:
    rng = np.random.default_rng(1)
    matrix = rng.random((130, 130)) * (rng.random((130, 130)) < 0.1)
    np.fill_diagonal(matrix, 1.0)
    names = [f"arm {i}" for i in range(130)]
    out = io.StringIO()
    pd.DataFrame(matrix, names, names).to_csv(out)
    process = load_graph(write("graph.csv", out.getvalue()))
    assert isinstance(process.feedback, Sparse)
    same(process, names, matrix)


# Odd cells and words: a graph, or an error with a line

odd_cells = st.sampled_from(
    [
        "a",
        "b",
        "c",
        "",
        " a",
        "b ",
        '"a"',
        '"a,b"',
        '"',
        '""',
        'a"b',
        '"a""b"',
        "é",
        "#",
        "a\tb",
        "nan",
    ]
)
numbers = st.sampled_from(
    ["0.5", "0.5", "1", "1.0", "0", ".25", "2", "x", "", " 0.5", "1e-1", "nan", '"1"']
)
ends = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\n\n", "\n \n", ",\n"])


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.lists(st.tuples(odd_cells, odd_cells, numbers, ends), max_size=4), st.booleans())
def test_an_odd_table_is_a_graph_or_an_error_with_its_line(
    folder: Path, rows: list[tuple[str, str, str, str]], directed: bool
) -> None:
    text = "source,target,p\n" + "".join(f"{a},{b},{p}{end}" for a, b, p, end in rows)
    file = GraphFile(folder / "a.csv", text.encode())
    graph_or_error(lambda: from_csv(file, directed=directed))


def graph_or_error(read: Callable[[], Fixed]) -> None:
    found: Fixed | str
    try:
        found = read()
    except InputError as error:
        found = str(error)
    if isinstance(found, str):
        assert any(part in found for part in (", line ", "holds no edges", "look like a matrix"))
    else:
        assert found.names == tuple(name.strip() for name in found.names or ())
        assert (matrix_of(found).diagonal() == 1.0).all()


odd_words = st.sampled_from(
    ["a", "b", "c", "a,b", "é", '"a"', "#", "a#", "%", "//a", "a,", "a\x0bb", "\u3000", ""]
)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(odd_words, st.sampled_from([" ", " ", "\t", "  "]), odd_words, numbers),
        max_size=4,
    ),
    st.sampled_from(["", "# Undirected graph\n", "\n"]),
    st.booleans(),
    st.booleans(),
)
def test_an_odd_edge_list_is_a_graph_or_an_error_with_its_line(
    folder: Path, rows: list[tuple[str, str, str, str]], head: str, two: bool, weighted: bool
) -> None:
    text = head + "".join(f"{a}{by}{b}{'' if two else by + p}\n" for a, by, b, p in rows)
    file = GraphFile(folder / "a.txt", text.encode())
    graph_or_error(lambda: from_edge_list(file, probability="auto" if weighted else None))


@few
@given(named_graphs(words.filter(lambda word: '"' not in word)), st.booleans())
def test_plain_edges_are_read_back(folder: Path, graph: Named, quoted: bool) -> None:
    names, matrix = graph
    edges = edges_of(names, matrix)
    if not edges:
        return
    known = list(dict.fromkeys(name for a, b, _ in edges for name in (a, b)))
    place = [names.index(name) for name in known]
    want = matrix[np.ix_(place, place)]
    text = "".join(f"{a}\t{b}\t{p!r}\n" for a, b, p in edges)
    file = GraphFile(folder / "a.txt", f"# FromNodeId\tToNodeId\n{text}".encode())
    if len(edges) != 3:  # three lines of numbers are taken for a matrix
        same(from_edge_list(file), known, want)
    mark = '"' if quoted else ""
    text = "".join(f"{mark}{a}{mark},x,{mark}{b}{mark},{p!r}\n" for a, b, p in edges)
    file = GraphFile(folder / "a.csv", b"source,note,target,p\n" + text.encode())
    same(from_csv(file), known, want)


@pytest.mark.parametrize("types", [["Directed", "undirected"], ["friend", ""], ["Directed", "x"]])
def test_typed_edges(folder: Path, types: list[str]) -> None:
    rows = "".join(f"{a},{b},{kind}\n" for a, b, kind in zip("abc", "bcd", types * 2, strict=False))
    file = GraphFile(folder / "a.csv", f"sep=,\n# é\nu,v,Type\n{rows}e,,\n".encode())
    if "x" in types:
        with pytest.raises(InputError, match="line 5: column 'Type': an edge is Directed or"):
            from_csv(file)
        return
    found = from_csv(file)
    assert found.names == tuple("abcde")
    assert matrix_of(found).tolist()[2][1] == (types[1] == "undirected")


def test_a_large_list_with_a_header_is_refused(folder: Path) -> None:
    large = "source target\n" + "".join(f"node{i} node{i + 1}\n" for i in range(80_000))
    with pytest.raises(InputError, match="line 1: 'source target' names columns"):
        from_edge_list(GraphFile(folder / "a.txt", large.encode()))


@pytest.mark.parametrize("name", ["edges.txt", "edges.csv", "edges.csv.gz"])
@pytest.mark.parametrize("wrong", ["", "value", "edge"])
def test_a_large_file(write: Write, name: str, wrong: str) -> None:
    """Above a megabyte; an error far down has its line."""
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 500, (120_000, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    weight = (ends[:, 0] * 7 + ends[:, 1]) % 100 / 100
    by, head = (" ", "# many\n") if name == "edges.txt" else (",", "source,target,weight\n")
    lines = [f"n{a}{by}n{b}{by}{p}\n" for (a, b), p in zip(ends.tolist(), weight, strict=True)]
    at = len(lines) - 3
    lines[at] = {"": lines[at], "value": f"x{by}y{by}3\n", "edge": lines[0][:-1] + "5\n"}[wrong]
    content = (head + "".join(lines)).encode()
    assert len(content) > 1 << 20
    path = write(name, gzip.compress(content, 1) if name.endswith("gz") else content)
    if wrong:
        reason = "not '3'" if wrong == "value" else "was given before"
        with pytest.raises(InputError, match=f"{name}, line {at + 2}: .*{reason}"):
            load_graph(path)
        return
    process = load_graph(path)
    first = dict.fromkeys(f"n{arm}" for arm in ends.ravel().tolist())
    assert process.names == tuple(first)
    number = np.array([int(arm[1:]) for arm in first])
    want = np.zeros((500, 500))
    want[ends[:, 0], ends[:, 1]] = weight
    np.fill_diagonal(want, 1.0)
    assert (matrix_of(process) == want[np.ix_(number, number)]).all()


# GraphML


GRAPHML = """<?xml version="1.0" encoding="{encoding}"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key id="d0" for="edge" attr.name="{attribute}" attr.type="double">{default}</key>
  <key id="d1" for="node" attr.name="label" attr.type="string"/>
  <graph id="G" edgedefault="{edgedefault}">
    <node id="n0"><data key="d1">Ann B.</data></node>
    <node id="n1"><data key="d1">Zoë</data><port name="North"/></node>
    <node id="n2"><data key="d1">Eve</data></node>
    <edge id="e0" source="n0" target="n1"><data key="d0">0.5</data></edge>
    <edge source="n2" target="n1" {directed}/>
  </graph>
</graphml>
"""


def graphml(**options: str) -> str:
    usual = {
        "encoding": "UTF-8",
        "attribute": "probability",
        "default": "",
        "edgedefault": "directed",
        "directed": "",
    }
    return GRAPHML.format(**(usual | options))


@pytest.mark.parametrize("name", ["a.graphml", "a.xml", "a", "a.graphml.gz"])
def test_graphml_by_its_ending_or_its_beginning(write: Write, name: str) -> None:
    content = graphml().encode()
    process = as_process(write(name, gzip.compress(content) if name.endswith("gz") else content))
    same(process, ["n0", "n1", "n2"], np.array([[1, 0.5, 0], [0, 1, 0], [0, 1, 1]]))


@pytest.mark.parametrize(
    ("options", "matrix"),
    [
        ({"attribute": "weight"}, [[1, 0.5, 0], [0, 1, 0], [0, 1, 1]]),
        ({"attribute": "chance"}, [[1, 1, 0], [0, 1, 0], [0, 1, 1]]),
        ({"default": "<default>0.25</default>"}, [[1, 0.5, 0], [0, 1, 0], [0, 0.25, 1]]),
        ({"edgedefault": "undirected"}, [[1, 0.5, 0], [0.5, 1, 1], [0, 1, 1]]),
        ({"directed": 'directed="false"'}, [[1, 0.5, 0], [0, 1, 1], [0, 1, 1]]),
        (
            {"edgedefault": "undirected", "directed": 'directed="true"'},
            [[1, 0.5, 0], [0.5, 1, 0], [0, 1, 1]],
        ),
    ],
)
def test_what_graphml_says(write: Write, options: dict[str, str], matrix: list) -> None:
    path = write("a.graphml", graphml(**options))
    assert matrix_of(load_graph(path)).tolist() == matrix


def test_graphml_options(write: Write) -> None:
    path = write("a.graphml", graphml(attribute="chance"))
    sure, half = [[1, 1, 0], [0, 1, 0], [0, 1, 1]], [[1, 0.5, 0], [0, 1, 0], [0, 1, 1]]
    assert matrix_of(from_graphml(path, probability="chance")).tolist() == half
    assert matrix_of(as_process(f"file(path={path}, probability=chance)")).tolist() == half
    assert matrix_of(from_graphml(path, probability=None)).tolist() == sure
    assert from_graphml(path, label="label").names == ("Ann B.", "Zoë", "Eve")
    assert as_process(f"file(path={path}, label=label)").names == ("Ann B.", "Zoë", "Eve")


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "ISO-8859-1"])
def test_graphml_says_its_encoding(write: Write, encoding: str) -> None:
    path = write("a.graphml", graphml(encoding=encoding).encode(encoding))
    assert from_graphml(path, label="label").names == ("Ann B.", "Zoë", "Eve")


def test_labels_of_yed(write: Write) -> None:
    drawn = "<y:ShapeNode><y:Fill/><y:NodeLabel>{}</y:NodeLabel></y:ShapeNode>"
    content = graphml().replace(
        'attr.name="label" attr.type="string"', 'yfiles.type="nodegraphics"'
    )
    content = content.replace('<port name="North"/>', "")  # of which NetworkX warns
    for name in ("Ann B.", "Zoë", "Eve"):
        content = content.replace(name, drawn.format(name))
    path = write("a.graphml", content)
    assert from_graphml(path, label="label").names == ("Ann B.", "Zoë", "Eve")
    there = nx.read_graphml(path)
    assert [there.nodes[node]["label"] for node in there] == ["Ann B.", "Zoë", "Eve"]


def test_a_label_of_yed_with_elements_in_it(write: Write) -> None:
    inside = "<y:LabelModel><y:SmartNodeLabelModel/>\n</y:LabelModel>\n<y:ModelParameter/>"
    drawn = f"<y:ShapeNode><y:NodeLabel>{{}}{inside}</y:NodeLabel><y:NodeLabel/></y:ShapeNode>"
    content = graphml().replace('attr.name="label"', 'yfiles.type="nodegraphics"')
    for name in ("Ann B.", "Zoë", "Eve"):
        content = content.replace(name, drawn.format(name))
    path = write("a.graphml", content)
    assert from_graphml(path, label="label").names == ("Ann B.", "Zoë", "Eve")
    path = write("b.graphml", content.replace("Zoë", " "))
    with pytest.raises(InputError, match=r"b\.graphml, line \d+: the node 'n1' has an empty label"):
        from_graphml(path, label="label")


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_graphml_is_what_networkx_reads(folder: Path, kind: type[nx.Graph]) -> None:
    graph = kind(nx.gnp_random_graph(120, 0.03, seed=3, directed=issubclass(kind, nx.DiGraph)))
    for k, (_, _, data) in enumerate(graph.edges(data=True)):
        data["weight"] = k % 7 / 7
    nx.write_graphml(graph, folder / "random.graphml")
    process = load_graph(folder / "random.graphml")
    want = nx.to_numpy_array(nx.read_graphml(folder / "random.graphml")) + np.eye(120)
    same(process, [str(i) for i in range(120)], want)


# NetworkX


def test_a_weight_is_a_probability_where_there_is_no_other() -> None:
    graph = nx.DiGraph([("a", "b", {"weight": 0.5}), ("b", "c", {})])
    want = [[1, 0.5, 0], [0, 1, 1], [0, 0, 1]]
    assert matrix_of(as_process(graph)).tolist() == want
    graph.edges["b", "c"]["probability"] = 0.25
    assert matrix_of(as_process(graph)).tolist() == [[1, 1, 0], [0, 1, 0.25], [0, 0, 1]]
    assert from_networkx(graph, probability=None).deterministic
    assert matrix_of(from_networkx(graph, probability="weight")).tolist() == want


def test_nodes_without_names_are_numbers() -> None:
    there = to_networkx(as_process("star(direction=out)", arms=3))
    assert list(there.edges(data="probability")) == [(0, 1, 1.0), (0, 2, 1.0)]
    assert to_networkx(Uniform(0.5, 2)).edges[1, 0] == {"probability": 0.5}
    assert list(to_networkx(Uniform(0.0, 10_000)).edges) == []
    assert len(to_networkx(Uniform(0.0, 3))) == 3


def test_a_large_graph_to_networkx_and_back() -> None:
    rng = np.random.default_rng(4)
    source, target = rng.integers(0, 300, (2, 1000))
    other = source != target
    feedback = Sparse.from_edges(300, source[other], target[other], 0.25)
    names = tuple(f"arm {i}" for i in range(300))
    there = to_networkx(Fixed(feedback, names))
    assert there.number_of_edges() == len(feedback.column) - 300
    same(from_networkx(there), list(names), matrix_of(Fixed(feedback)))


@pytest.mark.parametrize(
    "graph",
    [
        RandomFeedback(3, None),
        Dense(np.stack([np.eye(2)] * 3)),
        Uniform(np.array([0.1, 0.2]), 3),
        Uniform(0.5, 1_000_000),
        "paper",
        None,
        np.eye(3),
    ],
    ids=["changes", "one a trial", "one r a trial", "too large", "text", "none", "array"],
)
def test_what_is_no_single_graph_is_not_for_networkx(graph: object) -> None:
    with pytest.raises(InputError):
        to_networkx(graph)  # type: ignore[arg-type]


# Frames


def test_a_frame_by_its_columns() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "c": [0.5, 1.0], "weight": [3, 4]})
    process = from_frame(frame, "a", "b", "c")
    same(process, ["x", "y", "z"], np.array([[1, 0.5, 0], [0, 1, 1], [0, 0, 1]]))
    both = from_frame(frame, source="b", target="a", probability=None, directed=False)
    same(both, ["y", "x", "z"], np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1]]))


def test_a_frame_is_what_networkx_reads() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 150, (400, 2)), columns=["source", "target"])
    frame = frame[frame["source"] != frame["target"]].drop_duplicates()
    frame["weight"] = rng.random(len(frame))
    there = nx.from_pandas_edgelist(frame, edge_attr="weight", create_using=nx.DiGraph)
    process = as_process(frame)
    same(process, [str(node) for node in there], nx.to_numpy_array(there) + np.eye(len(there)))


def test_whole_numbers_with_a_gap_are_whole_numbers() -> None:
    for frame in (
        pd.DataFrame({"u": [1, 3, 2], "v": [2, None, 1]}),
        pd.DataFrame({"u": [1, 3, 2], "v": [2, None, 1]}, dtype="Int64"),
        pl.DataFrame({"u": [1, 3, 2], "v": [2, None, 1]}),
        pa.table({"u": [1, 3, 2], "v": [2, None, 1]}),
    ):
        same(as_process(frame), ["1", "2", "3"], np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))


def test_large_numbers_with_a_gap_are_different_arms() -> None:
    big = 2**60
    ids: list[int | None] = [big + 3, big + 4, None]
    want = np.eye(5)
    want[0, 1] = want[2, 3] = 1.0
    names = [str(big + i) for i in (0, 3, 1, 4, 2)]
    source = [big, big + 1, big + 2]
    for frame in (
        pd.DataFrame({"source": source, "target": pd.array(ids, "Int64")}),
        pd.DataFrame({"source": source, "target": pd.array(ids, "int64[pyarrow]")}),
        pd.DataFrame({"source": source, "target": ids}, dtype=object),
        pl.DataFrame({"source": source, "target": ids}),
        pa.table({"source": source, "target": ids}),
    ):
        same(as_process(frame), names, want)


def test_times_are_named_alike() -> None:
    days = ["2020-01-01", "2020-01-02T03:04:05"]
    for frame in (
        pd.DataFrame({"u": np.array(days, f"datetime64[{unit}]"), "v": ["a", "b"]})
        for unit in ("s", "us", "ns")
    ):
        assert from_frame(frame).names == ("2020-01-01 00:00:00", "a", "2020-01-02 03:04:05", "b")
        there = pl.from_pandas(frame)
        for other in (there, there.to_arrow()):
            assert from_frame(other).names == from_frame(frame).names


def test_blanks_around_a_name_do_not_count(write: Write) -> None:
    graph = nx.DiGraph([(" ann", "bob\t")])
    path = write("a.csv", "source,target\n ann,bob\t\n")
    nx.write_graphml(graph, path.with_name("a.graphml"))
    for graph_like in (
        pd.DataFrame({"u": [" ann", "ann"], "v": ["bob", "bob\t"]}),
        graph,
        path,
        path.with_name("a.graphml"),
        from_matrix([[1, 1], [0, 1]], [" ann", "bob\t"]),
        Fixed(Dense(np.array([[1, 1], [0, 1]])), (" ann", "bob\t")),
    ):
        same(as_process(graph_like), ["ann", "bob"], np.array([[1, 1], [0, 1]]))


def test_a_frame_with_types_of_gephi() -> None:
    frame = pd.DataFrame({"Source": ["a", "c", "d"], "Target": ["b", "a", None]})
    frame["Type"] = ["Undirected", "directed", None]
    same(from_frame(frame), list("abcd"), np.array(GEPHI))
    assert matrix_of(from_frame(pl.from_pandas(frame), directed=True))[1, 0] == 0.0


@pytest.mark.parametrize("diagonal", [0.0, 1.0])
def test_an_adjacency_frame(diagonal: float) -> None:
    graph = nx.DiGraph([("from", "to", {"weight": 0.5}), ("to", "x y", {"weight": 1})])
    frame = nx.to_pandas_adjacency(graph)
    frame += np.eye(3) * diagonal
    want = np.array([[1, 0.5, 0], [0, 1, 1], [0, 0, 1]])
    same(as_process(frame), ["from", "to", "x y"], want)
    same(as_process(frame.astype(object)), ["from", "to", "x y"], want)
    same(as_process(pd.DataFrame(want)), ["0", "1", "2"], want)
    for options in ({"directed": False}, {"probability": None}):
        with pytest.raises(InputError, match=f"adjacency matrix, where {next(iter(options))}="):
            from_frame(frame, **options)


def test_columns_of_a_frame_may_be_called_anything() -> None:
    """They are attributes of the frame: it is not taken for a process or a NetworkX graph."""
    odd = ["process", "round", "deterministic", "adjacency", "is_directed", "tocoo", "reach"]
    frame = pd.DataFrame({"source": ["a"], "target": ["b"], **{name: [1] for name in odd}})
    assert as_process(frame).names == ("a", "b")


# Sparse matrices


def test_a_stored_zero_is_no_edge_and_a_stored_one_a_self_loop() -> None:
    matrix = sp.coo_array(([0.0, 1.0, 0.5, 0.5], ([0, 1, 2, 2], [1, 1, 0, 0])), shape=(3, 3))
    assert matrix_of(as_process(matrix)).tolist() == [[1, 0, 0], [0, 1, 0], [0.5, 0, 1]]
    matrix = sp.csr_array(([0.0, 1.0], ([0, 0], [0, 1])), shape=(2, 2))
    assert matrix.nnz == 2
    assert matrix_of(as_process(matrix)).tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize("kind", [bool, np.int8, np.float32])
def test_sparse_matrices_of_any_type(kind: type) -> None:
    assert as_process(sp.csr_array(np.eye(3, k=1).astype(kind))).deterministic is True


@pytest.mark.parametrize("kind", ["bsr", "coo", "csc", "csr", "dia"])
@pytest.mark.parametrize("make", [sp.coo_array, sp.coo_matrix])
def test_a_file_of_scipy(tmp_path: Path, kind: str, make: type) -> None:
    matrix = np.array([[0, 0.5, 0], [0, 0, 1], [0, 0, 0]])
    sp.save_npz(tmp_path / "graph.npz", make(matrix).asformat(kind), compressed=kind == "csr")
    for process in (load_graph(tmp_path / "graph.npz"), from_npy(tmp_path / "graph.npz")):
        assert process.names is None
        assert (matrix_of(process) == matrix + np.eye(3)).all()


def test_a_large_sparse_matrix_never_becomes_dense() -> None:
    matrix = sp.eye_array(200_000, k=1, format="csr")
    process = as_process(matrix, arms=200_000)
    assert isinstance(process, Fixed)
    assert isinstance(process.feedback, Sparse)
    assert len(process.feedback.column) == 399_999


# The text form


def test_the_recipe_is_read_back_from_its_text() -> None:
    for recipe in (
        File("edges.txt"),
        File("my files/edges (1).csv", directed=False, probability=None),
        File("a,b.csv", source="the player", target="5"),
        File("it's.graphml", label="label", probability="chance"),
    ):
        assert build("graph", text_of(recipe)) == recipe
    assert text_of(File("edges.txt", directed=True)) == "file(path=edges.txt, directed=true)"


def test_a_path_with_spaces_and_brackets(write: Write) -> None:
    path = write("my edges (1).csv", "source,target\nAnn B.,Zoë\n")
    for text in (f"file:{path}", f"file(path='{path}')", f'file(path="{path}", directed=true)'):
        assert as_process(text).names == ("Ann B.", "Zoë")


def test_the_home_directory(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("edges.txt", "a b\n")
    monkeypatch.setenv("HOME", str(path.parent))
    assert as_process("file:~/edges.txt").names == load_graph(Path("~/edges.txt")).names
    monkeypatch.chdir(path.parent)
    write("~other.txt", "c d\n")
    assert load_graph("~other.txt").names == ("c", "d")
    with pytest.raises(InputError, match="cannot read the graph file ~nobody-of-this-name"):
        load_graph("~nobody-of-this-name/a.txt")


def test_names_reach_the_agent(write: Write) -> None:
    path = write("edges.csv", "source,target,p\nAnn B.,Zoë,0.5\n東 京,,\n")
    agent = Agent(graph=f"file:{path}", policy="ids-n", seed=1)
    assert agent.arms == ("Ann B.", "Zoë", "東 京")


def test_files_of_all_kinds_make_a_sequence(write: Write, tmp_path: Path) -> None:
    np.save(tmp_path / "1.npy", np.eye(2, k=1))
    given = [tmp_path / "1.npy", write("2.csv", "a,b\n1,0\n1,1\n"), write("3.txt", "a b\n")]
    process = as_process(given)
    assert process.names == ("a", "b")
    rounds = [process.round(t, Keys(0)).reach(np.arange(2)).tolist() for t in (1, 2, 3)]
    assert rounds == [[[1, 1], [0, 1]], [[1, 0], [1, 1]], [[1, 1], [0, 1]]]


def test_a_npy_file_by_its_beginning(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "b.dat").write_bytes((tmp_path / "a.npy").read_bytes())
    assert load_graph(tmp_path / "b.dat").arms == from_npy(tmp_path / "a.npy").arms == 3
