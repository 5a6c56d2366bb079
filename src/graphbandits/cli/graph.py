"""``graphbandits graph``: what a graph is, and the numbers that regret bounds scale with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from graphbandits.cli.show import announce_compilation, plain_console, print_json
from graphbandits.errors import InputError, horizon_of, nearest, positive_number, whole_number
from graphbandits.files import check_name, make_directory
from graphbandits.graphs import Feedback, Process, Uniform, make_process
from graphbandits.graphs.invariants import (
    TIME_LIMIT,
    Bracket,
    GraphNumbers,
    Progress,
    graph_numbers,
)
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.graphs.shape import Shape
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys
from graphbandits.theory import Bound, corollary_1, regret_bounds, theorem_1
from graphbandits.types import Floats

#: Rounds of the bounds, unless the user or the graph says otherwise.
HORIZON = 1000
#: Characters of a certificate on the terminal; JSON has all of it.
SHOWN = 48

#: Called with the name of a number when its search starts; returns what its bounds are told to.
Watch = Callable[[str], Progress | None]


def run(
    text: str,
    arms: int | None,
    time_limit: float | None,
    horizon: int | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print what there is to know of a graph as tables or a JSON object, and draw it."""
    seconds = TIME_LIMIT if time_limit is None else positive_number(time_limit, "--time-limit")
    if arms is not None:
        whole_number(arms, "--arms")
    if horizon is not None:
        horizon_of(horizon)
    if plot is not None:
        _check_picture(plot)
    process = make_process(text, arms)
    if arms is not None and process.arms != arms:
        raise InputError(
            f"graph '{text}' has {process.arms} arms, but {arms} were asked for: leave --arms out"
        )
    if horizon is None:
        horizon = min(HORIZON, process.rounds or HORIZON)
    elif process.rounds is not None and horizon > process.rounds:
        raise InputError(
            f"graph '{text}' serves {_count(process.rounds, 'round')}: --horizon is at most "
            f"{process.rounds}, not {horizon}"
        )
    fixed = fixed_feedback(process)
    feedback = process.round(1, Keys(seed=0)) if fixed is None else fixed
    if plot is not None:
        from graphbandits.plots.graph import check_drawable

        check_drawable(feedback)
    announce_compilation()
    numbers = None
    if feedback.deterministic:
        with _searching(as_json) as watch:
            numbers = graph_numbers(feedback, seconds, watch)
    found = describe(text, process, feedback, numbers, horizon)
    written = [] if plot is None else _draw(plot, text, process, feedback, numbers)
    if as_json:
        print_json(found)
    else:
        _print(found, numbers, seconds)
        for file in written:
            plain_console().print(f"Wrote {file}.", soft_wrap=True)


def describe(
    text: str, process: Process, feedback: Feedback, numbers: GraphNumbers | None, horizon: int
) -> dict[str, Any]:
    """All that is told of a graph, as plain numbers, with the names of the arms."""
    names = list(process.names or map(str, range(1, process.arms + 1)))
    shape = Shape.of(feedback)

    def named(arms: Sequence[Any]) -> list[str]:
        return [names[arm] for arm in arms]

    def searched(bracket: Bracket[int], certificate: list[Any]) -> dict[str, Any]:
        bounds = {"lower": bracket.lower, "upper": bracket.upper}
        return {**bounds, "proved": bracket.proved, "certificate": certificate}

    if numbers is None:
        found: dict[str, Any] = dict.fromkeys(
            (
                "clique_cover",
                "independence",
                "domination",
                "fractional_domination",
                "fractional_domination_lower",
            )
        )
    else:
        cliques = [named(clique) for clique in numbers.clique_cover.certificate]  # type: ignore[arg-type]
        found = {
            "clique_cover": searched(numbers.clique_cover, cliques),
            "independence": searched(numbers.independence, named(numbers.independence.certificate)),
            "domination": searched(numbers.domination, named(numbers.domination.certificate)),
            "fractional_domination": numbers.fractional_domination.upper,
            "fractional_domination_lower": numbers.fractional_domination.lower,
        }
    return {
        "graph": text,
        "arms": process.arms,
        "names": names,
        "edges": shape.edges,
        "directed": shape.directed,
        "density": shape.density,
        "degrees": {"out": _spread(shape.seen), "in": _spread(shape.seen_by)},
        "components": shape.parts,
        "note": _note(process, feedback),
        **found,
        "horizon": horizon,
        "bounds": _bounds(process, numbers, horizon),
    }


