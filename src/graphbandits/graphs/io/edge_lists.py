"""Edges as text: edge lists in files, such as those of SNAP, and small graphs in one line.

A line of a file is ``source target [probability]``; ``edges(1-2 2>3:0.5 5)`` is a graph.
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
    is_number,
    parse_floats,
    probabilities,
)
from graphbandits.graphs.io._graph_file import GraphFile
from graphbandits.graphs.io.edge_tables import names_edges
from graphbandits.graphs.processes import Fixed, Process
from graphbandits.registry import register

_FORM = "'source target [probability]'"
_COMMENT = re.compile(r"(?:^|\s)#|^\s*(?:%|//)")
#: A comment of SNAP or KONECT, preceded only by blank lines and comments.
_UNDIRECTED = re.compile(
    r"(?:[^\S\n]*(?:(?:#|%|//)[^\n]*)?\n)*?(?:#\s*undirected graph|%\s*sym)\b", re.IGNORECASE
)
#: With at least this many lines, counts are unlikely to match by chance.
MIN_LINES = 10

#: The number, the text and the words of a line.
Row = tuple[int, str, list[str]]


def from_edge_list(
    path: str | os.PathLike[str] | GraphFile,
    *,
    directed: bool | None = None,
    probability: str | None = "auto",
) -> Fixed:
    r"""Read a fixed graph from lines ``source target [probability]``; ``#`` starts a comment.

    Arms are numbered in the order of their first appearance. A line with one word is an arm without
    edges. Self-loops are added.

    ``#`` starts a comment at the start of a line or of a word, not within a word: ``C#`` is a
    name, but an arm ``#python`` requires a table. ``%`` and ``//`` start a comment at the start of
    a line. A first line of column names and commas between words raise an error, because these
    files are tables (:func:`from_csv`). So do three lines of three numbers in [0, 1], which are a
    matrix. Two lines of two numbers are two edges. A first line that looks like the numbers of
    nodes and edges of the file is read as an edge, with an :class:`InputWarning`.

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

    Returns
    -------
    Fixed

    Raises
    ------
    InputError
        If the file is not an edge list; the message has the line number.

    Examples
    --------
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
            f"{file.path} is an edge list without column names, for which probability must be "
            f"'auto' (the third word) or None; probability='{probability}' needs CSV or GraphML"
        )
    text = file.text().replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("%%MatrixMarket"):
        raise InputError(
            f"{file.path} is a Matrix Market file: read it with scipy.io.mmread and pass the matrix"
        )
    first = next(_rows(text), None)
    if first is None:
        raise InputError(f"{file.path} has no edges: a line must be {_FORM}")
    _refuse_other_formats(file, text, first)
    rows = _rows(text)
    table = EdgeBuilder(file.place, hint="; probability=None ignores the third word")
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
    """Yield the lines that have words outside of comments."""
    for number, line in enumerate(text.split("\n"), 1):
        marked = "#" in line or line.lstrip()[:1] in ("%", "/")
        comment = _COMMENT.search(line) if marked else None
        if words := (line[: comment.start()] if comment else line).split():
            yield number, line, words


def _check_row(file: GraphFile, row: Row) -> None:
    number, line, words = row
    if len(words) > 3:
        raise InputError(
            f"{file.where(number)}: a line must be {_FORM}, but this one has {len(words)} words; "
            "give a table the extension .csv or .tsv, and a matrix .csv or .npy"
        )
    # a,b or a, b or a ,b
    if ("," in line or ";" in line) and (
        "," in words[0] or ";" in words[0]
        if len(words) == 1
        else words[0][-1] in ",;" or words[1][0] in ",;" or words[1][-1] in ",;"
    ):
        raise InputError(
            f"{file.where(number)}: words must be separated by spaces, not by commas: "
            f"'{line.strip()[:60]}'; give a table with commas the extension .csv and a first line "
            "of column names"
        )


def _refuse_other_formats(file: GraphFile, text: str, first: Row) -> None:
    """Raise an error for tables and matrices whose lines could be read as edges."""
    number, line, words = first
    if names_edges(words[:2]) and (len(words) == 2 or not is_number(words[2])):
        raise InputError(
            f"{file.where(number)}: '{line.strip()[:60]}' looks like column names: put '# ' before "
            "it, or separate the cells by commas or tabs and use the extension .csv or .tsv; if "
            f"these are arms, write '{' '.join(words[:2])} 1'"
        )
    if len(text) > 1000:
        return
    rows = [words for _, _, words in _rows(text)]
    if [len(row) for row in rows] == [3, 3, 3]:
        matrix = parse_floats([word for row in rows for word in row])
        if first_invalid_probability(matrix) is None:
            raise InputError(
                f"{file.path} has three lines of three numbers in [0, 1], which looks like a "
                "matrix: save it as .csv with commas or as .npy; if these are edges, rename the "
                "arms"
            )


