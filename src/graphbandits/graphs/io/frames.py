"""Edge lists in data frames: pandas, polars, pyarrow."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from graphbandits.errors import InputError, yes_or_no
from graphbandits.graphs.io.columns import Columns, check_ignored
from graphbandits.graphs.io.edges import EdgeTable, is_missing, numbers_of
from graphbandits.graphs.io.matrices import adjacency, check_options
from graphbandits.graphs.processes import Fixed, check_names


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
    directed: bool | None = None,
) -> Fixed:
    """A fixed graph from a frame with a row for each edge (pandas, polars or a pyarrow table).

    Columns are found as in :func:`from_csv`: ``source``, ``target`` and ``probability`` or their
    usual other names, or as said. A row is one direction, or both with ``directed=False``, or as a
    column ``Type`` says; a missing target names an arm without an edge. Arms come in the order of
    their first appearance, with their values as text, without blanks around it, for names.

    A pandas frame whose index is the same as its columns, as ``networkx.to_pandas_adjacency`` makes
    it, is an adjacency matrix; its diagonal is all ones or all zeros, which are taken as ones.

    >>> import pandas
    >>> frame = pandas.DataFrame({"from": ["ann", "eve"], "to": ["bob", None], "p": [0.5, None]})
    >>> from_frame(frame).names
    ('ann', 'bob', 'eve')
    """
    if not is_frame(frame):
        raise InputError(f"a frame has named columns, as in pandas; {type(frame).__name__} has not")
    if directed is not None:
        yes_or_no(directed, "directed")
    # the columns of pyarrow are not their names
    labels = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    header = [str(label) for label in labels]
    if source is None and target is None and _is_adjacency(frame, labels):
        check_options(
            "the index of the frame is the same as its columns, so that", probability, directed
        )
        return _from_adjacency(frame, header)
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
    if probability == "auto" and columns.probability is None:
        some = [_column(frame[:1000], label) for label in labels]
        check_ignored(header, columns, zip(*some, strict=True), "the frame")
    table = EdgeTable(
        _row,
        weight=f"column '{header[columns.probability or 0]}': ",
        hint="; with probability=None the column does not count",
        empty=f"the column '{header[columns.source]}' has no value",
        numbers="column",
    )
    sources, targets = (
        _names(_column(frame, labels[place]), header[place])
        for place in (columns.source, columns.target)
    )
    weight, types = (
        None if place is None else _column(frame, labels[place])
        for place in (columns.probability, columns.type if directed is None else None)
    )
    if types is not None:
        types = ["" if is_missing(value) else str(value) for value in types]
    table.add(range(len(sources)), sources, targets, weight, types)
    return table.fixed(directed)


def _is_adjacency(frame: Any, labels: list[Any]) -> bool:
    index: Any = getattr(frame, "index", None)  # which polars and pyarrow have not
    return len(labels) == frame.shape[0] > 0 and hasattr(index, "tolist") and labels == list(index)


def _from_adjacency(frame: Any, names: list[str]) -> Fixed:
    cells = frame.to_numpy()
    if cells.dtype.kind in "biuf":
        matrix = cells.astype(np.float64)
    else:
        matrix = np.array([numbers_of(row) for row in cells.tolist()])
    known = check_names(names, len(names))
    return adjacency(
        matrix,
        known,
        lambda i, j: f"the frame: entry ({names[i]}, {names[j]})",
        "; a frame whose index is the same as its columns is an adjacency matrix; for a table of "
        "edges say source= and target=",
    )


def _row(k: int) -> str:
    return f"the frame, row {k} (the first is 0): "


def _column(frame: Any, label: Any) -> list[Any]:
    """The values as Python has them: an array would make floats of whole numbers with a gap."""
    column = frame[label]
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow, polars, pandas
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            return values
    return list(column.to_numpy().tolist())


def _names(values: list[Any], column: str) -> list[str]:
    """Values as texts; '' for what is missing."""
    return [
        str(value).strip() if type(value) in (str, int) else _name(value, k, column)
        for k, value in enumerate(values)
    ]


def _name(value: Any, k: int, column: str) -> str:
    if not isinstance(value, Hashable):  # an array, a list
        raise InputError(
            f"{_row(k)}column '{column}': the name of an arm is a text or a number, not "
            f"{type(value).__name__}"
        )
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():  # of whole numbers with a gap, in pandas
        if abs(value) >= _LARGEST:
            raise InputError(
                f"{_row(k)}column '{column}': {value!r} is too large to tell whole numbers apart; "
                "was it an integer column with gaps? Make it 'Int64' where it is read"
            )
        return str(int(value))
    return str(value).strip()


#: From here on two whole numbers may be the same float.
_LARGEST = 2.0**53
