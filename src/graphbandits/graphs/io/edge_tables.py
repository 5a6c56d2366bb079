"""Tables of edges: CSV files and data frames (pandas, polars, pyarrow).

The columns are found by their usual names, or as the user says. A table without such columns is an
adjacency matrix.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from graphbandits.errors import InputError, nearest
from graphbandits.graphs.io._edge_builder import (
    BATCH,
    EdgeBuilder,
    Place,
    is_missing,
    is_number,
    numbers_of,
)
from graphbandits.graphs.io._graph_file import GraphFile
from graphbandits.graphs.io.matrices import adjacency, from_cells
from graphbandits.graphs.processes import Fixed, check_names

#: Names that are understood by default; the first one that a table has counts.
SOURCES = ("source", "from", "src", "u", "fromnodeid", "source_id", "from_id", "node_1", "id_1")
TARGETS = ("target", "to", "dst", "v", "tonodeid", "target_id", "to_id", "node_2", "id_2")
PROBABILITIES = ("probability", "p", "weight", "prob", "chance")
#: Rows in which columns that are not used are examined, and characters, for the delimiter.
EXAMINED, MOST_EXAMINED = 1000, 2**20


class Columns(NamedTuple):
    """The places of the source, the target and the probability (None: every edge is sure).

    ``type`` is the place of the column in which Gephi writes Directed or Undirected.
    """

    source: int
    target: int
    probability: int | None
    type: int | None = None

    @classmethod
    def find(
        cls,
        header: Sequence[str],
        source: str | None,
        target: str | None,
        probability: str | None,
        where: str,
    ) -> Columns:
        """Find the columns by their names; None and 'auto' stand for the usual names.

        The case of the letters does not count, unless it tells two columns apart that are given.

        >>> Columns.find(["To", "From", "note", "weight"], None, None, "auto", "a.csv, line 1")
        Columns(source=1, target=0, probability=3, type=None)
        """
        ends = []
        for what, said, usual in (("source", source, SOURCES), ("target", target, TARGETS)):
            found = _find(header, usual if said is None else said, where)
            if found is None:
                raise InputError(
                    f"{where}: no column is called {_listed(usual)}; say {what}= one of: "
                    f"{', '.join(header)}"
                )
            ends.append(found)
        sought = PROBABILITIES if probability == "auto" else probability
        chance = None if sought is None else _find(header, sought, where)
        if len({*ends, chance}) < 3:
            raise InputError(f"{where}: source, target and probability are different columns")
        kinds = [place for place, name in enumerate(header) if _folded(name) == "type"]
        kind = kinds[0] if len(kinds) == 1 and kinds[0] not in (*ends, chance) else None
        return cls(ends[0], ends[1], chance, kind)

    def table(
        self, header: Sequence[str], place: Place, lack: str, numbers: str = ""
    ) -> EdgeBuilder:
        """An empty table of edges; ``lack`` ends the error about a row without a source."""
        return EdgeBuilder(
            place,
            weight=f"column '{header[self.probability or 0]}': ",
            hint="; with probability=None the column does not count",
            empty=f"the column '{header[self.source]}' {lack}",
            numbers=numbers,
        )

    def pick(self, cells: Callable[[int], Any]) -> Iterator[Any]:
        """The cells of each of these columns, None for one that is not there."""
        return (None if place is None else cells(place) for place in self)


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
    likely, whatever the case of the letters (more usual names: ``SOURCES``, ``TARGETS`` and
    ``PROBABILITIES`` of :mod:`~graphbandits.graphs.io.edge_tables`); ``source=``, ``target=`` and
    ``probability=`` say others, and ``probability=None`` makes every edge sure.
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
    text = CsvText(GraphFile.read(path))
    records = text.records()
    line, header = next(records, (0, []))
    if not header:
        raise InputError(
            f"{text.file.path} is empty: its first line names the columns, "
            "source,target,probability"
        )
    where = text.file.where(line)
    if source is None and target is None and not text.names_columns(header):
        _check_options(
            f"{where}: no columns are called source and target, so that", probability, directed
        )
        return from_cells(text.file, [(line, header), *records])
    columns = Columns.find(header, source, target, probability, where)
    if probability == "auto" and columns.probability is None:
        examined = (cells for _, cells in islice(text.records(), 1, EXAMINED))
        _check_ignored(header, columns, examined, where)
    table = columns.table(header, text.file.place, "is empty")
    while batch := list(islice(records, BATCH)):
        for line, cells in batch:
            if len(cells) != len(header):
                raise InputError(
                    f"{text.file.where(line)}: the first line names {len(header)} columns; this "
                    f"one has {len(cells)} cells"
                )
        lines, rows = zip(*batch, strict=True)
        table.add(lines, *columns.pick(list(zip(*rows, strict=True)).__getitem__))
    if not len(table):
        raise InputError(f"{text.file.path} holds no edges, only the names of its columns")
    return table.fixed(directed)


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
    # the columns of pyarrow are not their names
    labels = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    header = [str(label) for label in labels]
    if source is None and target is None and _is_adjacency(frame, labels):
        _check_options(
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
        _check_ignored(header, columns, zip(*some, strict=True), "the frame")
    sources, targets, weight, types = columns.pick(lambda place: _column(frame, labels[place]))
    if types is not None:
        types = ["" if is_missing(value) else str(value) for value in types]
    table = columns.table(header, _row, "has no value", numbers="column")
    table.add(
        range(len(sources)),
        _names(sources, header[columns.source]),
        _names(targets, header[columns.target]),
        weight,
        types,
    )
    return table.fixed(directed)


def _check_options(why: str, probability: str | None, directed: bool | None) -> None:
    """Refuse the options of a table of edges for an adjacency matrix."""
    given = {"probability": probability != "auto", "directed": directed is not None}
    for option in (option for option, said in given.items() if said):
        raise InputError(
            f"{why} this is an adjacency matrix, where {option}= has no meaning; say source= and "
            "target="
        )


def _check_ignored(
    header: Sequence[str], columns: Columns, rows: Iterable[Sequence[object]], where: str
) -> None:
    """Refuse a table in which a column that would be ignored looks like probabilities."""
    used = {columns.source, columns.target, columns.type}
    fractional = {place: False for place in range(len(header)) if place not in used}
    for row in rows:
        for place in list(fractional):
            word = str(row[place]).strip() if place < len(row) and row[place] is not None else ""
            if not word:
                continue
            chance = float(word) if is_number(word) else -1.0
            if 0.0 <= chance <= 1.0:
                fractional[place] |= 0.0 < chance < 1.0
            else:
                del fractional[place]
    for name in (header[place] for place, found in fractional.items() if found):
        raise InputError(
            f"{where}: the column '{name}' looks like probabilities, but no column is called "
            f"{_listed(PROBABILITIES)}; say probability={name}, or probability=none to make every "
            "edge sure"
        )


def names_edges(header: Sequence[str]) -> bool:
    """Whether a header has a usual name for the source and one for the target.

    >>> names_edges(["FromNodeId", "ToNodeId"]), names_edges(["ann", "bob"])
    (True, False)
    """
    known = {_folded(name) for name in header}
    return not known.isdisjoint(SOURCES) and not known.isdisjoint(TARGETS)


def _folded(name: str) -> str:
    return name.strip().casefold()


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _find(header: Sequence[str], sought: str | tuple[str, ...], where: str) -> int | None:
    """Find a column that the user names, or the first of the usual names, or None for these.

    The case of the letters does not count, unless a column is called exactly as the user says.
    """
    folded = [_folded(name) for name in header]
    usual = sought if isinstance(sought, tuple) else (_folded(str(sought)),)
    known = header if sought in header else folded
    for name in (sought,) if sought in header else usual:
        found = [place for place, one in enumerate(known) if one == name]
        if len(found) > 1:
            called = " and ".join(dict.fromkeys(f"'{header[place]}'" for place in found))
            raise InputError(f"{where}: two columns are called {called}")
        if found:
            return found[0]
    if isinstance(sought, tuple):
        return None
    raise InputError(f"{where}: there is no column '{sought}': {nearest(str(sought), header)}")


#: Excel's first line, which says how cells are parted.
_SEP = re.compile(r'"?sep=([,;\t])"?[ \t]*(?:\r\n|\r|\n|$)', re.IGNORECASE)
#: Blank lines and comments; ``#1,#2`` without a blank is none, but the names of two arms.
_COMMENTS = re.compile(r"(?:[ \t]*(?:#(?:[ \t#][^\r\n]*|[^,;\t\r\n]*))?(?:\r\n|\r|\n))*")
_LINE = re.compile(r"[^\r\n]+(?:\r\n?|\n)?|\r\n?|\n")


class CsvText:
    """The text of a CSV file, where its header starts, and the sign that parts its cells."""

    def __init__(self, file: GraphFile) -> None:
        self.file, self.text = file, file.text()
        said = _SEP.match(self.text)
        comments = _COMMENTS.match(self.text, said.end() if said else 0)
        self.start = comments.end() if comments else 0
        beginning = self.text[self.start : self.start + MOST_EXAMINED]
        self.delimiter = said.group(1) if said else _delimiter(beginning)

    def names_columns(self, header: list[str]) -> bool:
        """Whether a header names a source and a target, which are not the arms of a matrix.

        'from' and 'to' are arms if the first column has the same names as the header.
        """
        if not names_edges(header) or _folded(header[0]) in SOURCES + TARGETS:
            return names_edges(header)
        first = [cells[0] for _, cells in islice(self.records(), 1, len(header) + 1)]
        return first != header[1:]

    def records(self) -> Iterator[tuple[int, list[str]]]:
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


def _is_adjacency(frame: Any, labels: list[Any]) -> bool:
    index: Any = getattr(frame, "index", None)  # which polars and pyarrow have not
    return len(labels) == frame.shape[0] > 0 and hasattr(index, "tolist") and labels == list(index)


def _from_adjacency(frame: Any, names: list[str]) -> Fixed:
    cells = frame.to_numpy()
    if cells.dtype.kind in "biuf":
        matrix = cells.astype(np.float64)
    else:
        matrix = np.array([numbers_of(row) for row in cells.tolist()])
    return adjacency(
        matrix,
        check_names(names, len(names)),
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
