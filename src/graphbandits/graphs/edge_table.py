"""Edges on their way into a graph: names become numbers, and what contradicts itself is named."""

from __future__ import annotations

import re
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

    def fixed(
        self, place: Place, directed: bool = True, types: Sequence[str] | None = None
    ) -> Fixed:
        """The graph; ``place`` makes the beginning of an error from the number of a row.

        ``types``, if given, has a word for each edge, which may be Directed or Undirected.
        """
        source, target, weight, row = (
            np.concatenate(part) for part in zip(*self._parts, strict=True)
        )

        def place_of(k: int) -> str:
            return place(int(row[k]))

        both = not directed if types is None else undirected(types, place_of)
        return fixed_graph(tuple(self._index), source, target, weight, both, place_of)


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


def undirected(types: Sequence[str], place: Place) -> bool | NDArray[np.bool_]:
    """Which edges go both ways, by the column ``Type`` of Gephi: Directed or Undirected.

    A column that never says so is about something else, and every edge is directed.

    >>> undirected(["Directed", "undirected"], "line {}: ".format)
    array([False,  True])
    >>> undirected(["friend", "colleague"], "line {}: ".format)
    False
    """
    meaning = {word: _TYPES.get(word.strip().casefold()) for word in set(types)}
    if not any(both is not None for both in meaning.values()):
        return False
    for k, word in enumerate(types):
        if meaning[word] is None:
            raise InputError(
                f"{place(k)}column 'Type': an edge is Directed or Undirected, not '{word}'; "
                "directed=True or directed=False says it for all of them"
            )
    return np.fromiter((bool(meaning[word]) for word in types), np.bool_, len(types))


_TYPES = {"directed": False, "undirected": True}


def probabilities(words: Sequence[str], place: Place, hint: str = "") -> Floats:
    """Words as numbers in [0, 1]; ``place`` begins the error about the first that is none.

    ``hint`` ends it, unless the word itself tells what to do.

    >>> probabilities(["1", "0.5"], "line {}: ".format)
    array([1. , 0.5])
    """
    values = floats(words)
    wrong = wrong_probability(values)
    if wrong is not None:
        word = words[wrong]
        raise InputError(
            f"{place(wrong)}a probability is a number in [0, 1], not '{word}'{remedy(word) or hint}"
        )
    return values


def remedy(word: str) -> str:
    """What to write instead of a word that is no probability, where the word tells.

    >>> remedy("0,5"), remedy("50%"), remedy("often")
    ('; write 0.5', '; write 0.5', '')
    """
    if re.fullmatch(r"[01]?,[0-9]+", word):
        return f"; write {word.replace(',', '.')}"
    if re.fullmatch(r"[0-9]+([.,][0-9]+)?\s*%", word):
        return f"; write {float(word.rstrip('% ').replace(',', '.')) / 100:g}"
    if word.strip().casefold() in _MISSING:
        return "; a missing one does not make an edge sure: write 1, or 0 for no edge"
    return ""


_MISSING = ("", "na", "n/a", "<na>", "nan", "null", "none", "-", "?")


def floats(words: Sequence[str]) -> Floats:
    """Words as floats, NaN for what is no number in plain digits.

    >>> floats(["1e-1", "0_1", "x"])
    array([0.1, nan, nan])
    """
    together = "".join(words)
    try:
        if together.isascii() and "_" not in together:
            return np.fromiter(map(float, words), np.float64, len(words))
    except ValueError:
        pass
    return np.fromiter(
        (float(word) if is_number(word) else np.nan for word in words), np.float64, len(words)
    )


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
    """Whether a word is a number; 'nan' is one, though no probability.

    Python takes 0_1 and the digits of every script for numbers, too; a table does not mean them.
    """
    try:
        float(word)
    except ValueError:
        return False
    return word.isascii() and "_" not in word


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
