"""Graphs by name, as the command line writes them: ``paper``, ``star``, ``random(r=0.25)``.

Each is a small recipe; ``process(arms)`` makes the graph process for K arms. Arms are numbered
from 0 here and shown from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np

from graphbandits.errors import GraphBanditsError, InputError, check_bool, check_integer
from graphbandits.graphs.feedback import DENSE_LIMIT, UniformFeedback, from_edges
from graphbandits.graphs.processes import Fixed, Process, RandomFeedback, RevealedErdosRenyi
from graphbandits.registry import name_of, register, text_of

#: The number of arms of the paper's experiments, where neither graph nor user says one.
DEFAULT_ARMS = 5
_PARTS = ("arms", "names", "deterministic", "rounds", "round")


@runtime_checkable
class Recipe(Protocol):
    """A named graph: parameters, and a process once the number of arms is known."""

    def process(self, arms: int | None) -> Process:
        """The process for K arms; None where the user has not said.

        A graph with a number of its own keeps it.
        """


def process_of(recipe: Recipe, arms: int | None) -> Process:
    """What a recipe makes, checked: a plug-in may make anything."""
    name = text_of(recipe)
    try:
        process = recipe.process(arms)
    except GraphBanditsError:
        raise
    except Exception as error:
        raise InputError(f"graph '{name}' failed: {type(error).__name__}: {error}") from error
    lacking = [part for part in _PARTS if not hasattr(process, part)]
    if lacking:
        raise InputError(
            f"graph '{name}' made {type(process).__name__}, which has no {', no '.join(lacking)}: "
            "process(arms) returns a process, such as from_matrix(...)"
        )
    return process


def given_text(graph: object) -> str | None:
    """The text that a graph can be made from again; None for other objects than recipes.

    >>> given_text("star"), given_text(Star("out")), given_text([[1]])
    ('star', 'star(direction=out)', None)
    """
    text = text_of(graph) if isinstance(graph, Recipe) and not isinstance(graph, type) else graph
    return text if isinstance(text, str) else None


def _fixed(arms: int, source: object, target: object, both: bool = False) -> Fixed:
    """Make a fixed 0/1 graph from edges that go one way or ``both`` ways."""
    ends = np.asarray(source, np.int64), np.asarray(target, np.int64)
    if both:
        ends = np.concatenate(ends), np.concatenate(ends[::-1])
    return Fixed(from_edges(arms, *ends))


@register("graph", "empty")
@dataclass(frozen=True)
class Empty:
    """No edges: only the arm played is observed (the classical bandit)."""

    def process(self, arms: int | None) -> Process:
        return _fixed(_arms(arms), [], [])


@register("graph", "complete")
@dataclass(frozen=True)
class Complete:
    """All edges: every arm is observed in every round (full information)."""

    def process(self, arms: int | None) -> Process:
        count = _arms(arms)
        if count > DENSE_LIMIT:
            return Fixed(UniformFeedback(1.0, count))
        source, target = np.divmod(np.arange(count * count), count)
        return _fixed(count, source, target)


@register("graph", "star")
@dataclass(frozen=True)
class Star:
    """Arm 1 in the middle, the others around it; ``direction`` out, in or both."""

    direction: str = "both"

    @classmethod
    def examples(cls) -> list[Star]:
        """Of these the contract is tried."""
        return [cls(direction) for direction in ("both", "out", "in")]

    def __post_init__(self) -> None:
        if self.direction not in ("both", "out", "in"):
            raise InputError(f"star: direction is both, out or in, not '{self.direction}'")

    def process(self, arms: int | None) -> Process:
        leaves = np.arange(1, _arms(arms))
        ends = np.zeros_like(leaves), leaves
        return _fixed(
            _arms(arms), *(ends[::-1] if self.direction == "in" else ends), self.direction == "both"
        )


@dataclass(frozen=True)
class _Consecutive:
    directed: bool = False

    @classmethod
    def examples(cls) -> list[Self]:
        """Of these the contract is tried."""
        return [cls(), cls(directed=True)]

    def __post_init__(self) -> None:
        check_bool(self.directed, f"{name_of(self)}: directed")


@register("graph", "ring")
@dataclass(frozen=True)
class Ring(_Consecutive):
    """Each arm with the next, and the last with the first; one way if ``directed``."""

    def process(self, arms: int | None) -> Process:
        here = np.arange(_arms(arms))
        return _fixed(len(here), here, (here + 1) % len(here), not self.directed)


@register("graph", "path")
@dataclass(frozen=True)
class Path(_Consecutive):
    """Each arm with the next; one way if ``directed``."""

    def process(self, arms: int | None) -> Process:
        here = np.arange(_arms(arms) - 1)
        return _fixed(len(here) + 1, here, here + 1, not self.directed)


@register("graph", "cliques")
@dataclass(frozen=True)
class Cliques:
    """Disjoint cliques of ``size`` consecutive arms; the last may be smaller."""

    size: int

    @classmethod
    def examples(cls) -> list[Cliques]:
        """Of these the contract is tried."""
        return [cls(size=1), cls(size=4)]

    def __post_init__(self) -> None:
        check_integer(self.size, "cliques: size")

    def process(self, arms: int | None) -> Process:
        count = _arms(arms)
        if self.size >= count:
            return Complete().process(count)
        here = np.repeat(np.arange(count), self.size)
        there = here // self.size * self.size + np.tile(np.arange(self.size), count)
        inside = there < count
        return _fixed(count, here[inside], there[inside])


@register("graph", "grid")
@dataclass(frozen=True)
class Grid:
    """A rectangle of ``columns`` arms a row, each with its neighbours left, right, up and down."""

    columns: int

    @classmethod
    def examples(cls) -> list[Grid]:
        """Of these the contract is tried."""
        return [cls(columns=2), cls(columns=3)]

    def __post_init__(self) -> None:
        check_integer(self.columns, "grid: columns")

    def process(self, arms: int | None) -> Process:
        count = _arms(arms)
        if count % self.columns:
            raise InputError(
                f"grid(columns={self.columns}) needs a multiple of {self.columns} arms, not "
                f"{count}: say how many arms"
            )
        here = np.arange(count)
        across = here[here % self.columns < self.columns - 1]
        down = here[: count - self.columns]
        source = np.concatenate([across, down])
        target = np.concatenate([across + 1, down + self.columns])
        return _fixed(count, source, target, both=True)


@register("graph", "paper")
@dataclass(frozen=True)
class Paper:
    """The paper's graph of five arms: two triangles that share arm 3 (1-2-3 and 3-4-5)."""

    def process(self, arms: int | None) -> Process:
        return _fixed(5, [0, 0, 1, 2, 2, 3], [1, 2, 2, 3, 4, 4], both=True)


