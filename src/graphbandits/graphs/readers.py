"""Graphs from edge lists, CSV, data frames, matrices, NetworkX and GraphML."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import warnings
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphbandits._files import MOST_UNPACKED, check_array_header, check_npz, read_bytes
from graphbandits._types import Floats
from graphbandits.errors import InputError, InputWarning, nearest
from graphbandits.graphs.edges import (
    BATCH,
    MAX_ARMS,
    EdgeBuilder,
    Where,
    convert_numbers,
    is_missing,
    is_number,
    named_edges,
    parse_floats,
    probabilities,
)
from graphbandits.graphs.feedback import (
    DENSE_LIMIT,
    DenseFeedback,
    Feedback,
    first_invalid_probability,
    float_array,
    from_edges,
    is_feedback,
)
from graphbandits.graphs.processes import Fixed, Process, check_names, edge_arrays

if TYPE_CHECKING:
    import networkx


def from_matrix(matrix: Any, names: Iterable[str | int] | None = None) -> Fixed:
    """Convert a K x K array of probabilities to a fixed graph.

    Parameters
    ----------
    matrix
        Entry (i, j) is the probability of observing arm j by playing arm i. The diagonal must be
        1; add ``np.eye(K)`` to an adjacency matrix without self-loops. Files and sparse matrices
        may have a zero diagonal.
    names
        Names of the arms, if any: distinct texts or whole numbers, one for each arm.

    Examples
    --------
    >>> from_matrix([[1, 0.5], [0, 1]]).deterministic
    False
    """
    dense = DenseFeedback(matrix)
    fixed = Fixed(dense, check_names(names, dense.arms))
    if dense.arms <= DENSE_LIMIT:
        return fixed
    source, target = np.nonzero(dense.matrix[0])
    weight = dense.matrix[0, source, target]
    return Fixed(from_edges(dense.arms, source, target, weight), fixed.names)


def from_sparse(matrix: Any, names: Iterable[str | int] | None = None) -> Fixed:
    """Convert a scipy sparse matrix or array of probabilities, in any format, to a fixed graph.

    Entries that are zero or not stored are not edges. The diagonal is set to 1. An entry that is
    stored twice must have the same value. The parameters are those of :func:`from_matrix`.
    """
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise InputError(f"a sparse matrix must be square, K x K; got the shape {shape}")
    if shape[0] > MAX_ARMS:
        raise InputError(f"a matrix must have at most {MAX_ARMS} arms; this one has {shape[0]}")
    stored = matrix.tocoo()
    row, column = (np.asarray(part, np.int64) for part in (stored.row, stored.col))
    if stored.data.dtype.kind not in "biuf":
        raise InputError(f"a sparse matrix must hold numbers in [0, 1], not {stored.data.dtype}")
    chance = np.asarray(stored.data, np.float64)
    invalid = first_invalid_probability(chance)
    if invalid is not None:
        raise InputError(
            "the entries of a sparse matrix must be probabilities in [0, 1]; entry "
            f"({row[invalid]}, {column[invalid]}) is {chance[invalid]:g}"
        )
    kept = ~((row == column) & (chance == 0.0))
    feedback = named_edges(range(shape[0]), row[kept], column[kept], chance[kept])
    return Fixed(feedback, check_names(names, shape[0]))


def adjacency(
    matrix: NDArray[Any],
    names: tuple[str, ...] | None,
    entry: Callable[[int, int], str],
    hint: str = "",
) -> Fixed:
    """Convert an adjacency matrix, whose diagonal may be zero, to a fixed graph.

    ``entry`` returns the start of an error message about an entry.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InputError(f"an adjacency matrix must be K x K, not of the shape {matrix.shape}")
    matrix = float_array(matrix, "an adjacency matrix")
    invalid = first_invalid_probability(matrix)
    if invalid is not None:
        raise InputError(
            f"{entry(*invalid)} must be a probability in [0, 1], not {matrix[invalid]:g}{hint}"
        )
    diagonal = matrix.diagonal()
    if not diagonal.any():
        np.fill_diagonal(matrix, 1.0)
    elif (diagonal != 1.0).any():
        i = int(np.argmax(diagonal != 1.0))
        raise InputError(
            f"{entry(i, i)} is {diagonal[i]:g}, but the diagonal must be all ones (the played arm "
            f"is always observed) or all zeros, which are replaced by ones{hint}"
        )
    return from_matrix(matrix, names)


#: Names of columns that are recognized by default; the first one in the table is used.
SOURCES = ("source", "from", "src", "u", "fromnodeid", "source_id", "from_id", "node_1", "id_1")
TARGETS = ("target", "to", "dst", "v", "tonodeid", "target_id", "to_id", "node_2", "id_2")
PROBABILITIES = ("probability", "p", "weight", "prob", "chance")
#: Edge attributes that are probabilities by default; the first existing one is used.
ATTRIBUTES = ("probability", "weight")
#: Rows in which unused columns are examined, and characters in which the delimiter is searched.
EXAMINED, MAX_EXAMINED = 1000, 2**20


