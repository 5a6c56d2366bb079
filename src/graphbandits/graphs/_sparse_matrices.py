"""Sparse matrices of scipy, which is imported when the first one is made.

The import takes a quarter of the time of all imports of a live agent, which needs no such matrix.
"""

from __future__ import annotations

from typing import Any


def csr_array(*given: Any, **named: Any) -> Any:
    """Make a matrix of compressed rows; see scipy.sparse.csr_array."""
    from scipy import sparse

    return sparse.csr_array(*given, **named)


def coo_array(*given: Any, **named: Any) -> Any:
    """Make a matrix of triples; see scipy.sparse.coo_array."""
    from scipy import sparse

    return sparse.coo_array(*given, **named)


def connected_components(graph: Any, *, directed: bool) -> Any:
    """Return the number of components and the component of each vertex."""
    from scipy.sparse import csgraph

    return csgraph.connected_components(graph, directed=directed)


def column_partners(graph: Any) -> Any:
    """Return the column that each row has in a largest matching of rows and columns, or -1."""
    from scipy.sparse import csgraph

    return csgraph.maximum_bipartite_matching(graph, perm_type="column")
