"""Describe a graph: its shape, the numbers that regret bounds scale with, and these bounds."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from graphbandits._io import check_name, make_directory
from graphbandits._types import Floats
from graphbandits.engine._progress import announce_compilation
from graphbandits.errors import InputError, check_horizon, check_integer, check_positive, nearest
from graphbandits.graphs import Feedback, GraphLike, Process, UniformFeedback, make_process
from graphbandits.graphs._shape import Shape
from graphbandits.graphs.invariants import Bracket, GraphNumbers, graph_numbers
from graphbandits.graphs.invariants.numbers import TIME_LIMIT
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys
from graphbandits.theory import Bound, corollary_1, regret_bounds, theorem_1

#: Rounds of the bounds, if neither the user nor the graph sets them.
HORIZON = 1000


@dataclass(frozen=True, eq=False)
class GraphDescription:
    """A graph with its shape, its numbers and the regret bounds on it.

    Parameters
    ----------
    text
        What the graph is called.
    process, feedback
        The graph, and its first round: all of it, unless it changes.
    numbers
        Clique cover, independence and domination; None if edges have probabilities.
    horizon
        Rounds of the bounds.
    time_limit
        Seconds that the search for each number could take.
    files
        The pictures that were written.
    """

    text: str
    process: Process
    feedback: Feedback
    numbers: GraphNumbers | None
    horizon: int
    time_limit: float
    files: tuple[Path, ...] = ()

    @cached_property
    def shape(self) -> Shape:
        """Edges, density, degrees and components."""
        return Shape.of(self.feedback)

    @property
    def changes(self) -> bool:
        """Whether the graph changes: it is described as in round 1 of trial 0, seed 0."""
        return fixed_feedback(self.process) is None

    @property
    def names(self) -> list[str]:
        """The names of the arms."""
        return list(self.process.names or map(str, range(1, self.process.arms + 1)))

    @property
    def note(self) -> str | None:
        """What must be said of a graph that changes, or that leaves open what is observed."""
        parts = []
        if self.changes:
            parts.append("This graph changes: here it is as in round 1 of trial 0, seed 0.")
        if not self.feedback.deterministic:
            which = (
                f"every other arm is observed with probability {float(self.feedback.r[0]):.4g}"
                if isinstance(self.feedback, UniformFeedback)
                else "some edges have probabilities between 0 and 1"
            )
            parts.append(
                f"There is no clique cover, independent or dominating set: {which}; degrees and "
                "density are expected values."
            )
        return " ".join(parts) or None

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """The proved bounds on the expected regret, for arms with equal priors: H = log K."""
        arms = self.process.arms
        if self.numbers is None or self.changes:
            return regret_bounds(self.process, BetaBernoulli.of(arms), [self.horizon])
        # by the cover that is shown, for which the search has had its time
        entropy, cover = math.log(arms), self.numbers.clique_cover.upper
        return theorem_1(arms, entropy, [self.horizon]), corollary_1(cover, entropy, [self.horizon])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as ``graphbandits graph --json`` prints them, with the names of arms."""
        names, shape, numbers = self.names, self.shape, self.numbers
        found: dict[str, Any] = {}
        for key in ("clique_cover", "independence", "domination"):
            bracket = getattr(numbers, key, None)
            found[key] = bracket and {
                "lower": bracket.lower,
                "upper": bracket.upper,
                "proved": bracket.proved,
                "certificate": _named(bracket.certificate, names),
            }
        fraction = None if numbers is None else numbers.fractional_domination
        return {
            "graph": self.text,
            "arms": self.process.arms,
            "names": names,
            "edges": shape.edges,
            "directed": shape.directed,
            "density": shape.density,
            "degrees": {"out": _spread(shape.out_degree), "in": _spread(shape.in_degree)},
            "components": shape.components,
            "note": self.note,
            **found,
            "fractional_domination": fraction and fraction.upper,
            "fractional_domination_lower": fraction and fraction.lower,
            "horizon": self.horizon,
            "bounds": [
                {
                    "name": bound.name,
                    "formula": bound.formula,
                    "policies": list(bound.policies),
                    "value": bound.final,
                    "standard_error": bound.final_error,
                    "note": bound.note,
                }
                for bound in self.bounds
            ],
        }

    def draw(self, path: str | Path) -> tuple[Path, ...]:
        """Draw the graph, the cliques of its cover coloured, to a .png, .svg or .pdf file."""
        from graphbandits.plots import graph_figure, save_figure
        from graphbandits.plots.style import one_line

        sets: dict[str, Any] = {"caption": "round 1 of trial 0, seed 0" if self.changes else ""}
        if self.numbers is not None:
            cover, independent = self.numbers.clique_cover, self.numbers.independence
            dominating = self.numbers.domination
            sets = {
                "cliques": cover.certificate,
                "independent": independent.certificate,
                "dominating": dominating.certificate,
                "caption": f"clique cover {span(cover)}, independence {span(independent)}, "
                f"domination {span(dominating)}",
            }
        title = one_line(self.text, 160)
        figure = graph_figure(self.feedback, names=self.process.names, title=title, **sets)
        return tuple(save_figure(figure, path))