@dataclass(frozen=True)
class GraphFile:
    """Path and decompressed bytes of a graph file."""

    path: Path
    data: bytes

    @classmethod
    def read(cls, path: object) -> GraphFile:
        """Read a regular file, which may be gz-compressed; a GraphFile is returned unchanged."""
        if isinstance(path, GraphFile):
            return path
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"the path of a graph file must be a text or a path, not {path!r}")
        path = Path(path)
        if str(path).startswith("~"):
            with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: no home directory
                path = path if path.exists() else path.expanduser()
        data = read_bytes(path, "graph file")
        if data.startswith(b"\x1f\x8b"):
            try:
                with gzip.open(io.BytesIO(data)) as stream:
                    data = stream.read(MOST_UNPACKED + 1)
            except (EOFError, OSError, zlib.error) as error:
                raise InputError(
                    f"the graph file {path} is gz-compressed, but truncated or damaged: {error}"
                ) from None
            if len(data) > MOST_UNPACKED:
                raise InputError(
                    f"the graph file {path} has more than {MOST_UNPACKED >> 20} MiB of "
                    "decompressed data, which is the limit: decompress it and give that file"
                )
        file = cls(path, data)
        if data.startswith(b"PK\x03\x04") and file.ending != ".npz":
            raise InputError(
                f"{path} is a zip archive or an Excel file: export a table as CSV, or save one "
                "array with np.save"
            )
        return file

    @property
    def ending(self) -> str:
        """File extension in lower case, without ``.gz``: ``.csv`` for ``edges.CSV.gz``."""
        return Path(self.path.name.lower().removesuffix(".gz")).suffix

    def line(self, number: int) -> str:
        return f"{self.path}, line {number}: "

    def text(self) -> str:
        """Decode the text as UTF-8, with or without a byte order mark."""
        try:
            text = self.data.decode("utf-8-sig")
            at = self.data.find(b"\0")
        except UnicodeDecodeError as error:
            at = error.start
        if at < 0:
            return text
        line = self.data.count(b"\n", 0, at) + 1
        reason = f"line {line} has the byte 0x{self.data[at]:02x}"
        if self.data.startswith((b"\xff\xfe", b"\xfe\xff")):
            reason = "it looks like UTF-16"
        raise InputError(
            f"the graph file {self.path} is not text in UTF-8 ({reason}): save it as UTF-8"
        )


# Edge lists

_FORM = "'source target [probability]'"
_COMMENT = re.compile(r"(?:^|\s)#|^\s*(?:%|//)")
#: A comment of SNAP or KONECT, preceded only by blank lines and comments.
_UNDIRECTED = re.compile(
    r"(?:[^\S\n]*(?:(?:#|%|//)[^\n]*)?\n)*?(?:#\s*undirected graph|%\s*sym)\b", re.IGNORECASE
)

#: The number, the text and the words of a line.
Row = tuple[int, str, list[str]]


def from_edge_list(
    path: str | os.PathLike[str] | GraphFile,
    *,
    directed: bool | None = None,
    probability: str | None = "auto",
) -> Fixed:
    """Read a fixed graph from lines ``source target [probability]``; ``#`` starts a comment.

    Arms are numbered in the order of their first appearance. A line with one word is an arm without
    edges. Self-loops are added.

    ``#`` starts a comment at the start of a line or of a word, not within a word: ``C#`` is a
    name, but an arm ``#python`` requires a table. ``%`` and ``//`` start a comment at the start of
    a line. A first line of column names, commas between words, and three lines of three numbers in
    [0, 1] raise an error, because these files are tables (:func:`from_csv`) or matrices. A first
    line that looks like the numbers of nodes and edges of the file is read as an edge, with an
    :class:`InputWarning`.

    Parameters
    ----------
    path
        Path of the file, which may be gz-compressed.
    directed
        True if a line is one direction of an edge, False if it is both. None means True, unless the
        file starts with a comment ``# Undirected graph: ...`` (SNAP, snap.stanford.edu/data) or
        ``% sym`` (KONECT, konect.cc).
    probability
        "auto" reads the third word as the probability, None ignores it.
    """
    file = GraphFile.read(path)
    if probability not in (None, "auto"):
        raise InputError(
            f"{file.path} is an edge list without column names, for which probability must be "
            f"'auto' (the third word) or None; probability='{probability}' needs CSV or GraphML"
        )
    text = file.text().replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("%%MatrixMarket"):
        raise InputError(
            f"{file.path} is a Matrix Market file: read it with scipy.io.mmread and pass the matrix"
        )
    rows = _rows(text)
    head = [*islice(rows, 4)]
    if not head:
        raise InputError(f"{file.path} has no edges: a line must be {_FORM}")
    _check_format(file, head)
    rows, edges = chain(head, rows), 0
    table = EdgeBuilder(file.line, "; probability=None ignores the third word")
    while batch := [*islice(rows, BATCH)]:
        for row in batch:
            _check_row(file, row)
        targets = [words[1] if len(words) > 1 else "" for _, _, words in batch]
        edges += len(targets) - targets.count("")
        table.add(
            [number for number, _, _ in batch],
            [words[0] for _, _, words in batch],
            targets,
            [words[2] if len(words) > 2 else "1" for _, _, words in batch] if probability else None,
        )
    graph = table.fixed(not _UNDIRECTED.match(text) if directed is None else directed)
    _check_counts(file, head[0], len(table), edges)
    return graph


