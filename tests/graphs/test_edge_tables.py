"""Tests of readers: CSV files and data frames, as edges or as adjacency tables."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.bad_input import check_refusal, refuses
from helpers.cases import each
from helpers.graph_files import (
    GEPHI,
    Named,
    any_names,
    assert_same_graph,
    cell_names,
    edges_of,
    error_message,
    matrix_of,
    named_graphs,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.errors import InputError
from graphbandits.graphs import as_process, from_csv, from_frame, load_graph
from graphbandits.graphs.readers import names_edges

Write = Callable[[str, str | bytes], Path]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("source,target\na,b\nc\n", 3),
        ("source,target\na,b\n\nc,d,e\n", 4),
        ("source,target,p\na,b,often\n", 2),
        ("source,target,p\na,b,\n", 2),
        ("source;target;p\na;b;0,5\n", 2),
        ("source,target,weight\na,b,1\nb,c,3\n", 3),
        ("source,target,p\na,b,0.5\nc,d,1\na,b,0.25\n", 4),
        ("source,target,p\na,b,0.5\na,b,0\n", 3),
        ("source,target,p\na,b,0.5\na,a,0.5\n", 3),
        ("source,target,p\na,b,0.5\n,b,0.5\n", 3),
        ('source,target\na,b\n"a,b\nc,d\n', 3),
        ('source,target\na,b\n"a"x,b\n', 3),
        ('source,target\n"a\nb",c\n"a\nb",d,e\n', 4),
        ("source,target,source\na,b,c\n", 1),
        (b"\xef\xbb\xbfsource,target\r\na,b\r\nc\r\n", 3),
        ('source,target\na,"' + "x" * 200_000, 2),
        ("source,target,p\na,b,50%\n", 2),
        ("source,target,p\na,b,\u0661\n", 2),
        ("Source,source,target\na,b,c\n", 1),
        ("source,target,Type\na,b,Undirected\nb,c,Mutual\n", 3),
        ("sep=;\r\n# note\r\n\r\nsource;target\r\na\r\n", 5),
    ],
)
def test_wrong_row_is_reported_with_line(write: Write, content: str | bytes, line: int) -> None:
    message = error_message(write("edges.csv", content))
    check_refusal(message)
    assert f"edges.csv, line {line}: " in message


@each(
    ("content", "options"),
    [
        ("source,target\na,b\n", {"source": "player"}),
        ("source,target\na,b\n", {"target": "targte"}),
        ("source,target\na,b\n", {"probability": "p"}),
        ("source,target\na,b\n", {"source": "target"}),
        ("Xa,xA,y\na,b,c\n", {"source": "XA", "target": "y"}),
        ("source,x\na,b\n", {"source": "source"}),
        ("x,target\na,b\n", {"target": "target"}),
        ("a,b\n1,0\n0,1\n", {"directed": False}),
        ("a,b\n1,0\n0,1\n", {"probability": None}),
        ("source,target\na,b\n", {"label": "label"}),
        ("source,target\na,b\n", {"directed": "no"}),
        ("source,target,p\na,b,.5\nb,a,.25\n", {"directed": False}),
    ],
)
def test_wrong_option_is_rejected(write: Write, content: str, options: dict[str, Any]) -> None:
    path = write("edges.csv", content)
    with refuses(InputError):
        load_graph(path, **options)


@each("content", ["", "\n\n", b"\xef\xbb\xbf", "source,target\n", ",,\n"])
def test_empty_table_is_rejected(write: Write, content: str | bytes) -> None:
    check_refusal(error_message(write("edges.csv", content)))


@each(
    ("content", "line"),
    [
        ("1,0\n0,1,0\n", 2),
        ("a,b\n1,0\n0\n", 3),
        ("1,0,0\n0,1,0\n0,0,1\n0,0,0\n0,0,0\n", None),
        ("x,y,z,w\na,b,c,d\n", None),
        ("ann,bob\nbob,eve\n", 2),
        ("ann,bob,0.5\nbob,eve,1\n", 1),
        ("a b\nb c\n", 2),
        ("1,0.5\n0,often\n", 2),
        ("1,\n0,1\n", 1),
        ("1,0\n\n3,1\n", 3),
        ("1,0\n0,0\n", 2),
        ("a,b\n0.5,0\n0,1\n", 2),
        (",a,b\nb,1,0\na,0,1\n", 2),
        (",a,a\na,1,0\na,0,1\n", 1),
        (",a,\na,1,0\n,0,1\n", 1),
        ('"a,b\n1,0\n', 1),
        ("0,1\n1,2\n2,3\n", 2),
        ("a;b\n1;0,5\n0;1\n", 2),
    ],
)
def test_wrong_adjacency_table_is_rejected(write: Write, content: str, line: int | None) -> None:
    message = error_message(write("graph.csv", content))
    check_refusal(message)
    assert (f"graph.csv, line {line}: " in message) == (line is not None)


@each(
    ("columns", "row"),
    [
        ({"source": ["a", "a"], "target": ["b", "b"], "p": [0.5, 0.25]}, 1),
        ({"source": ["a", "c"], "target": ["b", "c"], "p": [0.5, 0.25]}, 1),
        ({"source": ["a", "c"], "target": ["b", "a"], "weight": [1, 3]}, 1),
        ({"source": ["a", "c"], "target": ["b", "a"], "p": [1, None]}, 1),
        ({"source": ["a"], "target": ["b"], "p": ["0.5"]}, 0),
        ({"source": ["a", None], "target": ["b", "c"]}, 1),
        ({"source": ["a"], "goal": ["b"]}, None),
        ({"source": [], "target": []}, None),
        ({"a": [1.0, 0.0], "b": [0.0, 1.0]}, None),
        ({"u": ["a", "b"], "v": ["b", [1]]}, 1),
        ({"u": [1, 2], "v": [2.0**53, None]}, 0),
        ({"u": ["a", " "], "v": ["b", "c"]}, 1),
        ({"u": ["a"], "v": ["b"], "p": [np.arange(2)]}, 0),
        ({"u": ["a"], "v": ["b"], "p": ["0,5"]}, 0),
        ({"u": ["a"], "U": ["a"], "v": ["b"]}, None),
    ],
)
def test_wrong_data_frame_is_rejected(columns: dict[str, list], row: int | None) -> None:
    with refuses(InputError) as caught:
        as_process(pd.DataFrame(columns))
    assert (f"row {row} " in str(caught.value)) == (row is not None)
    with refuses(InputError):
        from_frame(columns)


@each("cell", [3.0, "x", None, -1])
def test_wrong_adjacency_frame_is_rejected(cell: object) -> None:
    frame = pd.DataFrame([[1, cell], [0, 1]], ["a", "b"], ["a", "b"])
    with refuses(InputError):
        as_process(frame)
    with refuses(InputError):
        as_process(frame.rename(index={"a": "c"}))


def test_column_of_probabilities_is_not_ignored(tmp_path: Path) -> None:
    """Otherwise all edges would silently be certain."""
    path = tmp_path / "edges.csv"
    path.write_text("from,to,strength,id\nann,bob,0.5,1\nbob,eve,1,0\n")
    with refuses(InputError):
        load_graph(path)
    assert not load_graph(path, probability="strength").deterministic
    assert load_graph(path, probability=None).deterministic
    frame = pd.read_csv(path)
    with refuses(InputError):
        from_frame(frame)
    assert from_frame(frame[["from", "to", "id"]]).deterministic  # whole numbers are ids
    path.write_text("from,to,prob\nann,bob,0.5\n")
    assert not load_graph(path).deterministic


forty_examples = settings(max_examples=40, deadline=None, derandomize=True)


@forty_examples
@given(named_graphs(cell_names), st.sampled_from(",;\t"), st.booleans(), st.booleans(), st.data())
def test_edge_table_round_trip(
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
    assert_same_graph(as_process(f"file:{path}"), names, matrix)


@forty_examples
@given(named_graphs(cell_names), st.sampled_from(["zeros", "ones"]), st.booleans())
def test_adjacency_table_round_trip(folder: Path, graph: Named, diagonal: str, sided: bool) -> None:
    names, matrix = graph
    written = matrix - (np.eye(len(names)) if diagonal == "zeros" else 0.0)
    frame = pd.DataFrame(written, names, names)
    path = folder / "adjacency.csv"
    if sided:
        frame.to_csv(path)
        assert_same_graph(as_process(path), names, matrix)
    elif not names_edges(names):  # else they are columns
        frame.to_csv(path, index=False)
        assert_same_graph(from_csv(path), names, matrix)


@forty_examples
@given(named_graphs(any_names), st.data())
def test_data_frame_round_trip(graph: Named, data: st.DataObject) -> None:
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
        assert_same_graph(as_process(frame), names, matrix)


@each(
    ("content", "options", "names", "matrix"),
    [
        ("source,target\na,b\n", {}, "a b", [[1, 1], [0, 1]]),
        ("FROM,To\nb,a\n", {}, "b a", [[1, 1], [0, 1]]),
        ("src,dst,p\na,b,0.5\n", {}, "a b", [[1, 0.5], [0, 1]]),
        ("u;v;weight\na;b;0.5\n", {}, "a b", [[1, 0.5], [0, 1]]),
        ("FromNodeId\tToNodeId\na\tb\n", {}, "a b", [[1, 1], [0, 1]]),
        (",source,target,weight\n0,a,b,0.5\n1,b,a,1\n", {}, "a b", [[1, 0.5], [1, 1]]),
        ("weight,probability,to,from\n9,0.5,b,a\n", {}, "a b", [[1, 0.5], [0, 1]]),
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
        ("source_id,target_id\na,b\n", {}, "a b", [[1, 1], [0, 1]]),
        ("source,target\na,NA\n", {}, "a NA", [[1, 1], [0, 1]]),
        ("Source,Target\na,b\n", {"source": "TARGET", "target": "source"}, "b a", [[1, 1], [0, 1]]),
        ("x,X,y\na,c,b\n", {"source": "x", "target": "Y"}, "a b", [[1, 1], [0, 1]]),
        ("Source,Target,Type\na,b,Undirected\n", {}, "a b", [[1, 1], [1, 1]]),
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
def test_edge_table_is_read(
    write: Write, content: str, options: dict, names: str, matrix: list[list[float]]
) -> None:
    path = write("edges.csv", content)
    parameters = "".join(f", {key}={value}" for key, value in options.items())
    for process in (
        from_csv(path, **options),
        load_graph(path, **options),
        as_process(f"file(path={path}{parameters})"),
        as_process(write("edges.tsv", content), arms=len(matrix))
        if not options
        else from_csv(path, **options),
    ):
        assert_same_graph(process, names.split(), np.array(matrix))


@each(
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
def test_adjacency_table_is_read(write: Write, content: str, names: str | None) -> None:
    process = load_graph(write("graph.csv", content))
    known = None if names is None else tuple(name.replace("_", " ") for name in names.split())
    assert process.names == known
    assert matrix_of(process).tolist() == [[1, 0.5], [0, 1]]


def test_adjacency_table_of_one_arm_is_read(write: Write) -> None:
    assert load_graph(write("graph.csv", ",a\na,0\n")).names == ("a",)
    assert load_graph(write("graph.csv", "0\n")).arms == 1


def test_data_frame_columns_can_be_named() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "c": [0.5, 1.0], "weight": [3, 4]})
    process = from_frame(frame, "a", "b", "c")
    assert_same_graph(process, ["x", "y", "z"], np.array([[1, 0.5, 0], [0, 1, 1], [0, 0, 1]]))
    both = from_frame(frame, source="b", target="a", probability=None, directed=False)
    assert_same_graph(both, ["y", "x", "z"], np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1]]))


def test_integer_columns_with_missing_values_stay_integers() -> None:
    for frame in (
        pd.DataFrame({"u": [1, 3, 2], "v": [2, None, 1]}),
        pd.DataFrame({"u": [1, 3, 2], "v": [2, None, 1]}, dtype="Int64"),
        pl.DataFrame({"u": [1, 3, 2], "v": [2, None, 1]}),
        pa.table({"u": [1, 3, 2], "v": [2, None, 1]}),
    ):
        assert_same_graph(
            as_process(frame), ["1", "2", "3"], np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
        )


def test_large_integers_with_missing_values_stay_distinct() -> None:
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
        assert_same_graph(as_process(frame), names, want)


def test_data_frame_with_gephi_types_is_read() -> None:
    frame = pd.DataFrame({"Source": ["a", "c", "d"], "Target": ["b", "a", None]})
    frame["Type"] = ["Undirected", "directed", None]
    assert_same_graph(from_frame(frame), list("abcd"), np.array(GEPHI))
    assert matrix_of(from_frame(pl.from_pandas(frame), directed=True))[1, 0] == 0.0


@each("diagonal", [0.0, 1.0])
def test_adjacency_frame_is_read(diagonal: float) -> None:
    graph = nx.DiGraph([("from", "to", {"weight": 0.5}), ("to", "x y", {"weight": 1})])
    frame = nx.to_pandas_adjacency(graph)
    frame += np.eye(3) * diagonal
    want = np.array([[1, 0.5, 0], [0, 1, 1], [0, 0, 1]])
    assert_same_graph(as_process(frame), ["from", "to", "x y"], want)
    assert_same_graph(as_process(frame.astype(object)), ["from", "to", "x y"], want)
    assert_same_graph(as_process(pd.DataFrame(want)), ["0", "1", "2"], want)
    for options in ({"directed": False}, {"probability": None}):
        with pytest.raises(InputError, match=f"matrix, which has no option {next(iter(options))}="):
            from_frame(frame, **options)


def test_column_names_of_data_frame_can_be_any_text() -> None:
    """They are attributes of the frame: it is not taken for a process or a NetworkX graph."""
    odd = ["process", "round", "deterministic", "adjacency", "is_directed", "tocoo", "reach"]
    frame = pd.DataFrame({"source": ["a"], "target": ["b"], **{name: [1] for name in odd}})
    assert as_process(frame).names == ("a", "b")
