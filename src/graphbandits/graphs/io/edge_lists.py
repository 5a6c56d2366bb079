"""Edge lists in plain text, such as those of SNAP: a line is ``source target [probability]``."""

from __future__ import annotations

import os
import re
import warnings

from graphbandits.errors import InputError, InputWarning, yes_or_no
from graphbandits.graphs.io.columns import Columns, names_edges
from graphbandits.graphs.io.edges import BATCH, EdgeTable, floats, is_number, wrong_probability
from graphbandits.graphs.io.fast_csv import WORTHWHILE, fast_graph
from graphbandits.graphs.io.files import GraphFile
from graphbandits.graphs.processes import Fixed

_FORM = "'source target [probability]'"
_UNDIRECTED = re.compile(r"^(?:#\s*undirected graph|%\s*sym)\b", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"(?:^|\s)#|^\s*(?:%|//)")
#: The blank lines and comments before the first edge.
_OPENING = re.compile(r"(?:[^\S\n]*(?:(?:#|%|//)[^\n]*)?\n)*")
#: From so many lines on, numbers that fit by chance are not to be expected.
MANY = 10


def from_edge_list(
    path: str | os.PathLike[str] | GraphFile,
    *,
    directed: bool | None = None,
    probability: str | None = "auto",
) -> Fixed:
    r"""A fixed graph from lines ``source target [probability]``; ``#`` starts a comment.

    Any words name the arms, in the order of their first appearance; a line is one direction; a
    line with one word names an arm without an edge. Self-loops are added. ``directed=False`` takes
    a line both ways, and so does a comment ``# Undirected graph: ...`` at the top, as the files
    of SNAP (snap.stanford.edu/data) have it, or ``% sym``, as those of KONECT (konect.cc), unless
    ``directed=True``. With ``probability=None`` the third word does not count. The file may be
    compressed with gz.

    ``#`` starts a comment at the beginning of a line or of a word, not within one: ``C#`` is a
    name, but an arm ``#python`` can only be had from a table. ``%`` and ``//`` start one at the
    beginning of a line. A first line of column names is refused, and so are commas between the
    words: those are tables (:func:`from_csv`); and three lines of three numbers in [0, 1], which
    are a matrix. Two lines of two numbers are two edges. A first line that looks like the numbers
    of nodes and edges of the file is read as an edge, with an :class:`InputWarning`.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.txt")
    ...     written = path.write_text("# who sees whom\nann bob 0.5\neve\n")
    ...     from_edge_list(path).names
    ('ann', 'bob', 'eve')
    """
    file = GraphFile.read(path)
    if probability not in (None, "auto"):
        raise InputError(
            f"{file.path} has no names of columns: its third word is the probability, or nothing "
            f"with probability=None; probability='{probability}' goes with CSV and GraphML"
        )
    text = file.text().replace("\r\n", "\n").replace("\r", "\n")
    if directed is None:
        directed = not _UNDIRECTED.search(_opening(text))
    yes_or_no(directed, "directed")
    _refuse_others(file, text)
    weighted = probability == "auto"
    graph = fast_edge_list(text, directed, weighted) if len(file.data) >= WORTHWHILE else None
    if graph is None:
        table = EdgeTable(file.place, hint="; with probability=None the third word does not count")
        lines = text.split("\n")
        for first in range(0, len(lines), BATCH):
            _add(table, file, lines[first : first + BATCH], first + 1, weighted)
        if not len(table):
            raise InputError(f"{file.path} holds no edges: a line is {_FORM}")
        graph = table.fixed(directed)
    _warn_of_counts(file, text)
    return graph


def fast_edge_list(text: str, directed: bool, weighted: bool) -> Fixed | None:
    """Read a large file whose lines all have the same two or three words; None for any other."""
    rows = text[len(_opening(text)) :]
    opening = rows.partition("\n")[0]
    delimiter, width = "\t" if "\t" in opening else " ", len(opening.split())
    if "#" in rows or width not in (2, 3):
        return None
    columns = Columns(0, 1, 2 if width == 3 and weighted else None)
    data = memoryview(rows.encode())
    return fast_graph(data, delimiter, False, width, columns, directed, _is_plain)


def _is_plain(word: str) -> bool:
    """Whether a word is a name wherever it stands."""
    return (
        word.split() == [word]
        and not word.startswith(("%", "//", ",", ";"))
        and not word.endswith((",", ";"))
    )


def _opening(text: str) -> str:
    match = _OPENING.match(text)
    return match.group() if match else ""


