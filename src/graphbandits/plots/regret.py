"""Figures of the mean regret: against the round, or against a swept parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.plots import style
from graphbandits.plots.style import (
    GREY,
    NOTE,
    SMALL,
    TEXT,
    TWO_COLUMNS,
    literal,
    number,
    percent,
    wrap,
)
from graphbandits.simulation.results import Results
from graphbandits.theory import Bound

BANDS = ("interval", "quantiles", "none")
#: Default levels of the band "quantiles".
LEVELS = (0.1, 0.9)
#: Line patterns of bounds, in order. Bounds are thin and grey, policies are not.
PATTERNS = ((0, (6, 2)), (0, (2, 2)), (0, (8, 2, 2, 2)), (0, (1, 2)))
#: Points between the name of a bound and its line, and between two names.
ROOM = 1.4 * NOTE
#: Largest number of values on a log axis that each have a tick.
TICKS = 12

#: Bounds by the line that they share; bounds that look the same share one.
Lines = Mapping[str, list[Bound]]


@style.in_style
def regret_figure(
    results: Results,
    title: str = "",
    confidence: float = 0.95,
    band: str = "interval",
    scale: str = "linear",
    width: float = TWO_COLUMNS,
    bounds: Sequence[Bound] = (),
    levels: tuple[float, float] = LEVELS,
    order: Sequence[str] = (),
    yscale: str = "linear",
) -> Figure:
    """Plot the mean cumulative regret of each policy against the round.

    The legend is ordered by final regret. On a linear scale, a second panel enlarges the policies
    with the least regret if the regrets are very different. Notes on policies are below the figure.

    Parameters
    ----------
    results : Results
        Results of one simulation.
    title : str
        Title above the figure.
    confidence : float
        Level of the intervals of the means.
    band : {"interval", "quantiles", "none"}
        Band around each curve: Student's t interval of the mean, quantiles of the trials, or none.
    scale : {"linear", "log", "symlog"}
        Scale of the rounds.
    width : float
        Width in inches.
    bounds : sequence of Bound
        Upper bounds on the expected regret (:func:`graphbandits.theory.bounds_of`), drawn as thin
        grey lines with their names. Bounds that apply to none of the policies are not drawn.
    levels : tuple of float
        The two levels of the band "quantiles".
    order : sequence of str
        Policies of several figures, so that each policy has one colour in all of them.
    yscale : {"linear", "log", "symlog"}
        Scale of the regret.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], horizon=20, trials=10)
    >>> regret_figure(results, band="quantiles").axes[0].get_ylabel()
    'mean cumulative regret'
    """
    style.check_word(band, "band", BANDS)
    for word, what in ((scale, "scale"), (yscale, "yscale")):
        style.check_word(word, what, style.SCALES)
    ranking = results.ranking()
    ends = [results.interval(name, confidence) for name in ranking]  # checks the confidence
    halves = [(high - low) / 2.0 for low, high in ends]
    lines = _lines_of(bounds, results)
    lower = _enlarged(style.final_means(results), lines) if yscale == "linear" else []
    figure, panels = style.panels_for(lower, width)
    bands = {name: (results[name].mean,) * 2 for name in ranking}
    if band != "none":
        bands = {name: results.band(name, band, confidence, levels) for name in ranking}
    looks = style.looks((*order, *results.policies))
    for axes in panels:
        handles = _curves(axes, results, bands, scale, looks, band != "none")
    _draw_bounds(panels[0], lines)
    means = np.concatenate([results[name].mean for name in ranking])
    style.regret_axis(panels[0], "y", yscale, means)
    panels[-1].set_xlabel("round", fontsize=TEXT)
    panels[0].set_ylabel("mean cumulative regret", fontsize=TEXT)
    reached = np.array([[*bands[name], results[name].mean] for name in lower])
    shade = style.enlarge(panels, reached) if lower else ""
    if lower and lines:
        panels[0].set_title("all policies and bounds", fontsize=SMALL, loc="left")
        if len(lower) == len(ranking):
            panels[1].set_title("all policies, enlarged", fontsize=SMALL, loc="left")
    style.heading(figure, title)
    counts = [len(results[name].final) for name in ranking]
    marks, footnotes = style.marked(results.notes)
    said = _band_text(band if max(counts) > 1 else "none", confidence, levels)
    said = shade + _bounds_text(lines, results) + said + style.trials_text(counts)
    style.note(figure, said, footnotes)
    spans = bands if band == "quantiles" else {}
    what, numbers = _final_numbers(results, halves, confidence, spans, levels)
    labels = [f"{n}{marks.get(n, '')}  {text}" for n, text in zip(ranking, numbers, strict=True)]
    style.legend_below(figure, [handles[name] for name in ranking], labels, what)
    _label_bounds(panels[0], lines)
    return figure


def _curves(
    axes: Axes,
    results: Results,
    bands: Mapping[str, tuple[Floats, Floats]],
    scale: str,
    looks: Mapping[str, style.Look],
    shaded: bool,
) -> dict[str, Line2D]:
    """Draw every policy, and give its line; ``bands`` are in the order of the ranking."""
    rounds = results.rounds.astype(np.float64)
    ranking = list(bands)
    lines: dict[str, Line2D] = {}
    for index, name in enumerate(results.policies):
        mean, look, (low, high) = results[name].mean, looks[name], bands[name]
        behind = 0.01 * ranking.index(name)  # the best on top
        if shaded:
            shade: dict[str, Any] = {"color": look.colour, "alpha": 0.18, "lw": 0}
            axes.fill_between(rounds, low, high, zorder=2.0 - behind, **shade)
        options = look.line_options() | {"linewidth": 1.6, "zorder": 3.0 - behind, "label": name}
        every = (0.04 * (index + 1) / len(ranking), 0.125)
        # markers at the edges are whole
        (lines[name],) = axes.plot(rounds, mean, markevery=every, clip_on=False, **options)
    first, last = float(rounds[0]), float(rounds[-1])
    if scale == "linear":
        axes.set_xlim(0.0, last)
        # their numbers have room
        steps = min(10, round(1.5 * style.panel_width(axes)))
        axes.xaxis.set_major_locator(MaxNLocator(steps, integer=True))
    else:
        style.set_scale(axes, "x", scale, rounds)
        axes.set_xlim(first if scale == "log" else 0.0, last if last > first else 10.0 * first)
    style.tidy(axes)
    return lines


def _final_numbers(
    results: Results,
    halves: list[float],
    confidence: float,
    spans: Mapping[str, tuple[Floats, Floats]],
    levels: tuple[float, float],
) -> tuple[str, list[str]]:
    """Describe the numbers beside the names; return that text, and the number of each policy."""
    ranking = results.ranking()
    means = [float(results[name].mean[-1]) for name in ranking]
    what = f"mean regret after round {int(results.rounds[-1])}"
    if spans:
        places = style.decimals(halves)
        ends = [[number(float(end[-1]), places) for end in spans[name]] for name in ranking]
        return f"{what} ({_span(levels)} of trials)", [
            f"{number(mean, places)} ({low} to {high})"
            for mean, (low, high) in zip(means, ends, strict=True)
        ]
    if np.isfinite(halves).any():
        what += f" ± {percent(confidence)} interval"
    return what, style.plus_minus(means, halves)


def _span(levels: tuple[float, float]) -> str:
    return f"{percent(levels[0])} to {percent(levels[1])}"


def _band_text(band: str, confidence: float, levels: tuple[float, float]) -> str:
    if band == "interval":
        return f"band: {percent(confidence)} interval of the mean; "
    return f"band: {_span(levels)} of the trials; " if band == "quantiles" else ""


# --- bounds -----------------------------------------------------------------------------------


def _lines_of(bounds: Sequence[Bound], results: Results) -> Lines:
    """Select bounds that apply to a policy, and group those that look the same."""
    groups: list[list[Bound]] = []
    for bound in bounds:
        if not np.array_equal(bound.rounds, results.rounds):
            raise InputError(
                f"the bound '{bound.name}' is for other rounds than the {len(results.rounds)} that "
                "are recorded: compute it for results.rounds"
            )
        if not any(map(bound.is_for, results.policies)):
            continue
        same = [group for group in groups if _looks_like(group[0], bound)]
        if same:
            same[0].append(bound)
        else:
            groups.append([bound])
    return {", ".join(bound.name for bound in group): group for group in groups}


def _looks_like(first: Bound, second: Bound) -> bool:
    apart = float(np.abs(first.values - second.values).max())
    return apart <= 0.01 * first.final and number(first.final, None) == number(second.final, None)


def _enlarged(means: Mapping[str, float], lines: Lines) -> list[str]:
    """Select the policies of the second panel: those of least regret, or all below the bounds."""
    alone = style.near_ground(means)
    top = max((group[0].final for group in lines.values()), default=0.0)
    if alone or not 0.0 < style.TOGETHER * max(means.values()) < top:
        return alone
    return sorted(means, key=lambda name: means[name])


def _draw_bounds(axes: Axes, lines: Lines) -> None:
    thin: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "zorder": 1.5, "gid": "bound"}
    for index, (name, group) in enumerate(lines.items()):
        pattern = PATTERNS[index % len(PATTERNS)]
        axes.plot(group[0].rounds, group[0].values, linestyle=pattern, label=name, **thin)


def _label_bounds(axes: Axes, lines: Lines) -> None:
    """Write the name of each bound at the end of its line, above or below it."""
    figure = axes.figure
    figure.draw_without_rendering()  # type: ignore[union-attr]
    below_last = np.inf  # lower end of the name above, in points
    small: dict[str, Any] = {"fontsize": NOTE, "color": GREY, "gid": "bound-name", "ha": "right"}
    small |= {"textcoords": "offset points", "annotation_clip": False}
    for name in sorted(lines, key=lambda name: -lines[name][0].final):
        bound = lines[name][0]
        end = (float(bound.rounds[-1]), bound.final)
        at = float(axes.transData.transform(end)[1]) * 72.0 / figure.dpi
        above = at + ROOM <= below_last
        below_last = at if above else min(at, below_last) - ROOM
        side, va = (2.5, "bottom") if above else (-2.5, "top")
        name = style.literal(f"{name}: {number(bound.final, None)}")
        written = axes.annotate(name, end, xytext=(-2.0, side), va=va, **small)
        written.set_path_effects([withStroke(linewidth=2.0, foreground="white")])


def _bounds_text(lines: Lines, results: Results) -> str:
    """Explain in the note to which policies each bound applies."""
    if not lines:
        return ""
    applies: dict[tuple[str, ...], list[str]] = {}
    for bound in (bound for group in lines.values() for bound in group):
        applies.setdefault(tuple(filter(bound.is_for, results.policies)), []).append(bound.name)
    said = "; ".join(
        f"{', '.join(names)} for {', '.join(policies)}" for policies, names in applies.items()
    )
    return f"grey lines: upper bounds on the expected regret ({said}); "


# --- sweeps -----------------------------------------------------------------------------------


@style.in_style
def sweep_figure(
    sweep: Mapping[float, Results] | Mapping[str, Results],
    parameter: str,
    title: str = "",
    confidence: float = 0.95,
    scale: str = "linear",
    width: float = TWO_COLUMNS,
    order: Sequence[str] = (),
    yscale: str = "linear",
) -> Figure:
    """Plot the mean final regret of each policy against the value of a parameter.

    A policy without results at a value has a gap there. Points at the same value are shifted by two
    points of print to keep their intervals visible. The legend is ordered by the last regret.
    Much larger regrets have a panel of their own, as in :func:`regret_figure`.

    Parameters
    ----------
    sweep : mapping of float or str to Results
        Results at each value. Numbers are on an axis; texts are categories in the given order.
    parameter : str
        Label of the axis of values.
    title, confidence, width, order, yscale
        As in :func:`regret_figure`.
    scale : {"linear", "log", "symlog"}
        Scale of the values.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> sweep = {
    ...     r: simulate("ids-n", graph=f"random(r={r})", horizon=20, trials=10) for r in (0, 0.5, 1)
    ... }
    >>> sweep_figure(sweep, "r").axes[0].get_xlabel()
    'r'
    """
    ordered = in_order(sweep, scale)
    style.check_word(yscale, "yscale", style.SCALES)
    keys, runs = list(ordered), list(ordered.values())
    names = list(dict.fromkeys(name for run in runs for name in run.policies))
    points = {name: _points(runs, name, confidence) for name in names}
    # the largest of each policy: an enlargement shows all of its points
    lower = style.near_ground(
        {name: float(np.nanmax(mean)) for name, (mean, _, _) in points.items()}
    )
    # two lines alone would hide the others
    lower = lower if len(lower) > 2 and yscale == "linear" else []
    figure, panels = style.panels_for(lower, width)
    looks = style.looks((*order, *names))
    for axes in panels:
        _axis_of_values(axes, keys, scale)
        handles = _lines(axes, keys, points, looks, width / len(panels))
    room = 60.0 * width / len(panels)
    panels[-1].set_xlabel(literal(wrap(str(parameter), room, TEXT)), fontsize=TEXT)
    ends = {int(run.rounds[-1]) for run in runs}
    what = f"mean regret after round {ends.pop()}" if len(ends) == 1 else "mean final regret"
    panels[0].set_ylabel(what, fontsize=TEXT)
    means = np.concatenate([mean for mean, _, _ in points.values()])
    style.regret_axis(panels[0], "y", yscale, means)
    reached = np.array([points[name] for name in lower])
    shade = style.enlarge(panels, reached) if lower else ""
    style.heading(figure, title)
    counts = [len(result.final) for run in runs for result in run.policies.values()]
    bars_text = f"bars: {percent(confidence)} interval of the mean; " if max(counts) > 1 else ""
    marks, footnotes = style.marked(sweep_notes(ordered))
    said = f"{shade}{bars_text}{style.trials_text(counts)} at each value"
    style.note(figure, said, footnotes)
    ranked = sorted(names, key=lambda name: _last(points[name][0]))
    labels = [f"{name}{marks.get(name, '')}" for name in ranked]
    style.legend_below(figure, [handles[name] for name in ranked], labels)
    return figure


def _lines(
    axes: Axes,
    keys: Sequence[float | str],
    points: Mapping[str, Floats],
    looks: Mapping[str, style.Look],
    room: float,
) -> dict[str, ErrorbarContainer]:
    """Draw a line for each policy with its intervals, side by side at each value."""
    numeric, x = not isinstance(keys[0], str), _places(keys)
    apart = 2.0 if numeric else min(7.0, 24.0 * room / len(keys) / len(points))
    thin: dict[str, Any] = {"linewidth": 1.4 if numeric else 0.7, "elinewidth": 1.0, "capsize": 2.0}
    handles: dict[str, ErrorbarContainer] = {}
    for index, (name, (mean, low, high)) in enumerate(points.items()):
        places = (index - (len(points) - 1) / 2.0) * apart / 72.0
        shift = ScaledTranslation(places, 0.0, axes.figure.dpi_scale_trans)
        bars = np.nan_to_num(np.array([mean - low, high - mean]))
        look = looks[name].line_options() | {"transform": axes.transData + shift}
        handles[name] = axes.errorbar(x, mean, yerr=bars, label=name, **thin, **look)
        for drawn in handles[name].lines[2]:
            drawn.set_linestyle("solid")
        # lines that are shifted on the page do not count for the limits by themselves
        axes.update_datalim([(at, y) for row in points[name] for at, y in zip(x, row, strict=True)])
    axes.autoscale_view(scalex=numeric)
    return handles


def _places(keys: Sequence[float | str]) -> Floats:
    numeric = not isinstance(keys[0], str)
    return np.array(keys, np.float64) if numeric else np.arange(len(keys), dtype=np.float64)


def _axis_of_values(axes: Axes, keys: Sequence[Any], scale: str) -> None:
    """The axis of numbers, with ticks where they are whole or few, or that of texts."""
    numeric = not isinstance(keys[0], str)
    style.tidy(axes, "both" if numeric else "y")
    if not numeric:
        _categories(axes, keys)
    elif scale != "linear":
        style.set_scale(axes, "x", scale, _places(keys))
        axes.autoscale(axis="x")
        if len(keys) <= TICKS:
            axes.set_xticks(_places(keys), [f"{value:g}" for value in keys])
            axes.set_xticks([], minor=True)
    elif all(isinstance(key, Integral) for key in keys):
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))


def _categories(axes: Axes, keys: Sequence[str]) -> None:
    room = 60.0 * style.panel_width(axes) / len(keys)
    longest = max(style.text_width(word, SMALL) for key in keys for word in key.split())
    axes.set_xlim(-0.5, len(keys) - 0.5)
    fits = longest <= 0.92 * room
    labels = [literal(wrap(key, 0.92 * room if fits else 110.0, SMALL)) for key in keys]
    slant = {} if fits else {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(keys)), labels, **slant)  # type: ignore[arg-type]


def _last(mean: Floats) -> tuple[int, float]:
    """Return the sort key of a policy: its last value, and the regret there."""
    there = np.flatnonzero(np.isfinite(mean))
    return -int(there[-1]), float(mean[there[-1]])


def in_order(
    sweep: Mapping[float, Results] | Mapping[str, Results], scale: str = "linear"
) -> dict[float | str, Results]:
    """Return a sweep with sorted numbers, or with texts in their order; refuse other keys.

    >>> from graphbandits import simulate
    >>> results = simulate("ts-n", horizon=2, trials=2)
    >>> list(in_order({2: results, 1: results})), list(in_order({"b": results, "a": results}))
    ([1, 2], ['b', 'a'])
    """
    style.check_word(scale, "scale", style.SCALES)
    keys: list[Any] = list(sweep)
    if not keys:
        raise InputError("the sweep is empty: pass {value: results, ...} with at least one value")
    if all(isinstance(key, str) for key in keys):
        if scale != "linear":
            raise InputError(f"scale='{scale}' needs numbers, not the texts {', '.join(keys)}")
        return dict(sweep)  # type: ignore[arg-type]
    for key in keys:
        number = isinstance(key, Real) and not isinstance(key, bool) and math.isfinite(key)
        if not number or (scale == "log" and key <= 0):
            raise InputError(
                "the values of a sweep must be all finite numbers (above 0 if scale='log') or all "
                f"strings, not {key!r}"
            )
    return {key: sweep[key] for key in sorted(keys)}


def shown(value: float | str) -> str:
    """Format a value of a parameter with all its digits."""
    return value if isinstance(value, str) else str(value).removesuffix(".0")


def sweep_notes(runs: Mapping[Any, Results]) -> dict[str, str]:
    """Collect the notes on policies; a note that is not valid at all values lists them."""
    found: dict[str, dict[str, list[str]]] = {}
    for value, run in runs.items():
        for name, text in run.notes.items():
            there = found.setdefault(name, {})
            there.setdefault(text, []).append(shown(value))
    notes = {}
    for name, texts in found.items():
        present = sum(name in run.policies for run in runs.values())
        everywhere = len(next(iter(texts.values()))) == present
        notes[name] = "; ".join(
            text if everywhere else f"at {', '.join(values)}: {text}"
            for text, values in texts.items()
        )
    return notes


def _points(runs: Sequence[Results], name: str, confidence: float) -> Floats:
    """Return mean, low and high of the final regret at each value; NaN where missing."""
    points = np.full((3, len(runs)), np.nan)
    for place, run in enumerate(runs):
        if name in run.policies:
            points[:, place] = run[name].mean[-1], *run.interval(name, confidence)
    return points
