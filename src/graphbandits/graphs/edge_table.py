"""Edges on their way into a graph: names become numbers, and what contradicts itself is named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import count
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from graphbandits.errors import InputError
from graphbandits.graphs.feedback import from_edges
from graphbandits.graphs.processes import Fixed
from graphbandits.types import Floats, Ints

#: The beginning of an error about edge k: ``edges.txt, line 3: ``, or nothing.
Place = Callable[[int], str]

#: Rows that are read at once: enough for numpy, little for the memory.
BATCH = 100_000


class EdgeTable:
    """Edges read batch by batch; arms are numbered in the order of their first appearance.

    >>> table = EdgeTable()
    >>> table.add(["ann", "bob", "eve"], ends=np.array([2, 1]), weight=[0.5], row=np.array([1, 2]))
    >>> table.fixed("line {}: ".format).names
    ('ann', 'bob', 'eve')
    """

    def __init__(self) -> None:
        self._index: defaultdict[str, int] = defaultdict(count().__next__)
        self._parts: list[tuple[Ints, Ints, Floats, Ints]] = []

    def __len__(self) -> int:
        """How many arms there are."""
        return len(self._index)

    def add(self, words: Sequence[str], ends: Ints, weight: object, row: Ints) -> None:
        """Rows of one name (an arm) or two (an edge): ``ends`` counts them, ``words`` has them all.

        ``weight`` has a probability for each edge, ``row`` a number for each row.
        """
        arm = np.fromiter(map(self._index.__getitem__, words), np.int64, len(words))
        edge = ends == 2
        first = (np.cumsum(ends) - ends)[edge]
        chance = np.array(weight, np.float64)
        self._parts.append((arm[first], arm[first + 1], chance, row[edge]))

    def fixed(self, place: Place, directed: bool = True) -> Fixed:
        """The graph; ``place`` makes the beginning of an error from the number of a row."""
        source, target, weight, row = (
            np.concatenate(part) for part in zip(*self._parts, strict=True)
        )
        return fixed_graph(
            tuple(self._index), source, target, weight, not directed, lambda k: place(int(row[k]))
        )


def fixed_graph(
    names: tuple[str, ...],
    source: Ints,
    target: Ints,
    weight: Floats,
    both: bool | NDArray[np.bool_],
    place: Place,
) -> Fixed:
    """A fixed graph from edges k = 0, 1, ...; those of ``both`` go both ways.

    Self-loops are added; one that is given is sure, and an edge that is given twice agrees.
    """
    loop = np.flatnonzero((source == target) & (weight != 1.0))
    if loop.size:
        k = int(loop[0])
        raise InputError(
            f"{place(k)}the arm {names[source[k]]} that is played is always observed, not with "
            f"{weight[k]:g}: leave its self-loop out, or give it 1"
        )
    again = np.flatnonzero(np.broadcast_to(both, source.shape))
    edge = np.concatenate([np.arange(len(source)), again])
    start, end = np.concatenate([source, target[again]]), np.concatenate([target, source[again]])
    chance = weight[edge]
    pair = start * len(names) + end
    order = np.argsort(pair, kind="stable")
    if _contradictions(pair, chance, order).size:
        order = np.lexsort((edge, pair))
        later = order[_contradictions(pair, chance, order) + 1]
        wrong = later[np.lexsort((later, edge[later]))[0]]  # as it was written, not its way back
        before = chance[order[np.searchsorted(pair[order], pair[wrong])]]
        raise InputError(
            f"{place(int(edge[wrong]))}the edge {names[start[wrong]]} -> {names[end[wrong]]} was "
            f"given before with {before:g}, and now with {chance[wrong]:g}"
        )
    return Fixed(from_edges(len(names), start, end, chance), names)


def _contradictions(pair: Ints, chance: Floats, order: Ints) -> Ints:
    """Where, in this order, the next entry is the same edge with another probability."""
    pair, chance = pair[order], chance[order]
    return np.flatnonzero((pair[1:] == pair[:-1]) & (chance[1:] != chance[:-1]))


def probabilities(words: Sequence[str], place: Place, hint: str = "") -> Floats:
    """Words as numbers in [0, 1]; ``place`` begins the error about the first that is none.

    >>> probabilities(["1", "0.5"], "line {}: ".format)
    array([1. , 0.5])
    """
    try:
        values = np.fromiter(map(float, words), np.float64, len(words))
    except ValueError:
        values = np.fromiter(map(_number, words), np.float64, len(words))
    wrong = wrong_probability(values)
    if wrong is not None:
        raise InputError(
            f"{place(wrong)}a probability is a number in [0, 1], not '{words[wrong]}'{hint}"
        )
    return values


def numbers(values: Iterable[object]) -> Floats:
    """Values as floats; NaN for what is no number.

    >>> numbers([1, True, "0.5"])
    array([ 1.,  1., nan])
    """
    return np.array(
        [float(p) if isinstance(p, Real | Decimal) else np.nan for p in values], np.float64
    )


def wrong_probability(values: Floats) -> int | None:
    """The first of the values that is no probability."""
    wrong = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))  # NaN is wrong too
    return int(wrong[0]) if wrong.size else None


def is_number(word: str) -> bool:
    """Whether a word is a number; 'nan' is one, though no probability."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _number(word: str) -> float:
    return float(word) if is_number(word) else float("nan")


def pairs_of(source: Iterable[str], target: Iterable[str]) -> tuple[list[str], Ints]:
    """Words and ends for :meth:`EdgeTable.add`; an empty target makes a row of one name.

    >>> pairs_of(["ann", "eve"], ["bob", ""])
    (['ann', 'bob', 'eve'], array([2, 1]))
    """
    target = list(target)
    words = [word for pair in zip(source, target, strict=True) for word in pair]
    ends = np.full(len(target), 2)
    if "" in target:
        words = [word for word in words if word]
        ends -= np.fromiter((word == "" for word in target), np.int64, len(target))
    return words, ends