def describe_graph(
    graph: GraphLike,
    arms: int | None = None,
    *,
    horizon: int | None = None,
    time_limit: float | None = None,
    plot: str | Path | None = None,
    progress: bool = False,
) -> GraphDescription:
    """Compute the shape of a graph, its numbers and the regret bounds on it, and draw it.

    Parameters
    ----------
    graph
        Any graph that :func:`graphbandits.as_process` takes.
    arms
        The number of arms; that of the graph, else 5, if not given.
    horizon
        Rounds of the bounds; 1000, or as many as the graph has, if not given.
    time_limit
        Seconds that the search for each number may take; what is proved by then are bounds.
    plot
        A .png, .svg or .pdf file to draw the graph to.
    progress
        Whether to show on a terminal which number is searched for, and its bounds so far.

    Examples
    --------
    >>> found = describe_graph("paper")
    >>> found.numbers.clique_cover.upper, found.shape.edges
    (2, 6)
    """
    seconds = TIME_LIMIT if time_limit is None else check_positive(time_limit, "--time-limit")
    if arms is not None:
        check_integer(arms, "--arms")
    if horizon is not None:
        check_horizon(horizon)
    if plot is not None:
        _check_picture(Path(plot))
    process = make_process(graph, arms)
    text = graph if isinstance(graph, str) else type(graph).__name__
    if arms is not None and process.arms != arms:
        raise InputError(
            f"graph '{text}' has {process.arms} arms, but {arms} were asked for: leave --arms out"
        )
    if horizon is None:
        horizon = min(HORIZON, process.rounds or HORIZON)
    elif process.rounds is not None and horizon > process.rounds:
        rounds = f"{process.rounds} round{'s' * (process.rounds != 1)}"
        raise InputError(
            f"graph '{text}' serves {rounds}: --horizon is at most {process.rounds}, not {horizon}"
        )
    fixed = fixed_feedback(process)
    feedback = process.round(1, Keys(seed=0)) if fixed is None else fixed
    if plot is not None:
        from graphbandits.plots.graph import check_drawable

        check_drawable(feedback)
        make_directory(Path(plot).parent)
        check_name(Path(plot))
    if progress:
        announce_compilation()
    numbers = None
    if feedback.deterministic:
        with _searching(progress) as watch:
            numbers = graph_numbers(feedback, seconds, watch)
    found = GraphDescription(text, process, feedback, numbers, horizon, seconds)
    return found if plot is None else replace(found, files=found.draw(plot))


def span(bracket: Bracket[int] | Bracket[float]) -> str:
    """The number, or what it lies between.

    >>> span(Bracket(2, 2, ())), span(Bracket(2, 5, ()))
    ('2', '2 to 5')
    """
    low, high = f"{bracket.lower:.6g}", f"{bracket.upper:.6g}"
    return low if low == high else f"{low} to {high}"


@contextmanager
def _searching(show: bool) -> Iterator[Callable[[str], Any]]:
    """Tell on a terminal which number is sought, and its bounds so far."""
    console = Console(stderr=True)
    if not (show and console.is_terminal):
        yield lambda what: None
        return
    with console.status("") as status:

        def watch(what: str) -> Any:
            status.update(f"Searching: {what} ...")
            return lambda low, high: status.update(f"Searching: {what}, {low:g} to {high:g} ...")

        yield watch


def _check_picture(plot: Path) -> None:
    """Refuse what cannot be written before the work, not after it."""
    from graphbandits.plots.style import FORMATS as KINDS

    ending = plot.suffix.removeprefix(".").lower()
    if ending not in KINDS:
        raise InputError(
            f"--plot writes {', '.join(KINDS)} by the ending of the file, not '{plot}': "
            f"{nearest(ending, KINDS)}"
        )
    if os.path.isdir(plot):  # unlike that of Path, it bears a name that is too long
        raise InputError(f"--plot '{plot}' is a directory: name a file in it")


def _named(arms: Any, names: Sequence[str]) -> list[Any]:
    """The names of arms, or of those of each clique."""
    return [_named(arm, names) if isinstance(arm, tuple) else names[arm] for arm in arms]


def _spread(values: Floats) -> dict[str, float]:
    return {"min": float(values.min()), "mean": float(values.mean()), "max": float(values.max())}
