"""Matrices of probabilities: dense, scipy sparse, and adjacency matrices without self-loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs.edges import MAX_ARMS
from graphbandits.graphs.feedback import (
    DENSE_LIMIT,
    DenseFeedback,
    first_invalid_probability,
    from_edges,
)
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
    if shape[0] > MAX_ARMS:
        raise InputError(f"a matrix must have at most {MAX_ARMS} arms; this one has {shape[0]}")
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