def _rows(text: str) -> Iterator[Row]:
    """Yield the lines that have words outside of comments."""
    for number, line in enumerate(text.split("\n"), 1):
        marked = "#" in line or line.lstrip()[:1] in ("%", "/")
        comment = _COMMENT.search(line) if marked else None
        if words := (line[: comment.start()] if comment else line).split():
            yield number, line, words


def _check_format(file: GraphFile, head: list[Row]) -> None:
    """Raise an error for tables and matrices whose lines could be read as edges."""
    number, line, words = head[0]
    if names_edges(words[:2]) and (len(words) == 2 or not is_number(words[2])):
        raise InputError(
            f"{file.line(number)}'{line.strip()[:60]}' looks like column names: put '# ' before "
            "it, or save a table with commas as .csv; if these are arms, write "
            f"'{' '.join(words[:2])} 1'"
        )
    if [len(words) for _, _, words in head] == [3, 3, 3]:
        matrix = parse_floats([word for _, _, words in head for word in words])
        if first_invalid_probability(matrix) is None:
            raise InputError(
                f"{file.path} has three lines of three numbers in [0, 1], which looks like a "
                "matrix: save it as .csv with commas or as .npy; if these are edges, rename the "
                "arms"
            )


def _check_row(file: GraphFile, row: Row) -> None:
    number, line, words = row
    commas = "," in line or ";" in line
    if commas:  # a,b or a, b or a ,b, but not the names a,b and c
        ends = words[0] if len(words) == 1 else words[0][-1] + words[1][0] + words[1][-1]
        commas = "," in ends or ";" in ends
    if commas or len(words) > 3:
        raise InputError(
            f"{file.line(number)}a line must be {_FORM}, separated by spaces, not "
            f"'{line.strip()[:60]}'; give a table with column names the extension .csv or .tsv, "
            "and a matrix .csv or .npy"
        )


def _check_counts(file: GraphFile, first: Row, arms: int, edges: int) -> None:
    """Warn if the first of at least 11 lines looks like the numbers of nodes and edges."""
    number, line, words = first
    if len(words) == 2 and all(re.fullmatch("[0-9]{1,18}", word) for word in words):
        nodes, lines = map(int, words)
        if edges - 1 >= 10 and edges - 1 in (lines, 2 * lines) and arms - 2 <= nodes:
            warnings.warn(
                f"{file.line(number)}'{line.strip()}' looks like the numbers of nodes and edges, "
                "but is read as an edge: put '# ' before it, or remove it",
                InputWarning,
                stacklevel=3,
            )


# Tables of edges


class Columns(NamedTuple):
    """Indices of columns; ``type`` has Gephi's values Directed and Undirected."""

    source: int
    target: int
    probability: int | None
    type: int | None

    def pick(self, column: Callable[[int], Any]) -> Iterator[Any]:
        """Yield the columns, None for a missing one."""
        return (None if k is None else column(k) for k in self)

    def hint(self, header: Sequence[str]) -> str:
        return f"; probability=None ignores the column '{header[self.probability or 0]}'"


def from_csv(
    path: str | os.PathLike[str] | GraphFile,
    *,
    source: str | None = None,
    target: str | None = None,
    probability: str | None = "auto",
    directed: bool | None = None,
) -> Fixed:
    """Read a fixed graph from a CSV file: a table of edges, or an adjacency matrix.

    The first line has the names of the columns. The played arm is in a column ``source``, ``from``,
    ``src`` or ``u``, the observed arm in ``target``, ``to``, ``dst`` or ``v``, the probability in
    ``probability``, ``p`` or ``weight``. Case is ignored. All recognized names are in ``SOURCES``,
    ``TARGETS`` and ``PROBABILITIES`` of this module. Other columns are ignored; if there is no
    probability column, a column that looks like one is an error.

    Arms are numbered in the order of their first appearance. A row without a target is an arm
    without edges; the target ``NA`` is an arm with that name. Cells are separated by comma,
    semicolon or tab and may be quoted. Comments (``# ...``) before the first line, and Excel's
    ``sep=;``, are skipped.

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
    """
    file = GraphFile.read(path)
    records = _records(file)
    head = [*islice(records, EXAMINED)]
    if not head:
        raise InputError(
            f"{file.path} is empty: the first line must name the columns, such as "
            "source,target,probability"
        )
    records = chain(head, records)
    where, header = file.line(head[0][0]), head[0][1]
    rows = [cells for _, cells in head[1:]]
    if source is None and target is None and not _has_column_names(header, rows):
        _check_options(f"{where}no columns are named source and target, so", probability, directed)
        return _from_cells(file, [*records])
    columns = _find_columns(header, source, target, probability, where)
    if probability == "auto" and columns.probability is None:
        _check_ignored(header, columns, rows, where)
    next(records)
    table = EdgeBuilder(file.line, columns.hint(header))
    while batch := [*islice(records, BATCH)]:
        cells_of = [*zip(*(cells for _, cells in batch), strict=True)]
        table.add([line for line, _ in batch], *columns.pick(cells_of.__getitem__))
    if not len(table):
        raise InputError(f"{file.path} has no edges, only the names of its columns")
    return table.fixed(directed)