def _note(process: Process, feedback: Feedback) -> str | None:
    """What must be said of a graph that changes, or that leaves open what is observed."""
    parts = []
    if fixed_feedback(process) is None:
        parts.append("This graph changes: here it is as in round 1 of trial 0, seed 0.")
    if not feedback.deterministic:
        which = (
            f"every other arm is observed with probability {float(feedback.r[0]):.4g}"
            if isinstance(feedback, Uniform)
            else "some edges have probabilities between 0 and 1"
        )
        parts.append(
            f"There is no clique cover, independent or dominating set: {which}; degrees and "
            "density are expected values."
        )
    return " ".join(parts) or None


def _bounds(process: Process, numbers: GraphNumbers | None, horizon: int) -> list[dict[str, Any]]:
    """The bounds on the expected regret that are proved, for arms with equal priors: H = log K."""
    if numbers is not None and fixed_feedback(process) is not None:
        # by the cover that is shown, for which the search has had its time
        entropy = math.log(process.arms)
        found: tuple[Bound, ...] = (
            theorem_1(process.arms, entropy, [horizon]),
            corollary_1(numbers.clique_cover.upper, entropy, [horizon]),
        )
    else:
        found = regret_bounds(process, BetaBernoulli.of(process.arms), [horizon])
    return [
        {
            "name": bound.name,
            "formula": bound.formula,
            "policies": list(bound.policies),
            "value": bound.final,
            "standard_error": bound.final_error,
            "note": bound.note,
        }
        for bound in found
    ]


