"""Graphs from named edges: number the arms, check the edges, build the graph.

Used by all readers. Errors about edges and probabilities are raised here; the reader supplies the
location.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import count
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_bool
from graphbandits.graphs.feedback import RepeatedEdgeError, first_invalid_probability, from_edges
from graphbandits.graphs.processes import Fixed

#: Returns the start of an error message about edge k: ``edges.txt, line 3: ``, or an empty text.
Place = Callable[[int], str]

#: Largest number of arms; more would not fit into memory.
MOST_ARMS = 10**9
#: Rows per batch: enough for NumPy, and too few to trigger Python's garbage collector, whose passes
#: over 100,000 rows take longer than reading them.
BATCH = 300


class EdgeBuilder:
    """Edges between named arms, added batch by batch.

    Arms are numbered in the order of their first appearance, the source of a row before its target.

    Parameters
    ----------
    place
        Function of the row number that returns the start of an error message.
    weight
        Continuation of an error message about a probability: ``column 'p': ``.
    hint
        End of an error message about a probability that the value itself does not explain.
    empty
        Middle of the error message about a row without a source.
    numbers
        Source of the probabilities, such as "column", if they are numbers and not texts.

    Examples
    --------
    >>> table = EdgeBuilder("line {}: ".format)
    >>> table.add([1, 2], ["ann", "eve"], ["bob", ""], ["0.5", ""])
    >>> table.fixed().names
    ('ann', 'bob', 'eve')
    """

    def __init__(
        self, place: Place, *, weight: str = "", hint: str = "", empty: str = "", numbers: str = ""
    ) -> None:
        self.place, self.weight, self.hint = place, weight, hint
        self.empty, self.numbers = empty, numbers
        self._index = defaultdict[str, int](count().__next__, {"": -1})
        self._parts: list[tuple[Ints, Ints, Floats, Ints]] = []
        self._types: list[str] = []

    def __len__(self) -> int:
        """Return the number of arms."""
        return len(self._index) - 1

    def add(
        self,
        row: Iterable[int],
        source: Sequence[str],
        target: Sequence[str],
        weight: Sequence[object] | None = None,
        types: Sequence[str] | None = None,
    ) -> None:
        """Add rows; a row with an empty target is an arm without edges.

        ``row`` has row numbers for error messages, ``types`` the texts Directed or Undirected.
        """
        rows = np.fromiter(row, np.int64, len(source))
        if "" in source:
            raise InputError(
                f"{self.place(int(rows[source.index('')]))}{self.empty}; for an arm without edges, "
                "leave the target empty, not the source"
            )
        words = [word for pair in zip(source, target, strict=True) for word in pair]
        arm = np.fromiter(map(self._index.__getitem__, words), np.int64, len(words)).reshape(-1, 2)
        edge = np.flatnonzero(arm[:, 1] >= 0)
        rows = rows[edge]
        chance = np.ones(len(edge))
        if weight is not None:
            chance = probabilities(
                [weight[k] for k in edge.tolist()],
                lambda k: self.place(int(rows[k])) + self.weight,
                self.hint,
                self.numbers,
            )
        self._parts.append((arm[edge, 0], arm[edge, 1], chance, rows))
        if types is not None:
            self._types += [types[k] for k in edge.tolist()]

    def fixed(self, directed: bool | None = None) -> Fixed:
        """Build the graph; ``directed=None`` follows the types, or is True without types."""
        if directed is not None:
            check_bool(directed, "directed")
        source, target, weight, row = map(np.concatenate, zip(*self._parts, strict=True))

        def place(k: int) -> str:
            return self.place(int(row[k]))

        both = undirected(self._types, place) if directed is None else not directed
        return fixed_graph(tuple(self._index)[1:], source, target, weight, both, place)


def fixed_graph(
    names: Sequence[str],
    source: Ints,
    target: Ints,
    weight: Floats,
    both: bool | NDArray[np.bool_] = False,
    place: Place = lambda k: "",
) -> Fixed:
    """Build a fixed graph from edges k = 0, 1, ...; edges of ``both`` have both directions.

    Self-loops are added. A self-loop in the input must have probability 1, and repeated edges must
    have the same probability.
    """
    loop = np.flatnonzero((source == target) & (weight != 1.0))
    if loop.size:
        k = int(loop[0])
        raise InputError(
            f"{place(k)}the self-loop of arm {names[source[k]]} has probability {weight[k]:g}, but "
            "the played arm is always observed: remove the self-loop, or give it probability 1"
        )
    # each edge is followed by its reverse
    edge = np.repeat(np.arange(len(source)), np.broadcast_to(both, source.shape) + 1)
    back = np.diff(edge, prepend=-1) == 0
    start = np.where(back, target[edge], source[edge])
    end = np.where(back, source[edge], target[edge])
    try:
        feedback = from_edges(len(names), start, end, weight[edge])
    except RepeatedEdgeError as error:
        earlier, repeated = (int(edge[k]) for k in error.edges)
        k = error.edges[1]
        raise InputError(
            f"{place(repeated)}the edge {names[start[k]]} -> {names[end[k]]} has probability "
            f"{weight[repeated]:g} here, but {weight[earlier]:g} earlier: repeated edges must agree"
        ) from None
    return Fixed(feedback, tuple(names))


def undirected(types: Sequence[str], place: Place) -> bool | NDArray[np.bool_]:
    """Return which edges have both directions, by Gephi's column ``Type``.

    If no entry is Directed or Undirected, the column has another meaning: all edges are directed.

    >>> undirected(["Directed", "undirected"], "line {}: ".format)
    array([False,  True])
    >>> undirected(["friend", "colleague"], "line {}: ".format)
    False
    """
    known = {"directed": False, "undirected": True}
    meaning = {word: known.get(word.strip().casefold()) for word in set(types)}
    if all(both is None for both in meaning.values()):
        return False
    for k, word in enumerate(types):
        if meaning[word] is None:
            raise InputError(
                f"{place(k)}column 'Type' must be Directed or Undirected, not '{word}'; "
                "directed=True or directed=False overrides the column"
            )
    return np.fromiter(map(meaning.__getitem__, types), np.bool_, len(types))


def probabilities(values: Sequence[Any], place: Place, hint: str = "", numbers: str = "") -> Floats:
    """Convert texts or numbers to probabilities; raise an error for the first invalid one.

    >>> probabilities(["1", "0.5"], "line {}: ".format)
    array([1. , 0.5])
    """
    found = convert_numbers(values) if numbers else parse_floats(values)
    invalid = first_invalid_probability(found)
    if invalid is None:
        return found
    value = values[invalid[0]]
    text = "" if is_missing(value) else value
    if isinstance(text, str):
        hint = f"; it is a text: convert the {numbers} to numbers" if numbers else hint
        hint = correction(text) or hint
    shown = f"'{value}'" if isinstance(value, str) else repr(value)
    raise InputError(
        f"{place(invalid[0])}a probability must be a number in [0, 1], not {shown}{hint}"
    )


def correction(word: str) -> str:
    """Return a hint on how to write an invalid probability; empty if there is none.

    >>> correction("0,5"), correction("50%"), correction("often")
    ('; write 0.5', '; write 0.5', '')
    """
    if re.fullmatch(r"[01]?,[0-9]+", word):
        return f"; write {word.replace(',', '.')}"
    if re.fullmatch(r"[0-9]+([.,][0-9]+)?\s*%", word):
        return f"; write {float(word.rstrip('% ').replace(',', '.')) / 100:g}"
    if word.strip().casefold() in ("", "na", "n/a", "<na>", "nan", "null", "none", "-", "?"):
        return "; a missing probability is not 1: write 1 for a certain edge, or 0 for no edge"
    return ""


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA, which cannot be compared."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def parse_floats(words: Sequence[str]) -> Floats:
    """Convert texts to floats; NaN for any text that is not a number in ASCII digits.

    >>> parse_floats(["1e-1", "0_1", "x"])
    array([0.1, nan, nan])
    """
    together = "".join(words)
    try:
        if together.isascii() and "_" not in together:
            return np.fromiter(map(float, words), np.float64, len(words))
    except ValueError:
        pass
    return np.array([float(word) if is_number(word) else np.nan for word in words], np.float64)


def convert_numbers(values: Iterable[object]) -> Floats:
    """Convert numbers to floats; NaN for any other value.

    >>> convert_numbers([1, True, "0.5"])
    array([ 1.,  1., nan])
    """
    return np.array(
        [float(p) if isinstance(p, Real | Decimal) else np.nan for p in values], np.float64
    )


def is_number(word: str) -> bool:
    """Whether a text is a number in ASCII digits, or 'nan'.

    ``float`` alone also accepts 0_1 and the digits of all scripts.
    """
    try:
        float(word)
    except ValueError:
        return False
    return word.isascii() and "_" not in word
