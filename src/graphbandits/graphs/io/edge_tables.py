"""Tables of edges: CSV files and data frames (pandas, polars, pyarrow).

The columns are selected by their usual names or by the caller. A table without such columns is an
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
    convert_numbers,
    is_missing,
    is_number,
)
from graphbandits.graphs.io._graph_file import GraphFile
from graphbandits.graphs.io.matrices import adjacency, from_cells
from graphbandits.graphs.processes import Fixed, check_names

#: Names of columns that are recognized by default; the first one in the table is used.
SOURCES = ("source", "from", "src", "u", "fromnodeid", "source_id", "from_id", "node_1", "id_1")
TARGETS = ("target", "to", "dst", "v", "tonodeid", "target_id", "to_id", "node_2", "id_2")
PROBABILITIES = ("probability", "p", "weight", "prob", "chance")
#: Rows in which unused columns are examined, and characters in which the delimiter is searched.
EXAMINED, MOST_EXAMINED = 1000, 2**20


class Columns(NamedTuple):
    """Indices of the source, target and probability columns (None: all probabilities are 1).

    ``type`` is the index of Gephi's column with the values Directed or Undirected.
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
        """Find the columns by their names; None and 'auto' select the usual names.

        Names are compared without case, unless a column has exactly the given name.

        >>> Columns.find(["To", "From", "note", "weight"], None, None, "auto", "a.csv, line 1")
        Columns(source=1, target=0, probability=3, type=None)
        """
        ends = []
        for what, name, usual in (("source", source, SOURCES), ("target", target, TARGETS)):
            found = _find(header, usual if name is None else name, where)
            if found is None:
                raise InputError(
                    f"{where}: no column is named {_listed(usual)}; set {what}= to one of: "
                    f"{', '.join(header)}"
                )
            ends.append(found)
        name_or_names = PROBABILITIES if probability == "auto" else probability
        chance = None if name_or_names is None else _find(header, name_or_names, where)
        if len({*ends, chance}) < 3:
            raise InputError(f"{where}: source, target and probability must be different columns")
        kinds = [place for place, name in enumerate(header) if _folded(name) == "type"]
        kind = kinds[0] if len(kinds) == 1 and kinds[0] not in (*ends, chance) else None
        return cls(ends[0], ends[1], chance, kind)

    def table(
        self, header: Sequence[str], place: Place, missing: str, numbers: str = ""
    ) -> EdgeBuilder:
        """Return an empty builder; ``missing`` ends the error about a row without a source."""
        return EdgeBuilder(
            place,
            weight=f"column '{header[self.probability or 0]}': ",
            hint="; probability=None ignores the column",
            empty=f"the column '{header[self.source]}' {missing}",
            numbers=numbers,
        )

    def pick(self, cells: Callable[[int], Any]) -> Iterator[Any]:
        """Yield the cells of each column, None for a missing column."""
        return (None if place is None else cells(place) for place in self)


