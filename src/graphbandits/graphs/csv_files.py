"""CSV: a table of edges with a header, or an adjacency matrix."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from itertools import islice

import numpy as np

from graphbandits.errors import InputError, yes_or_no
from graphbandits.graphs.columns import Columns, names_an_end, names_edges
from graphbandits.graphs.edge_table import BATCH, EdgeTable, pairs_of, probabilities
from graphbandits.graphs.matrices import from_cells
from graphbandits.graphs.processes import Fixed
from graphbandits.graphs.quick import WORTHWHILE, quick_graph, quotes_are_plain
from graphbandits.graphs.sources import GraphFile
from graphbandits.types import Ints

#: A line of the file, and its cells.
Record = tuple[int, list[str]]


def from_csv(
    path: str | os.PathLike[str],
    *,
    source: str | None = None,
    target: str | None = None,
    probability: str | None = "auto",
    directed: bool | None = None,
) -> Fixed:
    r"""A fixed graph from a CSV file: a table of edges, or an adjacency matrix.

    The first line names the columns. ``source``, ``from``, ``src`` or ``u`` is who is played,
    ``target``, ``to``, ``dst`` or ``v`` who is observed, ``probability``, ``p`` or ``weight`` how
    likely, whatever the case of the letters; ``source=``, ``target=`` and ``probability=`` say
    others, and ``probability=None`` makes every edge sure. Other columns do not count. A row is
    one direction, or both with ``directed=False``; a row without a target names an arm without an
    edge. Cells are parted by comma, semicolon or tab and may be quoted; spaces around a cell do
    not count. Arms come in the order of their first appearance.

    A file without such columns is an adjacency matrix: rows of probabilities, with or without
    names in the first line and in the first column. Its diagonal is all ones or all zeros, which
    are taken as ones. The file may be compressed with gz.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.csv")
    ...     written = path.write_text('from,to,weight\n"Ann, B.",Zoë,0.5\n')
    ...     from_csv(path).names
    ('Ann, B.', 'Zoë')
    """
    return read_csv(GraphFile.read(path), source, target, probability, directed)


def read_csv(
    file: GraphFile,
    source: str | None,
    target: str | None,
    probability: str | None,
    directed: bool | None,
) -> Fixed:
    """The same from a file that has been read."""
    records = _records(file)
    line, header = next(records, (0, []))
    if not header:
        raise InputError(
            f"{file.path} is empty: its first line names the columns, source,target,probability"
        )
    untold = source is None and target is None
    if untold and not (names_edges(header) and not _is_label(header, file)):
        given = {"probability": probability != "auto", "directed": directed is not None}
        for option in (option for option, said in given.items() if said):
            raise InputError(
                f"{file.where(line)}: no columns are called source and target, so that this is an "
                f"adjacency matrix, where {option}= has no meaning; say source= and target="
            )
        return from_cells(file, [(line, header), *records])
    columns = Columns.find(header, source, target, probability, file.where(line))
    directed = True if directed is None else yes_or_no(directed, "directed")
    if len(file.data) >= WORTHWHILE and (graph := quick_csv(file, header, columns, directed)):
        return graph
    table = EdgeTable()
    while batch := list(islice(records, BATCH)):
        _add(table, file, header, columns, batch)
    if not len(table):
        raise InputError(f"{file.path} holds no edges, only the names of its columns")
    return table.fixed(lambda line: f"{file.where(line)}: ", directed)


def quick_csv(file: GraphFile, header: list[str], columns: Columns, directed: bool) -> Fixed | None:
    """The same for a large file with nothing unusual in it, or None."""
    delimiter = _delimiter(file.text())
    if not quotes_are_plain(file.data, delimiter):
        return None
    opening = re.match(rb"(?:\xef\xbb\xbf)?[\r\n]*[^\r\n]*", file.data)
    rows = memoryview(file.data)[opening.end() if opening else 0 :]
    return quick_graph(
        rows, delimiter, '"', len(header), columns, directed, lambda cell: cell == cell.strip()
    )


def _is_label(header: list[str], file: GraphFile) -> bool:
    """Whether 'from' and 'to' are arms: the first column has the same names as the header."""
    if names_an_end(header[0]):
        return False
    first = [cells[0] for _, cells in islice(_records(file), 1, len(header) + 1)]
    return first == header[1:]


def _records(file: GraphFile) -> Iterator[Record]:
    """Each record with the line on which it begins, without blank ones."""
    text, line = file.text(), 1
    try:
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=_delimiter(text),
            skipinitialspace=True,
            strict=True,
        )
        for cells in reader:
            if cells and (cells[0] or any(cell.strip() for cell in cells)):
                yield line, [cell.strip() for cell in cells]
            line = reader.line_num + 1
    except csv.Error as error:
        open_quote = "unexpected end" in str(error) or "field larger" in str(error)
        reason = "a quote is opened and never closed" if open_quote else str(error)
        raise InputError(f"{file.where(line)}: no CSV: {reason}") from None


def _delimiter(text: str) -> str:
    """The sign that parts the first line into the most cells; a comma if that does not tell."""
    opening = re.match(r"[\r\n]*([^\r\n]*)", text)
    line = opening.groups() if opening else ()
    return max(",;\t", key=lambda sign: len(next(csv.reader(line, delimiter=sign), [])))


def _add(
    table: EdgeTable, file: GraphFile, header: list[str], columns: Columns, batch: list[Record]
) -> None:
    for line, cells in batch:
        if len(cells) != len(header):
            raise InputError(
                f"{file.where(line)}: the first line names {len(header)} columns; this one has "
                f"{len(cells)} cells"
            )
    line_of: Ints = np.fromiter((line for line, _ in batch), np.int64, len(batch))
    source = [cells[columns.source] for _, cells in batch]
    target = [cells[columns.target] for _, cells in batch]
    if "" in source:
        at = source.index("")
        raise InputError(
            f"{file.where(int(line_of[at]))}: the column '{header[columns.source]}' is empty; an "
            "arm without an edge has its target left out, not its source"
        )
    words, ends = pairs_of(source, target)
    edge = np.flatnonzero(ends == 2)
    weight = np.ones(len(edge))
    if columns.probability is not None:
        name = header[columns.probability]
        weight = probabilities(
            [batch[k][1][columns.probability] for k in edge.tolist()],
            lambda k: f"{file.where(int(line_of[edge[k]]))}: column '{name}': ",
            "; with probability=None the column does not count",
        )
    table.add(words, ends, weight, line_of)
