"""Tests of matrices: arrays, sparse matrices and files of NumPy and SciPy."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.bad_input import check_refusal, refuses
from helpers.cases import each
from helpers.graph_files import (
    Named,
    any_names,
    array_bytes,
    assert_same_graph,
    cell_names,
    error_message,
    matrix_of,
    named_graphs,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import graphbandits._files
from graphbandits import Agent
from graphbandits.errors import InputError
from graphbandits.graphs import (
    DenseFeedback,
    Fixed,
    GivenSequence,
    RandomFeedback,
    RevealedErdosRenyi,
    SparseFeedback,
    as_process,
    from_matrix,
    from_npy,
    from_sparse,
    load_graph,
)
from graphbandits.rng import Keys

Write = Callable[[str, str | bytes], Path]


@each("arms", [2 * 10**12, 10**9 + 1])
def test_sparse_matrix_with_too_many_arms_is_rejected(tmp_path: Path, arms: int) -> None:
    matrix = sp.coo_array(([0.5], ([0], [1])), shape=(arms, arms))
    sp.save_npz(tmp_path / "graph.npz", matrix)
    assert (tmp_path / "graph.npz").stat().st_size < 2000
    message = error_message(tmp_path / "graph.npz")
    check_refusal(message)
    assert "at most 1000000000 arms" in message
    assert message.endswith(f" {arms}")
    with refuses(InputError):
        as_process(matrix)


def test_archive_with_too_large_header_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert "shape (10000000000000,) is larger than the file" in error_message(path)
    # and an archive whose arrays have the size of their headers, compressed
    sp.save_npz(path, sp.coo_array((np.zeros(10**6), ([0] * 10**6, [1] * 10**6)), shape=(2, 2)))
    monkeypatch.setattr(graphbandits._files, "MOST_UNPACKED", 1 << 20)
    assert "it unpacks to more than 1 MiB" in error_message(path)


@each(
    "array",
    [
        np.ones(3),
        np.ones((2, 3)),
        np.ones((2, 2, 2)),
        np.ones((0, 0)),
        np.array(1.0),
        [[1, 2], [0, 1]],
        [[1, np.nan], [0, 1]],
        [[1, 0], [0, 0]],
        [[1, 0], [0, 0.5]],
        [["a", "b"], ["c", "d"]],
        [[1j, 0], [0, 1]],
        np.zeros((2, 2), "datetime64[s]"),
        np.zeros((2, 2), [("x", "f8")]),
    ],
)
def test_wrong_array_is_rejected(write: Write, tmp_path: Path, array: Any) -> None:
    check_refusal(error_message(write("graph.npy", array_bytes(array, tmp_path))))


def test_pickled_objects_are_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "graph.npy", np.array([[{}, None]]), allow_pickle=True)
    assert "it has Python objects" in error_message(tmp_path / "graph.npy")


def test_archive_with_one_array_is_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "graph.npz", a=np.eye(2))
    assert "archive of several arrays" in error_message(tmp_path / "graph.npz")
    for name in ("graph.npy", "graph.dat", "graph.xlsx", "graph.csv"):
        (tmp_path / name).write_bytes((tmp_path / "graph.npz").read_bytes())
        message = error_message(tmp_path / name)
        assert "a zip archive or an Excel file" in message
        assert message == error_message(tmp_path / name, source="a")  # which is not what is wrong
        assert "as CSV" in message
    with refuses(InputError):
        from_npy(tmp_path / "graph.npz")


@each(
    ("change", "reason"),
    [
        ({"indices": np.array([7, 1])}, "cannot read a matrix"),
        ({"indptr": np.array([0, 9, 2])}, "cannot read a matrix"),
        ({"format": np.array(b"new")}, "cannot read a matrix"),
        ({"data": np.array([{}, None])}, "cannot read a matrix"),
        ({"data": np.array([1.0, 3.0])}, r"entry \(1, 0\) is 3"),
        ({"shape": np.array([2, 3])}, "square"),
    ],
)
def test_wrong_scipy_file_is_rejected(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
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
    assert re.search(reason, error_message(tmp_path / "graph.npz"))
    content = (tmp_path / "graph.npz").read_bytes()
    (tmp_path / "graph.npz").write_bytes(content[:-9])
    assert "cannot read a matrix" in error_message(tmp_path / "graph.npz")


def test_matrix_file_accepts_no_options(tmp_path: Path) -> None:
    np.save(tmp_path / "graph.npy", np.eye(2))
    for options in ({"directed": True}, {"probability": None}, {"source": "a"}, {"label": "x"}):
        assert "has no option" in error_message(tmp_path / "graph.npy", **options)


def test_npy_header_with_too_large_shape_is_rejected(tmp_path: Path) -> None:
    with (tmp_path / "graph.npy").open("wb") as stream:
        header = {"descr": "<f8", "fortran_order": False, "shape": (60000, 60000)}
        np.lib.format.write_array_header_1_0(stream, header)
    assert "cannot read a matrix" in error_message(tmp_path / "graph.npy")


@each(
    "matrix",
    [
        sp.coo_array(([0.5, 0.25], ([0, 0], [1, 1])), shape=(2, 2)),
        sp.coo_matrix(([0.5, 0.0], ([0, 0], [1, 1])), shape=(2, 2)),
        sp.csr_array(([0.5, 0.25], [1, 1], [0, 2, 2]), shape=(2, 2)),
        sp.coo_array(([0.5, 0.5], ([1, 1], [1, 1])), shape=(2, 2)),
        sp.csc_array(np.array([[0, 0], [3, 0]])),
        sp.csr_array(np.array([[0, np.nan], [0, 0]])),
        sp.lil_array(np.array([[0, -1.0], [0, 0]])),
        sp.csr_array(np.array([[0, 1j], [0, 0]])),
        sp.csr_array((2, 3)),
        sp.csr_matrix((0, 0)),
        sp.coo_array(np.ones(3)),
    ],
)
def test_wrong_sparse_matrix_is_rejected(matrix: Any) -> None:
    with refuses(InputError):
        as_process(matrix)


MAKERS = {
    "matrix": lambda names: from_matrix(np.eye(2), names),
    "sparse": lambda names: from_sparse(sp.eye_array(2), names),
    "fixed": lambda names: Fixed(DenseFeedback(np.eye(2)), names),
    "sequence": lambda names: GivenSequence((DenseFeedback(np.eye(2)),), names),
    "random": lambda names: RandomFeedback(2, 0.5, names=names),
    "drawn": lambda names: RevealedErdosRenyi(2, 0.5, names=names),
    "agent": lambda names: Agent("ts-n", arms=names, graph=np.eye(2), seed=1),
}


@each(
    "names",
    [
        ["a", None],
        ["a", ["b"]],
        ["a", 2.5],
        [True, False],
        ["a", ""],
        [" \t", "b"],
        ["a", "a "],
        ["a"],
    ],
)
def test_invalid_names_are_rejected(names: list[Any]) -> None:
    for make in MAKERS.values():
        with refuses(InputError):
            make(names)


@each("names", ["ab", 5])
def test_names_must_be_a_list(names: Any) -> None:
    with refuses(InputError):
        from_matrix(np.eye(2), names)


@each(
    "names",
    [range(2), np.arange(2), np.array(["0", "1"]), pd.DataFrame(np.eye(2)).columns, ["0", 1]],
)
def test_integer_names_become_text(names: Any) -> None:
    for process in (from_matrix(np.eye(2), names), from_sparse(sp.eye_array(2), names)):
        assert process.names == ("0", "1")
        assert {type(name) for name in process.names or ()} == {str}


forty_examples = settings(max_examples=40, deadline=None, derandomize=True)


@forty_examples
@given(named_graphs(cell_names), st.sampled_from(["zeros", "ones"]))
def test_matrix_file_round_trip(folder: Path, graph: Named, diagonal: str) -> None:
    names, matrix = graph
    written = matrix - (np.eye(len(names)) if diagonal == "zeros" else 0.0)
    np.save(folder / "graph.npy", written)
    np.savetxt(folder / "graph.csv", written, delimiter=",", fmt="%.17g")
    for name in ("graph.npy", "graph.csv"):
        process = as_process(f"file:{folder / name}")
        assert process.names is None
        assert (matrix_of(process) == matrix).all()


@forty_examples
@given(
    named_graphs(any_names),
    st.sampled_from(["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]),
    st.booleans(),
)
def test_sparse_matrix_round_trip(graph: Named, kind: str, diagonal: bool) -> None:
    names, matrix = graph
    given = matrix - (0.0 if diagonal else np.eye(len(names)))
    for make in (sp.coo_array, sp.coo_matrix):
        assert_same_graph(from_sparse(make(given).asformat(kind), names), names, matrix)
        process = as_process(make(given).asformat(kind))
        assert process.names is None
        assert (matrix_of(process) == matrix).all()


def test_stored_zeros_and_diagonal_entries_of_sparse_matrix() -> None:
    matrix = sp.coo_array(([0.0, 1.0, 0.5, 0.5], ([0, 1, 2, 2], [1, 1, 0, 0])), shape=(3, 3))
    assert matrix_of(as_process(matrix)).tolist() == [[1, 0, 0], [0, 1, 0], [0.5, 0, 1]]
    matrix = sp.csr_array(([0.0, 1.0], ([0, 0], [0, 1])), shape=(2, 2))
    assert matrix.nnz == 2
    assert matrix_of(as_process(matrix)).tolist() == [[1, 1], [0, 1]]


@each("kind", [bool, np.int8, np.float32])
def test_sparse_matrices_of_any_type(kind: type) -> None:
    assert as_process(sp.csr_array(np.eye(3, k=1).astype(kind))).deterministic is True


@each("kind", ["bsr", "coo", "csc", "csr", "dia"])
@each("make", [sp.coo_array, sp.coo_matrix])
def test_scipy_file_is_read(tmp_path: Path, kind: str, make: type) -> None:
    matrix = np.array([[0, 0.5, 0], [0, 0, 1], [0, 0, 0]])
    sp.save_npz(tmp_path / "graph.npz", make(matrix).asformat(kind), compressed=kind == "csr")
    for process in (load_graph(tmp_path / "graph.npz"), from_npy(tmp_path / "graph.npz")):
        assert process.names is None
        assert (matrix_of(process) == matrix + np.eye(3)).all()


def test_large_sparse_matrix_stays_sparse() -> None:
    matrix = sp.eye_array(200_000, k=1, format="csr")
    process = as_process(matrix, arms=200_000)
    assert isinstance(process, Fixed)
    assert isinstance(process.feedback, SparseFeedback)
    assert len(process.feedback.column) == 399_999


def test_npy_file_is_recognized_by_content(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "b.dat").write_bytes((tmp_path / "a.npy").read_bytes())
    assert load_graph(tmp_path / "b.dat").arms == from_npy(tmp_path / "a.npy").arms == 3


DIRECTED = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [0.25, 0.0, 1.0]])


@each(
    "given",
    [
        list(DIRECTED),
        DIRECTED,
        DIRECTED.tolist(),
        np.asfortranarray(DIRECTED),
        DIRECTED.astype(np.float32),
        DIRECTED.astype(object),
        np.repeat(DIRECTED, 2, axis=1)[:, ::2],
        DenseFeedback(DIRECTED),
        Fixed(DenseFeedback(DIRECTED)),
    ],
)
def test_matrix_can_have_any_array_type(given: object) -> None:
    process = as_process(given, arms=3)
    assert isinstance(process, Fixed)
    assert (matrix_of(process) == DIRECTED).all()
    h = np.array([[0.25, 0.5, 1.0]])
    assert process.round(1, Keys(0)).gain(h).tolist() == [[0.5, 1.5, 1.0625]]


@each("kind", [bool, int, np.uint8])
def test_zeros_and_ones_can_have_any_dtype(kind: type) -> None:
    process = as_process(np.triu(np.ones((4, 4))).astype(kind))
    assert (matrix_of(process) == np.triu(np.ones((4, 4)))).all()
    assert process.deterministic is True


def test_names_of_matrix() -> None:
    assert from_matrix(DIRECTED, ("x", "y", "z")).names == ("x", "y", "z")
    with refuses(InputError):
        from_matrix(DIRECTED, ("x", "y"))


def test_large_matrix_is_stored_sparse() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random((130, 130)) * (rng.random((130, 130)) < 0.1)
    np.fill_diagonal(matrix, 1.0)
    process = as_process(matrix)
    assert isinstance(process.round(1, Keys(0)), SparseFeedback)
    assert (matrix_of(process) == matrix).all()