#: Excel's first line, which sets the delimiter.
_SEP = re.compile(r'"?sep=([,;\t])"?[ \t]*[\r\n]*', re.IGNORECASE)
#: A blank line or a comment; ``#1,#2`` without a space is not a comment, but two names.
_TABLE_COMMENT = re.compile(r"[ \t]*(?:#(?:[ \t#].*|[^,;\t]*))?[\r\n]*", re.DOTALL)


def _records(file: GraphFile) -> Iterator[tuple[int, list[str]]]:
    """Yield each record of a CSV file that is not blank, with its first line number.

    All records must have the same number of cells.
    """
    text = file.text()
    lines = io.StringIO(text, newline="")
    delimiter, skipped, start = "", 0, 0
    for first in lines:
        if not skipped and (declared := _SEP.fullmatch(first)):
            delimiter = declared[1]
        elif not _TABLE_COMMENT.fullmatch(first):
            break
        skipped, start = skipped + 1, start + len(first)
    lines.seek(start)
    reader = csv.reader(
        lines,
        delimiter=delimiter or _delimiter(text[start : start + MAX_EXAMINED]),
        skipinitialspace=True,
        strict=True,
    )
    line, width = skipped + 1, 0
    try:
        for cells in reader:
            if cells and (cells[0] or any(cell.strip() for cell in cells)):
                if width not in (0, len(cells)):
                    raise InputError(
                        f"{file.line(line)}this line has {len(cells)} cells, but the lines before "
                        f"have {width}: give every line the same number of cells"
                    )
                width = len(cells)
                yield line, [cell.strip() for cell in cells]
            line = skipped + reader.line_num + 1
    except csv.Error as error:
        reason = str(error)
        if "field larger" in reason or "unexpected end" in reason:
            limit = csv.field_size_limit()
            reason = f"a quote is not closed, or a cell has more than {limit} characters"
        raise InputError(f"{file.line(line)}not valid CSV: {reason}") from None


def _delimiter(text: str) -> str:
    r"""Return the delimiter, found from the first two lines; a comma by default.

    Criteria in this order: the first line becomes a header of edges; the first two lines have the
    same number of cells; the delimiter is the most frequent one in the first line, without quotes.

    >>> _delimiter(";Doe, J;Roe, K\nDoe, J;0;1\n")
    ';'
    """
    bare = re.sub(r'"[^"]*"', "", re.split("[\r\n]", text, maxsplit=1)[0])

    def evidence(sign: str) -> tuple[bool, bool, int]:
        lines = io.StringIO(text, newline="")
        rows: list[list[str]] = []
        with suppress(csv.Error):  # a quote that is not closed: reported when records are read
            rows = [*islice(filter(None, csv.reader(lines, delimiter=sign)), 2)]
        same_width = len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1
        return bool(rows) and names_edges(rows[0]), same_width, bare.count(sign)

    return max(",;\t", key=evidence)


def names_edges(header: Sequence[str]) -> bool:
    """Whether a header has a usual name for the source and one for the target."""
    known = {_folded(name) for name in header}
    return not known.isdisjoint(SOURCES) and not known.isdisjoint(TARGETS)


def _has_column_names(header: list[str], rows: list[list[str]]) -> bool:
    """Whether a header names a source and a target column, and not the arms of a matrix.

    'from' and 'to' are arms if the first column has the same names as the header.
    """
    if not names_edges(header) or _folded(header[0]) in SOURCES + TARGETS:
        return names_edges(header)
    return [cells[0] for cells in rows[: len(header)]] != header[1:]


