"""Bounds by eigenvalues, for graphs too large to be searched. Hoffman (1970), Lovasz (1979)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from graphbandits.types import Floats

#: Eigenvalues are found to this share of them, and proved with twice as much to spare.
PRECISION = 1e-3
#: More than rounding does to the sums and decompositions of some thousand numbers.
ROUNDING = 1e-6


def _shift(matrix: Floats) -> float:
    """Some s, hardly more than needed, for which matrix + s is positive definite.

    Cholesky's decomposition shows it, so that the bound holds whatever the eigenvalue found was.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh  # slow to import, few need it

    count = len(matrix)
    begin = np.cos(np.arange(count))
    try:
        least = eigsh(matrix, 1, which="SA", v0=begin, tol=PRECISION, return_eigenvectors=False)
        np.linalg.cholesky(matrix + -least[0] * (1.0 + 2.0 * PRECISION) * np.eye(count))
    except (ArpackNoConvergence, np.linalg.LinAlgError):
        return math.inf
    return float(-least[0] * (1.0 + 2.0 * PRECISION))


def spectral_cover(apart: NDArray[np.bool_]) -> int:
    """At least so many cliques: 1 + largest / -least eigenvalue of the graph to be coloured.

    The bound holds for any x'Ax / x'x in the place of the largest.
    """
    matrix = apart.astype(np.float64)
    if not matrix.any():
        return 1
    x = matrix.sum(axis=0)
    for _ in range(16):
        x = matrix @ x
        x /= np.linalg.norm(x)
    return math.ceil(1.0 + float(x @ (matrix @ x)) / _shift(matrix) - ROUNDING)


def spectral_independence(edges: NDArray[np.bool_]) -> int:
    """At most so many vertices without an edge: the largest eigenvalue of J - t A, for any t.

    On k independent vertices the matrix is all ones, which has the eigenvalue k. With mean degree
    d and least eigenvalue -s of A, t = n / (d + s) is the best one where all degrees are d; where
    they differ at random, t = n / (d + s / 2) keeps the mean of the matrix from adding to the rest.
    """
    matrix = edges.astype(np.float64)
    count = len(matrix)
    if not matrix.any():
        return count
    degree, least = float(matrix.sum()) / count, _shift(matrix)
    times = [count / (degree + least), count / (degree + least / 2.0)]
    return math.floor(min(float(count), *(_shift(t * matrix - 1.0) for t in times)) + ROUNDING)
