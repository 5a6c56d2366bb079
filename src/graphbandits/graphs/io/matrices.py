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
from graphbandits.graphs.io._edge_builder import MOST_ARMS, correction, is_number, parse_floats
from graphbandits.graphs.io._graph_file import GraphFile
from graphbandits.graphs.processes import Fixed, check_names


def from_matrix(matrix: Any, names: Iterable[str | int] | None = None) -> Fixed:
    """Convert a K x K array of probabilities to a fixed graph.

    Parameters
    ----------
    matrix
        Entry (i, j) is the probability of observing arm j by playing arm i. The diagonal must be
        1; add ``np.eye(K)`` to an adjacency matrix without self-loops. Files and sparse matrices
        may have a zero diagonal.
    names
        Names of the arms, if any: distinct texts or whole numbers, one for each arm.

    Returns
    -------
    Fixed

    Examples
    --------
    >>> from_matrix([[1, 0.5], [0, 1]]).deterministic
    False
    """
    dense = DenseFeedback(matrix)
    if not dense.shared:
        raise InputError(
            "a fixed graph must be one K x K matrix; for one graph per round give a list of "
            f"{len(dense.matrix)} matrices"
        )
    known = check_names(names, dense.arms)
    if dense.arms <= DENSE_LIMIT:
        return Fixed(dense, known)
    source, target = np.nonzero(dense.matrix[0])
    return Fixed(from_edges(dense.arms, source, target, dense.matrix[0, source, target]), known)


def from_sparse(matrix: Any, names: Iterable[str | int] | None = None) -> Fixed:
    """Convert a scipy sparse matrix or array of probabilities, in any format, to a fixed graph.

    Entries that are zero or not stored are not edges. The diagonal is set to 1. An entry that is
    stored twice must have the same value; probabilities are not summed.

    Parameters
    ----------
    matrix
        Entry (i, j) is the probability of observing arm j by playing arm i.
    names
        Names of the arms, if any: distinct texts or whole numbers, one for each arm.

    Returns
    -------
    Fixed

    Examples
    --------
    >>> from scipy.sparse import coo_array
    >>> graph = from_sparse(coo_array(([0.5], ([0], [1])), shape=(2, 2)), names=["ann", "bob"])
    >>> graph.feedback.reach(np.arange(2))
    array([[1. , 0.5],
           [0. , 1. ]])
    """
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise InputError(f"a sparse matrix must be square, K x K; got the shape {shape}")
    if shape[0] > MOST_ARMS:
        raise InputError(f"a matrix must have at most {MOST_ARMS} arms; this one has {shape[0]}")
    stored = matrix.tocoo()
    row, column = (np.asarray(part, np.int64) for part in (stored.row, stored.col))
    if stored.data.dtype.kind not in "biuf":
        raise InputError(f"a sparse matrix must hold numbers in [0, 1], not {stored.data.dtype}")
    chance = np.asarray(stored.data, np.float64)
    invalid = first_invalid_probability(chance)
    if invalid is not None:
        raise InputError(
            "the entries of a sparse matrix must be probabilities in [0, 1]; entry "
            f"({row[invalid]}, {column[invalid]}) is {chance[invalid]:g}"
        )
    kept = ~((row == column) & (chance == 0.0))
    row, column, chance = row[kept], column[kept], chance[kept]
    loop = np.flatnonzero((row == column) & (chance != 1.0))
    if loop.size:
        at = row[loop[0]]
        raise InputError(
            "the diagonal of a sparse matrix must be 1 or empty, because the played arm is always "
            f"observed; entry ({at}, {at}) is {chance[loop[0]]:g}"
        )
    return Fixed(from_edges(shape[0], row, column, chance), check_names(names, shape[0]))


