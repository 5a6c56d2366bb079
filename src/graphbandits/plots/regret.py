"""Regret against the round, with bands, and with bounds on the expected regret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from graphbandits.errors import InputError
from graphbandits.plots import canvas, style
from graphbandits.plots.canvas import Curve
from graphbandits.plots.style import GREY, NOTE, SMALL, TEXT, TWO_COLUMNS, number, percent
from graphbandits.results import Results
from graphbandits.theory import Bound
from graphbandits.types import Floats

BANDS = ("interval", "quantiles", "none")
#: The levels of the band "quantiles", if none are given: eight of ten trials are inside.
LEVELS = (0.1, 0.9)
#: How bounds are drawn, one pattern after the other: all thin and grey, no policy is.
PATTERNS = ((0, (6, 2)), (0, (2, 2)), (0, (8, 2, 2, 2)), (0, (1, 2)))
#: The name of a bound needs this many points above or below its line, and as many to the next.
ROOM = 1.4 * NOTE

#: Bounds that look the same, by their names together: they share a line.
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
    """Mean cumulative regret against the round; the legend is ordered by final regret.

    ``band`` is "interval" (a Student's t interval of the mean at each round), "quantiles" (between
    two ``levels`` of the trials) or "none"; ``scale`` of the rounds and ``yscale`` of the regret
    are "linear", "log" or "symlog". A policy has the same colour, line and marker in every figure
    (:func:`~.style.looks`); ``order`` names the policies of several, so that none of them has the
    colour of another. Where the largest final mean is more than ``canvas.TOGETHER`` times the
    least, and the regret is on a linear scale, a second panel shows the policies of least regret
    enlarged. Notes on policies are below the picture.

    ``bounds`` on the expected regret (:func:`graphbandits.theory.bounds_of`) are thin grey lines
    with their names on them, those that are for a policy of the results; they count among what
    makes a second panel necessary.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], horizon=20, trials=10)
    >>> regret_figure(results, band="quantiles").axes[0].get_ylabel()
    'mean cumulative regret'
    """
    style.check_word(band, "band", BANDS)
    for word, what in ((scale, "scale"), (yscale, "yscale")):
        style.check_word(word, what, canvas.SCALES)
    ranking = results.ranking()
    ends = [results.interval(name, confidence) for name in ranking]  # checks the confidence
    halves = [(high - low) / 2.0 for low, high in ends]
    lines = _lines_of(bounds, results)
    lower = _enlarged(canvas.final_means(results), lines) if yscale == "linear" else []
    figure, panels = canvas.panels_for(lower, width)
    bands = {name: (results[name].mean,) * 2 for name in ranking}
    if band != "none":
        bands = {name: results.band(name, band, confidence, levels) for name in ranking}
    looks = style.looks((*order, *results.policies))
    drawn = [_panel(axes, results, bands, scale, looks, band != "none") for axes in panels]
    handles, curves = drawn[0]
    drawn_bounds = _draw_bounds(panels[0], lines)
    canvas.set_scale(panels[0], "y", yscale, np.concatenate([results[n].mean for n in ranking]))
    if yscale != "log":
        canvas.zero_based(panels[0], [*curves.values(), *drawn_bounds])
    panels[-1].set_xlabel("round", fontsize=TEXT)
    panels[0].set_ylabel("mean cumulative regret", fontsize=TEXT)
    shade = canvas.enlarge(panels, [curves[name] for name in lower]) if lower else ""
    if lower and lines:
        panels[0].set_title("all policies and bounds", fontsize=SMALL, loc="left")
        if len(lower) == len(ranking):
            panels[1].set_title("all policies, enlarged", fontsize=SMALL, loc="left")
    canvas.heading(figure, title)
    counts = [len(results[name].final) for name in ranking]
    marks, footnotes = canvas.marked(results.notes)
    said = _band_text(band if max(counts) > 1 else "none", confidence, levels)
    said = shade + _bounds_text(lines, results) + said + style.trials_text(counts)
    canvas.note(figure, said, footnotes)
    spans = bands if band == "quantiles" else {}
    what, numbers = _final_numbers(results, halves, confidence, spans, levels)
    labels = [f"{n}{marks.get(n, '')}  {text}" for n, text in zip(ranking, numbers, strict=True)]
    ordered = [handles[name] for name in ranking]
    if lines:  # their names are in the corners
        canvas.legend_below(figure, ordered, labels, what)
        _label_bounds(panels[0], lines)
    else:
        canvas.add_legend(figure, panels, ordered, labels, what, list(curves.values()))
    return figure


def _panel(
    axes: Axes,
    results: Results,
    bands: Mapping[str, tuple[Floats, Floats]],
    scale: str,
    looks: Mapping[str, style.Look],
    shaded: bool,
) -> tuple[dict[str, Line2D], dict[str, Curve]]:
    """Draw every policy; its line, and its x with the lowest and highest y that is drawn.

    ``bands`` are in the order of the ranking, best first.
    """
    rounds = results.rounds.astype(np.float64)
    ranking = list(bands)
    lines: dict[str, Line2D] = {}
    curves: dict[str, Curve] = {}
    for index, name in enumerate(results.policies):
        mean, look, (low, high) = results[name].mean, looks[name], bands[name]
        behind = 0.01 * ranking.index(name)  # the best on top
        if shaded:
            shade: dict[str, Any] = {"color": look.colour, "alpha": 0.18, "lw": 0}
            axes.fill_between(rounds, low, high, zorder=2.0 - behind, **shade)
        (lines[name],) = axes.plot(
            rounds,
            mean,
            **look.line_options(),
            markevery=(0.04 * (index + 1) / len(ranking), 0.125),
            linewidth=1.6,
            zorder=3.0 - behind,
            label=name,
            clip_on=False,  # markers at the edges are whole
        )
        curves[name] = (rounds, np.fmin(low, mean), np.fmax(high, mean))
    first, last = float(rounds[0]), float(rounds[-1])
    if scale == "linear":
        axes.set_xlim(0.0, last)
        axes.xaxis.set_major_locator(MaxNLocator(_ticks(axes), integer=True))
    else:
        canvas.set_scale(axes, "x", scale, rounds)
        axes.set_xlim(first if scale == "log" else 0.0, last if last > first else 10.0 * first)
    canvas.tidy(axes)
    return lines, curves


def _ticks(axes: Axes) -> int:
    """Steps on the axis of rounds, so that their numbers have room."""
    columns = axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    return min(10, round(1.5 * axes.figure.get_figwidth() / columns))  # type: ignore[union-attr]


def _final_numbers(
    results: Results,
    halves: list[float],
    confidence: float,
    spans: Mapping[str, tuple[Floats, Floats]],
    levels: tuple[float, float],
) -> tuple[str, list[str]]:
    """What the numbers beside the names are, and the number of each policy, best first.

    ``spans`` are the bands between the ``levels``, if that is what is drawn.
    """
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
    """The bounds that are for a policy of the results; those that look the same share a line."""
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
    """The policies that a second panel shows: those near the ground, or all below far bounds."""
    alone = canvas.near_ground(means)
    top = max((group[0].final for group in lines.values()), default=0.0)
    if alone or not 0.0 < canvas.TOGETHER * max(means.values()) < top:
        return alone
    return sorted(means, key=lambda name: means[name])


def _draw_bounds(axes: Axes, lines: Lines) -> list[Curve]:
    """Draw each line; the curves that it follows."""
    curves: list[Curve] = []
    thin: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "zorder": 1.5, "gid": "bound"}
    for index, (name, group) in enumerate(lines.items()):
        rounds, values = group[0].rounds.astype(np.float64), group[0].values
        pattern = PATTERNS[index % len(PATTERNS)]
        axes.plot(rounds, values, linestyle=pattern, label=name, **thin)
        curves.append((rounds, values, values))
    return curves


def _label_bounds(axes: Axes, lines: Lines) -> None:
    """The name of each bound at the end of its line, above it, or below it where one is above."""
    figure = axes.figure
    figure.draw_without_rendering()  # type: ignore[union-attr]
    below_last = np.inf  # points from the bottom at which the name above ends
    small: dict[str, Any] = {"fontsize": NOTE, "color": GREY, "gid": "bound-name"}
    for name in sorted(lines, key=lambda name: -lines[name][0].final):
        bound = lines[name][0]
        end = (float(bound.rounds[-1]), bound.final)
        at = float(axes.transData.transform(end)[1]) * 72.0 / figure.dpi
        above = at + ROOM <= below_last
        below_last = at if above else min(at, below_last) - ROOM
        axes.annotate(
            style.literal(f"{name}: {number(bound.final, None)}"),
            end,
            xytext=(-2.0, 2.5 if above else -2.5),
            textcoords="offset points",
            ha="right",
            va="bottom" if above else "top",
            annotation_clip=False,
            **small,
        ).set_path_effects([withStroke(linewidth=2.0, foreground="white")])


def _bounds_text(lines: Lines, results: Results) -> str:
    """What the note says of the lines: which policies each of them is for."""
    if not lines:
        return ""
    told: dict[tuple[str, ...], list[str]] = {}
    for bound in (bound for group in lines.values() for bound in group):
        told.setdefault(tuple(filter(bound.is_for, results.policies)), []).append(bound.name)
    said = "; ".join(f"{', '.join(names)} for {', '.join(who)}" for who, names in told.items())
    return f"grey lines: upper bounds on the expected regret ({said}); "
