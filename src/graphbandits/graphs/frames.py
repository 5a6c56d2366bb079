"""Edge lists in data frames: pandas, polars, pyarrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphbandits.errors import InputError, yes_or_no
from graphbandits.graphs.columns import Columns
from graphbandits.graphs.edge_table import EdgeTable, numbers, pairs_of, wrong_probability
from graphbandits.graphs.processes import Fixed


def is_frame(value: object) -> bool:
    """Whether this is a table with named columns; by the class, for columns may be attributes.

    >>> is_frame([[1, 0], [0, 1]])
    False
    """
    kind = type(value)
    return all(hasattr(kind, name) for name in ("columns", "__getitem__", "shape")) and any(
        hasattr(kind, name) for name in ("to_numpy", "column_names")
    )


def from_frame(
    frame: Any,
    source: str | None = None,
    target: str | None = None,
    probability: str | None = "auto",
    *,
    directed: bool = True,
) -> Fixed:
    """A fixed graph from a frame with a row for each edge (pandas, polars or a pyarrow table).

    Columns are found as in :func:`from_csv`: ``source``, ``target`` and ``probability`` or their
    usual other names, or as said. A row is one direction, or both with ``directed=False``; a
    missing target names an arm without an edge. Arms come in the order of their first appearance,
    with their values as text for names.

    >>> import pandas
    >>> frame = pandas.DataFrame({"from": ["ann", "eve"], "to": ["bob", None], "p": [0.5, None]})
    >>> from_frame(frame).names
    ('ann', 'bob', 'eve')
    """
    if not is_frame(frame):
        raise InputError(f"a frame has named columns, as in pandas; {type(frame).__name__} has not")
    yes_or_no(directed, "directed")
    # the columns of pyarrow are not their names
    labels = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    header = [str(label) for label in labels]
    try:
        columns = Columns.find(header, source, target, probability, "the frame")
    except InputError as error:
        if header and len(header) == frame.shape[0]:
            raise InputError(
                f"{error}; an adjacency matrix is given as from_matrix(frame.to_numpy(), names)"
            ) from None
        raise
    if not frame.shape[0]:
        raise InputError("the frame has no rows: a row is an edge")
    ends = [_names(_column(frame, labels[place])) for place in (columns.source, columns.target)]
    if "" in ends[0]:
        raise InputError(
            f"{_row(ends[0].index(''))}the column '{header[columns.source]}' has no value; an arm "
            "without an edge has its target left out, not its source"
        )
    words, count = pairs_of(*ends)
    edge = np.flatnonzero(count == 2)
    weight = np.ones(len(edge))
    if columns.probability is not None:
        values = _column(frame, labels[columns.probability])
        given = [values[k] for k in edge.tolist()]
        weight = numbers(given)
        wrong = wrong_probability(weight)
        if wrong is not None:
            raise InputError(
                f"{_row(int(edge[wrong]))}column '{header[columns.probability]}': a probability is "
                f"a number in [0, 1], not {given[wrong]!r}; with probability=None the column does "
                "not count"
            )
    table = EdgeTable()
    table.add(words, count, weight, np.arange(len(count)))
    return table.fixed(_row, directed)


def _row(k: int) -> str:
    return f"the frame, row {k} (the first is 0): "


def _column(frame: Any, label: Any) -> list[Any]:
    values: list[Any] = np.asarray(frame[label].to_numpy()).tolist()
    return values


def _names(values: list[Any]) -> list[str]:
    """Values as texts; '' for what is missing."""
    return [value if type(value) is str else _name(value) for value in values]


def _name(value: Any) -> str:
    if _is_missing(value):
        return ""
    # a column of whole numbers with a gap comes as floats
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and the NA of pandas, which is not even comparable to itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