def from_csv(
    path: str | os.PathLike[str] | GraphFile,
    *,
    source: str | None = None,
    target: str | None = None,
    probability: str | None = "auto",
    directed: bool | None = None,
) -> Fixed:
    r"""Read a fixed graph from a CSV file: a table of edges, or an adjacency matrix.

    The first line has the names of the columns. The played arm is in a column ``source``, ``from``,
    ``src`` or ``u``, the observed arm in ``target``, ``to``, ``dst`` or ``v``, the probability in
    ``probability``, ``p`` or ``weight``. Case is ignored. All recognized names are in ``SOURCES``,
    ``TARGETS`` and ``PROBABILITIES`` of :mod:`~graphbandits.graphs.io.edge_tables`. Other columns
    are ignored; if there is no probability column, a column that looks like one is an error.

    Arms are numbered in the order of their first appearance. A row without a target is an arm
    without edges; the target ``NA`` is an arm with that name. Cells are separated by comma,
    semicolon or tab and may be quoted; spaces around a cell are ignored. Comments (``# ...``)
    before the first line, and Excel's ``sep=;``, are skipped.

    A file without such columns is an adjacency matrix: rows of probabilities, with optional names
    in the first line and in the first column. The diagonal must be all ones or all zeros; zeros are
    replaced by ones.

    Parameters
    ----------
    path
        Path of the file, which may be gz-compressed.
    source, target
        Names of the columns with the played and the observed arm. None selects the usual names.
    probability
        Name of the column with the probabilities. "auto" selects the usual names, None gives every
        edge probability 1.
    directed
        True if a row is one direction of an edge, False if it is both. None follows a column
        ``Type`` with the values Directed or Undirected (Gephi), or is True without this column.

    Returns
    -------
    Fixed

    Raises
    ------
    InputError
        If the file is not a valid table or matrix; the message has the line number.

    Examples
    --------
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
            f"{text.file.path} is empty: the first line must name the columns, such as "
            "source,target,probability"
        )
    where = text.file.where(line)
    if source is None and target is None and not text.names_columns(header):
        _check_options(
            f"{where}: no columns are named source and target, so", probability, directed
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
                    f"{text.file.where(line)}: this line has {len(cells)} cells, but the first "
                    f"line names {len(header)} columns"
                )
        lines, rows = zip(*batch, strict=True)
        table.add(lines, *columns.pick(list(zip(*rows, strict=True)).__getitem__))
    if not len(table):
        raise InputError(f"{text.file.path} has no edges, only the names of its columns")
    return table.fixed(directed)


def is_frame(value: object) -> bool:
    """Whether a value is a data frame; tests the class, because columns may be attributes.

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
    """Convert a data frame with one row per edge to a fixed graph.

    Columns are selected as in :func:`from_csv`. A row with a missing target is an arm without
    edges. Arms are numbered in the order of their first appearance; their names are the values as
    texts, without surrounding whitespace.

    A pandas data frame whose index equals its columns, such as the result of
    ``networkx.to_pandas_adjacency``, is an adjacency matrix. Its diagonal must be all ones or all
    zeros; zeros are replaced by ones.

    Parameters
    ----------
    frame
        A pandas or polars data frame or a pyarrow table.
    source, target
        Names of the columns with the played and the observed arm. None selects the usual names.
    probability
        Name of the column with the probabilities. "auto" selects the usual names, None gives every
        edge probability 1.
    directed
        True if a row is one direction of an edge, False if it is both. None follows a column
        ``Type`` with the values Directed or Undirected, or is True without this column.

    Returns
    -------
    Fixed

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"from": ["ann", "eve"], "to": ["bob", None], "p": [0.5, None]})
    >>> from_frame(frame).names
    ('ann', 'bob', 'eve')
    """
    if not is_frame(frame):
        raise InputError(
            f"expected a data frame (pandas, polars, pyarrow), not {type(frame).__name__}"
        )
    # the attribute columns of a pyarrow table has data, not names
    labels = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    header = [str(label) for label in labels]
    if source is None and target is None and _is_adjacency(frame, labels):
        _check_options("the index of the data frame equals its columns, so", probability, directed)
        return _from_adjacency(frame, header)
    try:
        columns = Columns.find(header, source, target, probability, "the data frame")
    except InputError as error:
        if header and len(header) == frame.shape[0]:
            raise InputError(
                f"{error}; for an adjacency matrix, use from_matrix(frame.to_numpy(), names)"
            ) from None
        raise
    if not frame.shape[0]:
        raise InputError("the data frame has no rows: give one row per edge")
    if probability == "auto" and columns.probability is None:
        examined = [_column(frame[:1000], label) for label in labels]
        _check_ignored(header, columns, zip(*examined, strict=True), "the data frame")
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
    """Raise an error for options that do not apply to an adjacency matrix."""
    given = {"probability": probability != "auto", "directed": directed is not None}
    for option in (option for option, is_given in given.items() if is_given):
        raise InputError(
            f"{why} this is an adjacency matrix, which has no option {option}=; for a table of "
            "edges, set source= and target="
        )


def _check_ignored(
    header: Sequence[str], columns: Columns, rows: Iterable[Sequence[object]], where: str
) -> None:
    """Raise an error if a column that would be ignored looks like probabilities."""
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
            f"{where}: the column '{name}' looks like probabilities, but no column is named "
            f"{_listed(PROBABILITIES)}; set probability={name}, or probability=none to give every "
            "edge probability 1"
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


def _find(header: Sequence[str], wanted: str | tuple[str, ...], where: str) -> int | None:
    """Return the index of a column given by its name, or of the first of several usual names.

    Returns None if no column has a usual name. Names are compared without case, unless a column
    has exactly the given name.
    """
    folded = [_folded(name) for name in header]
    usual = wanted if isinstance(wanted, tuple) else (_folded(str(wanted)),)
    known = header if wanted in header else folded
    for name in (wanted,) if wanted in header else usual:
        found = [place for place, one in enumerate(known) if one == name]
        if len(found) > 1:
            names = " and ".join(dict.fromkeys(f"'{header[place]}'" for place in found))
            raise InputError(f"{where}: two columns are named {names}: names must be distinct")
        if found:
            return found[0]
    if isinstance(wanted, tuple):
        return None
    raise InputError(f"{where}: there is no column '{wanted}': {nearest(str(wanted), header)}")


#: Excel's first line, which sets the delimiter.
_SEP = re.compile(r'"?sep=([,;\t])"?[ \t]*(?:\r\n|\r|\n|$)', re.IGNORECASE)
#: Blank lines and comments; ``#1,#2`` without a space is not a comment, but two names.
_COMMENTS = re.compile(r"(?:[ \t]*(?:#(?:[ \t#][^\r\n]*|[^,;\t\r\n]*))?(?:\r\n|\r|\n))*")
_LINE = re.compile(r"[^\r\n]+(?:\r\n?|\n)?|\r\n?|\n")