def _folded(name: str) -> str:
    return name.strip().casefold()


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _find_columns(
    header: Sequence[str],
    source: str | None,
    target: str | None,
    probability: str | None,
    where: str,
) -> Columns:
    """Find the columns by their names; None and 'auto' select the usual names."""
    ends = []
    for what, name, usual in (("source", source, SOURCES), ("target", target, TARGETS)):
        index = _find(header, usual if name is None else name, where)
        if index is None:
            raise InputError(
                f"{where}no column is named {_listed(usual)}; set {what}= to one of: "
                f"{', '.join(header)}"
            )
        ends.append(index)
    name_or_names = PROBABILITIES if probability == "auto" else probability
    chance = None if name_or_names is None else _find(header, name_or_names, where)
    if len({*ends, chance}) < 3:
        raise InputError(f"{where}source, target and probability must be different columns")
    types = [k for k, name in enumerate(header) if _folded(name) == "type"]
    single = len(types) == 1 and types[0] not in (*ends, chance)
    return Columns(ends[0], ends[1], chance, types[0] if single else None)


def _find(header: Sequence[str], name: str | tuple[str, ...], where: str) -> int | None:
    """Return the index of a column by its name, or of the first usual name; None if absent."""
    known = header if name in header else [_folded(text) for text in header]
    names = name if isinstance(name, tuple) else (name if name in header else _folded(str(name)),)
    for text in names:
        indices = [k for k, other in enumerate(known) if other == text]
        if len(indices) > 1:
            given = " and ".join(dict.fromkeys(f"'{header[k]}'" for k in indices))
            raise InputError(f"{where}two columns are named {given}: names must be distinct")
        if indices:
            return indices[0]
    if isinstance(name, tuple):
        return None
    raise InputError(f"{where}there is no column '{name}': {nearest(str(name), header)}")


def _check_options(why: str, probability: str | None, directed: bool | None) -> None:
    option = "probability" if probability != "auto" else "directed"
    if probability != "auto" or directed is not None:
        raise InputError(
            f"{why} this is an adjacency matrix, which has no option {option}=; for a table of "
            "edges, set source= and target="
        )


def _check_ignored(
    header: Sequence[str], columns: Columns, rows: Sequence[Sequence[object]], where: str
) -> None:
    """Raise an error if a column that would be ignored looks like probabilities."""
    for k in set(range(len(header))).difference(columns):
        cells = [str(row[k]).strip() for row in rows if k < len(row) and row[k] is not None]
        values = parse_floats([cell for cell in cells if cell])
        if first_invalid_probability(values) is None and (values % 1.0).any():
            raise InputError(
                f"{where}the column '{header[k]}' looks like probabilities, but no column is named "
                f"{_listed(PROBABILITIES)}; set probability={header[k]}, or probability=none to "
                "give every edge probability 1"
            )


# Adjacency tables

_READ_AS_MATRIX = (
    "a file without columns named source and target is read as an adjacency matrix; for a table of "
    "edges, add a first line source,target, or set source= and target="
)
_SPACES = (
    "separate cells by comma, semicolon or tab, and name the columns source and target in the "
    "first line; give an edge list with spaces another extension, such as .txt"
)


def _from_cells(file: GraphFile, records: list[tuple[int, list[str]]]) -> Fixed:
    """Convert the cells of an adjacency table, each row with its line number, to a fixed graph.

    Names are in the first line, in the first column, in both (then they must agree), or absent.
    """
    lines, rows = zip(*records, strict=True)
    width = len(rows[0])
    square = len(rows) == width
    first = int(len(rows) == width + 1 or (square and _is_header(rows[0])))
    left = int(len(rows) == width - 1 or (square and first == 1))
    arms = width - left
    if len(rows) - first != arms or arms < 1:
        raise InputError(
            f"{file.path}: no columns are named source and target (line {lines[0]} has: "
            f"{', '.join(rows[0][:8])}), and {len(rows)} lines of {width} cells are not a square "
            "matrix; name the columns in the first line, or set source= and target="
        )
    row_names = tuple(cells[0] for cells in rows[first:]) if left else ()
    names = tuple(rows[0][left:]) if first else row_names
    pairs = zip(lines[first:], row_names, names, strict=False)
    moved = [line for line, row_name, name in pairs if row_name != name]
    if moved or "" in names or len(set(names)) < len(names):
        raise InputError(
            f"{file.line((moved or lines)[0])}names of arms must be distinct, not empty, and in "
            f"the same order in rows and columns; {_READ_AS_MATRIX}"
        )

    def entry(i: int, j: int) -> str:
        name = f" ({names[j]})" if names else ""
        return f"{file.line(lines[first + i])}entry {j + 1}{name}"

    hint = f"; {_READ_AS_MATRIX if width > 1 else _SPACES}"
    texts = [cell for cells in rows[first:] for cell in cells[left:]]
    chances = probabilities(texts, lambda k: f"{entry(*divmod(k, arms))}: ", hint)
    return adjacency(chances.reshape(arms, arms), names or None, entry, hint)


def _is_header(cells: list[str]) -> bool:
    """Whether the first line of a square table has names: its first cell, or all other cells."""
    return not is_number(cells[0]) or (
        len(cells) > 1 and all(cell and not is_number(cell) for cell in cells[1:])
    )


