"""Matrices of probabilities: dense, scipy sparse, ``.npy`` files, adjacency tables."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphbandits._io import check_array_header, check_npz
from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs.feedback import (
    DENSE_LIMIT,
    DenseFeedback,
    first_invalid_probability,
    from_edges,
)
from graphbandits.graphs.io._edge_builder import MOST_ARMS, floats, is_number, remedy
from graphbandits.graphs.io._graph_file import GraphFile
from graphbandits.graphs.processes import Fixed, check_names


def from_matrix(matrix: Any, names: Iterable[str | int] | None = None) -> Fixed:
    """A fixed graph from a K x K array of probabilities with ones on its diagonal.

    An array of zeros and ones with an empty diagonal is refused: whether its author thought of
    self-loops is not known. Add ``np.eye(K)``, or give it as a file or a sparse matrix, where
    this is the custom. ``names`` are texts or whole numbers, one for each arm.

    >>> from_matrix([[1, 0.5], [0, 1]]).deterministic
    False
    """
    dense = DenseFeedback(matrix)
    if not dense.shared:
        raise InputError(
            f"a fixed graph is one K x K matrix; for one a round give a list of "
            f"{len(dense.matrix)} matrices"
        )
    known = check_names(names, dense.arms)
    if dense.arms <= DENSE_LIMIT:
        return Fixed(dense, known)
    source, target = np.nonzero(dense.matrix[0])
    return Fixed(from_edges(dense.arms, source, target, dense.matrix[0, source, target]), known)


def from_sparse(matrix: Any, names: Iterable[str | int] | None = None) -> Fixed:
    """A fixed graph from a scipy sparse matrix or array of probabilities, in any format.

    What is not stored, or stored as zero, is no edge; on the diagonal it is a one. An entry that is
    stored twice must be the same both times: probabilities are not summed.

    >>> from scipy.sparse import coo_array
    >>> graph = from_sparse(coo_array(([0.5], ([0], [1])), shape=(2, 2)), names=["ann", "bob"])
    >>> graph.feedback.reach(np.arange(2))
    array([[1. , 0.5],
           [0. , 1. ]])
    """
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise InputError(f"a sparse matrix of a graph is square, K x K; this one has {shape}")
    if shape[0] > MOST_ARMS:
        raise InputError(f"arms must be at most {MOST_ARMS}; this matrix has {shape[0]}")
    stored = matrix.tocoo()
    row, column = (np.asarray(part, np.int64) for part in (stored.row, stored.col))
    if stored.data.dtype.kind not in "biuf":
        raise InputError(f"a sparse matrix holds numbers in [0, 1], not {stored.data.dtype}")
    chance = np.asarray(stored.data, np.float64)
    wrong = first_invalid_probability(chance)
    if wrong is not None:
        raise InputError(
            "the entries of a sparse matrix are probabilities in [0, 1]; entry "
            f"({row[wrong]}, {column[wrong]}) is {chance[wrong]:g}"
        )
    kept = ~((row == column) & (chance == 0.0))
    row, column, chance = row[kept], column[kept], chance[kept]
    loop = np.flatnonzero((row == column) & (chance != 1.0))
    if loop.size:
        at = row[loop[0]]
        raise InputError(
            f"the arm played is always observed: on the diagonal of a sparse matrix is 1 or "
            f"nothing; entry ({at}, {at}) is {chance[loop[0]]:g}"
        )
    return Fixed(from_edges(shape[0], row, column, chance), check_names(names, shape[0]))


def from_npy(path: str | os.PathLike[str] | GraphFile) -> Fixed:
    """A fixed graph from a ``.npy`` file with a K x K array of probabilities.

    The diagonal is all ones or all zeros, which are taken as ones. A ``.npz`` file that
    ``scipy.sparse.save_npz`` has written is read as :func:`from_sparse` takes it.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "graph.npy"), [[0, 1], [0, 0]])
    ...     from_npy(Path(folder, "graph.npy")).feedback.reach(np.arange(2))
    array([[1., 1.],
           [0., 1.]])
    """
    file = GraphFile.read(path)
    if file.data.startswith(b"PK\x03\x04"):
        return _from_archive(file)
    stream = io.BytesIO(file.data)
    try:
        check_array_header(stream, len(file.data))
        stream.seek(0)
        matrix = np.lib.format.read_array(stream, allow_pickle=False)
    except Exception as error:  # the header is parsed as Python, and fails in as many ways
        pickled = "allow_pickle" in str(error)
        reason = "it holds Python objects" if pickled else "no .npy, or cut off"
        raise InputError(
            f"{file.path}: cannot read an array ({reason}): np.save a K x K array of numbers"
        ) from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InputError(
            f"{file.path}: the adjacency matrix of a graph is K x K; this array has the shape "
            f"{matrix.shape}"
        )
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"{file.path}: an array of numbers in [0, 1], not of {matrix.dtype}")
    return adjacency(matrix.astype(np.float64), None, lambda i, j: f"{file.path}: entry {i, j}")


def _from_archive(file: GraphFile) -> Fixed:
    """Read a sparse matrix, as scipy writes it; refuse any other archive."""
    from scipy.sparse import load_npz

    matrix: Any = None
    try:
        if {"format.npy", "shape.npy", "data.npy"}.issubset(check_npz(file.data)):
            matrix = load_npz(io.BytesIO(file.data))  # which loads no Python objects
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except Exception as error:  # a zip archive, its arrays and what they hold fail in many ways
        raise InputError(
            f"{file.path}: cannot read a sparse matrix ({error}): write it with "
            "scipy.sparse.save_npz"
        ) from None
    if matrix is None:
        raise InputError(
            f"{file.path} is an archive of several arrays (.npz): save one with np.save, or load "
            "it and give the matrix itself"
        )
    try:
        return from_sparse(matrix)
    except InputError as error:
        raise InputError(f"{file.path}: {error}") from None


def from_cells(file: GraphFile, records: list[tuple[int, list[str]]]) -> Fixed:
    """A fixed graph from the cells of an adjacency table, each row with its line.

    Names stand in the first line, in the first column, in both (where they agree) or nowhere.
    """
    lines, rows = zip(*records, strict=True)
    width = len(rows[0])
    for line, cells in records:
        if len(cells) != width:
            raise InputError(
                f"{file.where(line)}: {len(cells)} cells, but {width} in line {lines[0]}; {_READ}"
            )
    above = len(rows) == width + 1 or (len(rows) == width and _is_header(rows[0]))
    beside = width == len(rows) + 1 or (len(rows) == width and above)
    first, left = int(above), int(beside)
    arms = width - left
    if len(rows) - first != arms or arms < 1:
        raise InputError(
            f"{file.path}: no columns are called source and target (line {lines[0]} has: "
            f"{', '.join(rows[0][:8])}), and {len(rows)} lines with {width} cells are no square "
            "matrix; name the columns in the first line, or say source= and target="
        )
    sides = tuple(cells[0] for cells in rows[first:]) if beside else ()
    names = tuple(rows[0][left:]) if above else sides or None
    if names and ("" in names or len(set(names)) < len(names)):
        wrong = next(name for k, name in enumerate(names) if not name or name in names[:k])
        raise InputError(
            f"{file.where(lines[0])}: arms have different names, and none is empty; '{wrong}' is "
            f"{'given twice' if wrong else 'none'}; {_READ}"
        )
    for line, side, name in zip(lines[first:], sides, names or (), strict=False):
        if side != name:
            raise InputError(
                f"{file.where(line)}: this row is called '{side}', but its column '{name}': they "
                f"have the same order; {_READ}"
            )

    def entry(i: int, j: int) -> str:
        name = f" ({names[j]})" if names else ""
        return f"{file.where(lines[first + i])}: entry {j + 1}{name}"

    matrix = np.empty((arms, arms))
    for i, cells in enumerate(rows[first:]):
        matrix[i] = floats(cells[left:])
        for j in np.flatnonzero(np.isnan(matrix[i])).tolist():
            if not is_number(word := cells[left + j]):
                raise InputError(
                    f"{entry(i, j)} is a probability in [0, 1], not '{word}'"
                    + (remedy(word) or f"; {_READ if width > 1 else _SPACES}")
                )
    return adjacency(matrix, names, entry, f"; {_READ}")


_READ = (
    "without columns called source and target, the file is read as an adjacency matrix; a table of "
    "edges begins with a line source,target (add it), or say source= and target="
)
_SPACES = (
    "cells are parted by comma, semicolon or tab, and the first line names the columns source and "
    "target; a list of edges parted by spaces has another ending, such as .txt"
)


def _is_header(cells: list[str]) -> bool:
    """Whether the first line of a square table has names: its corner tells, or all the rest."""
    return not is_number(cells[0]) or (
        len(cells) > 1 and all(cell and not is_number(cell) for cell in cells[1:])
    )


def adjacency(
    matrix: Floats,
    names: tuple[str, ...] | None,
    entry: Callable[[int, int], str],
    hint: str = "",
) -> Fixed:
    """A matrix whose diagonal may be left at zero; ``entry`` begins the error about one.

    >>> matrix = adjacency(np.array([[0, 0.5], [0, 0]]), ("ann", "bob"), "entry {}, {}".format)
    >>> matrix.feedback.reach(np.arange(2))
    array([[1. , 0.5],
           [0. , 1. ]])
    """
    wrong = first_invalid_probability(matrix)
    if wrong is not None:
        raise InputError(f"{entry(*wrong)} is a probability in [0, 1], not {matrix[wrong]:g}{hint}")
    diagonal = matrix.diagonal()
    if not diagonal.any():
        np.fill_diagonal(matrix, 1.0)
    elif (diagonal != 1.0).any():
        i = int(np.argmax(diagonal != 1.0))
        raise InputError(
            f"{entry(i, i)} is {diagonal[i]:g}, but the diagonal is all ones (the arm played is "
            f"always observed), or all zeros, which are taken as ones{hint}"
        )
    return from_matrix(matrix, names)
