"""List and describe plug-ins, experiments and graphs; create files from templates."""

from __future__ import annotations

import inspect
import keyword
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from graphbandits._files import check_name, make_directory, write_new
from graphbandits._types import Floats
from graphbandits.errors import InputError, check_horizon, check_positive, nearest
from graphbandits.graphs import Feedback, GraphLike, Process, UniformFeedback, as_process
from graphbandits.graphs.numbers import TIME_LIMIT, Bracket, GraphNumbers, graph_numbers
from graphbandits.graphs.processes import Shape, fixed_feedback
from graphbandits.policies import Policy, as_policy
from graphbandits.policies.base import with_inner
from graphbandits.policies.bayesian import PosteriorPolicy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import (
    name_of,
    parameters_of,
    registered,
    summary_of,
    text_of,
    text_parameters,
)
from graphbandits.rng import Keys
from graphbandits.simulation.progress import announce_compilation
from graphbandits.study.experiment import (
    SweepTable,
    experiment_names,
    file_name_part,
    load_experiment,
)
from graphbandits.theory import Bound, corollary_1, regret_bounds, theorem_1

#: What can be listed, with the kind of plug-in.
KINDS = {
    "policies": "policy",
    "graphs": "graph",
    "worlds": "world",
    "posteriors": "posterior",
    "experiments": None,
}
#: Example of a name of each kind of plug-in.
NAMES = {"policy": "my-ucb", "graph": "my-path", "world": "my-world", "posterior": "my-normal"}


def list_available(what: str = "") -> dict[str, list[dict[str, Any]]]:
    """List policies, graphs, worlds, posteriors and experiments with their descriptions.

    Parameters
    ----------
    what
        "policies", "graphs", "worlds", "posteriors" or "experiments". If empty, list all of them.

    Returns
    -------
    dict
        A list of entries for each of these. An entry has a name and a description. Plug-ins also
        have parameters with their defaults, policies have their needs, and experiments have a size.

    Examples
    --------
    >>> list_available("policies")["policies"][0]["name"]
    'bayes-ucb'
    """
    if what and what not in KINDS:
        raise InputError(f"unknown list '{what}': {nearest(what, KINDS)}")
    return {
        plural: list(map(_experiment_entry, experiment_names()))
        if kind is None
        else _plugin_entries(kind)
        for plural, kind in KINDS.items()
        if what in ("", plural)
    }


def _plugin_entries(kind: str) -> list[dict[str, Any]]:
    entries = []
    for name, cls in registered(kind).items():
        entry = {"name": name, "description": summary_of(cls), "parameters": parameters_of(cls)}
        needs = getattr(cls, "needs", None)
        if kind == "policy" and needs is None:  # it depends on the parameters: those of the default
            needs = getattr(as_policy(name), "needs", None)
        if kind == "policy" and needs is not None:
            entry |= {"needs": asdict(needs), "graph_known": str(needs)}
        entries.append(entry)
    return entries


def describe_policy(policy: str | Policy) -> dict[str, Any]:
    """Describe a policy: its parameters, what it needs, and what it declares.

    Parameters
    ----------
    policy
        Text form such as "ids-n" or "eps-greedy-lp(c=2)", or a policy.

    Returns
    -------
    dict
        ``name``, ``text``, ``description``; ``details``, the rest of its documentation with its
        source; ``parameters``, each with ``name``, ``value``, ``default`` and ``description``;
        ``needs`` and ``graph_known``, the same in words; ``exact``, ``posterior``, ``weighted``,
        ``incremental`` and ``restrictable`` (see :class:`graphbandits.policies.Policy`);
        ``accepts``, the accepted rewards in words, None for all; and ``file``.

    Examples
    --------
    >>> found = describe_policy("eps-greedy-lp(c=2)")
    >>> [(one["name"], one["value"], one["default"]) for one in found["parameters"]]
    [('c', 2, 5.0), ('d', 1.0, 1.0)]
    """
    made = as_policy(policy)
    cls = type(made)
    accepts = getattr(made, "accepts", None)
    texts, details = _documented(cls)
    defaults = parameters_of(cls)
    given = text_parameters(made)
    return {
        "name": name_of(made),
        "text": text_of(made),
        "description": summary_of(cls),
        "details": details,
        "parameters": [
            {
                "name": name,
                "value": given.get(name, default),
                "default": default,
                "description": texts.get(name, ""),
            }
            for name, default in defaults.items()
        ],
        "needs": asdict(made.needs),
        "graph_known": str(made.needs),
        "exact": made.exact,
        "posterior": isinstance(with_inner(made)[-1], PosteriorPolicy),
        "weighted": bool(getattr(made, "weighted", False)),
        "incremental": bool(getattr(made, "incremental", False)),
        "restrictable": bool(getattr(made, "restrictable", True)),
        "accepts": None if accepts is None else accepts.description,
        "file": inspect.getsourcefile(cls),
    }


