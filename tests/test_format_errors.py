"""Graph files that are wrong: each is refused in one line, with the place and what is wrong."""

from __future__ import annotations

import gzip
import io
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import graphbandits.files
from graphbandits import Agent
from graphbandits.cli import app
from graphbandits.errors import InputError, InputWarning
from graphbandits.files import read_bytes
from graphbandits.graphs import (
    Dense,
    Fixed,
    GivenSequence,
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
)
from graphbandits.graphs.io import files

few = settings(max_examples=60, deadline=None, derandomize=True)


Write = Callable[[str, str | bytes], Path]


def refused(path: Path | str, **options: Any) -> str:
    """The message about a file, which names it and is one line; the command line says the same."""
    with pytest.raises(InputError) as caught:
        load_graph(path, **options)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    if not options:
        args = ["inspect", "--beta", "1,1", "--graph", f"file:{path}"]
        result = CliRunner().invoke(app, args)
        assert result.exit_code == 2
        assert result.stderr == f"Error: {' '.join(message.split())}\n"
    return message


NAMES = ["edges.txt", "edges.csv", "graph.graphml", "graph.npy"]

# Hostile files


@pytest.mark.parametrize("name", ["/dev/null", "/dev/zero", "pipe.csv", "pipe.npz"])
def test_only_regular_files_are_read(name: str, tmp_path: Path) -> None:
    """A pipe, and a device that never ends, would hang."""
    path = Path(name) if name.startswith("/") else tmp_path / name
    if not path.exists():
        os.mkfifo(path)
    assert "it is no regular file" in refused(path)
    with pytest.raises(InputError, match="it is no regular file"):
        read_bytes(path, "plug-in")
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    assert "it is no regular file" in refused(link)