@register("graph", "random")
@dataclass(frozen=True)
class Random:
    """Random feedback: every other arm is observed with probability r.

    r is a number, ``uniform`` (drawn each round on [low, high], for each trial or ``shared``), or
    a list with one number a round. Policies are
    told r before the decision, or as ``graph_known`` says, after the play or never.
    """

    r: float | str | tuple[float, ...]
    low: float = 0.0
    high: float = 1.0
    shared: bool = False
    graph_known: str = "before"

    @classmethod
    def examples(cls) -> list[Random]:
        """Of these the contract is tried."""
        rates = (0.0, 0.3, 1.0, (0.1, 0.9))
        drawn = cls("uniform"), cls("uniform", 0.2, 0.6, shared=True, graph_known="never")
        return [*(cls(r=r) for r in rates), *drawn]

    def __post_init__(self) -> None:
        if self.r is None or (isinstance(self.r, str) and self.r != "uniform"):
            raise InputError(
                f"random: r is a number in [0, 1], 'uniform' or a list, not '{self.r}'"
            )
        if self.r != "uniform" and (self.low, self.high, self.shared) != (0.0, 1.0, False):
            raise InputError("random: low, high and shared go with r=uniform")
        self.process(2)

    def process(self, arms: int | None) -> Process:
        r = None if isinstance(self.r, str) else self.r
        bounds = self.low, self.high, self.shared
        return RandomFeedback(_arms(arms), r, *bounds, graph_known=self.graph_known)


@register("graph", "revealed-er")
@dataclass(frozen=True)
class Revealed:
    """An Erdos-Renyi graph of density p, redrawn each round and revealed.

    Undirected unless ``directed``; each trial has its own graphs unless ``shared``. ``graph_known`` is
    when policies are told the graph, if not before the decision: after the play, or never.
    """

    p: float = 0.25
    directed: bool = False
    shared: bool = False
    graph_known: str = "before"

    @classmethod
    def examples(cls) -> list[Revealed]:
        """Of these the contract is tried."""
        return [
            cls(),
            cls(0.6, directed=True, graph_known="after"),
            cls(0.4, directed=True, shared=True),
            cls(0),
            cls(1),
        ]

    def __post_init__(self) -> None:
        self.process(2)

    def process(self, arms: int | None) -> Process:
        return RevealedErdosRenyi(
            _arms(arms), self.p, self.directed, self.shared, graph_known=self.graph_known
        )


def _arms(arms: int | None) -> int:
    return DEFAULT_ARMS if arms is None else check_integer(arms, "the number of arms")