def _documented(cls: type) -> tuple[dict[str, str], str]:
    """Return the descriptions of parameters in a docstring, and its text without its summary."""
    parts = re.split(r"\n(\w[\w ]*)\n-{3,}\n", "\n" + (inspect.getdoc(cls) or ""))
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    found = {}
    for block in re.split(r"\n(?=\S)", sections.get("Parameters", "").strip()):
        head, _, text = block.partition("\n")
        for name in head.split(" : ")[0].split(", "):
            found[name] = " ".join(text.replace("``", "").split())
    _, _, details = parts[0].strip().partition("\n\n")
    return found, " ".join(details.replace("``", "").split())


def _experiment_entry(name: str) -> dict[str, Any]:
    experiment = load_experiment(name)
    setups = experiment.setups()
    return {
        "name": name,
        "description": experiment.title,
        "size": {
            "arms": _range(setup.arms for setup in setups),
            "rounds": _range(setup.horizon for setup in setups),
            "trials": experiment.trials,
        },
        "runs": len(setups),
        "sweeps": {", ".join(sweep.parameters): _points(sweep) for sweep in experiment.sweeps},
        "policies": experiment.lines(),
    }


def _points(sweep: SweepTable) -> list[Any]:
    """Return the points of a sweep: values, or one dict per point for several parameters."""
    points = sweep.display_points()
    return points if len(sweep.parameters) > 1 else [one for p in points for one in p.values()]


def _range(numbers: Iterable[int | None]) -> int | list[int] | None:
    """Return the common number of all simulations, or the list of different numbers."""
    found = list(dict.fromkeys(number for number in numbers if number is not None))
    return found if len(found) > 1 else found[0] if found else None


def new_policy(name: str, output: str | Path | None = None) -> Path:
    """Create a commented, working policy that passes the contract tests.

    Parameters
    ----------
    name
        Name of the policy, such as "my-ucb". It must not be in use.
    output
        File to write. Default: a file in the working directory, named after the policy.

    Returns
    -------
    Path
        Path of the new file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new_policy("my-ucb", Path(folder, "my_ucb.py")).name
    'my_ucb.py'
    """
    return _new_plugin("policy", name, output)


def new_graph(name: str, output: str | Path | None = None) -> Path:
    """Create a commented, working graph that passes the contract tests; return its path.

    Parameters
    ----------
    name, output
        See :func:`new_policy`.
    """
    return _new_plugin("graph", name, output)


def new_world(name: str, output: str | Path | None = None) -> Path:
    """Create a commented, working world that passes the contract tests; return its path.

    Parameters
    ----------
    name, output
        See :func:`new_policy`.
    """
    return _new_plugin("world", name, output)


def new_posterior(name: str, output: str | Path | None = None) -> Path:
    """Create a commented, working posterior that passes the contract tests; return its path.

    Parameters
    ----------
    name, output
        See :func:`new_policy`.
    """
    return _new_plugin("posterior", name, output)


