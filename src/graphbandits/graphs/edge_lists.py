"""Edge lists in plain text, such as those of SNAP: a line is ``source target [probability]``."""

from __future__ import annotations

import os
import re

import numpy as np

from graphbandits.errors import InputError, yes_or_no
from graphbandits.graphs.columns import Columns, names_edges
from graphbandits.graphs.edge_table import (
    BATCH,
    EdgeTable,
    floats,
    is_number,
    probabilities,
    wrong_probability,
)
from graphbandits.graphs.processes import Fixed
from graphbandits.graphs.quick import WORTHWHILE, quick_graph
from graphbandits.graphs.sources import GraphFile

_FORM = "'source target [probability]'"
_UNDIRECTED = re.compile(r"^(?:#\s*undirected graph|%\s*sym)\b", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"(?:^|\s)#|^\s*(?:%|//)")
_ELSEWHERE = "; a table has the ending .csv or .tsv, and a matrix .csv or .npy"


def from_edge_list(
    path: str | os.PathLike[str],
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
    are a matrix. Two lines of two numbers are two edges.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.txt")
    ...     written = path.write_text("# who sees whom\nann bob 0.5\neve\n")
    ...     from_edge_list(path).names
    ('ann', 'bob', 'eve')
    """
    return read_edge_list(GraphFile.read(path), directed, probability)


def read_edge_list(file: GraphFile, directed: bool | None, probability: str | None) -> Fixed:
    """The same from a file that has been read."""
    if probability not in (None, "auto"):
        raise InputError(
            f"{file.path} has no names of columns: its third word is the probability, or nothing "
            f"with probability=None; probability='{probability}' goes with CSV and GraphML"
        )
    text = file.text().replace("\r\n", "\n").replace("\r", "\n")
    if directed is None:
        directed = not _UNDIRECTED.search(_opening(text))
    yes_or_no(directed, "directed")
    weighted = probability == "auto"
    _refuse_others(file, text)
    if len(file.data) >= WORTHWHILE and (graph := quick_edge_list(text, directed, weighted)):
        return graph
    table, lines = EdgeTable(), text.split("\n")
    for first in range(0, len(lines), BATCH):
        _add(table, file, lines[first : first + BATCH], first + 1, weighted)
    if not len(table):
        raise InputError(f"{file.path} holds no edges: a line is {_FORM}")
    return table.fixed(lambda line: f"{file.where(line)}: ", directed)


def quick_edge_list(text: str, directed: bool, weighted: bool) -> Fixed | None:
    """The same for a large file whose lines all have the same two or three words, or None."""
    rows = text[len(_opening(text)) :]
    opening = rows.partition("\n")[0]
    delimiter, width = "\t" if "\t" in opening else " ", len(opening.split())
    if "#" in rows or width not in (2, 3):
        return None
    columns = Columns(0, 1, 2 if width == 3 and weighted else None)
    data = memoryview(rows.encode())
    return quick_graph(data, delimiter, False, width, columns, directed, _is_plain)


def _is_plain(word: str) -> bool:
    """Whether a word is a name wherever it stands."""
    return (
        word.split() == [word]
        and not word.startswith(("%", "//", ",", ";"))
        and not word.endswith((",", ";"))
    )


def _opening(text: str) -> str:
    """The comments before the first edge."""
    match = re.match(r"(?:[^\S\n]*(?:(?:#|%|//)[^\n]*)?\n)*", text)
    return match.group() if match else ""


def _refuse_others(file: GraphFile, text: str) -> None:
    """Raise for what is no list of edges, though its lines could be taken for some."""
    if text.startswith("%%MatrixMarket"):
        raise InputError(
            f"{file.path} is a Matrix Market file: read it with scipy.io.mmread, and give the "
            "matrix itself"
        )
    comments = _opening(text)
    end = text.find("\n", len(comments))
    first = text[len(comments) : end if end >= 0 else None].strip()
    words, line = _words(first), comments.count("\n") + 1
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


def _words(line: str) -> list[str]:
    """The words of a line before its comment."""
    comment = _COMMENT.search(line) if "#" in line or line.lstrip()[:1] in ("%", "/") else None
    return (line[: comment.start()] if comment else line).split()


def _add(table: EdgeTable, file: GraphFile, lines: list[str], first: int, weighted: bool) -> None:
    rows = [_words(line) for line in lines]
    words = np.fromiter(map(len, rows), np.int64, len(rows))
    if (words > 3).any():
        at = int(np.argmax(words > 3))
        raise InputError(
            f"{file.where(first + at)}: a line is {_FORM}; this one has {words[at]} words"
            + _ELSEWHERE
        )
    for at, row in enumerate(rows):
        if row and _has_commas(row):
            raise InputError(
                f"{file.where(first + at)}: words are parted by spaces, not by commas: "
                f"'{lines[at].strip()[:60]}'; a table with commas has the ending .csv and a line "
                "of column names"
            )
    weight = np.ones(int((words >= 2).sum()))
    third = np.flatnonzero(words == 3)
    if weighted and third.size:
        weight[words[words >= 2] == 3] = probabilities(
            [rows[at][2] for at in third],
            lambda k: f"{file.where(first + int(third[k]))}: ",
            "; with probability=None the third word does not count",
        )
    there = words > 0
    table.add(
        [word for row in rows for word in row[:2]],
        np.minimum(words, 2)[there],
        weight,
        np.arange(first, first + len(rows))[there],
    )


def _has_commas(row: list[str]) -> bool:
    """Whether commas or semicolons part the words: ``a,b``, ``a, b`` or ``a ,b``."""
    if len(row) == 1:
        return "," in row[0] or ";" in row[0]
    return row[0][-1] in ",;" or row[1][0] in ",;" or row[1][-1] in ",;"