def _warn_of_counts(file: GraphFile, text: str, first: Row) -> None:
    """Warn if the first line looks like the numbers of nodes and edges of the other lines.

    The number of edges is the number of other lines, or half of it. The number of nodes is the
    number of names, or larger if all names are numbers up to it. In a short file, the second number
    must not also be a name: then the line is probably an edge.
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
    if lines >= MIN_LINES and nodes == len(names):
        matches = lines in (edges, 2 * edges)
    elif lines >= MIN_LINES:
        matches = lines == edges and len(numbers) == len(names) and max(numbers) <= nodes
    else:
        matches = lines == edges > 2 and nodes == len(names) and words[1] not in names
        matches = matches and max(numbers, default=0) <= nodes
    if matches:
        warnings.warn(
            f"{file.where(number)}: '{line.strip()}' looks like the numbers of nodes and edges, "
            "but is read as an edge: put '# ' before it, or remove it",
            InputWarning,
            stacklevel=3,
        )


def _is_count(word: str) -> bool:
    return re.fullmatch("[0-9]{1,18}", word) is not None


# Graphs in one line

#: Largest arm number in a text; larger graphs must be read from files.
LARGEST_ARM = 1_000_000
_ALLOWED = (
    "use 1-2 for an edge in both directions, 1>2 for one direction, 1>2:0.5 for a probability, 4 "
    "for an arm without edges"
)
_WORD = re.compile(r"([0-9]+)(?:([->])([0-9]+)(?::(.+))?)?")


@register("graph", "edges")
@dataclass(frozen=True)
class EdgesText:
    """Edges: 1-2 both directions, 1>2 one direction, 1>2:0.5 a probability, 4 an isolated arm.

    The number of arms is the largest arm number, or the requested number of arms if it is larger.

    Parameters
    ----------
    pairs
        Edges, separated by spaces or commas: 1-2 has both directions, 1>2 one direction, 1>2:0.5 a
        probability; 4 is an arm without edges.
    """

    pairs: str

    @classmethod
    def examples(cls) -> list[EdgesText]:
        """Return the instances used by the contract tests.

        Returns
        -------
        list of EdgesText
        """
        return [cls("1-2 2-3"), cls("1>2 3>1 5"), cls("1>2:0.5 2>1:0.25 2-3:0.1 4")]

    def __post_init__(self) -> None:
        given: object = self.pairs
        words = given if isinstance(given, tuple) else (given,)
        if not all(isinstance(word, str | int) and not isinstance(word, bool) for word in words):
            raise InputError(f"edges: cannot read {given!r}: {_ALLOWED}")
        # a text of one number is parsed as an int
        object.__setattr__(self, "pairs", " ".join(map(str, words)))
        _read(self.pairs)

    def process(self, arms: int | None) -> Process:
        largest, edges = _read(self.pairs)
        requested = largest if arms is None else check_integer(arms, "the number of arms")
        ends = np.array([*edges], np.int64).reshape(-1, 2)
        weight = np.array([*edges.values()], np.float64)
        return Fixed(from_edges(max(requested, largest), ends[:, 0], ends[:, 1], weight))


def _read(text: str) -> tuple[int, dict[tuple[int, int], float]]:
    """Return the number of arms and the probability of each edge, with arms numbered from 0."""
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
            raise InputError(f"{place}the played arm is always observed: remove this self-loop")
        for edge in [(here, there), (there, here)][: 2 if sign == "-" else 1]:
            if edges.setdefault(edge, probability) != probability:
                raise InputError(
                    f"{place}the edge {edge[0] + 1}>{edge[1] + 1} has probability "
                    f"{probability!r} here, but {edges[edge]!r} earlier: repeated edges must agree"
                )
    return largest, edges


def _arm(digits: str, word: str) -> int:
    if len(digits) > 20 or not 1 <= int(digits) <= LARGEST_ARM:
        raise InputError(
            f"edges: '{word}': arm numbers must be from 1 to {LARGEST_ARM}; read larger graphs "
            "from a file"
        )
    return int(digits)


def edges_text(feedback: Feedback, trial: int = 0) -> str:
    """Return the feedback of one round and trial as a text that can be read back.

    ``make_process(edges_text(feedback), feedback.arms)`` has exactly the same entries. Random
    feedback is written as ``random(r=...)``, other feedback as ``edges(...)``.

    Parameters
    ----------
    feedback
        Feedback of one round.
    trial
        Trial of the block, numbered from 0; irrelevant if all trials share the graph.

    Returns
    -------
    str

    Examples
    --------
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
            continue  # already written as j-i
        chance = "" if p == 1.0 else f":{p!r}"
        words.append(f"{i + 1}{'-' if mutual else '>'}{j + 1}{chance}")
    if not any(feedback.arms - 1 in edge for edge in chances):
        words.append(str(feedback.arms))  # sets the number of arms
    return f"edges({' '.join(words)})"