def from_npy(path: str | os.PathLike[str] | GraphFile) -> Fixed:
    """Read a fixed graph from a ``.npy`` file with a K x K array of probabilities.

    The diagonal must be all ones or all zeros; zeros are replaced by ones. A ``.npz`` file of
    ``scipy.sparse.save_npz`` is converted by :func:`from_sparse`.

    Parameters
    ----------
    path
        Path of the file, which may be gz-compressed.

    Returns
    -------
    Fixed

    Examples
    --------
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
    except Exception as error:  # the header is parsed as Python, which raises many kinds of errors
        pickled = "allow_pickle" in str(error)
        reason = "it has Python objects" if pickled else "not a .npy file, or truncated"
        raise InputError(
            f"{file.path}: cannot read an array ({reason}): save a K x K array of numbers with "
            "np.save"
        ) from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InputError(
            f"{file.path}: an adjacency matrix must be K x K; this array has the shape "
            f"{matrix.shape}"
        )
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"{file.path}: the array must hold numbers in [0, 1], not {matrix.dtype}")
    return adjacency(matrix.astype(np.float64), None, lambda i, j: f"{file.path}: entry {i, j}")


def _from_archive(file: GraphFile) -> Fixed:
    """Read a sparse matrix of scipy; raise an error for any other archive."""
    from scipy.sparse import load_npz

    matrix: Any = None
    try:
        if {"format.npy", "shape.npy", "data.npy"}.issubset(check_npz(file.data)):
            matrix = load_npz(io.BytesIO(file.data))  # does not load Python objects
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except Exception as error:  # zip archives and their arrays raise many kinds of errors
        raise InputError(
            f"{file.path}: cannot read a sparse matrix ({error}): write it with "
            "scipy.sparse.save_npz"
        ) from None
    if matrix is None:
        raise InputError(
            f"{file.path} is an archive of several arrays (.npz): save one array with np.save, or "
            "load it and pass the matrix"
        )
    try:
        return from_sparse(matrix)
    except InputError as error:
        raise InputError(f"{file.path}: {error}") from None


def from_cells(file: GraphFile, records: list[tuple[int, list[str]]]) -> Fixed:
    """Convert the cells of an adjacency table, each row with its line number, to a fixed graph.

    Names are in the first line, in the first column, in both (then they must agree), or absent.
    """
    lines, rows = zip(*records, strict=True)
    width = len(rows[0])
    for line, cells in records:
        if len(cells) != width:
            raise InputError(
                f"{file.where(line)}: this line has {len(cells)} cells, but line {lines[0]} has "
                f"{width}; {_READ_AS_MATRIX}"
            )
    has_header = len(rows) == width + 1 or (len(rows) == width and _is_header(rows[0]))
    has_row_names = width == len(rows) + 1 or (len(rows) == width and has_header)
    first, left = int(has_header), int(has_row_names)
    arms = width - left
    if len(rows) - first != arms or arms < 1:
        raise InputError(
            f"{file.path}: no columns are named source and target (line {lines[0]} has: "
            f"{', '.join(rows[0][:8])}), and {len(rows)} lines of {width} cells are not a square "
            "matrix; name the columns in the first line, or set source= and target="
        )
    row_names = tuple(cells[0] for cells in rows[first:]) if has_row_names else ()
    names = tuple(rows[0][left:]) if has_header else row_names or None
    if names and ("" in names or len(set(names)) < len(names)):
        invalid = next(name for k, name in enumerate(names) if not name or name in names[:k])
        raise InputError(
            f"{file.where(lines[0])}: names of arms must be distinct and not empty; '{invalid}' is "
            f"{'repeated' if invalid else 'empty'}; {_READ_AS_MATRIX}"
        )
    for line, row_name, name in zip(lines[first:], row_names, names or (), strict=False):
        if row_name != name:
            raise InputError(
                f"{file.where(line)}: this row is named '{row_name}', but its column '{name}': "
                f"rows and columns must have the same order; {_READ_AS_MATRIX}"
            )

    def entry(i: int, j: int) -> str:
        name = f" ({names[j]})" if names else ""
        return f"{file.where(lines[first + i])}: entry {j + 1}{name}"

    matrix = np.empty((arms, arms))
    for i, cells in enumerate(rows[first:]):
        matrix[i] = parse_floats(cells[left:])
        for j in np.flatnonzero(np.isnan(matrix[i])).tolist():
            if not is_number(word := cells[left + j]):
                raise InputError(
                    f"{entry(i, j)} must be a probability in [0, 1], not '{word}'"
                    + (correction(word) or f"; {_READ_AS_MATRIX if width > 1 else _SPACES}")
                )
    return adjacency(matrix, names, entry, f"; {_READ_AS_MATRIX}")


_READ_AS_MATRIX = (
    "a file without columns named source and target is read as an adjacency matrix; for a table of "
    "edges, add a first line source,target, or set source= and target="
)
_SPACES = (
    "separate cells by comma, semicolon or tab, and name the columns source and target in the "
    "first line; give an edge list with spaces another extension, such as .txt"
)


def _is_header(cells: list[str]) -> bool:
    """Whether the first line of a square table has names: its first cell, or all other cells."""
    return not is_number(cells[0]) or (
        len(cells) > 1 and all(cell and not is_number(cell) for cell in cells[1:])
    )


def adjacency(
    matrix: Floats,
    names: tuple[str, ...] | None,
    entry: Callable[[int, int], str],
    hint: str = "",
) -> Fixed:
    """Convert an adjacency matrix, whose diagonal may be zero, to a fixed graph.

    ``entry`` returns the start of an error message about an entry.

    >>> matrix = adjacency(np.array([[0, 0.5], [0, 0]]), ("ann", "bob"), "entry {}, {}".format)
    >>> matrix.feedback.reach(np.arange(2))
    array([[1. , 0.5],
           [0. , 1. ]])
    """
    invalid = first_invalid_probability(matrix)
    if invalid is not None:
        raise InputError(
            f"{entry(*invalid)} must be a probability in [0, 1], not {matrix[invalid]:g}{hint}"
        )
    diagonal = matrix.diagonal()
    if not diagonal.any():
        np.fill_diagonal(matrix, 1.0)
    elif (diagonal != 1.0).any():
        i = int(np.argmax(diagonal != 1.0))
        raise InputError(
            f"{entry(i, i)} is {diagonal[i]:g}, but the diagonal must be all ones (the played arm "
            f"is always observed) or all zeros, which are replaced by ones{hint}"
        )
    return from_matrix(matrix, names)