@pytest.mark.parametrize("name", NAMES)
def test_what_unpacks_to_too_much_is_refused(
    write: Write, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_UNPACKED", 3 << 20)
    content = b"source,target\n" + b"a,b\n" * (1 << 20)
    message = refused(write(f"{name}.gz", gzip.compress(content)))
    assert "unpacks to more than 3 MiB, the most that is unpacked: unpack it" in message
    two = gzip.compress(content[: 2 << 20]) * 2  # members that are small each
    assert "more than 3 MiB" in refused(write(f"{name}.gz", two))


def test_as_much_as_is_allowed_is_unpacked(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"source,target\na,b\n"
    monkeypatch.setattr(files, "MOST_UNPACKED", len(content))
    path = write("edges.csv.gz", gzip.compress(content))
    assert load_graph(path).arms == 2
    monkeypatch.setattr(files, "MOST_UNPACKED", len(content) - 1)
    refused(path)


@pytest.mark.parametrize("arms", [2 * 10**12, 10**9 + 1])
def test_a_sparse_matrix_of_too_many_arms(tmp_path: Path, arms: int) -> None:
    matrix = sp.coo_array(([0.5], ([0], [1])), shape=(arms, arms))
    sp.save_npz(tmp_path / "graph.npz", matrix)
    assert (tmp_path / "graph.npz").stat().st_size < 2000
    assert f"arms must be at most 1000000000; this matrix has {arms}" in refused(
        tmp_path / "graph.npz"
    )
    with pytest.raises(InputError, match="at most 1000000000"):
        as_process(matrix)


def test_an_archive_that_promises_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header of a few bytes would make NumPy allocate terabytes."""
    path = tmp_path / "graph.npz"
    sp.save_npz(path, sp.eye_array(3, k=1, format="csr"))
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
    np.lib.format.write_array_header_1_0(stream, header)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (held | {"data.npy": stream.getvalue()}).items():
            archive.writestr(name, content)
    assert "shape (10000000000000,) is larger than the file" in refused(path)
    # and one whose arrays are as large as they say, packed
    sp.save_npz(path, sp.coo_array((np.zeros(10**6), ([0] * 10**6, [1] * 10**6)), shape=(2, 2)))
    monkeypatch.setattr(graphbandits.files, "MOST_UNPACKED", 1 << 20)
    assert "it unpacks to more than 1 MiB" in refused(path)


def test_a_graph_that_does_not_fit_into_memory(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("graphbandits.graphs.io.edges.from_edges", full)
    for name in ("edges.txt", "edges.csv", "graph.graphml"):
        assert "the graph does not fit into memory" in refused(write(name, GOOD[name]))
    monkeypatch.setattr(graphbandits.files, "read_regular", full)
    assert "it does not fit into memory" in refused(write("edges.txt", GOOD["edges.txt"]))


@pytest.mark.parametrize("rows", [0, 2000])
def test_a_very_long_cell(write: Write, rows: int) -> None:
    """It is not taken for a quote that is never closed, neither at once nor in a large file."""
    pad = "".join(f"node {i},{'y' * 600}\n" for i in range(rows))
    head = f"source,target\n{pad}"
    for cell in ('"' + "x" * 200_000 + '"', "x" * 200_000, '"' + 'x""' * 100_000 + '"'):
        message = refused(write("edges.csv", f"{head}{cell},b\na,b\n"))
        assert message.endswith(f"line {rows + 2}: no CSV: a cell has more than 131072 characters")
    message = refused(write("edges.csv", f'{head}"{"x" * 200_000},b\na,b\n'))
    assert message.endswith(f"line {rows + 2}: no CSV: a quote is opened and never closed")


# Tables of edges


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("source,target\na,b\nc\n", 3, "names 2 columns; this one has 1"),
        ("source,target\na,b\n\nc,d,e\n", 4, "names 2 columns; this one has 3"),
        ("source,target,p\na,b,often\n", 2, "column 'p': .*in [0, 1], not 'often'"),
        ("source,target,p\na,b,\n", 2, "not ''"),
        ("source,target,p\na,b,nan\n", 2, "not 'nan'"),
        ("source,target,p\na,b,inf\n", 2, "not 'inf'"),
        ("source,target,p\na,b,-0.1\n", 2, "not '-0.1'"),
        ("source;target;p\na;b;0,5\n", 2, "not '0,5'"),
        (
            "source,target,weight\na,b,1\nb,c,3\n",
            3,
            "column 'weight': .*'3'; with probability=None",
        ),
        ("source,target,p\na,b,0.5\nc,d,1\na,b,0.25\n", 4, "a -> b was given before with 0.5"),
        ("source,target,p\na,b,0.5\na,b,0\n", 3, "a -> b was given before with 0.5"),
        ("source,target,p\na,b,0.5\na,a,0.5\n", 3, "a that is played is always observed"),
        ("source,target,p\na,b,0.5\n,b,0.5\n", 3, "'source' is empty"),
        ('source,target\na,b\n"a,b\nc,d\n', 3, "quote"),
        ('source,target\na,b\n"a"x,b\n', 3, "no CSV"),
        ('source,target\n"a\nb",c\n"a\nb",d,e\n', 4, "names 2 columns; this one has 3"),
        ("source,target,source\na,b,c\n", 1, "two columns are called 'source'"),
        (b"\xef\xbb\xbfsource,target\r\na,b\r\nc\r\n", 3, "names 2 columns"),
        ('source,target\na,"' + "x" * 200_000, 2, "quote"),
        ("source;target;p\na;b;0,5\n", 2, "not '0,5'; write 0.5"),
        ("source,target,p\na,b,50%\n", 2, "not '50%'; write 0.5"),
        ("source,target,p\na,b,\n", 2, "a missing one does not make an edge sure"),
        ("source,target,p\na,b,NA\n", 2, "not 'NA'; a missing one does not make"),
        ("source,target,p\na,b,0_1\n", 2, "not '0_1'"),
        ("source,target,p\na,b,\u0661\n", 2, "not '\u0661'"),
        ("Source,source,target\na,b,c\n", 1, "two columns are called 'Source' and 'source'"),
        (
            "source,target,Type\na,b,Undirected\nb,c,Mutual\n",
            3,
            "Directed or Undirected, not 'Mutual'; directed=True",
        ),
        ("sep=;\r\n# note\r\n\r\nsource;target\r\na\r\n", 5, "names 2 columns"),
    ],
)
def test_a_wrong_row(write: Write, content: str | bytes, line: int, reason: str) -> None:
    message = refused(write("edges.csv", content))
    pattern = re.escape(reason).replace(r"\.\*", ".*")
    assert re.search(rf"edges\.csv, line {line}: .*{pattern}", message), message


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        (
            "source,target\na,b\n",
            {"source": "player"},
            "no column 'player': .*Known: source, target",
        ),
        ("source,target\na,b\n", {"target": "targte"}, "did you mean 'target'"),
        ("source,target\na,b\n", {"probability": "p"}, "no column 'p'"),
        ("source,target\na,b\n", {"source": "target"}, "different columns"),
        ("Xa,xA,y\na,b,c\n", {"source": "XA", "target": "y"}, "called 'Xa' and 'xA'"),
        ("source,x\na,b\n", {"source": "source"}, "say target= one of: source, x"),
        ("x,target\na,b\n", {"target": "target"}, "say source= one of: x, target"),
        ("a,b\n1,0\n0,1\n", {"directed": False}, "adjacency matrix, where directed= "),
        ("a,b\n1,0\n0,1\n", {"probability": None}, "adjacency matrix, where probability= "),
        ("source,target\na,b\n", {"label": "label"}, "takes no label="),
        ("source,target\na,b\n", {"directed": "no"}, "directed is true or false"),
        (
            "source,target,p\na,b,.5\nb,a,.25\n",
            {"directed": False},
            "line 3: the edge b -> a was given",
        ),
    ],
)
def test_a_wrong_option(write: Write, content: str, options: dict[str, Any], reason: str) -> None:
    path = write("edges.csv", content)
    with pytest.raises(InputError, match=reason):
        load_graph(path, **options)


@pytest.mark.parametrize("content", ["", "\n\n", b"\xef\xbb\xbf", "source,target\n", ",,\n"])
def test_an_empty_table(write: Write, content: str | bytes) -> None:
    assert re.search("is empty|holds no edges", refused(write("edges.csv", content)))


# Adjacency tables


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("1,0\n0,1,0\n", "line 2: 3 cells, but 2 in line 1"),
        ("a,b\n1,0\n0\n", "line 3: 1 cells, but 2"),
        ("1,0,0\n0,1,0\n0,0,1\n0,0,0\n0,0,0\n", "5 lines with 3 cells are no square matrix"),
        ("x,y,z,w\na,b,c,d\n", "no columns are called source and target .line 1 has: x, y, z, w"),
        ("ann,bob\nbob,eve\n", "line 2: .*'eve'.*without columns called source and target"),
        ("ann,bob,0.5\nbob,eve,1\n", "line 1: .*'bob'.*without columns called source and target"),
        ("a b\nb c\n", "line 2: .*not 'b c'; cells are parted by comma.*such as .txt"),
        ("1,0.5\n0,often\n", "line 2: entry 2 is a probability in .0, 1., not 'often'"),
        ("1,\n0,1\n", "line 1: entry 2 is a probability in .0, 1., not ''"),
        ("a,b\n1,0.5\n0,nan\n", "line 3: entry 2 .b. is a probability in .0, 1., not nan"),
        ("1,inf\n0,1\n", "line 1: entry 2 .*not inf"),
        ("1,-0.5\n0,1\n", "line 1: entry 2 .*not -0.5"),
        ("1,0\n\n3,1\n", "line 3: entry 1 .*not 3"),
        ("1,0\n0,0\n", "line 2: entry 2 is 0, but the diagonal is all ones"),
        ("a,b\n0.5,0\n0,1\n", "line 2: entry 1 .a. is 0.5, but the diagonal"),
        (",a,b\nb,1,0\na,0,1\n", "line 2: this row is called 'b', but its column 'a'"),
        (",a,a\na,1,0\na,0,1\n", "line 1: arms have different names.*'a' is given twice"),
        (",a,\na,1,0\n,0,1\n", "line 1: arms have different names.*'' is none"),
        ('"a,b\n1,0\n', "line 1: no CSV: a quote"),
        ("0,1\n1,2\n2,3\n", "line 2: entry 2 .1. .*not 2; .*begins with a line source,target"),
        ("1,1\n2,3\n3,4\n", "line 1: .*'1' is given twice; .*begins with a line source,target"),
        ("a;b\n1;0,5\n0;1\n", "line 2: entry 2 .b. .*not '0,5'; write 0.5"),
        ("a,b\n1,0_1\n0,1\n", "line 2: entry 2 .b. .*not '0_1'"),
    ],
)
def test_a_wrong_adjacency_table(write: Write, content: str, reason: str) -> None:
    assert re.search(reason, refused(write("graph.csv", content)))


def array_bytes(array: Any, tmp_path: Path) -> bytes:
    np.save(tmp_path / "array.npy", np.asarray(array))
    return (tmp_path / "array.npy").read_bytes()


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.ones(3), "shape .3,"),
        (np.ones((2, 3)), "shape .2, 3"),
        (np.ones((2, 2, 2)), "shape .2, 2, 2"),
        (np.ones((0, 0)), "shape .0, 0"),
        (np.array(1.0), "shape ()"),
        ([[1, 2], [0, 1]], "entry .0, 1. is a probability in .0, 1., not 2"),
        ([[1, np.nan], [0, 1]], "entry .0, 1. .*not nan"),
        ([[1, 0], [0, 0]], "entry .1, 1. is 0, but the diagonal is all ones"),
        ([[1, 0], [0, 0.5]], "entry .1, 1. is 0.5, but the diagonal"),
        ([["a", "b"], ["c", "d"]], "not of <U1"),
        ([[1j, 0], [0, 1]], "not of complex128"),
        (np.zeros((2, 2), "datetime64[s]"), "not of datetime64"),
        (np.zeros((2, 2), [("x", "f8")]), "not of"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(np.shape(value)),
)
def test_a_wrong_array(write: Write, tmp_path: Path, array: Any, reason: str) -> None:
    assert re.search(reason, refused(write("graph.npy", array_bytes(array, tmp_path))))


def test_pickled_objects_are_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "graph.npy", np.array([[{}, None]]), allow_pickle=True)
    assert "it holds Python objects" in refused(tmp_path / "graph.npy")


def test_an_archive_of_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "graph.npz", a=np.eye(2))
    assert "archive of several arrays" in refused(tmp_path / "graph.npz")
    for name in ("graph.npy", "graph.dat", "graph.xlsx", "graph.csv"):
        (tmp_path / name).write_bytes((tmp_path / "graph.npz").read_bytes())
        message = refused(tmp_path / name)
        assert "a zip archive or an Excel file" in message
        assert message == refused(tmp_path / name, source="a")  # which is not what is wrong
        assert "as CSV" in message
    with pytest.raises(InputError, match="archive of several arrays"):
        from_npy(tmp_path / "graph.npz")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"indices": np.array([7, 1])}, "cannot read a sparse matrix"),
        ({"indptr": np.array([0, 9, 2])}, "cannot read a sparse matrix"),
        ({"format": np.array(b"new")}, "cannot read a sparse matrix"),
        ({"data": np.array([{}, None])}, "cannot read a sparse matrix"),
        ({"data": np.array([1.0, 3.0])}, r"entry \(1, 0\) is 3"),
        ({"shape": np.array([2, 3])}, "square"),
    ],
)
def test_a_wrong_file_of_scipy(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    matrix = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 2]),
        "indptr": np.array([0, 1, 2]),
        "indices": np.array([1, 0]),
        "data": np.array([1.0, 0.5]),
    }
    np.savez(tmp_path / "graph.npz", **matrix)
    assert load_graph(tmp_path / "graph.npz").arms == 2
    np.savez(tmp_path / "graph.npz", **(matrix | change))
    assert re.search(reason, refused(tmp_path / "graph.npz"))
    content = (tmp_path / "graph.npz").read_bytes()
    (tmp_path / "graph.npz").write_bytes(content[:-9])
    assert "cannot read a sparse matrix" in refused(tmp_path / "graph.npz")


def test_a_matrix_takes_no_options(tmp_path: Path) -> None:
    np.save(tmp_path / "graph.npy", np.eye(2))
    for options in ({"directed": True}, {"probability": None}, {"source": "a"}, {"label": "x"}):
        assert "takes no" in refused(tmp_path / "graph.npy", **options)


def test_a_header_that_promises_too_much(tmp_path: Path) -> None:
    with (tmp_path / "graph.npy").open("wb") as stream:
        header = {"descr": "<f8", "fortran_order": False, "shape": (60000, 60000)}
        np.lib.format.write_array_header_1_0(stream, header)
    assert "cannot read an array" in refused(tmp_path / "graph.npy")


# GraphML

HEAD = '<?xml version="1.0"?>\n<graphml>\n<key id="p" for="edge" attr.name="probability"/>\n'
BODY = (
    HEAD
    + '<graph edgedefault="directed">\n<node id="a"/>\n<node id="b"/>\n{}\n</graph>\n</graphml>\n'
)


def edge(ends: str, p: str = "", more: str = "") -> str:
    data = f"<data key='p'>{p}</data>" if p else ""
    return f"<edge source='{ends[0]}' target='{ends[1]}' {more}>{data}</edge>"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            "<graphml>\n<graph edgedefault='directed'>\n<node id='a'>\n</graph></graphml>",
            "line 4: no XML: mismatched tag",
        ),
        (BODY.format("<edge"), "line 8: no XML: not well-formed"),
        (HEAD, "line 4: no XML: no element found"),
        ("<html>\n</html>", "line 1: GraphML begins with <graphml>, not with <html>"),
        ("<graphml/>", "there is no <graph>"),
        ("<graphml><graph edgedefault='directed'/></graphml>", "has no node"),
        (HEAD + "<graph>\n</graph></graphml>", "line 4: <graph> has no attribute edgedefault"),
        (
            HEAD + "<graph edgedefault='no'>\n</graph></graphml>",
            "line 4: edgedefault is directed or undirected, not 'no'",
        ),
        (BODY.format("</graph><graph edgedefault='directed'>"), "line 7: a second <graph>"),
        (BODY.format("<node/>"), "line 7: <node> has no attribute id"),
        (BODY.format("<node id='a'/>"), "line 7: the node 'a' was given in line 5 before"),
        (BODY.format("<node id=' '/>"), "line 7: a <node> has an empty id"),
        (
            BODY.format("<node id='c'/><node id='c'/>"),
            "line 7: the node 'c' was given in line 7 before",
        ),
        (BODY.format("<edge source='a'/>"), "line 7: <edge> has no attribute target"),
        (BODY.format(edge("ac")), "line 7: there is no node 'c'"),
        (
            BODY.format(edge("ab", "", "directed='no'")),
            "line 7: directed is true or false, not 'no'",
        ),
        (BODY.format("<hyperedge/>"), "line 7: .*hyperedge"),
        (
            BODY.format("<edge source='a' target='b'>\n<data key='q'>1</data></edge>"),
            "line 8: no key is called 'q': .*Known: p",
        ),
        (
            BODY.format("<edge source='a' target='b'><data>1</data></edge>"),
            "line 7: <data> has no attribute key",
        ),
        (BODY.format(edge("ab", "often")), "line 7: .*not 'often'"),
        (BODY.format("\n" + edge("ab", "3")), "line 8: .*'3'; with probability=None"),
        (BODY.format("<edge source='a' target='b'><data key='p'/></edge>"), "line 7: .*not ''"),
        (BODY.format(edge("aa", "0")), "line 7: .*always observed"),
        (
            BODY.format(edge("ab") + "\n" + edge("ab", "0.5")),
            "line 8: the edge a -> b was given before with 1",
        ),
        (
            BODY.format(edge("ba") + "\n" + edge("ab", "0.5", "directed='false'")),
            "line 8: the edge b -> a was given before with 1",
        ),
        (BODY.format("<node id='Zürich'/>").encode("latin-1"), "line 7: no XML"),
        (BODY.format("").encode() + b"\0", "line 10: no XML"),
        ('<?xml version="1.0" encoding="klingon"?><graphml/>', "encoding"),
        ("", "no XML: no element found"),
    ],
)
def test_wrong_graphml(write: Write, content: str | bytes, reason: str) -> None:
    message = refused(write("graph.graphml", content))
    assert re.search(reason, message), message


def test_wrong_options_of_graphml(write: Write) -> None:
    node = "<key id='l' for='node' attr.name='label'/><node id='c'><data key='l'>x</data></node>"
    path = write("graph.graphml", BODY.format(node))
    assert "has no label" in refused(path, label="label")
    empty = "<key id='l' for='node' attr.name='label'/>\n<node id='c'><data key='l'></data></node>"
    gephi = BODY.replace('<node id="a"/>\n<node id="b"/>\n', "").format(empty)
    message = refused(write("gephi.graphml", gephi), label="label")
    assert "line 6: the node 'c' has an empty label" in message
    assert "nodes have no attribute 'labl': did you mean 'label'" in refused(path, label="labl")
    assert "edges have no attribute 'chance'" in refused(path, probability="chance")
    assert "takes no directed=" in refused(path, directed=False)
    twice = BODY.format(node + node.partition("/>")[2].replace("'c'", "'d'"))
    twice = twice.replace("<node id='c'>", "\n<node id='c'>").replace(
        "<node id='d'>", "\n<node id='d'>"
    )
    twice = twice.replace('<node id="a"/>\n<node id="b"/>\n', "")
    path = write("graph.graphml", twice)
    assert "line 7: the label 'x' was given in line 6 before" in refused(path, label="label")


def test_entities_do_not_explode(write: Write) -> None:
    levels = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    content = f'<!DOCTYPE graphml [<!ENTITY e0 "aaaaaaaaaa">{levels}]>\n<graphml>&e11;</graphml>'
    assert "no XML" in refused(write("graph.graphml", content))


# Any file


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    assert "No such file" in refused(tmp_path / name)
    (tmp_path / name).mkdir()
    assert "Is a directory" in refused(tmp_path / name)


@pytest.mark.parametrize("name", NAMES)
def test_a_truncated_or_damaged_gz_file(write: Write, name: str) -> None:
    whole = gzip.compress(b"source,target\n" + b"a,b\n" * 1000)
    for content in (whole[:-9], whole[:12], whole[:3], whole[:-8] + bytes(8), whole + b"x"):
        assert "gz-compressed, but cut off or damaged" in refused(write(f"{name}.gz", content))


@pytest.mark.parametrize("name", ["edges.txt", "edges.csv"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("source,target\nZürich,Köln\n".encode("latin-1"), "line 2 holds the byte 0xfc"),
        (b"source,target\na,b\na,\0\n", "line 3 holds the byte 0x00"),
        ("source,target\n".encode("utf-16"), "looks like UTF-16"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "line 1 holds the byte 0x89"),
    ],
)
def test_a_file_that_is_no_text(write: Write, name: str, content: bytes, reason: str) -> None:
    message = refused(write(name, content))
    assert "is not text in UTF-8" in message
    assert reason in message


def test_commas_in_a_list_of_edges(write: Write) -> None:
    message = refused(write("edges.txt", "a b\nsource,target\n"))
    assert "line 2: words are parted by spaces" in message
    assert ".csv" in message


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("source target\na b\n", "line 1: 'source target' names columns: put '# ' before"),
        ("# x\n\nFromNodeId\tToNodeId\n1\t2\n", "line 3: 'FromNodeId\tToNodeId' names columns"),
        ("from to weight\na b 0.5\n", "line 1: 'from to weight' names columns"),
        ("u v", "line 1: .*if these are arms, write 'u v 1'"),
        ("c d\na, b\n", "line 2: words are parted by spaces, not by commas: 'a, b'"),
        ("a ,b\n", "line 1: words are parted by spaces"),
        ("a; b; 0.5\n", "line 1: words are parted by spaces"),
        ("a b, 0.5\n", "line 1: words are parted by spaces"),
        ("a;b\n", "line 1: words are parted by spaces"),
        ("a b 0_1\n", "line 1: .*not '0_1'"),
        ("a b 0,5\n", "line 1: .*; write 0.5"),
        ("0 1 0\n1 0 1\n0 1 0\n", "look like a matrix: .*.csv, with commas, or save it as .npy"),
        ("1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n", "line 1: .*4 words; .*a matrix .csv or .npy"),
        ("%%MatrixMarket matrix coordinate\n2 2 1\n1 2 1\n", "Matrix Market file: .*mmread"),
    ],
)
def test_what_is_no_list_of_edges(write: Write, content: str, reason: str) -> None:
    assert re.search(reason, refused(write("edges.txt", content)))


def test_a_matrix_that_numpy_saves_as_text(tmp_path: Path) -> None:
    for arms in (3, 4):
        np.savetxt(tmp_path / "graph.txt", np.eye(arms))
        assert "matrix" in refused(tmp_path / "graph.txt")


def test_options_that_a_list_of_edges_has_no_use_for(write: Write) -> None:
    path = write("edges.txt", "a b\n")
    for option in ("source", "target", "label"):
        assert f"takes no {option}=" in refused(path, **{option: "x"})
    assert "no names of columns" in refused(path, probability="weight")
    with pytest.raises(InputError, match="directed is true or false"):
        from_edge_list(path, directed="no")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("file", "needs path: write file\\(path=...\\)"),
        ("file(path=5)", "by its path, not by 5"),
        ("file(path=edges.txt, directed=no)", "directed is true or false"),
        ("file(path=edges.txt, direct=true)", "did you mean 'directed'"),
        ("file(path=edges.txt)", "No such file"),
        ("file:", "file:edges.txt"),
    ],
)
def test_wrong_texts(
    text: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=reason):
        as_process(text)


@pytest.mark.parametrize("load", [from_csv, from_edge_list, from_graphml, from_npy, load_graph])
@pytest.mark.parametrize("path", [None, 3, [], b"edges.txt", object()])
def test_what_is_no_path(load: Callable[[Any], Fixed], path: object) -> None:
    with pytest.raises(InputError, match="by its path"):
        load(path)


GOOD = {
    "edges.txt": b"# some\nann bob 0.5\nbob eve\njoe\n",
    "edges.csv": b'source,target,p\n"Ann, B.",bob,0.5\nbob,eve,1\njoe,,\n',
    "graph.csv": b",ann,bob\nann,1,0.5\nbob,0,1\n",
    "graph.graphml": BODY.format(
        "<edge source='a' target='b'><data key='p'>.5</data></edge>"
    ).encode(),
}


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.sampled_from([*GOOD, "graph.npy", "edges.txt.gz"]), st.data())
def test_damage_is_refused_with_a_message_or_is_another_graph(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """No traceback for any cut, any changed byte, any part that is doubled."""
    folder = tmp_path_factory.getbasetemp()
    if name == "graph.npy":
        content = array_bytes(np.array([[1, 0.5], [0, 1]]), folder)
    else:
        content = GOOD.get(name) or gzip.compress(GOOD["edges.txt"], mtime=0)
    at = data.draw(st.integers(0, len(content) - 1))
    kind = data.draw(st.sampled_from(["cut", "byte", "twice", "without"]))
    content = {
        "cut": content[:at],
        "byte": content[:at] + bytes([data.draw(st.integers(0, 255))]) + content[at + 1 :],
        "twice": content[:at] + content[at // 2 :],
        "without": content[: at // 2] + content[at:],
    }[kind]
    path = folder / f"damaged-{name}"
    path.write_bytes(content)
    message = None
    try:
        assert load_graph(path).arms >= 1
    except InputError as error:
        message = str(error)
    assert message is None or (str(path) in message and "\n" not in message)


@few
@given(st.data(), st.sampled_from(["edges.txt", "edges.csv"]))
def test_the_line_is_the_right_one(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    """Blank lines, comments, what Excel writes and cells of several lines are counted."""
    space = (
        st.sampled_from(["\n", "# a b c d e\n", " \t\n"])
        if name == "edges.txt"
        else st.sampled_from(["\n", '"x\n\ny",z,1\n', ",,\n"])
    )
    by = " " if name == "edges.txt" else ","
    good = st.integers(0, 9).map(lambda i: f"n{i}{by}m{i}{by}0.{i}\n")
    before = data.draw(st.lists(space | good, max_size=9))
    after = data.draw(st.lists(space | good, max_size=4))
    wrong = data.draw(
        st.sampled_from(
            [f"a{by}b{by}2\n", f"a{by}a{by}0.5\n", f"a{by}b{by}c{by}d\n", f"a{by}b{by}x\n"]
        )
    )
    opening = data.draw(st.sampled_from(["", "sep=,\n", "# a,b\r\n\n", "sep=,\r\n#\n"]))
    text = ("" if name == "edges.txt" else f"{opening}u,v,weight\n") + "".join(before)
    line = text.count("\n") + 1
    path = tmp_path_factory.getbasetemp() / name
    path.write_text(text + wrong + "".join(after))
    with pytest.raises(InputError, match=f"{name}, line {line}: "):
        load_graph(path)


# Objects


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        (sp.coo_array(([0.5, 0.25], ([0, 0], [1, 1])), shape=(2, 2)), "0 -> 1 is given twice"),
        (sp.coo_matrix(([0.5, 0.0], ([0, 0], [1, 1])), shape=(2, 2)), "0 -> 1 is given twice"),
        (sp.csr_array(([0.5, 0.25], [1, 1], [0, 2, 2]), shape=(2, 2)), "0 -> 1 is given twice"),
        (sp.coo_array(([0.5, 0.5], ([1, 1], [1, 1])), shape=(2, 2)), r"entry \(1, 1\) is 0.5"),
        (sp.csc_array(np.array([[0, 0], [3, 0]])), r"entry \(1, 0\) is 3"),
        (sp.csr_array(np.array([[0, np.nan], [0, 0]])), r"entry \(0, 1\) is nan"),
        (sp.lil_array(np.array([[0, -1.0], [0, 0]])), r"entry \(0, 1\) is -1"),
        (sp.csr_array(np.array([[0, 1j], [0, 0]])), "not complex128"),
        (sp.csr_array((2, 3)), r"square, K x K; this one has \(2, 3\)"),
        (sp.csr_matrix((0, 0)), "square"),
        (sp.coo_array(np.ones(3)), r"square, K x K; this one has \(3,\)"),
    ],
)
def test_wrong_sparse_matrices(matrix: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        as_process(matrix)


def test_names_of_a_sparse_matrix_must_fit() -> None:
    with pytest.raises(InputError, match="1 names were given for 2 arms"):
        from_sparse(sp.eye_array(2), ["a"])


MAKERS = {
    "matrix": lambda names: from_matrix(np.eye(2), names),
    "sparse": lambda names: from_sparse(sp.eye_array(2), names),
    "fixed": lambda names: Fixed(Dense(np.eye(2)), names),
    "sequence": lambda names: GivenSequence((Dense(np.eye(2)),), names),
    "agent": lambda names: Agent("ts-n", arms=names, graph=np.eye(2), seed=1),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["a", None], "text"),
        (["a", ["b"]], "text"),
        (["a", 2.5], "text"),
        ([True, False], "text"),
        (["a", ""], r"arm 1 .* is blank \(''\)"),
        ([" \t", "b"], r"arm 0 .* is blank"),
        (["a", "a "], "two arms have the name 'a'"),
    ],
)
def test_names_that_are_none(make: Callable[[Any], Any], names: list[Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        make(names)


@pytest.mark.parametrize("names", ["ab", 5])
def test_names_are_a_list(names: Any) -> None:
    with pytest.raises(InputError, match="list of texts"):
        from_matrix(np.eye(2), names)


@pytest.mark.parametrize(
    "names",
    [range(2), np.arange(2), np.array(["0", "1"]), pd.DataFrame(np.eye(2)).columns, ["0", 1]],
    ids=["range", "numbers", "texts", "columns", "both"],
)
def test_whole_numbers_become_texts(names: Any) -> None:
    for process in (from_matrix(np.eye(2), names), from_sparse(sp.eye_array(2), names)):
        assert process.names == ("0", "1")
        assert {type(name) for name in process.names or ()} == {str}


def test_blank_nodes_of_networkx() -> None:
    with pytest.raises(InputError, match=r"arm 1 .* is blank"):
        as_process(nx.DiGraph([("a", " ")]))
    with pytest.raises(InputError, match="two arms have the name 'a'"):
        as_process(nx.DiGraph([("a", "a ")]))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (
            {"source": ["a", "a"], "target": ["b", "b"], "p": [0.5, 0.25]},
            "row 1 .*a -> b was given before with 0.5",
        ),
        ({"source": ["a", "c"], "target": ["b", "c"], "p": [0.5, 0.25]}, "row 1 .*always observed"),
        (
            {"source": ["a", "c"], "target": ["b", "a"], "weight": [1, 3]},
            "row 1 .*'weight': .*not 3; with probability=None",
        ),
        ({"source": ["a", "c"], "target": ["b", "a"], "p": [1, None]}, "row 1 .*in .0, 1., not "),
        ({"source": ["a"], "target": ["b"], "p": ["0.5"]}, "row 0 .*not '0.5'"),
        ({"source": ["a", None], "target": ["b", "c"]}, "row 1 .*'source' has no value"),
        (
            {"source": ["a"], "goal": ["b"]},
            "the frame: no column is called target.*one of: source, goal",
        ),
        ({"source": [], "target": []}, "no rows"),
        ({"a": [1.0, 0.0], "b": [0.0, 1.0]}, "from_matrix"),
    ],
)
def test_wrong_frames(make: Callable[[Any], Any], columns: dict[str, list], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        as_process(make(columns))


@pytest.mark.parametrize("frame", [None, [], {"source": ["a"]}, np.eye(2), pd.Series([1.0])])
def test_what_is_no_frame(frame: object) -> None:
    with pytest.raises(InputError, match="named columns"):
        from_frame(frame)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"u": ["a", np.arange(2)], "v": ["b", "c"]}, "row 1 .*'u': .*not ndarray"),
        ({"u": ["a", "b"], "v": ["b", [1]]}, "row 1 .*'v': .*not list"),
        ({"u": [1, 2], "v": [2.0**53, None]}, "row 0 .*was it an integer column with gaps"),
        ({"u": ["a", " "], "v": ["b", "c"]}, "row 1 .*'u' has no value"),
        ({"u": ["a"], "v": ["b"], "p": [None]}, "row 0 .*does not make an edge sure"),
        ({"u": ["a"], "v": ["b"], "p": [np.arange(2)]}, "row 0 .*not array"),
        ({"u": ["a"], "v": ["b"], "p": ["0,5"]}, "row 0 .*not '0,5'; write 0.5"),
        ({"u": ["a"], "v": ["b"], "p": ["0.5"]}, "row 0 .*it is a text: make the column one of"),
        ({"u": ["a"], "U": ["a"], "v": ["b"]}, "two columns are called 'u' and 'U'"),
    ],
)
def test_odd_cells_of_a_frame(columns: dict[str, list], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        as_process(pd.DataFrame(columns))


@pytest.mark.parametrize("cell", [3.0, "x", None, -1])
def test_a_wrong_adjacency_frame(cell: object) -> None:
    frame = pd.DataFrame([[1, cell], [0, 1]], ["a", "b"], ["a", "b"])
    with pytest.raises(InputError, match=r"entry \(a, b\) is a probability .*source= and target="):
        as_process(frame)
    with pytest.raises(InputError, match="from_matrix"):
        as_process(frame.rename(index={"a": "c"}))


def test_wrong_weights_of_networkx_are_named() -> None:
    graph = nx.Graph([("a", "b", {"weight": 3})])
    with pytest.raises(InputError, match=r"a -> b has the weight 3.*\[0, 1\].*probability=None"):
        as_process(graph)
    with pytest.raises(InputError, match=r"no edge .* attribute 'chance'"):
        from_networkx(graph, probability="chance")
    parallel = nx.MultiGraph([("a", "b", {"weight": 0.5}), ("b", "a", {"weight": 0.25})])
    with pytest.raises(InputError, match=r"was given before with 0\.5, and now with 0\.25"):
        as_process(parallel)


def test_a_column_that_looks_like_probabilities_is_not_ignored(tmp_path: Path) -> None:
    """All edges would be sure without a word."""
    path = tmp_path / "edges.csv"
    path.write_text("from,to,strength,id\nann,bob,0.5,1\nbob,eve,1,0\n")
    with pytest.raises(InputError, match=r"line 1: the column 'strength' looks like prob"):
        load_graph(path)
    assert not load_graph(path, probability="strength").deterministic
    assert load_graph(path, probability=None).deterministic
    frame = pd.read_csv(path)
    with pytest.raises(InputError, match="the column 'strength' looks like probabilities"):
        from_frame(frame)
    assert from_frame(frame[["from", "to", "id"]]).deterministic  # whole numbers are ids
    path.write_text("from,to,prob\nann,bob,0.5\n")
    assert not load_graph(path).deterministic


# The numbers of nodes and edges in the first line of a list of edges


KARATE = nx.karate_club_graph()


def numbered(edges: Any, first: int = 0) -> str:
    return "".join(f"{u + first} {v + first}\n" for u, v, *_ in edges)


@pytest.mark.parametrize(
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
        ("4 3\nann bob\nbob eve\neve joe\n", 1, "4 3"),
        ("3 3\nann bob\nbob eve\neve ann\n", 1, "3 3"),
        ("4 5\n" + numbered([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], 1), 1, "4 5"),
        ("300 44850\n" + numbered(nx.complete_graph(300).edges), 1, "300 44850"),
        (
            "100000 120000\n"
            + "".join(f"{i % 50000} {i % 49999 + 50000}\n" for i in range(120000)),
            1,
            "100000 120000",
        ),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_a_line_of_two_counts_is_warned_of(
    write: Write, content: str, line: int, counts: str
) -> None:
    path = write("edges.txt", content)
    want = f"^{re.escape(str(path))}, line {line}: '{counts}' looks like the numbers of nodes and"
    with pytest.warns(InputWarning, match=want):
        warned = load_graph(path)
    lines = content.split("\n")
    path.write_text("\n".join([*lines[: line - 1], f"# {lines[line - 1]}", *lines[line:]]))
    assert set(load_graph(path).names or ()) <= set(warned.names or ())


@pytest.mark.parametrize(
    "content",
    [
        "34 78\n",
        "0 0\n",
        "1 1\n",
        "2 1\n1 2\n",
        "2 1\n0 2\n",
        "2 1\nann bob\n",
        "3 2\n1 2\n2 3\n",
        "3 3\n1 2\n2 3\n3 1\n",
        "4 3\n1 2\n2 3\n3 4\n",
        "5 3\n1 2\n2 3\n3 4\n",
        "34 78 1\n" + numbered(KARATE.edges),
        "34 77\n" + numbered(KARATE.edges),
        "33 78\n" + numbered(KARATE.edges),
        "34.0 78\n" + numbered(KARATE.edges),
        "34\n78\n" + numbered(KARATE.edges),
        "40 78\n" + numbered(KARATE.edges, 100),
        f"{'9' * 30} 78\n" + numbered(KARATE.edges),
        numbered(KARATE.edges),
        numbered(reversed(list(KARATE.edges))),
        numbered(nx.path_graph(100).edges),
        numbered(reversed(list(nx.path_graph(100).edges)), 1),
        numbered(nx.star_graph(50).edges),
        numbered(((v, u) for u, v in nx.star_graph(50).edges), 1),
        numbered(nx.complete_graph(8).edges),
        numbered(nx.cycle_graph(12).edges, 1),
    ],
    ids=lambda content: repr(content[:12]),
)
def test_an_ordinary_list_of_edges_is_not_warned_of(write: Write, content: str) -> None:
    assert load_graph(write("edges.txt", content)).arms >= 1


@pytest.mark.filterwarnings("default")
def test_the_command_line_warns_in_one_line(write: Write) -> None:
    path = write("edges.txt", "34 78\n" + numbered(KARATE.edges))
    result = CliRunner().invoke(app, ["graph", f"file:{path}", "--json", "--time-limit", "0.1"])
    assert result.exit_code == 0
    assert result.stderr == (
        f"Warning: {path}, line 1: '34 78' looks like the numbers of nodes and edges, but is read "
        "as an edge: put '# ' before it, or remove it\n"
    )