def _new_plugin(kind: str, name: str, output: str | Path | None) -> Path:
    words = [word for word in re.split(r"[-_.]+", name) if word]
    if not re.fullmatch(r"[a-z][a-z0-9_.\-]*", name) or not words:
        raise InputError(
            f"invalid {kind} name '{name}': use lower-case letters, digits and '-', and start "
            f"with a letter, as in {NAMES[kind]}"
        )
    if name in registered(kind):
        raise InputError(f"the {kind} '{name}' already exists: choose another name")
    stem, class_name = "_".join(words), "".join(word.capitalize() for word in words)
    if keyword.iskeyword(class_name):
        class_name += kind.capitalize()
    if keyword.iskeyword(stem) or _module_exists(stem):
        stem += f"_{kind}"  # a file with the name of a module would shadow it
    target = Path(f"{stem}.py") if output is None else Path(output)
    return _write(target, f"{kind}.txt", {"NAME": name, "CLASS": class_name})


def new_experiment(name: str = "my-experiment", output: str | Path | None = None) -> Path:
    """Create a commented experiment file that shows every key and runs in seconds; return its path.

    Parameters
    ----------
    name
        Title of the experiment, such as "my-study".
    output
        File to write. Default: a file in the working directory, named after the experiment.
    """
    if not name or file_name_part(name) != name:
        raise InputError(
            f"invalid experiment name '{name}': use letters, digits, '.', '+', '-' and '_', as in "
            f"{file_name_part(name) or 'my-study'}"
        )
    if name in experiment_names():
        raise InputError(f"the experiment '{name}' already exists: choose another name")
    target = Path(f"{name}.toml") if output is None else Path(output)
    return _write(target, "experiment.txt", {"NAME": name})


def _write(target: Path, template: str, names: Mapping[str, str]) -> Path:
    """Write a template with its names filled in; do not replace an existing file."""
    text = files(__package__).joinpath("templates", template).read_text("utf-8")
    for key, name in names.items():
        text = text.replace(f"@@{key}@@", name)
    if os.path.lexists(target):
        raise InputError(f"{target} already exists: choose another file with --output")
    check_name(target)
    if not write_new(target, text.encode()):
        raise InputError(f"{target} already exists: choose another file with --output")
    return target


def _module_exists(stem: str) -> bool:
    """Return whether a module of this name exists outside of the working directory."""
    try:
        spec = find_spec(stem)
    except ValueError:  # the module was not created by an import
        return False
    return spec is not None and Path(spec.origin or "").parent != Path.cwd()


#: Default number of rounds of the bounds.
HORIZON = 1000


@dataclass(frozen=True, eq=False)
class GraphDescription:
    """A graph with its shape, its graph numbers and the regret bounds."""

    text: str
    process: Process
    feedback: Feedback
    numbers: GraphNumbers | None
    horizon: int
    time_limit: float
    files: tuple[Path, ...] = ()

    @cached_property
    def shape(self) -> Shape:
        return Shape.of(self.feedback)

    @property
    def changes(self) -> bool:
        """Whether the graph changes; then round 1 of trial 0 with seed 0 is described."""
        return fixed_feedback(self.process) is None

    @property
    def names(self) -> list[str]:
        return list(self.process.names or map(str, range(1, self.process.arms + 1)))

    @property
    def note(self) -> str | None:
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
        """Return the output of ``graphbandits graph --json``."""
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
        """Draw the graph with the cliques of its cover coloured."""
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

    Examples
    --------
    >>> description = describe_graph("paper")
    >>> description.numbers.clique_cover.upper, description.shape.edges
    (2, 6)
    """
    seconds = TIME_LIMIT if time_limit is None else check_positive(time_limit, "--time-limit")
    if horizon is not None:
        check_horizon(horizon)
    if plot is not None:
        check_figure_path(Path(plot), "--plot")
    process = as_process(graph, arms)
    text = graph if isinstance(graph, str) else type(graph).__name__
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
    """Format a number, or its lower and upper bounds."""
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
