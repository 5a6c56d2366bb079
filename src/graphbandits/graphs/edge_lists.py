"""Edge lists in plain text, such as those of SNAP: a line is ``source target [probability]``."""

from __future__ import annotations

import os
import re

import numpy as np

from graphbandits.errors import InputError, yes_or_no
from graphbandits.graphs.columns import Columns
from graphbandits.graphs.edge_table import BATCH, EdgeTable, probabilities
from graphbandits.graphs.processes import Fixed
from graphbandits.graphs.quick import WORTHWHILE, quick_graph
from graphbandits.graphs.sources import GraphFile

_FORM = "'source target [probability]'"
_UNDIRECTED = re.compile(r"^#\s*undirected graph\b", re.IGNORECASE | re.MULTILINE)


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
    of SNAP (snap.stanford.edu/data) have it, unless ``directed=True``. With ``probability=None``
    the third word does not count. The file may be compressed with gz.

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
    return quick_graph(
        data, delimiter, False, width, columns, directed, lambda word: word.split() == [word]
    )


def _opening(text: str) -> str:
    """The comments before the first edge."""
    match = re.match(r"(?:[^\S\n]*(?:#[^\n]*)?\n)*", text)
    return match.group() if match else ""


def _add(table: EdgeTable, file: GraphFile, lines: list[str], first: int, weighted: bool) -> None:
    rows = [(line.partition("#")[0] if "#" in line else line).split() for line in lines]
    words = np.fromiter(map(len, rows), np.int64, len(rows))
    if (words > 3).any():
        at = int(np.argmax(words > 3))
        raise InputError(
            f"{file.where(first + at)}: a line is {_FORM}; this one has {words[at]} words"
        )
    for at in np.flatnonzero(words == 1).tolist():
        (word,) = rows[at]
        if "," in word.strip(","):
            raise InputError(
                f"{file.where(first + at)}: words are parted by spaces, not by commas: "
                f"'{word}'; a table with commas has the ending .csv and a line of column names"
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
