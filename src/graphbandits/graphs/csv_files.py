"""CSV: a table of edges with a header, or an adjacency matrix."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from graphbandits.errors import InputError, yes_or_no
from graphbandits.graphs.columns import Columns, check_ignored, names_an_end, names_edges
from graphbandits.graphs.edge_table import BATCH, EdgeTable, pairs_of, probabilities
from graphbandits.graphs.matrices import from_cells
from graphbandits.graphs.processes import Fixed
from graphbandits.graphs.quick import WORTHWHILE, quick_graph, quotes_are_plain
from graphbandits.graphs.sources import GraphFile
from graphbandits.types import Ints

#: Rows in which a column that nobody named is looked at.
LOOKED_AT = 1000
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
    likely, whatever the case of the letters (more usual names: :mod:`columns`); ``source=``,
    ``target=`` and ``probability=`` say others, and ``probability=None`` makes every edge sure.
    Other columns do not count; where none is the probability, one that looks like it is an error.
    A row is one direction, or both with ``directed=False``; where a
    column ``Type`` says Directed or Undirected, as Gephi has it, each row is as it says, unless
    ``directed=`` says it for all. A row without a target names an arm without an edge; a target
    ``NA`` is an arm of that name. Cells are parted by comma, semicolon or tab and may be quoted;
    spaces around a cell do not count. Arms come in the order of their first appearance. Comments
    (``# ...``) before the first line, and Excel's ``sep=;``, are passed over.

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
    table = _Table.of(file)
    records = table.records()
    line, header = next(records, (0, []))
    if not header:
        raise InputError(
            f"{file.path} is empty: its first line names the columns, source,target,probability"
        )
    untold = source is None and target is None
    if untold and not (names_edges(header) and not _is_label(header, table)):
        given = {"probability": probability != "auto", "directed": directed is not None}
        for option in (option for option, said in given.items() if said):
            raise InputError(
                f"{file.where(line)}: no columns are called source and target, so that this is an "
                f"adjacency matrix, where {option}= has no meaning; say source= and target="
            )
        return from_cells(file, [(line, header), *records])
    columns = Columns.find(header, source, target, probability, file.where(line))
    if probability == "auto" and columns.probability is None:
        some = (cells for _, cells in islice(table.records(), 1, LOOKED_AT))
        check_ignored(header, columns, some, file.where(line))
    if directed is not None:
        yes_or_no(directed, "directed")
    if len(file.data) >= WORTHWHILE and (graph := quick_csv(file, header, columns, directed)):
        return graph
    edges, types = EdgeTable(), list[str]()
    while batch := list(islice(records, BATCH)):
        types += _add(edges, file, header, columns, batch)
    if not len(edges):
        raise InputError(f"{file.path} holds no edges, only the names of its columns")
    return edges.fixed(
        lambda line: f"{file.where(line)}: ",
        directed is not False,
        types if directed is None and columns.type is not None else None,
    )


def quick_csv(
    file: GraphFile, header: list[str], columns: Columns, directed: bool | None
) -> Fixed | None:
    """The same for a large file with nothing unusual in it, or None."""
    table = _Table.of(file)
    if not quotes_are_plain(file.data, table.delimiter):
        return None
    opening = re.compile(r"[\r\n]*([^\r\n]*)").match(table.text, table.start)
    names = opening.groups() if opening else ()
    cells = next(csv.reader(names, delimiter=table.delimiter, skipinitialspace=True), [])
    if opening is None or [cell.strip() for cell in cells] != header:
        return None
    mark = len(file.data) - len(file.data.removeprefix(b"\xef\xbb\xbf"))
    rows = memoryview(file.data)[mark + len(table.text[: opening.end()].encode()) :]
    return quick_graph(
        rows,
        table.delimiter,
        '"',
        len(header),
        columns,
        directed,
        lambda cell: cell == cell.strip(),
    )


def _is_label(header: list[str], table: _Table) -> bool:
    """Whether 'from' and 'to' are arms: the first column has the same names as the header."""
    if names_an_end(header[0]):
        return False
    first = [cells[0] for _, cells in islice(table.records(), 1, len(header) + 1)]
    return first == header[1:]


#: Excel's first line, which says how cells are parted.
_SEP = re.compile(r'"?sep=([,;\t])"?[ \t]*(?:\r\n|\r|\n|$)', re.IGNORECASE)
#: Blank lines and comments; ``#1,#2`` without a blank is none, but the names of two arms.
_COMMENTS = re.compile(r"(?:[ \t]*(?:#(?:[ \t#][^\r\n]*|[^,;\t\r\n]*))?(?:\r\n|\r|\n))*")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True)
class _Table:
    """The text of a CSV file, where its header starts, and the sign that parts its cells."""

    file: GraphFile
    text: str
    start: int
    delimiter: str

    @classmethod
    def of(cls, file: GraphFile) -> _Table:
        text = file.text()
        said = _SEP.match(text)
        comments = _COMMENTS.match(text, said.end() if said else 0)
        start = comments.end() if comments else 0
        return cls(file, text, start, said.group(1) if said else _delimiter(text, start))

    def records(self) -> Iterator[Record]:
        """Each record with the line on which it begins, without blank ones."""
        stream = io.StringIO(self.text, newline="")
        stream.seek(self.start)
        before = line = len(_LINE.findall(self.text, 0, self.start)) + 1
        try:
            reader = csv.reader(
                stream, delimiter=self.delimiter, skipinitialspace=True, strict=True
            )
            for cells in reader:
                if cells and (cells[0] or any(cell.strip() for cell in cells)):
                    yield line, [cell.strip() for cell in cells]
                line = reader.line_num + before
        except csv.Error as error:
            open_quote = "unexpected end" in str(error) or "field larger" in str(error)
            reason = "a quote is opened and never closed" if open_quote else str(error)
            raise InputError(f"{self.file.where(line)}: no CSV: {reason}") from None


def _delimiter(text: str, start: int) -> str:
    r"""The sign that parts the cells, by the first two lines; a comma if they do not tell.

    First a sign that makes a header of edges; then one that makes as many cells of the second line
    as of the first; then the one that stands most often in the first line, outside of quotes.

    >>> _delimiter(";Doe, J;Roe, K\nDoe, J;0;1\n", 0)
    ';'
    """
    opening = _LINE.match(text, start)
    bare = re.sub(r'"[^"]*"', "", opening.group() if opening else "")

    def evidence(sign: str) -> tuple[bool, bool, int]:
        lines = (line.group() for line in _LINE.finditer(text, start))
        try:
            rows = list(islice(filter(None, csv.reader(lines, delimiter=sign)), 2))
        except csv.Error:  # a quote that is never closed: the records say where
            rows = []
        alike = len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1
        return bool(rows) and names_edges(rows[0]), alike, bare.count(sign)

    return max(",;\t", key=evidence)


def _add(
    edges: EdgeTable, file: GraphFile, header: list[str], columns: Columns, batch: list[Record]
) -> list[str]:
    """Add rows; what the column ``Type``, if there is one, says of their edges."""
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
    edges.add(words, ends, weight, line_of)
    return [] if columns.type is None else [batch[k][1][columns.type] for k in edge.tolist()]
