"""Any small graph in one line: ``edges(1-2 2>3:0.5 5)``, read and written."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from graphbandits.errors import InputError, whole_number
from graphbandits.graphs.feedback import Feedback, Uniform, from_edges
from graphbandits.graphs.io.edges import probabilities
from graphbandits.graphs.processes import Fixed, Process
from graphbandits.graphs.shape import edge_arrays
from graphbandits.registry import register

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
        asked = largest if arms is None else whole_number(arms, "the number of arms")
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
    >>> edges_text(as_process("star", arms=3).feedback), edges_text(Uniform(0.25, count=4))
    ('edges(1-2 1-3)', 'random(r=0.25)')
    """
    if isinstance(feedback, Uniform):
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
