"""Large plain tables of edges, read by pyarrow; anything unusual is left to the other readers.

:mod:`edge_lists` and :mod:`csv_files` define what is read, and name the line of an error. This
module returns the same graph, or None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs.io.columns import Columns
from graphbandits.graphs.io.edges import fixed_graph, undirected, wrong_probability
from graphbandits.graphs.processes import Fixed
from graphbandits.types import Ints

#: Below so many bytes the other readers are done before pyarrow is imported.
WORTHWHILE = 1 << 20


def fast_graph(
    rows: memoryview,
    delimiter: str,
    quote: str | bool,
    width: int,
    columns: Columns,
    directed: bool | None,
    is_plain: Callable[[str], bool],
) -> Fixed | None:
    r"""Build the graph of rows of ``width`` cells, quoted or not; None if anything is unusual.

    ``is_plain`` tells whether a cell is a name as it stands. ``directed=None`` follows the column
    of types, if there is one.

    >>> rows = memoryview(b"ann,bob\nbob,eve\n")
    >>> fast_graph(rows, ",", False, 2, Columns(0, 1, None), True, str.isalpha).names
    ('ann', 'bob', 'eve')
    >>> fast_graph(rows, ",", False, 3, Columns(0, 1, 2), True, str.isalpha) is None
    True
    """
    import pyarrow
    import pyarrow.csv

    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    kinds = {str(columns.source): text, str(columns.target): text}
    if columns.probability is not None:
        kinds[str(columns.probability)] = pyarrow.float64()
    typed = directed is None and columns.type is not None
    if typed:
        kinds[str(columns.type)] = text
    # Memory of Arrow's own: a thread of Arrow that drops the last reference to Python's bytes
    # while the interpreter ends aborts the process.
    buffer = pyarrow.allocate_buffer(len(rows))
    np.frombuffer(buffer, np.uint8)[:] = rows
    try:
        table = pyarrow.csv.read_csv(
            buffer,
            pyarrow.csv.ReadOptions(
                use_threads=False,
                block_size=min(len(rows) + 1, 2**31 - 1),
                column_names=[str(column) for column in range(width)],
            ),
            pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=quote),
            pyarrow.csv.ConvertOptions(
                column_types=kinds, include_columns=list(kinds), null_values=[]
            ),
        )
    except pyarrow.ArrowException:
        return None
    (source, sources), (target, targets) = (
        _codes(table.column(str(place))) for place in (columns.source, columns.target)
    )
    if not sources or "" in sources or not all(map(is_plain, [*sources, *targets])):
        return None
    index = _in_order(source, sources, target, targets)
    start = np.array([index[name] for name in sources], np.int64)[source]
    end = np.array([index[name] for name in targets], np.int64)[target]
    edge = end >= 0
    weight = np.ones(len(source))
    if columns.probability is not None:
        weight = table.column(str(columns.probability)).to_numpy()
    if wrong_probability(weight[edge]) is not None:
        return None
    try:
        both: Any = directed is False
        if typed:
            type_of, types = _codes(table.column(str(columns.type)))
            both = undirected([types[code] for code in type_of[edge].tolist()], lambda k: "")
        return fixed_graph(tuple(index)[1:], start[edge], end[edge], weight[edge], both)
    except InputError:
        return None


def quotes_are_plain(data: bytes, delimiter: str) -> bool:
    r"""Whether quotes only stand around whole cells that have no quote and no end of line.

    >>> quotes_are_plain(b'"a",b\n', ","), quotes_are_plain(b'a"b",c\n', ",")
    (True, False)
    """
    if b'"' not in data:
        return True
    signs = np.frombuffer(data, np.uint8)
    quote = np.flatnonzero(signs == ord('"'))
    if len(quote) % 2:
        return False
    opening, closing = quote[::2], quote[1::2]
    ends = np.flatnonzero((signs == ord("\n")) | (signs == ord("\r")))
    if (np.searchsorted(ends, opening) != np.searchsorted(ends, closing)).any():
        return False
    border = np.isin(np.arange(256), [ord(delimiter), ord("\n"), ord("\r")])[signs]
    border = np.concatenate([border, [True]])  # the end of the file, and its beginning
    return bool(border[opening - 1].all() and border[closing + 1].all())


def _codes(column: Any) -> tuple[Ints, list[str]]:
    """Return a column as numbers, and the words that they stand for."""
    encoded = column.unify_dictionaries().combine_chunks()
    chunk = encoded.chunk(0) if hasattr(encoded, "chunk") else encoded
    return chunk.indices.to_numpy().astype(np.int64), chunk.dictionary.to_pylist()


def _in_order(source: Ints, sources: list[str], target: Ints, targets: list[str]) -> dict[str, int]:
    """Number the names by their first appearance, a row's source before its target; '' is -1."""
    seen: list[tuple[int, str]] = []
    for codes, words, offset in ((source, sources, 0), (target, targets, 1)):
        first = np.empty(len(words), np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        seen += zip((2 * first + offset).tolist(), words, strict=True)
    names = dict.fromkeys(word for _, word in sorted(seen) if word)
    return {"": -1} | {name: i for i, name in enumerate(names)}