def _first_line(text: str) -> tuple[int, str, list[str]]:
    """Return the number, the text and the words of the first line that is no comment."""
    comments = _opening(text)
    end = text.find("\n", len(comments))
    first = text[len(comments) : end if end >= 0 else None].strip()
    return comments.count("\n") + 1, first, _words(first)


def _refuse_others(file: GraphFile, text: str) -> None:
    """Raise for what is no list of edges, though its lines could be taken for some."""
    if text.startswith("%%MatrixMarket"):
        raise InputError(
            f"{file.path} is a Matrix Market file: read it with scipy.io.mmread, and give the "
            "matrix itself"
        )
    line, first, words = _first_line(text)
    if names_edges(words[:2]) and (len(words) == 2 or not is_number(words[2])):
        raise InputError(
            f"{file.where(line)}: '{first[:60]}' names columns: put '# ' before it, or give the "
            "file, with its cells parted by commas or tabs, the ending .csv or .tsv; if these "
            f"are arms, write '{' '.join(words[:2])} 1'"
        )
    if len(text) > 1000:
        return
    rows = [words for one in text.split("\n") if (words := _words(one))]
    if [len(row) for row in rows] == [3, 3, 3]:
        matrix = floats([word for row in rows for word in row])
        if wrong_probability(matrix) is None:
            raise InputError(
                f"{file.path} is three lines of three numbers in [0, 1], which look like a matrix: "
                "give it the ending .csv, with commas, or save it as .npy; if they are edges, call "
                "the arms something else"
            )


def _warn_of_counts(file: GraphFile, text: str) -> None:
    """Warn if the first line has the numbers of nodes and edges of the others.

    The number of edges is that of the other lines, or half of it; the number of nodes is that of
    their names, or larger, if all names are numbers up to it. In a short file the second number
    must not be a name, too, for then the line is an edge like the others.
    """
    line, first, words = _first_line(text)
    if len(words) != 2 or not all(map(_is_count, words)):
        return
    nodes, edges = map(int, words)
    names, lines = set[str](), 0
    begin = text.index(first, len(_opening(text))) + len(first)
    for one in re.compile(r"[^\n]+").finditer(text, begin):
        row = _words(one.group())
        names.update(row[:2])
        lines += len(row) > 1
        if lines > 2 * edges or len(names) > nodes:
            return
    numbers = [int(name) for name in names if _is_count(name)]
    if lines >= MANY and nodes == len(names):
        fits = lines in (edges, 2 * edges)
    elif lines >= MANY:
        fits = lines == edges and len(numbers) == len(names) and max(numbers) <= nodes
    else:
        fits = lines == edges > 2 and nodes == len(names) and words[1] not in names
        fits = fits and max(numbers, default=0) <= nodes
    if fits:
        warnings.warn(
            f"{file.where(line)}: '{first}' looks like the numbers of nodes and edges, but is read "
            "as an edge: put '# ' before it, or remove it",
            InputWarning,
            stacklevel=3,
        )


def _is_count(word: str) -> bool:
    return re.fullmatch("[0-9]{1,18}", word) is not None


def _words(line: str) -> list[str]:
    """Return the words of a line before its comment."""
    comment = _COMMENT.search(line) if "#" in line or line.lstrip()[:1] in ("%", "/") else None
    return (line[: comment.start()] if comment else line).split()


def _add(table: EdgeTable, file: GraphFile, lines: list[str], first: int, weighted: bool) -> None:
    rows = [(number, row) for number, line in enumerate(lines, first) if (row := _words(line))]
    for number, row in rows:
        if len(row) > 3:
            raise InputError(
                f"{file.where(number)}: a line is {_FORM}; this one has {len(row)} words; a table "
                "has the ending .csv or .tsv, and a matrix .csv or .npy"
            )
        if _has_commas(row):
            raise InputError(
                f"{file.where(number)}: words are parted by spaces, not by commas: "
                f"'{lines[number - first].strip()[:60]}'; a table with commas has the ending .csv "
                "and a line of column names"
            )
    table.add(
        [number for number, _ in rows],
        [row[0] for _, row in rows],
        [row[1] if len(row) > 1 else "" for _, row in rows],
        [row[2] if len(row) > 2 else "1" for _, row in rows] if weighted else None,
    )


def _has_commas(row: list[str]) -> bool:
    """Whether commas or semicolons part the words: ``a,b``, ``a, b`` or ``a ,b``."""
    if len(row) == 1:
        return "," in row[0] or ";" in row[0]
    return row[0][-1] in ",;" or row[1][0] in ",;" or row[1][-1] in ",;"