class CsvText:
    """Text of a CSV file, with the start of its header and its delimiter."""

    def __init__(self, file: GraphFile) -> None:
        self.file, self.text = file, file.text()
        declared = _SEP.match(self.text)
        comments = _COMMENTS.match(self.text, declared.end() if declared else 0)
        self.start = comments.end() if comments else 0
        beginning = self.text[self.start : self.start + MOST_EXAMINED]
        self.delimiter = declared.group(1) if declared else _delimiter(beginning)

    def names_columns(self, header: list[str]) -> bool:
        """Whether a header names a source and a target column, and not the arms of a matrix.

        'from' and 'to' are arms if the first column has the same names as the header.
        """
        if not names_edges(header) or _folded(header[0]) in SOURCES + TARGETS:
            return names_edges(header)
        first = [cells[0] for _, cells in islice(self.records(), 1, len(header) + 1)]
        return first != header[1:]

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each record that is not blank, with its first line number."""
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
                f"{self.file.where(line)}: not valid CSV: {self._reason(error, line)}"
            ) from None

    def _reason(self, error: csv.Error, line: int) -> str:
        """Return the reason why the record that starts at a line cannot be read."""
        if "field larger" in str(error):
            begin = next(islice(_LINE.finditer(self.text), line - 1, None)).start()
            if self.text.count('"', begin) % 2 == 0:
                return f"a cell has more than {csv.field_size_limit()} characters"
        elif "unexpected end" not in str(error):
            return str(error)
        return "a quote is not closed"


def _delimiter(text: str) -> str:
    r"""Return the delimiter, found from the first two lines; a comma by default.

    Criteria in this order: the first line becomes a header of edges; the first two lines have the
    same number of cells; the delimiter is the most frequent one in the first line, without quotes.

    >>> _delimiter(";Doe, J;Roe, K\nDoe, J;0;1\n")
    ';'
    """
    opening = _LINE.match(text)
    bare = re.sub(r'"[^"]*"', "", opening.group() if opening else "")

    def evidence(sign: str) -> tuple[bool, bool, int]:
        lines = (line.group() for line in _LINE.finditer(text))
        try:
            rows = list(islice(filter(None, csv.reader(lines, delimiter=sign)), 2))
        except csv.Error:  # a quote that is not closed: reported when records are read
            rows = []
        same_width = len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1
        return bool(rows) and names_edges(rows[0]), same_width, bare.count(sign)

    return max(",;\t", key=evidence)


def _is_adjacency(frame: Any, labels: list[Any]) -> bool:
    index: Any = getattr(frame, "index", None)  # polars and pyarrow have no index
    return len(labels) == frame.shape[0] > 0 and hasattr(index, "tolist") and labels == list(index)


def _from_adjacency(frame: Any, names: list[str]) -> Fixed:
    cells = frame.to_numpy()
    if cells.dtype.kind in "biuf":
        matrix = cells.astype(np.float64)
    else:
        matrix = np.array([convert_numbers(row) for row in cells.tolist()])
    return adjacency(
        matrix,
        check_names(names, len(names)),
        lambda i, j: f"the data frame: entry ({names[i]}, {names[j]})",
        "; a data frame whose index equals its columns is an adjacency matrix; for a table of "
        "edges, set source= and target=",
    )


def _row(k: int) -> str:
    return f"the data frame, row {k} (the first is 0): "


def _column(frame: Any, label: Any) -> list[Any]:
    """Return a column as Python values; an array would convert integers with gaps to floats."""
    column = frame[label]
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow, polars, pandas
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            return values
    return list(column.to_numpy().tolist())


def _names(values: list[Any], column: str) -> list[str]:
    """Convert values to texts; '' for missing values."""
    return [
        str(value).strip() if type(value) in (str, int) else _name(value, k, column)
        for k, value in enumerate(values)
    ]


def _name(value: Any, k: int, column: str) -> str:
    if not isinstance(value, Hashable):  # an array, a list
        raise InputError(
            f"{_row(k)}column '{column}': the name of an arm must be a text or a number, not "
            f"{type(value).__name__}"
        )
    if is_missing(value):
        return ""
    if (
        isinstance(value, float) and value.is_integer()
    ):  # pandas converts integers with gaps to floats
        if abs(value) >= _LARGEST:
            raise InputError(
                f"{_row(k)}column '{column}': {value!r} is too large for an exact integer; "
                "if this is an integer column with gaps, read it with dtype 'Int64'"
            )
        return str(int(value))
    return str(value).strip()


#: From here on, distinct integers may be the same float.
_LARGEST = 2.0**53
