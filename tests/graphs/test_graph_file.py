"""Tests of graph files: hostile, damaged and compressed files."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import check_refusal, refuses
from helpers.cases import each
from helpers.graph_files import GRAPHML_BODY, array_bytes, error_message
from hypothesis import given, settings
from hypothesis import strategies as st

import graphbandits._files
from graphbandits._files import read_bytes
from graphbandits.errors import InputError
from graphbandits.graphs import (
    Fixed,
    from_csv,
    from_edge_list,
    from_graphml,
    from_npy,
    load_graph,
    readers,
)

sixty_examples = settings(max_examples=60, deadline=None, derandomize=True)
Write = Callable[[str, str | bytes], Path]
NAMES = ["edges.txt", "edges.csv", "graph.graphml", "graph.npy"]


@each("name", ["/dev/null", "/dev/zero", "pipe.csv", "pipe.npz"])
def test_only_regular_files_are_read(name: str, tmp_path: Path) -> None:
    """A pipe, and a device that never ends, would hang."""
    path = Path(name) if name.startswith("/") else tmp_path / name
    if not path.exists():
        os.mkfifo(path)
    assert "it is not a regular file" in error_message(path)
    with refuses(InputError):
        read_bytes(path, "plug-in")
    link = tmp_path / f"{path.name}.txt"
    link.symlink_to(path)
    assert "it is not a regular file" in error_message(link)


@each("name", NAMES)
def test_too_large_unpacked_file_is_rejected(
    write: Write, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "MOST_UNPACKED", 3 << 20)
    content = b"source,target\n" + b"a,b\n" * (1 << 20)
    message = error_message(write(f"{name}.gz", gzip.compress(content)))
    check_refusal(message)
    assert "more than 3 MiB" in message
    two = gzip.compress(content[: 2 << 20]) * 2  # members that are small each
    assert "more than 3 MiB" in error_message(write(f"{name}.gz", two))


def test_largest_allowed_unpacked_file_is_read(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"source,target\na,b\n"
    monkeypatch.setattr(readers, "MOST_UNPACKED", len(content))
    path = write("edges.csv.gz", gzip.compress(content))
    assert load_graph(path).arms == 2
    monkeypatch.setattr(readers, "MOST_UNPACKED", len(content) - 1)
    error_message(path)


def test_graph_larger_than_memory_is_rejected(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("graphbandits.graphs.edges.from_edges", full)
    for name in ("edges.txt", "edges.csv", "graph.graphml"):
        assert "not enough memory for the graph" in error_message(write(name, GOOD[name]))
    monkeypatch.setattr(graphbandits._files, "read_regular", full)
    assert "it does not fit into memory" in error_message(write("edges.txt", GOOD["edges.txt"]))


@each("name", NAMES)
def test_unreadable_file_is_rejected(tmp_path: Path, name: str) -> None:
    assert "No such file" in error_message(tmp_path / name)
    (tmp_path / name).mkdir()
    assert "Is a directory" in error_message(tmp_path / name)


@each("name", NAMES)
def test_damaged_gz_file_is_rejected(write: Write, name: str) -> None:
    whole = gzip.compress(b"source,target\n" + b"a,b\n" * 1000)
    for content in (whole[:-9], whole[:12], whole[:3], whole[:-8] + bytes(8), whole + b"x"):
        assert "gz-compressed, but truncated or damaged" in error_message(
            write(f"{name}.gz", content)
        )


@each("name", ["edges.txt", "edges.csv"])
@each(
    ("content", "reason"),
    [
        ("source,target\nZürich,Köln\n".encode("latin-1"), "line 2 has the byte 0xfc"),
        (b"source,target\na,b\na,\0\n", "line 3 has the byte 0x00"),
        ("source,target\n".encode("utf-16"), "looks like UTF-16"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "line 1 has the byte 0x89"),
    ],
)
def test_binary_file_is_rejected(write: Write, name: str, content: bytes, reason: str) -> None:
    message = error_message(write(name, content))
    assert "is not text in UTF-8" in message
    assert reason in message


@each("load", [from_csv, from_edge_list, from_graphml, from_npy, load_graph])
def test_invalid_path_is_rejected(load: Callable[[Any], Fixed]) -> None:
    for path in [None, 3, [], b"edges.txt", object()]:
        with refuses(InputError):
            load(path)


GOOD = {
    "edges.txt": b"# some\nann bob 0.5\nbob eve\njoe\n",
    "edges.csv": b'source,target,p\n"Ann, B.",bob,0.5\nbob,eve,1\njoe,,\n',
    "graph.csv": b",ann,bob\nann,1,0.5\nbob,0,1\n",
    "graph.graphml": GRAPHML_BODY.format(
        "<edge source='a' target='b'><data key='p'>.5</data></edge>"
    ).encode(),
}


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.sampled_from([*GOOD, "graph.npy", "edges.txt.gz"]), st.data())
def test_damaged_file_is_rejected_or_another_graph(
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


@sixty_examples
@given(st.data(), st.sampled_from(["edges.txt", "edges.csv"]))
def test_error_names_the_right_line(
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