# Data frames


def is_frame(value: object) -> bool:
    """Whether a value is a data frame; tests the class, because columns may be attributes."""
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
    """Convert a data frame (pandas, polars) or pyarrow table of edges to a fixed graph.

    Columns are selected as in :func:`from_csv`, which describes the parameters. A row with a
    missing target is an arm without edges. Arms are numbered in the order of their first
    appearance; their names are the values as texts.

    A pandas data frame whose index equals its columns, such as the result of
    ``networkx.to_pandas_adjacency``, is an adjacency matrix. Its diagonal must be all ones or all
    zeros; zeros are replaced by ones.

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
    header, where = [str(label) for label in labels], "the data frame: "
    if source is None and target is None and _is_adjacency(frame, labels):
        _check_options("the index of the data frame equals its columns, so", probability, directed)
        return _from_adjacency(frame, header)
    columns = _find_columns(header, source, target, probability, where)
    if not frame.shape[0]:
        raise InputError("the data frame has no rows: give one row per edge")
    if probability == "auto" and columns.probability is None:
        rows = [*zip(*(_values(frame[:EXAMINED], label) for label in labels), strict=True)]
        _check_ignored(header, columns, rows, where)
    sources, targets, weight, types = columns.pick(lambda k: _values(frame, labels[k]))
    if types is not None:
        types = ["" if is_missing(value) else str(value) for value in types]
    table = EdgeBuilder(_row, columns.hint(header), numbers="column")
    table.add(range(frame.shape[0]), _names(sources), _names(targets), weight, types)
    return table.fixed(directed)


def _is_adjacency(frame: Any, labels: list[Any]) -> bool:
    index: Any = getattr(frame, "index", None)  # polars and pyarrow have no index
    return len(labels) == frame.shape[0] > 0 and hasattr(index, "tolist") and labels == list(index)


def _from_adjacency(frame: Any, names: list[str]) -> Fixed:
    cells = frame.to_numpy()
    if cells.dtype.kind not in "biuf":
        cells = np.array([convert_numbers(row) for row in cells.tolist()])
    return adjacency(
        cells,
        check_names(names, len(names)),
        lambda i, j: f"the data frame: entry ({names[i]}, {names[j]})",
        "; a data frame whose index equals its columns is an adjacency matrix; for a table of "
        "edges, set source= and target=",
    )


def _row(k: int) -> str:
    return f"the data frame, row {k} (the first is 0): "


def _values(frame: Any, label: Any) -> list[Any]:
    """Return a column as Python values; an array would convert integers with gaps to floats."""
    column = frame[label]
    for method in ("to_pylist", "to_list"):  # pyarrow; polars, pandas
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column.to_numpy().tolist())  # columns of the same name


def _names(values: list[Any]) -> list[str]:
    """Convert values to names of arms; '' for missing values."""
    return [
        str(value).strip() if type(value) in (str, int) else _name(value, k)
        for k, value in enumerate(values)
    ]


def _name(value: Any, k: int) -> str:
    if not isinstance(value, Hashable):  # an array, a list
        raise InputError(
            f"{_row(k)}the name of an arm must be a text or a number, not {type(value).__name__}"
        )
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():  # of integers with gaps in pandas
        if abs(value) >= 2.0**53:  # distinct integers may be the same float
            raise InputError(
                f"{_row(k)}{value!r} is too large for an exact integer; if this is an integer "
                "column with gaps, read it with dtype 'Int64'"
            )
        return str(int(value))
    return str(value).strip()


# Files of arrays


def from_npy(path: str | os.PathLike[str] | GraphFile) -> Fixed:
    """Read a fixed graph from a ``.npy`` file with a K x K array of probabilities.

    The diagonal must be all ones or all zeros; zeros are replaced by ones. A ``.npz`` file of
    ``scipy.sparse.save_npz`` is converted by :func:`from_sparse`. Files may be gz-compressed.
    """
    file = GraphFile.read(path)
    stream = io.BytesIO(file.data)
    try:
        if file.data.startswith(b"PK\x03\x04"):
            matrix = _load_sparse(stream, check_npz(file.data))
        else:
            check_array_header(stream, len(file.data))
            stream.seek(0)
            matrix = np.lib.format.read_array(stream, allow_pickle=False)
    except Exception as error:  # archives and headers, parsed as Python, raise many kinds of errors
        reason = error if isinstance(error, InputError) else "damaged, or it has Python objects"
        raise InputError(
            f"{file.path}: cannot read a matrix ({reason}): save a K x K array of numbers with "
            "np.save, or a sparse matrix with scipy.sparse.save_npz"
        ) from None
    try:
        if not isinstance(matrix, np.ndarray):
            return from_sparse(matrix)
        return adjacency(matrix, None, lambda i, j: f"entry {i, j}")
    except InputError as error:
        raise InputError(f"{file.path}: {error}") from None


def _load_sparse(stream: io.BytesIO, names: list[str]) -> Any:
    from scipy.sparse import load_npz

    if not {"format.npy", "shape.npy", "data.npy"}.issubset(names):
        raise InputError("an archive of several arrays")
    matrix = load_npz(stream)  # does not load Python objects
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    return matrix


# NetworkX and GraphML


def from_networkx(graph: networkx.Graph, probability: str | None = "auto") -> Fixed:
    """Convert a NetworkX graph to a fixed graph.

    Arms are the nodes in their order; the names are the nodes as texts, without surrounding
    whitespace. Undirected edges have both directions. Parallel edges must agree.

    Parameters
    ----------
    graph
        A NetworkX graph, directed or undirected.
    probability
        Edge attribute with the probability. "auto" uses ``probability``, or ``weight`` if no edge
        has ``probability``; None gives every edge probability 1. Edges without the attribute have
        probability 1.

    Examples
    --------
    >>> import networkx
    >>> from_networkx(networkx.path_graph(["ann", "bob", "eve"])).names
    ('ann', 'bob', 'eve')
    """
    index = {node: i for i, node in enumerate(graph.nodes)}
    if not index:
        raise InputError("the NetworkX graph has no nodes: at least one is required")
    names = [str(node) for node in index]
    edges = list(graph.edges(data=True))
    ends = np.array([(index[u], index[v]) for u, v, _ in edges], np.int64).reshape(-1, 2)
    data = [attributes for *_, attributes in edges]
    if probability not in (None, "auto") and edges and not any(probability in own for own in data):
        raise InputError(f"no edge of the NetworkX graph has the attribute '{probability}'")
    weight = _weights(
        data,
        probability,
        lambda k: f"the edge {names[ends[k, 0]]} -> {names[ends[k, 1]]}: ",
        "; to ignore it, use Agent(..., weight=None) or as_process(graph, weight=None)",
        numbers="attribute",
    )
    feedback = named_edges(names, ends[:, 0], ends[:, 1], weight, not graph.is_directed())
    return Fixed(feedback, tuple(names))


def _weights(
    edges: list[dict[str, Any]], name: str | None, where: Where, hint: str, numbers: str = ""
) -> Floats:
    """Return the probabilities of edges with the given attributes; 1 without the attribute."""
    if name == "auto":
        name = next((name for name in ATTRIBUTES if any(name in own for own in edges)), None)
    if name is None:
        return np.ones(len(edges))
    values: list[Any] = [own.get(name, 1.0 if numbers else "1") for own in edges]
    if not numbers:
        values = [{"true": "1", "false": "0"}.get(text, text) for text in values]
    return probabilities(values, lambda k: f"{where(k)}attribute '{name}': ", hint, numbers)


def to_networkx(graph: Process | Feedback) -> networkx.DiGraph:
    """Convert a fixed graph, or feedback that all trials share, to a ``networkx.DiGraph``.

    Nodes are the names of the arms, or 0, 1, ... without names. The edge attribute ``probability``
    is the entry of the matrix; its two directions may differ (use ``to_undirected()`` if they do
    not). Self-loops, which every arm has, are omitted. :func:`from_networkx` is the inverse.
    """
    import networkx

    feedback = graph.feedback if isinstance(graph, Fixed) else graph
    names = graph.names if isinstance(graph, Fixed) else None
    if not is_feedback(feedback) or not feedback.shared:
        raise InputError(
            "to_networkx needs a fixed graph, or the feedback of one round that all trials share: "
            "for a process that changes, pass process.round(t, Keys(seed)); for anything else, "
            "as_process(graph)"
        )
    nodes: Sequence[object] = names or range(feedback.arms)
    source, target, weight = edge_arrays(feedback)
    result = networkx.DiGraph()
    result.add_nodes_from(nodes)
    result.add_edges_from(
        (nodes[i], nodes[j], {"probability": p})
        for i, j, p in zip(source.tolist(), target.tolist(), weight.tolist(), strict=True)
    )
    return result


def from_graphml(
    path: str | os.PathLike[str] | GraphFile,
    *,
    probability: str | None = "auto",
    label: str | None = None,
) -> Fixed:
    """Read a fixed graph from a GraphML file of NetworkX, Gephi, igraph or yEd.

    Arms are the nodes in their order. The attribute ``edgedefault`` of the graph, or ``directed``
    of an edge, determines whether an edge has both directions.

    Parameters
    ----------
    path
        Path of the file, which may be gz-compressed.
    probability
        Edge attribute with the probability, as in :func:`from_networkx`.
    label
        Node attribute with the names of the arms, distinct and not empty. None uses the node ids.
    """
    file = GraphFile.read(path)
    root = _parse_xml(file)
    if root.tag != "graphml":
        raise root.error(f"GraphML must start with <graphml>, not with <{root.tag}>")
    graphs, keys = [*root.iter("graph")], {key.need("id"): key for key in root.iter("key")}
    if len(graphs) != 1:
        raise InputError(f"{file.path}: a file must have one <graph>, not {len(graphs)}")
    for element in root.iter("hyperedge"):
        raise element.error("<hyperedge> is not supported: an edge must have two ends")
    undirected = graphs[0].need("edgedefault", "directed", "undirected") == "undirected"
    nodes, edges = graphs[0].findall("node"), graphs[0].findall("edge")
    if not nodes:
        raise InputError(f"{file.path} has no nodes: at least one is required")
    names = _distinct(nodes, [node.need("id") for node in nodes], "id")
    index = {name: i for i, name in enumerate(names)}
    ends, both = np.empty((len(edges), 2), np.int64), np.full(len(edges), undirected)
    for k, edge in enumerate(edges):
        for column, name in enumerate((edge.need("source"), edge.need("target"))):
            if name not in index:
                raise edge.error(f"there is no node '{name}'")
            ends[k, column] = index[name]
        if "directed" in edge.attrib:
            both[k] = edge.need("directed", "true", "false") == "false"

    def where(k: int) -> str:
        return file.line(edges[k].line)

    edge_keys, edge_data = _attributes(edges, "edge", keys)
    node_keys, node_data = _attributes(nodes, "node", keys)
    wanted = None if probability == "auto" else probability
    for name, known, what in ((wanted, edge_keys, "edges"), (label, node_keys, "nodes")):
        if name is not None and name not in known:
            raise InputError(
                f"{file.path}: {what} have no attribute '{name}': {nearest(str(name), known)}"
            )
    weight = _weights(edge_data, probability, where, "; probability=None ignores the attribute")
    if label is not None:
        names = _distinct(nodes, [data.get(label) for data in node_data], label)
    return Fixed(named_edges(names, ends[:, 0], ends[:, 1], weight, both, where), tuple(names))


def _parse_xml(file: GraphFile) -> Any:
    """Return the root element; namespaces are removed."""
    from xml.etree import ElementTree  # not needed for other graphs
    from xml.parsers import expat

    class Element(ElementTree.Element):
        """Element with its line."""

        __slots__ = ("line",)
        line: int

        def error(self, message: str) -> InputError:
            return InputError(f"{file.line(self.line)}{message}")

        def need(self, name: str, *allowed: str) -> str:
            """Return the value of a required attribute."""
            value = self.get(name)
            if value is None:
                raise self.error(f"<{self.tag}> has no attribute {name}")
            if allowed and value not in allowed:
                raise self.error(f"{name} must be {' or '.join(allowed)}, not '{value}'")
            return value

    parser = expat.ParserCreate(namespace_separator=" ")
    builder = ElementTree.TreeBuilder(element_factory=Element)

    def start(tag: str, attributes: dict[str, str]) -> None:
        element: Any = builder.start(tag.rpartition(" ")[2], attributes)
        element.line = parser.CurrentLineNumber

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: builder.end(tag.rpartition(" ")[2])
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(file.data, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"{file.line(error.lineno)}not valid XML: {reason}") from None
    except (LookupError, ValueError) as error:
        raise InputError(f"{file.path}: invalid XML encoding: {error}") from None
    return builder.close()


def _attributes(
    elements: list[Any], tag: str, keys: dict[str, Any]
) -> tuple[set[str], list[dict[str, str]]]:
    """Return the names of the attributes of nodes or edges, and the values of each element."""
    names = {
        id: key.get("attr.name", id)
        for id, key in keys.items()
        if key.get("for", "all") in (tag, "all")
    }
    defaults = {id: keys[id].find("default") for id in names}
    usual = {names[id]: _text(value) for id, value in defaults.items() if value is not None}
    values = []
    for element in elements:
        own = usual.copy()
        for data in element:
            if data.tag == "data":
                if (id := data.need("key")) not in keys:
                    raise data.error(f"there is no key '{id}': {nearest(id, keys)}")
                if id in names:
                    own[names[id]] = _text(data)
                for label in reversed([*data.iter("NodeLabel")]):  # of yEd; the first is the name
                    own["label"] = _text(label) or own.get("label", "")
        values.append(own)
    return {*names.values()}.union(*values), values


def _text(element: Any) -> str:
    return (element.text or "").strip()


def _distinct(nodes: list[Any], names: list[str | None], attribute: str) -> list[str]:
    """Return the names of nodes; raise an error if one is missing, empty or repeated."""
    lines: dict[str, int] = {}
    for node, name in zip(nodes, names, strict=True):
        if not name or not name.strip():
            problem = f"has {'no' if name is None else 'an empty'} {attribute}"
            raise node.error(f"the node '{node.get('id')}' {problem}")
        if name in lines:
            raise node.error(
                f"the {attribute} '{name}' is already used in line {lines[name]}: names of arms "
                "must be distinct"
            )
        lines[name] = node.line
    return [*lines]
