"""Regret against the round, with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from graphbandits.errors import InputError, nearest
from graphbandits.plots.bound_lines import (
    bounds_text,
    check_bounds,
    draw_bounds,
    label_bounds,
    near_bounds,
)
from graphbandits.plots.enlarge import Curve, enlarge, final_means, near_ground, panels_for
from graphbandits.plots.legends import add_legend, legend_below, marked, note
from graphbandits.plots.style import (
    SMALL,
    TEXT,
    TWO_COLUMNS,
    decimals,
    heading,
    in_style,
    looks,
    number,
    percent,
    plus_minus,
    tidy,
    trials_text,
    zero_based,
)
from graphbandits.results import Results
from graphbandits.theory import Bound
from graphbandits.types import Floats

BANDS = ("interval", "quantiles", "none")
SCALES = ("linear", "log")
#: The levels of the band "quantiles", if none are given: eight of ten trials are inside.
LEVELS = (0.1, 0.9)


@in_style
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
) -> Figure:
    """Mean cumulative regret against the round; the legend is ordered by final regret.

    ``band`` is "interval" (a Student's t interval of the mean at each round), "quantiles" (between
    two ``levels`` of the trials) or "none"; ``scale`` of the rounds is "linear" or "log". A policy
    has the same colour, line and marker in every figure of a result; ``order`` names the policies
    of several, so that each looks the same in all of them. Where the largest final
    mean is more than ``enlarge.TOGETHER`` times the least, a second panel shows the policies of
    least regret enlarged. Notes on policies are below the picture.

    ``bounds`` on the expected regret (:func:`graphbandits.theory.bounds_of`) are thin grey lines
    with their names on them, those that are for a policy of the results; they count among what
    makes a second panel necessary.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], horizon=20, trials=10)
    >>> regret_figure(results, band="quantiles").axes[0].get_ylabel()
    'mean cumulative regret'
    """
    _check(band, "band", BANDS)
    check_scale(scale)
    ranking = results.ranking()
    ends = [results.interval(name, confidence) for name in ranking]  # checks the confidence
    halves = [(high - low) / 2.0 for low, high in ends]
    lines = check_bounds(bounds, results)
    means = final_means(results)
    lower = near_bounds(means, lines) if lines else near_ground(means)
    figure, panels = panels_for(lower, width)
    bands = {name: _band(results, name, confidence, band, levels) for name in ranking}
    drawn = [_panel(axes, results, bands, scale, order, band != "none") for axes in panels]
    handles, curves = drawn[0]
    drawn_bounds = draw_bounds(panels[0], lines)
    zero_based(panels[0], [*curves.values(), *drawn_bounds])
    panels[-1].set_xlabel("round", fontsize=TEXT)
    panels[0].set_ylabel("mean cumulative regret", fontsize=TEXT)
    shade = enlarge(panels, [curves[name] for name in lower]) if lower else ""
    if lower and lines:
        panels[0].set_title("all policies and bounds", fontsize=SMALL, loc="left")
        if len(lower) == len(ranking):
            panels[1].set_title("all policies, enlarged", fontsize=SMALL, loc="left")
    heading(figure, title)
    counts = [len(results[name].final) for name in ranking]
    marks, footnotes = marked(results.notes)
    shown = band if max(counts) > 1 else "none"
    said = _band_text(shown, confidence, levels) + trials_text(counts)
    note(figure, shade + bounds_text(lines, results) + said, footnotes)
    spans = bands if band == "quantiles" else {}
    what, numbers = _final_numbers(results, ranking, halves, confidence, spans, levels)
    labels = [
        f"{name}{marks.get(name, '')}  {text}" for name, text in zip(ranking, numbers, strict=True)
    ]
    ordered = [handles[name] for name in ranking]
    if lines:  # their names are in the corners
        legend_below(figure, ordered, labels, what)
        label_bounds(panels[0], lines)
    else:
        add_legend(figure, panels, ordered, labels, what, list(curves.values()))
    return figure


def _panel(
    axes: Axes,
    results: Results,
    bands: Mapping[str, tuple[Floats, Floats]],
    scale: str,
    order: Sequence[str],
    shaded: bool,
) -> tuple[dict[str, Line2D], dict[str, Curve]]:
    """Draw every policy; its line, and its x with the lowest and highest y that is drawn.

    ``bands`` are in the order of the ranking, best first.
    """
    rounds = results.rounds.astype(np.float64)
    ranking, every = list(bands), looks(dict.fromkeys((*order, *results.policies)))
    lines: dict[str, Line2D] = {}
    curves: dict[str, Curve] = {}
    for index, name in enumerate(results.policies):
        result, look = results[name], every[name]
        low, high = bands[name]
        rank = ranking.index(name)
        if shaded:
            axes.fill_between(
                rounds, low, high, color=look.colour, alpha=0.18, lw=0, zorder=2.0 - 0.01 * rank
            )
        (lines[name],) = axes.plot(
            rounds,
            result.mean,
            color=look.colour,
            linestyle=look.line,
            markevery=(0.04 * (index + 1) / len(ranking), 0.125),
            linewidth=1.6,
            zorder=3.0 - 0.01 * rank,  # the best on top
            label=name,
            clip_on=False,  # markers at the edges are whole
            **look.marks(),
        )
        curves[name] = (rounds, np.fmin(low, result.mean), np.fmax(high, result.mean))
    first, last = float(rounds[0]), float(rounds[-1])
    if scale == "log":
        axes.set_xscale("log")
        axes.set_xlim(first, last if last > first else 10.0 * first)
    else:
        axes.set_xlim(0.0, last)
        axes.xaxis.set_major_locator(MaxNLocator(_ticks(axes), integer=True))
    tidy(axes)
    return lines, curves


def _ticks(axes: Axes) -> int:
    """Steps on the axis of rounds, so that their numbers have room."""
    columns = axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    return min(10, round(1.5 * axes.figure.get_figwidth() / columns))  # type: ignore[union-attr]


def _final_numbers(
    results: Results,
    ranking: list[str],
    halves: list[float],
    confidence: float,
    spans: Mapping[str, tuple[Floats, Floats]],
    levels: tuple[float, float],
) -> tuple[str, list[str]]:
    """What the numbers beside the names are, and the number of each policy.

    ``spans`` are the bands between the ``levels``, if that is what is drawn.
    """
    means = [float(results[name].mean[-1]) for name in ranking]
    what = f"mean regret after round {int(results.rounds[-1])}"
    if spans:
        places = decimals(halves)
        ends = [(float(low[-1]), float(high[-1])) for low, high in (spans[n] for n in ranking)]
        return f"{what} ({_span(levels)} of trials)", [
            f"{number(mean, places)} ({number(low, places)} to {number(high, places)})"
            for mean, (low, high) in zip(means, ends, strict=True)
        ]
    if np.isfinite(halves).any():
        what += f" ± {percent(confidence)} interval"
    return what, plus_minus(means, halves)


def _span(levels: tuple[float, float]) -> str:
    return f"{percent(levels[0])} to {percent(levels[1])}"


def check_scale(scale: str) -> None:
    """Refuse an axis that there is not."""
    _check(scale, "scale", SCALES)


def _check(value: str, what: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"unknown {what} {value!r}: {nearest(str(value), known)}")


def _band(
    results: Results, name: str, confidence: float, band: str, levels: tuple[float, float]
) -> tuple[Floats, Floats]:
    if band == "none":
        return results[name].mean, results[name].mean
    return results.band(name, band, confidence, levels)


def _band_text(band: str, confidence: float, levels: tuple[float, float]) -> str:
    if band == "interval":
        return f"band: {percent(confidence)} interval of the mean; "
    return f"band: {_span(levels)} of the trials; " if band == "quantiles" else ""
