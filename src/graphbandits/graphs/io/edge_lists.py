"""Edges as text: lists in files, such as those of SNAP, and small graphs in one line.

A line of a file is ``source target [probability]``; ``edges(1-2 2>3:0.5 5)`` is a whole graph.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from graphbandits.errors import InputError, InputWarning, check_integer
from graphbandits.graphs._shape import edge_arrays
from graphbandits.graphs.feedback import (
    Feedback,
    UniformFeedback,
    first_invalid_probability,
    from_edges,
)
from graphbandits.graphs.io._edge_builder import (
    BATCH,
    EdgeBuilder,
    floats,
    is_number,
    probabilities,
)
from graphbandits.graphs.io._graph_file import GraphFile
from graphbandits.graphs.io.edge_tables import names_edges
from graphbandits.graphs.processes import Fixed, Process
from graphbandits.registry import register

_FORM = "'source target [probability]'"
_COMMENT = re.compile(r"(?:^|\s)#|^\s*(?:%|//)")
#: A comment of SNAP or KONECT, after none but blank lines and comments.
_UNDIRECTED = re.compile(
    r"(?:[^\S\n]*(?:(?:#|%|//)[^\n]*)?\n)*?(?:#\s*undirected graph|%\s*sym)\b", re.IGNORECASE
)
#: From so many lines on, numbers that fit by chance are not to be expected.
MANY = 10

#: The number, the text and the words of a line.
Row = tuple[int, str, list[str]]


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
    if text.startswith("%%MatrixMarket"):
        raise InputError(
            f"{file.path} is a Matrix Market file: read it with scipy.io.mmread, and give the "
            "matrix itself"
        )
    first = next(_rows(text), None)
    if first is None:
        raise InputError(f"{file.path} holds no edges: a line is {_FORM}")
    _refuse_others(file, text, first)
    rows = _rows(text)
    table = EdgeBuilder(file.place, hint="; with probability=None the third word does not count")
    while batch := list(islice(rows, BATCH)):
        for row in batch:
            _check_row(file, row)
        table.add(
            [number for number, _, _ in batch],
            [words[0] for _, _, words in batch],
            [words[1] if len(words) > 1 else "" for _, _, words in batch],
            [words[2] if len(words) > 2 else "1" for _, _, words in batch] if probability else None,
        )
    graph = table.fixed(not _UNDIRECTED.match(text) if directed is None else directed)
    _warn_of_counts(file, text, first)
    return graph


def _rows(text: str) -> Iterator[Row]:
    """The lines with words before a comment."""
    for number, line in enumerate(text.split("\n"), 1):
        marked = "#" in line or line.lstrip()[:1] in ("%", "/")
        comment = _COMMENT.search(line) if marked else None
        if words := (line[: comment.start()] if comment else line).split():
            yield number, line, words


def _check_row(file: GraphFile, row: Row) -> None:
    number, line, words = row
    if len(words) > 3:
        raise InputError(
            f"{file.where(number)}: a line is {_FORM}; this one has {len(words)} words; a table "
            "has the ending .csv or .tsv, and a matrix .csv or .npy"
        )
    # a,b or a, b or a ,b
    if ("," in line or ";" in line) and (
        "," in words[0] or ";" in words[0]
        if len(words) == 1
        else words[0][-1] in ",;" or words[1][0] in ",;" or words[1][-1] in ",;"
    ):
        raise InputError(
            f"{file.where(number)}: words are parted by spaces, not by commas: "
            f"'{line.strip()[:60]}'; a table with commas has the ending .csv and a line of column "
            "names"
        )


def _refuse_others(file: GraphFile, text: str, first: Row) -> None:
    """Raise for what is no list of edges, though its lines could be taken for some."""
    number, line, words = first
    if names_edges(words[:2]) and (len(words) == 2 or not is_number(words[2])):
        raise InputError(
            f"{file.where(number)}: '{line.strip()[:60]}' names columns: put '# ' before it, or "
            "give the file, with its cells parted by commas or tabs, the ending .csv or .tsv; if "
            f"these are arms, write '{' '.join(words[:2])} 1'"
        )
    if len(text) > 1000:
        return
    rows = [words for _, _, words in _rows(text)]
    if [len(row) for row in rows] == [3, 3, 3]:
        matrix = floats([word for row in rows for word in row])
        if first_invalid_probability(matrix) is None:
            raise InputError(
                f"{file.path} is three lines of three numbers in [0, 1], which look like a matrix: "
                "give it the ending .csv, with commas, or save it as .npy; if they are edges, call "
                "the arms something else"
            )


def _warn_of_counts(file: GraphFile, text: str, first: Row) -> None:
    """Warn if the first line has the numbers of nodes and edges of the others.

    The number of edges is that of the other lines, or half of it; the number of nodes is that of
    their names, or larger, if all names are numbers up to it. In a short file the second number
    must not be a name, too, for then the line is an edge like the others.
    """
    number, line, words = first
    if len(words) != 2 or not all(map(_is_count, words)):
        return
    nodes, edges = map(int, words)
    names, lines = set[str](), 0
    for _, _, row in islice(_rows(text), 1, None):
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
            f"{file.where(number)}: '{line.strip()}' looks like the numbers of nodes and edges, "
            "but is read as an edge: put '# ' before it, or remove it",
            InputWarning,
            stacklevel=3,
        )


def _is_count(word: str) -> bool:
    return re.fullmatch("[0-9]{1,18}", word) is not None


# Graphs in one line

#: The largest number that an arm can have in a text; larger graphs come from files.
LARGEST_ARM = 1_000_000
_ALLOWED = (
    "1-2 joins two arms both ways, 1>2 one way, 1>2:0.5 with a probability, 4 is an arm alone"
)
_WORD = re.compile(r"([0-9]+)(?:([->])([0-9]+)(?::(.+))?)?")


@register("graph", "edges")
@dataclass(frozen=True)
class EdgesText:
    """The graph with these edges: 1-2 both ways, 1>2 one way, 1>2:0.5 by chance, 4 an arm alone.

    Edges are parted by blanks or commas. There are as many arms as the largest number says, or as
    are asked for, if these are more.
    """

    pairs: str

    @classmethod
    def examples(cls) -> list[EdgesText]:
        """Of these the contract is tried."""
        return [cls("1-2 2-3"), cls("1>2 3>1 5"), cls("1>2:0.5 2>1:0.25 2-3:0.1 4")]

    def __post_init__(self) -> None:
        given: object = self.pairs
        words = given if isinstance(given, tuple) else (given,)
        if not all(isinstance(word, str | int) and not isinstance(word, bool) for word in words):
            raise InputError(f"edges: cannot read {given!r}: {_ALLOWED}")
        # numbers alone have been read as numbers
        object.__setattr__(self, "pairs", " ".join(map(str, words)))
        _read(self.pairs)

    def process(self, arms: int | None) -> Process:
        largest, edges = _read(self.pairs)
        asked = largest if arms is None else check_integer(arms, "the number of arms")
        ends = np.array([*edges], np.int64).reshape(-1, 2)
        weight = np.array([*edges.values()], np.float64)
        return Fixed(from_edges(max(asked, largest), ends[:, 0], ends[:, 1], weight))


def _read(text: str) -> tuple[int, dict[tuple[int, int], float]]:
    """The number of arms, and the probability of each edge between arms from 0 on."""
    largest, edges = 0, dict[tuple[int, int], float]()
    for word in re.split(r"[\s,]+", text.strip(" ,\t\n")):
        match = _WORD.fullmatch(word)
        if match is None:
            raise InputError(f"edges: cannot read '{word}' in '{text}': {_ALLOWED}")
        first, sign, second, chance = match.groups()
        ends = _arm(first, word), _arm(second or first, word)
        largest = max(largest, *ends)
        if sign is None:
            continue
        here, there = ends[0] - 1, ends[1] - 1
        place = f"edges: '{word}': "
        probability = 1.0 if chance is None else float(probabilities([chance], place.format)[0])
        if here == there and probability != 1.0:
            raise InputError(f"{place}the arm that is played is always observed: leave it out")
        for edge in [(here, there), (there, here)][: 2 if sign == "-" else 1]:
            if edges.setdefault(edge, probability) != probability:
                raise InputError(
                    f"{place}the edge {edge[0] + 1}>{edge[1] + 1} was given before with "
                    f"{edges[edge]!r}, and now with {probability!r}"
                )
    return largest, edges


def _arm(digits: str, word: str) -> int:
    if len(digits) > 20 or not 1 <= int(digits) <= LARGEST_ARM:
        raise InputError(
            f"edges: '{word}': arms are numbered from 1 to {LARGEST_ARM}; a larger graph comes "
            "from a file"
        )
    return int(digits)


def edges_text(feedback: Feedback, trial: int = 0) -> str:
    """The text of one round's feedback in one trial, from which the same matrix can be made.

    ``make_process(edges_text(feedback), feedback.arms)`` has the same entries to the last bit.
    Random feedback is ``random(r=...)``, any other the list of its edges.

    >>> from graphbandits.graphs import as_process
    >>> edges_text(as_process("star", arms=3).feedback), edges_text(UniformFeedback(0.25, count=4))
    ('edges(1-2 1-3)', 'random(r=0.25)')
    """
    if isinstance(feedback, UniformFeedback):
        return f"random(r={float(feedback.r[0 if feedback.shared else trial])!r})"
    source, target, weight = (part.tolist() for part in edge_arrays(feedback, trial))
    chances = dict(zip(zip(source, target, strict=True), weight, strict=True))
    words = []
    for (i, j), p in chances.items():
        mutual = chances.get((j, i)) == p
        if mutual and i > j:
            continue  # written with the other end
        chance = "" if p == 1.0 else f":{p!r}"
        words.append(f"{i + 1}{'-' if mutual else '>'}{j + 1}{chance}")
    if not any(feedback.arms - 1 in edge for edge in chances):
        words.append(str(feedback.arms))  # else there would be fewer arms
    return f"edges({' '.join(words)})"
