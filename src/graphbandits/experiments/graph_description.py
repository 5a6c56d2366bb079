"""Describe a graph: shape, graph numbers, and the regret bounds that depend on them."""

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
from graphbandits.errors import InputError, check_horizon, check_integer, check_positive
from graphbandits.graphs import Feedback, GraphLike, Process, UniformFeedback, make_process
from graphbandits.graphs._shape import Shape
from graphbandits.graphs.numbers import TIME_LIMIT, Bracket, GraphNumbers, graph_numbers
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys
from graphbandits.theory import Bound, corollary_1, regret_bounds, theorem_1

#: Default number of rounds of the bounds.
HORIZON = 1000


@dataclass(frozen=True, eq=False)
class GraphDescription:
    """A graph with its shape, its graph numbers and the regret bounds.

    Parameters
    ----------
    text
        Name of the graph.
    process
        The graph process.
    feedback
        The graph in the first round.
    numbers
        Clique cover, independence and domination numbers; None if edges have probabilities.
    horizon
        Number of rounds of the bounds.
    time_limit
        Time limit of the search for each number, in seconds.
    files
        Figures that were written.
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
        """Whether the graph changes; then round 1 of trial 0 with seed 0 is described."""
        return fixed_feedback(self.process) is None

    @property
    def names(self) -> list[str]:
        """The names of the arms."""
        return list(self.process.names or map(str, range(1, self.process.arms + 1)))

    @property
    def note(self) -> str | None:
        """A note if the graph changes or is random; else None."""
        parts = []
        if self.changes:
            parts.append("The graph changes over time; this is round 1 of trial 0 with seed 0.")
        if not self.feedback.deterministic:
            which = (
                f"every other arm is observed with probability {float(self.feedback.r[0]):.4g}"
                if isinstance(self.feedback, UniformFeedback)
                else "some edges have probabilities between 0 and 1"
            )
            parts.append(
                f"The graph has no clique cover, independent set or dominating set: {which}. "
                "Degrees and density are expected values."
            )
        return " ".join(parts) or None

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """Proved bounds on the expected regret for arms with equal priors (H = log K)."""
        arms = self.process.arms
        if self.numbers is None or self.changes:
            return regret_bounds(self.process, BetaBernoulli.of(arms), [self.horizon])
        # use the cover that the search found
        entropy, cover = math.log(arms), self.numbers.clique_cover.upper
        return theorem_1(arms, entropy, [self.horizon]), corollary_1(cover, entropy, [self.horizon])

    def to_dict(self) -> dict[str, Any]:
        """Return the description as JSON data, the output of ``graphbandits graph --json``."""
        names, shape, numbers = self.names, self.shape, self.numbers
        found: dict[str, Any] = {}
        for key in ("clique_cover", "independence", "domination"):
            bracket = getattr(numbers, key, None)
            found[key] = bracket and {
                "lower": bracket.lower,
                "upper": bracket.upper,
                "proved": bracket.proved,
                "certificate": _arm_names(bracket.certificate, names),
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
        """Draw the graph with the cliques of its cover coloured.

        Parameters
        ----------
        path
            A .png, .svg or .pdf file.

        Returns
        -------
        tuple of Path
            The files that were written.
        """
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
    """Compute the shape of a graph, its graph numbers and regret bounds, and draw it.

    Parameters
    ----------
    graph
        Any graph that :func:`graphbandits.as_process` accepts.
    arms
        Number of arms. Default: fixed by the graph, or 5.
    horizon
        Number of rounds of the bounds. Default: 1000, or the number of rounds of the graph if that
        is smaller.
    time_limit
        Time limit of the search for each number, in seconds. When the time is up, the proved lower
        and upper bounds are returned.
    plot
        A .png, .svg or .pdf file for a drawing of the graph.
    progress
        Whether to show the progress of the search on a terminal.

    Returns
    -------
    GraphDescription
        Shape, graph numbers and bounds.

    Raises
    ------
    InputError
        If an argument is invalid.

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
        check_figure_path(Path(plot), "--plot")
    process = make_process(graph, arms)
    text = graph if isinstance(graph, str) else type(graph).__name__
    if arms is not None and process.arms != arms:
        raise InputError(
            f"graph '{text}' has {process.arms} arms, but --arms is {arms}: remove --arms"
        )
    if horizon is None:
        horizon = min(HORIZON, process.rounds or HORIZON)
    elif process.rounds is not None and horizon > process.rounds:
        rounds = f"{process.rounds} round{'s' * (process.rounds != 1)}"
        raise InputError(
            f"--horizon is {horizon}, but graph '{text}' has {rounds}: use at most {process.rounds}"
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
        with _search_status(progress) as watch:
            numbers = graph_numbers(feedback, seconds, watch)
    found = GraphDescription(text, process, feedback, numbers, horizon, seconds)
    return found if plot is None else replace(found, files=found.draw(plot))


def span(bracket: Bracket[int] | Bracket[float]) -> str:
    """Format a number, or its lower and upper bounds.

    >>> span(Bracket(2, 2, ())), span(Bracket(2, 5, ()))
    ('2', '2 to 5')
    """
    low, high = f"{bracket.lower:.6g}", f"{bracket.upper:.6g}"
    return low if low == high else f"{low} to {high}"


@contextmanager
def _search_status(show: bool) -> Iterator[Callable[[str], Any]]:
    """Show on a terminal which number is computed, and its current bounds."""
    console = Console(stderr=True)
    if not (show and console.is_terminal):
        yield lambda what: None
        return
    with console.status("") as status:

        def watch(what: str) -> Any:
            status.update(f"Searching: {what} ...")
            return lambda low, high: status.update(f"Searching: {what}, {low:g} to {high:g} ...")

        yield watch


def check_figure_path(plot: Path, option: str) -> None:
    """Raise an error if the figure cannot be written, before the computation starts."""
    from graphbandits.plots.style import FORMATS as KINDS

    suffix = plot.suffix.removeprefix(".").lower()
    if suffix not in KINDS:
        raise InputError(f"{option} '{plot}' has an unknown file format: use {', '.join(KINDS)}")
    if os.path.isdir(plot):  # Path.is_dir raises an error if the name is too long
        raise InputError(f"{option} '{plot}' is a directory: give the name of a file")


def _arm_names(arms: Any, names: Sequence[str]) -> list[Any]:
    """Return the names of arms, or of the arms of each clique."""
    return [_arm_names(arm, names) if isinstance(arm, tuple) else names[arm] for arm in arms]


def _spread(values: Floats) -> dict[str, float]:
    return {"min": float(values.min()), "mean": float(values.mean()), "max": float(values.max())}
