"""Figures by a request in plain data, such as a table [[figures]] of an experiment's file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import signature
from typing import Any

from matplotlib.figure import Figure

from graphbandits.errors import InputError, nearest
from graphbandits.plots.final_regret import final_figure, forest_figure
from graphbandits.plots.plays import plays_figure
from graphbandits.plots.regret import regret_figure, sweep_figure
from graphbandits.plots.style import ONE_COLUMN, TWO_COLUMNS, check_word
from graphbandits.results import Results
from graphbandits.theory import Bound

#: What draws each kind.
KINDS: dict[str, Callable[..., Figure]] = {
    "regret": regret_figure,
    "final": final_figure,
    "differences": forest_figure,
    "plays": plays_figure,
    "sweep": sweep_figure,
}
#: Arguments of these that are no options of a request.
GIVEN = ("results", "sweep", "parameter", "order", "bounds", "policy", "graph")
#: What every kind may be told.
COMMON = ("kind", "name", "title", "policies", "width", "formats")
WIDTHS = {"one": ONE_COLUMN, "two": TWO_COLUMNS}
#: Kinds in which a policy has a look.
WITH_LOOKS = ("regret", "final", "sweep")


def draw(
    figure: Mapping[str, Any],
    results: Results,
    title: str,
    bounds: Sequence[Bound] = (),
    *,
    order: Sequence[str] = (),
) -> Figure:
    """A figure of one simulation.

    ``figure`` has a kind and options, as a table [[figures]] of an experiment's file; a title of
    its own stands in the place of ``title``. ``bounds`` are drawn with regrets. ``order`` names the
    policies of several figures, so that none of them has the colour of another.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n", "ucb-n"], horizon=20, trials=10)
    >>> drawn = draw({"kind": "regret", "policies": ["ids-n"], "width": "one"}, results, "")
    >>> len(drawn.axes[0].lines), float(drawn.get_figwidth())
    (1, 3.5)
    """
    options = _options(figure, title, sweep=False)
    if figure["kind"] in WITH_LOOKS:
        options["order"] = order or list(results.policies)
    if figure["kind"] == "regret":
        options["bounds"] = bounds
    wanted = _wanted(figure, results.policies)
    shown = results.only(name for name in results.policies if name in wanted)
    return KINDS[figure["kind"]](shown, **options)


def draw_sweep(
    figure: Mapping[str, Any],
    results: Mapping[float, Results] | Mapping[str, Results],
    label: str,
    title: str,
    *,
    scale: str = "linear",
    order: Sequence[str] = (),
) -> Figure:
    """A figure of kind "sweep": the results by value, their policies called by the lines they are.

    ``label`` is below the axis, which is "linear" or "log". Values at which no policy of the figure
    is are left out.

    >>> from graphbandits import simulate
    >>> sweep = {r: simulate("ts-n", graph=f"random(r={r})", horizon=9, trials=5) for r in (0, 1)}
    >>> draw_sweep({"kind": "sweep"}, sweep, "chance r", "").axes[0].get_xlabel()
    'chance r'
    """
    options = _options(figure, title, sweep=True)
    every = dict.fromkeys(name for found in results.values() for name in found.policies)
    wanted = _wanted(figure, every)
    shown = {
        value: found.only(name for name in found.policies if name in wanted)
        for value, found in results.items()
        if not wanted.isdisjoint(found.policies)
    }
    options = {"scale": scale, "order": order or list(every)} | options
    return sweep_figure(shown, label, **options)  # type: ignore[arg-type]


def _options(figure: Mapping[str, Any], title: str, sweep: bool) -> dict[str, Any]:
    """The options of a request as arguments of what draws it; what it cannot be told is refused."""
    kind: Any = figure.get("kind")
    known = [name for name in KINDS if (name == "sweep") == sweep]
    check_word(kind, "kind of figure", known)
    own = [name for name in signature(KINDS[kind]).parameters if name not in (*GIVEN, *COMMON)]
    for key in figure:
        if key not in (*COMMON, *own):
            hint = nearest(key, (*COMMON, *own))
            raise InputError(f"a figure of kind '{kind}' has no option '{key}': {hint}")
    width = figure.get("width", "two")
    check_word(width, "width", WIDTHS)
    options = {key: figure[key] for key in own if key in figure}
    if "levels" in options:
        options["levels"] = tuple(options["levels"])
    return {**options, "title": figure.get("title", title), "width": WIDTHS[width]}


def _wanted(figure: Mapping[str, Any], known: Collection[str]) -> set[str]:
    """The lines to show; one that there is not is refused if none of them is there."""
    wanted = set(figure.get("policies", known))
    if wanted.isdisjoint(known):
        raise InputError(
            f"none of the policies of the figure is in the results: {', '.join(sorted(wanted))}; "
            f"they have {', '.join(known)}"
        )
    return wanted
