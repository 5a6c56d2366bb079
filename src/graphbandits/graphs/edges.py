"""Graphs from named edges: numbers of arms, checks with the location of an error, text forms."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, count
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_bool, check_integer
from graphbandits.graphs.feedback import (
    Feedback,
    RepeatedEdgeError,
    UniformFeedback,
    first_invalid_probability,
    from_edges,
)
from graphbandits.graphs.processes import Fixed, Process, edge_arrays
from graphbandits.registry import register

#: Returns the start of an error message about edge k: ``edges.txt, line 3: ``, or an empty text.
Where = Callable[[int], str]

#: Largest number of arms; more would not fit into memory.
MAX_ARMS = 10**9
#: Rows per batch: enough for NumPy, and too few to trigger Python's garbage collector, whose passes
#: over 100,000 rows take longer than reading them.
BATCH = 300


class EdgeBuilder:
    """Edges between named arms, added in batches of rows.

    Arms are numbered in the order of their first appearance, the source of a row before its target.
    ``hint`` and ``numbers`` are those of :func:`probabilities`.

    >>> table = EdgeBuilder("line {}: ".format)
    >>> table.add([1, 2], ["ann", "eve"], ["bob", ""], ["0.5", ""])
    >>> table.fixed().names
    ('ann', 'bob', 'eve')
    """

    def __init__(self, where: Where, hint: str = "", numbers: str = "") -> None:
        self.where, self.hint, self.numbers = where, hint, numbers
        self._index = defaultdict[str, int](count().__next__, {"": -1})
        self._parts: list[tuple[Ints, Ints, Floats, Ints]] = []
        self._types: list[str] = []

    def __len__(self) -> int:
        return len(self._index) - 1

    def add(
        self,
        row: Iterable[int],
        source: Sequence[str],
        target: Sequence[str],
        weight: Sequence[object] | None = None,
        types: Sequence[str] | None = None,
    ) -> None:
        """Add rows with the numbers ``row``; a row with an empty target is an arm without edges.

        ``types`` are the texts Directed or Undirected.
        """
        rows = np.fromiter(row, np.int64, len(source))
        if "" in source:
            raise InputError(
                f"{self.where(int(rows[source.index('')]))}the source is missing; for an arm "
                "without edges, leave the target empty, not the source"
            )
        ends = chain.from_iterable(zip(source, target, strict=True))
        arm = np.fromiter(map(self._index.__getitem__, ends), np.int64).reshape(-1, 2)
        edge = np.flatnonzero(arm[:, 1] >= 0)
        rows, chance = rows[edge], np.ones(len(edge))
        if weight is not None:
            given = [weight[k] for k in edge.tolist()]
            where = self.where
            chance = probabilities(given, lambda k: where(int(rows[k])), self.hint, self.numbers)
        self._parts.append((arm[edge, 0], arm[edge, 1], chance, rows))
        if types is not None:
            self._types += [types[k] for k in edge.tolist()]

    def fixed(self, directed: bool | None = None) -> Fixed:
        """Build the graph; ``directed=None`` follows the types, or is True without types."""
        if directed is not None:
            check_bool(directed, "directed")
        source, target, weight, row = map(np.concatenate, zip(*self._parts, strict=True))

        def where(k: int) -> str:
            return self.where(int(row[k]))

        both = undirected(self._types, where) if directed is None else not directed
        names = tuple(self._index)[1:]
        return Fixed(named_edges(names, source, target, weight, both, where), names)


def named_edges(
    names: Sequence[object],
    source: Ints,
    target: Ints,
    weight: Floats,
    both: bool | NDArray[np.bool_] = False,
    where: Where = lambda k: "",
) -> Feedback:
    """Build feedback from edges k = 0, 1, ...; edges of ``both`` have both directions.

    Self-loops are added. A self-loop in the input must have probability 1, and repeated edges must
    have the same probability.
    """
    loop = np.flatnonzero((source == target) & (weight != 1.0))
    if loop.size:
        k = int(loop[0])
        raise InputError(
            f"{where(k)}the self-loop of arm {names[source[k]]} has probability {weight[k]:g}, but "
            "the played arm is always observed: remove the self-loop, or give it probability 1"
        )
    # each edge is followed by its reverse
    edge = np.repeat(np.arange(len(source)), np.broadcast_to(both, source.shape) + 1)
    back = np.diff(edge, prepend=-1) == 0
    start = np.where(back, target[edge], source[edge])
    end = np.where(back, source[edge], target[edge])
    try:
        return from_edges(len(names), start, end, weight[edge])
    except RepeatedEdgeError as error:
        earlier, repeated = (int(edge[k]) for k in error.edges)
        k = error.edges[1]
        raise InputError(
            f"{where(repeated)}the edge {names[start[k]]} -> {names[end[k]]} has probability "
            f"{weight[repeated]:g} here, but {weight[earlier]:g} earlier: repeated edges must agree"
        ) from None


def undirected(types: Sequence[str], where: Where) -> bool | NDArray[np.bool_]:
    """Return which edges have both directions, by Gephi's column ``Type``.

    If no entry is Directed or Undirected, the column has another meaning: all edges are directed.

    >>> undirected(["Directed", "undirected"], "line {}: ".format)
    array([False,  True])
    >>> undirected(["friend", "colleague"], "line {}: ".format)
    False
    """
    known = {"directed": False, "undirected": True}
    both = {text: known.get(text.strip().casefold()) for text in set(types)}
    if set(both.values()) <= {None}:
        return False
    for k, text in enumerate(types):
        if both[text] is None:
            raise InputError(
                f"{where(k)}column 'Type' must be Directed or Undirected, not '{text}'; "
                "directed=True or directed=False overrides the column"
            )
    return np.fromiter(map(both.__getitem__, types), np.bool_, len(types))


def probabilities(values: Sequence[Any], where: Where, hint: str = "", numbers: str = "") -> Floats:
    """Convert texts to probabilities; raise an error for the first invalid one.

    ``hint`` ends the error message. If ``numbers`` names the source of the values, such as
    "column", they must be numbers and not texts.
    """
    result = convert_numbers(values) if numbers else parse_floats(values)
    invalid = first_invalid_probability(result)
    if invalid is None:
        return result
    value = values[invalid[0]]
    if isinstance(value, str) and numbers:
        hint = f"; it is a text: convert the {numbers} to numbers"
    if isinstance(value, str) or is_missing(value):
        hint = correction("" if is_missing(value) else value) or hint
    raise InputError(
        f"{where(invalid[0])}a probability must be a number in [0, 1], not {value!r}{hint}"
    )


def correction(text: str) -> str:
    """Return a hint on how to write an invalid probability; empty if there is none.

    >>> correction("0,5"), correction("50%"), correction("often")
    ('; write 0.5', '; write 0.5', '')
    """
    if match := re.fullmatch(r"([0-9]*[.,]?[0-9]+)\s*(%?)", text):
        value = float(match[1].replace(",", ".")) / (100 if match[2] else 1)
        return f"; write {value:g}" if value <= 1.0 else ""
    if text.strip().casefold() in ("", "na", "n/a", "<na>", "nan", "null", "none", "-", "?"):
        return "; a missing probability is not 1: write 1 for a certain edge, or 0 for no edge"
    return ""


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas.NA, which cannot be compared."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def parse_floats(texts: Sequence[str]) -> Floats:
    """Convert texts to floats; NaN for any text that is not a number in ASCII digits."""
    together = "".join(texts)
    try:
        if together.isascii() and "_" not in together:
            return np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        pass
    return np.array([float(text) if is_number(text) else np.nan for text in texts], np.float64)


def is_number(text: str) -> bool:
    """Whether a text is a number in ASCII digits; ``float`` also accepts 0_1 and other digits."""
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def convert_numbers(values: Iterable[object]) -> Floats:
    """Convert numbers to floats; NaN for any other value."""
    return np.array(
        [float(p) if isinstance(p, Real | Decimal) else np.nan for p in values], np.float64
    )


# Graphs in one line

#: Largest arm number in a text; larger graphs must be read from files.
LARGEST_ARM = 1_000_000
_ALLOWED = (
    "use 1-2 for an edge in both directions, 1>2 for one direction, 1>2:0.5 for a probability, 4 "
    "for an arm without edges"
)
_EDGE = re.compile(r"([0-9]+)(?:([->])([0-9]+)(?::(.+))?)?")


@register("graph", "edges")
@dataclass(frozen=True)
class EdgesText:
    """Edges: 1-2 both directions, 1>2 one direction, 1>2:0.5 a probability, 4 an isolated arm.

    The number of arms is the largest arm number, or the requested number of arms if it is larger.

    Parameters
    ----------
    pairs
        Edges, separated by spaces or commas.
    """

    pairs: str

    @classmethod
    def examples(cls) -> list[EdgesText]:
        return [cls("1-2 2-3"), cls("1>2 3>1 5"), cls("1>2:0.5 2>1:0.25 2-3:0.1 4")]

    def __post_init__(self) -> None:
        given: object = self.pairs
        parts = given if isinstance(given, tuple) else (given,)
        if not all(isinstance(part, str | int) and not isinstance(part, bool) for part in parts):
            raise InputError(f"edges: cannot read {given!r}: {_ALLOWED}")
        # a text of one number is parsed as an int
        object.__setattr__(self, "pairs", " ".join(map(str, parts)))
        self.process(None)

    def process(self, arms: int | None) -> Process:
        parts = re.split(r"[\s,]+", self.pairs.strip(" ,\t\n"))

        def where(k: int) -> str:
            return f"edges: '{parts[k]}': "

        ends, texts, both = [], [], []
        for k, part in enumerate(parts):
            match = _EDGE.fullmatch(part)
            if match is None:
                raise InputError(f"edges: cannot read '{part}' in '{self.pairs}': {_ALLOWED}")
            edge = [int(digits[:20]) for digits in (match[1], match[3] or match[1])]
            if not 1 <= min(edge) <= max(edge) <= LARGEST_ARM:
                raise InputError(
                    f"{where(k)}arm numbers must be from 1 to {LARGEST_ARM}; read larger graphs "
                    "from a file"
                )
            ends.append(edge)
            texts.append(match[4] or "1")
            both.append(match[2] == "-")
        requested = 1 if arms is None else check_integer(arms, "the number of arms")
        source, target = np.array(ends).T
        names = range(1, max(requested, int(source.max()), int(target.max())) + 1)
        chances = probabilities(texts, where)
        return Fixed(named_edges(names, source - 1, target - 1, chances, np.array(both), where))


def edges_text(feedback: Feedback, trial: int = 0) -> str:
    """Return the feedback of one round and of the trial in row ``trial`` as text.

    Random feedback is written as ``random(r=...)``, other feedback as ``edges(...)``.
    ``make_process(edges_text(feedback), feedback.arms)`` has exactly the same entries.

    >>> from graphbandits.graphs import as_process
    >>> edges_text(as_process("star", arms=3).feedback), edges_text(UniformFeedback(0.25, count=4))
    ('edges(1-2 1-3)', 'random(r=0.25)')
    """
    if isinstance(feedback, UniformFeedback):
        return f"random(r={feedback.rate(trial)!r})"
    source, target, weight = (part.tolist() for part in edge_arrays(feedback, trial))
    chances = dict(zip(zip(source, target, strict=True), weight, strict=True))
    parts = []
    for (i, j), p in chances.items():
        mutual = chances.get((j, i)) == p
        if not mutual or i < j:  # else it is already written as j-i
            chance = "" if p == 1.0 else f":{p!r}"
            parts.append(f"{i + 1}{'-' if mutual else '>'}{j + 1}{chance}")
    if not any(feedback.arms - 1 in edge for edge in chances):
        parts.append(str(feedback.arms))  # sets the number of arms
    return f"edges({' '.join(parts)})"
