"""CSV: a table of edges with a header, or an adjacency matrix."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from graphbandits.errors import InputError, yes_or_no
from graphbandits.graphs.io.columns import Columns, check_ignored, names_an_end, names_edges
from graphbandits.graphs.io.edges import BATCH, EdgeTable
from graphbandits.graphs.io.fast_csv import WORTHWHILE, fast_graph, quotes_are_plain
from graphbandits.graphs.io.files import GraphFile
from graphbandits.graphs.io.matrices import check_options, from_cells
from graphbandits.graphs.processes import Fixed

#: Rows in which columns that are not used are examined, and characters, for the delimiter.
EXAMINED, MOST_EXAMINED = 1000, 2**20
#: A line of the file, and its cells.
Record = tuple[int, list[str]]


def from_csv(
    path: str | os.PathLike[str] | GraphFile,
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
    text = CsvText.of(GraphFile.read(path))
    records = text.records()
    line, header = next(records, (0, []))
    if not header:
        raise InputError(
            f"{text.file.path} is empty: its first line names the columns, "
            "source,target,probability"
        )
    where = text.file.where(line)
    if source is None and target is None and not text.names_columns(header):
        check_options(
            f"{where}: no columns are called source and target, so that", probability, directed
        )
        return from_cells(text.file, [(line, header), *records])
    columns = Columns.find(header, source, target, probability, where)
    if probability == "auto" and columns.probability is None:
        examined = (cells for _, cells in islice(text.records(), 1, EXAMINED))
        check_ignored(header, columns, examined, where)
    if directed is not None:
        yes_or_no(directed, "directed")
    if len(text.file.data) >= WORTHWHILE and (graph := fast_csv(text, header, columns, directed)):
        return graph
    table = EdgeTable(
        text.file.place,
        weight=f"column '{header[columns.probability or 0]}': ",
        hint="; with probability=None the column does not count",
        empty=f"the column '{header[columns.source]}' is empty",
    )
    while batch := list(islice(records, BATCH)):
        for line, cells in batch:
            if len(cells) != len(header):
                raise InputError(
                    f"{text.file.where(line)}: the first line names {len(header)} columns; this "
                    f"one has {len(cells)} cells"
                )
        lines, rows = zip(*batch, strict=True)
        cell = list(zip(*rows, strict=True))
        table.add(
            lines,
            cell[columns.source],
            cell[columns.target],
            None if columns.probability is None else cell[columns.probability],
            None if columns.type is None else cell[columns.type],
        )
    if not len(table):
        raise InputError(f"{text.file.path} holds no edges, only the names of its columns")
    return table.fixed(directed)


def fast_csv(
    text: CsvText, header: list[str], columns: Columns, directed: bool | None
) -> Fixed | None:
    """Read a large file with nothing unusual in it; None for any other."""
    opening = re.compile(r"[\r\n]*([^\r\n]*)").match(text.text, text.start)
    if opening is None or not quotes_are_plain(text.file.data, text.delimiter):
        return None
    cells = next(csv.reader(opening.groups(), delimiter=text.delimiter, skipinitialspace=True), [])
    if [cell.strip() for cell in cells] != header:
        return None
    data, limit = text.file.data, csv.field_size_limit()
    mark = len(data) - len(data.removeprefix(b"\xef\xbb\xbf"))
    return fast_graph(
        memoryview(data)[mark + len(text.text[: opening.end()].encode()) :],
        text.delimiter,
        '"',
        len(header),
        columns,
        directed,
        lambda cell: cell == cell.strip() and len(cell) <= limit,
    )


#: Excel's first line, which says how cells are parted.
_SEP = re.compile(r'"?sep=([,;\t])"?[ \t]*(?:\r\n|\r|\n|$)', re.IGNORECASE)
#: Blank lines and comments; ``#1,#2`` without a blank is none, but the names of two arms.
_COMMENTS = re.compile(r"(?:[ \t]*(?:#(?:[ \t#][^\r\n]*|[^,;\t\r\n]*))?(?:\r\n|\r|\n))*")
_LINE = re.compile(r"[^\r\n]+(?:\r\n?|\n)?|\r\n?|\n")


@dataclass(frozen=True)
class CsvText:
    """The text of a CSV file, where its header starts, and the sign that parts its cells."""

    file: GraphFile
    text: str
    start: int
    delimiter: str

    @classmethod
    def of(cls, file: GraphFile) -> CsvText:
        text = file.text()
        said = _SEP.match(text)
        comments = _COMMENTS.match(text, said.end() if said else 0)
        start = comments.end() if comments else 0
        sign = said.group(1) if said else _delimiter(text[start : start + MOST_EXAMINED])
        return cls(file, text, start, sign)

    def names_columns(self, header: list[str]) -> bool:
        """Whether a header names a source and a target, which are not the arms of a matrix.

        'from' and 'to' are arms if the first column has the same names as the header.
        """
        if not names_edges(header) or names_an_end(header[0]):
            return names_edges(header)
        first = [cells[0] for _, cells in islice(self.records(), 1, len(header) + 1)]
        return first != header[1:]

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
            raise InputError(
                f"{self.file.where(line)}: no CSV: {self._reason(error, line)}"
            ) from None

    def _reason(self, error: csv.Error, line: int) -> str:
        """Explain why the record that begins on a line cannot be read."""
        if "field larger" in str(error):
            begin = next(islice(_LINE.finditer(self.text), line - 1, None)).start()
            if self.text.count('"', begin) % 2 == 0:
                return f"a cell has more than {csv.field_size_limit()} characters"
        elif "unexpected end" not in str(error):
            return str(error)
        return "a quote is opened and never closed"


def _delimiter(text: str) -> str:
    r"""The sign that parts the cells, by the first two lines; a comma if they do not tell.

    First a sign that makes a header of edges; then one that makes as many cells of the second line
    as of the first; then the one that stands most often in the first line, outside of quotes.

    >>> _delimiter(";Doe, J;Roe, K\nDoe, J;0;1\n")
    ';'
    """
    opening = _LINE.match(text)
    bare = re.sub(r'"[^"]*"', "", opening.group() if opening else "")

    def evidence(sign: str) -> tuple[bool, bool, int]:
        lines = (line.group() for line in _LINE.finditer(text))
        try:
            rows = list(islice(filter(None, csv.reader(lines, delimiter=sign)), 2))
        except csv.Error:  # a quote that is never closed: the records say where
            rows = []
        alike = len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1
        return bool(rows) and names_edges(rows[0]), alike, bare.count(sign)

    return max(",;\t", key=evidence)
