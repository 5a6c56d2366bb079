"""Named graphs, as written on the command line: ``paper``, ``star``, ``random(r=0.25)``.

Each class holds the parameters of a named graph; ``process(arms)`` builds the graph process for K
arms. Arms are numbered from 0 in code and from 1 in texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np

from graphbandits.errors import GraphBanditsError, InputError, check_bool, check_integer
from graphbandits.graphs.feedback import DENSE_LIMIT, UniformFeedback, from_edges
from graphbandits.graphs.processes import Fixed, Process, RandomFeedback, RevealedErdosRenyi
from graphbandits.registry import name_of, register, text_of

#: Number of arms if neither the graph nor the user sets it; the paper's experiments have five.
DEFAULT_ARMS = 5
_PROCESS_ATTRIBUTES = ("arms", "names", "deterministic", "rounds", "round")


@runtime_checkable
class Recipe(Protocol):
    """Protocol of named graphs: parameters from which a process is built for K arms."""

    def process(self, arms: int | None) -> Process:
        """Return the graph process for K arms."""


def build_process(recipe: Recipe, arms: int | None) -> Process:
    """Build the process of a named graph and check that it has the attributes of a process."""
    name = text_of(recipe)
    try:
        process = recipe.process(arms)
    except GraphBanditsError:
        raise
    except Exception as error:
        raise InputError(f"graph '{name}' failed: {type(error).__name__}: {error}") from error
    missing = [name for name in _PROCESS_ATTRIBUTES if not hasattr(process, name)]
    if missing:
        raise InputError(
            f"graph '{name}' returned {type(process).__name__}, which has no "
            f"{', no '.join(missing)}: process(arms) must return a process, such as "
            "from_matrix(...)"
        )
    return process


def recipe_text(graph: object) -> str | None:
    """Return the text from which a named graph can be rebuilt; None for any other object.

    >>> recipe_text("star"), recipe_text(Star("out")), recipe_text([[1]])
    ('star', 'star(direction=out)', None)
    """
    text = text_of(graph) if isinstance(graph, Recipe) and not isinstance(graph, type) else graph
    return text if isinstance(text, str) else None


def _fixed(arms: int, source: object, target: object, both: bool = False) -> Fixed:
    """Build a fixed 0/1 graph from edges in one direction, or in ``both`` directions."""
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
    """Edges between arm 1 and every other arm; ``direction`` out, in or both.

    Parameters
    ----------
    direction
        Direction of the edges: "out" of arm 1, "in" to arm 1, or "both".
    """

    direction: str = "both"

    @classmethod
    def examples(cls) -> list[Star]:
        return [cls(direction) for direction in ("both", "out", "in")]

    def __post_init__(self) -> None:
        if self.direction not in ("both", "out", "in"):
            raise InputError(f"star: direction must be both, out or in, not '{self.direction}'")

    def process(self, arms: int | None) -> Process:
        leaves = np.arange(1, _arms(arms))
        ends = np.zeros_like(leaves), leaves
        return _fixed(
            _arms(arms), *(ends[::-1] if self.direction == "in" else ends), self.direction == "both"
        )


@dataclass(frozen=True)
class _Consecutive:
    """Parameters of graphs whose edges join consecutive arms."""

    directed: bool = False

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(directed=True)]

    def __post_init__(self) -> None:
        check_bool(self.directed, f"{name_of(self)}: directed")


@register("graph", "ring")
@dataclass(frozen=True)
class Ring(_Consecutive):
    """Edges between consecutive arms, and between the last and the first arm.

    Parameters
    ----------
    directed
        If True, edges have one direction; otherwise both.
    """

    def process(self, arms: int | None) -> Process:
        here = np.arange(_arms(arms))
        return _fixed(len(here), here, (here + 1) % len(here), not self.directed)


@register("graph", "path")
@dataclass(frozen=True)
class Path(_Consecutive):
    """Edges between consecutive arms.

    Parameters
    ----------
    directed
        If True, edges have one direction; otherwise both.
    """

    def process(self, arms: int | None) -> Process:
        here = np.arange(_arms(arms) - 1)
        return _fixed(len(here) + 1, here, here + 1, not self.directed)


@register("graph", "cliques")
@dataclass(frozen=True)
class Cliques:
    """Disjoint cliques of ``size`` consecutive arms; the last may be smaller.

    Parameters
    ----------
    size
        Number of arms per clique.
    """

    size: int

    @classmethod
    def examples(cls) -> list[Cliques]:
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
    """Rectangular grid with ``columns`` arms per row and edges between adjacent arms.

    Parameters
    ----------
    columns
        Number of arms per row. The number of arms must be a multiple of it.
    """

    columns: int

    @classmethod
    def examples(cls) -> list[Grid]:
        return [cls(columns=2), cls(columns=3)]

    def __post_init__(self) -> None:
        check_integer(self.columns, "grid: columns")

    def process(self, arms: int | None) -> Process:
        count = _arms(arms)
        if count % self.columns:
            raise InputError(
                f"grid(columns={self.columns}) needs a multiple of {self.columns} arms, not "
                f"{count}: set the number of arms"
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

    Parameters
    ----------
    r
        A number, a list with one number per round, or "uniform": r_t is drawn uniformly from
        [low, high] in each round.
    low, high
        Range of r with ``r="uniform"``.
    shared
        If True, all trials share the drawn r_t; otherwise each trial draws its own.
    graph_known
        When policies see r_t: "before" the decision, "after" the play, or "never".
    """

    r: float | str | tuple[float, ...]
    low: float = 0.0
    high: float = 1.0
    shared: bool = False
    graph_known: str = "before"

    @classmethod
    def examples(cls) -> list[Random]:
        rates = (0.0, 0.3, 1.0, (0.1, 0.9))
        drawn = cls("uniform"), cls("uniform", 0.2, 0.6, shared=True, graph_known="never")
        return [*(cls(r=r) for r in rates), *drawn]

    def __post_init__(self) -> None:
        if self.r is None or (isinstance(self.r, str) and self.r != "uniform"):
            raise InputError(
                f"random: r must be a number in [0, 1], 'uniform' or a list, not '{self.r}'"
            )
        if self.r != "uniform" and (self.low, self.high, self.shared) != (0.0, 1.0, False):
            raise InputError("random: low, high and shared are only allowed with r=uniform")
        self.process(2)

    def process(self, arms: int | None) -> Process:
        r = None if isinstance(self.r, str) else self.r
        bounds = self.low, self.high, self.shared
        return RandomFeedback(_arms(arms), r, *bounds, graph_known=self.graph_known)


@register("graph", "revealed-er")
@dataclass(frozen=True)
class Revealed:
    """Erdos-Renyi graph of density ``p``, redrawn in each round and revealed.

    Parameters
    ----------
    p
        Probability of each edge.
    directed
        If True, the two directions of an edge are drawn independently.
    shared
        If True, all trials share the graphs; otherwise each trial draws its own.
    graph_known
        When policies see the graph: "before" the decision, "after" the play, or "never".
    """

    p: float = 0.25
    directed: bool = False
    shared: bool = False
    graph_known: str = "before"

    @classmethod
    def examples(cls) -> list[Revealed]:
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