@contextmanager
def _searching(quiet: bool) -> Iterator[Watch]:
    """Tell on a terminal which number is sought, and its bounds so far."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda what: None
        return
    with console.status("") as status:

        def watch(what: str) -> Progress:
            status.update(f"Searching: {what} ...")
            return lambda low, high: status.update(f"Searching: {what}, {low:g} to {high:g} ...")

        yield watch


def _check_picture(plot: Path) -> None:
    """Refuse what cannot be written before the work, not after it."""
    from graphbandits.plots.save import KINDS

    ending = plot.suffix.removeprefix(".").lower()
    if ending not in KINDS:
        raise InputError(
            f"--plot writes {', '.join(KINDS)} by the ending of the file, not '{plot}': "
            f"{nearest(ending, KINDS)}"
        )
    if plot.is_dir():
        raise InputError(f"--plot '{plot}' is a directory: name a file in it")
    make_directory(plot.parent)
    check_name(plot)


def _draw(
    plot: Path, text: str, process: Process, feedback: Feedback, numbers: GraphNumbers | None
) -> list[Path]:
    from graphbandits.plots import graph_figure, save_figure
    from graphbandits.plots.style import one_line

    sets: dict[str, Any] = {}
    if numbers is not None:
        sets = {
            "cliques": numbers.clique_cover.certificate,
            "independent": numbers.independence.certificate,
            "dominating": numbers.domination.certificate,
            "caption": (
                f"clique cover {_span(numbers.clique_cover)}, "
                f"independence {_span(numbers.independence)}, "
                f"domination {_span(numbers.domination)}"
            ),
        }
    elif fixed_feedback(process) is None:
        sets = {"caption": "round 1 of trial 0, seed 0"}
    title = one_line(text, 160)
    return save_figure(graph_figure(feedback, names=process.names, title=title, **sets), plot)


def _print(found: dict[str, Any], numbers: GraphNumbers | None, time_limit: float) -> None:
    console = plain_console()
    console.print(_first_lines(found), soft_wrap=True)
    if found["note"]:
        console.print(found["note"])
    if numbers is not None:
        table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
        for column in ("number", "value", "shown by"):
            table.add_column(column)
        cliques = [f"{{{', '.join(clique)}}}" for clique in found["clique_cover"]["certificate"]]
        table.add_row("clique cover", _span(numbers.clique_cover), _shortened(cliques, " "))
        for key, bracket in (
            ("independence", numbers.independence),
            ("domination", numbers.domination),
        ):
            table.add_row(key, _span(bracket), _shortened(found[key]["certificate"], ", "))
        table.add_row("fractional domination", _span(numbers.fractional_domination), "")
        console.print(table)
        if not numbers.proved:
            console.print(
                f"Where the value is 'a to b', at least a and at most b is proved; a search may "
                f"take {time_limit:g} s, or as --time-limit says.\n",
                style="dim",
            )
    console.print(
        f"The expected regret of {found['horizon']} rounds with equal priors (H = log K) is at "
        "most:"
    )
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    for column in ("bound", "proved for"):
        table.add_column(column)
    table.add_column("regret", justify="right")
    table.add_column("formula")
    for bound in found["bounds"]:
        value, policies = f"{bound['value']:.2f}", ", ".join(bound["policies"])
        if bound["standard_error"]:
            value += f" ({bound['standard_error']:.2f})"
        table.add_row(bound["name"], policies, value, bound["formula"])
    console.print(table)
    notes = {bound["note"] for bound in found["bounds"]}
    if any(bound["standard_error"] for bound in found["bounds"]):
        notes.add("In brackets: the standard error of a bound that is estimated.")
    if any(bound["value"] > found["horizon"] for bound in found["bounds"]):
        notes.add("A bound above the number of rounds says nothing: no regret exceeds it.")
    for told in sorted(notes - {""}):
        console.print(told, style="dim")


def _first_lines(found: dict[str, Any]) -> str:
    way = "directed" if found["directed"] else "undirected"
    lines = [
        f"Graph {found['graph']}: {_count(found['arms'], 'arm')}, "
        f"{_count(found['edges'], 'edge')} ({way}), density {found['density']:.4g}, "
        f"{_count(found['components'], 'component')}."
    ]
    out, back = found["degrees"]["out"], found["degrees"]["in"]
    if not found["directed"]:
        lines.append(f"Degrees: {_degrees(out)}.")
    else:
        lines.append(f"Degrees: out {_degrees(out)}; in {_degrees(back)}.")
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    """A number and what is counted.

    >>> _count(1, "edge"), _count(2, "edge")
    ('1 edge', '2 edges')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def _degrees(spread: dict[str, float]) -> str:
    if spread["min"] == spread["max"]:
        return f"{spread['min']:.4g} each"
    return f"{spread['min']:.4g} to {spread['max']:.4g}, {spread['mean']:.4g} on average"


def _spread(values: Floats) -> dict[str, float]:
    return {"min": float(values.min()), "mean": float(values.mean()), "max": float(values.max())}


def _span(bracket: Bracket[int] | Bracket[float]) -> str:
    """The number, or what it lies between.

    >>> _span(Bracket(2, 2, ())), _span(Bracket(2, 5, ()))
    ('2', '2 to 5')
    """
    low, high = f"{bracket.lower:.6g}", f"{bracket.upper:.6g}"
    return low if low == high else f"{low} to {high}"


def _shortened(items: Sequence[str], between: str) -> str:
    """The first few, and how many more.

    >>> _shortened(["1", "2"], ", "), _shortened(["ann" * 15, "bob" * 15, "eve"], ", ")[-12:]
    ('1, 2', ', and 2 more')
    """
    count = 1
    while count < len(items) and len(between.join(items[: count + 1])) <= SHOWN:
        count += 1
    more = f"{between}and {len(items) - count} more" if count < len(items) else ""
    return between.join(items[:count]) + more
