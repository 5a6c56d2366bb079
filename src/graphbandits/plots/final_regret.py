"""Figures of the final regret: its distribution over the trials, and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.plots import style
from graphbandits.plots.style import GREY, INK, SMALL, TEXT, TWO_COLUMNS, Look, number, percent
from graphbandits.simulation.results import Results
from graphbandits.simulation.statistics import Difference

#: Largest number of points per policy; of more trials, so many evenly spaced by rank.
POINTS = 400
#: Smallest number of trials that has a box.
BOX = 5
#: The ends of the whiskers.
WHISKERS = (0.1, 0.9)
#: With more rows than this, lines separate the policies.
CROWDED = 10


@style.in_style
def final_figure(
    results: Results,
    title: str = "",
    confidence: float = 0.95,
    width: float = TWO_COLUMNS,
    order: Sequence[str] = (),
    xscale: str = "linear",
) -> Figure:
    """Plot the distribution of the final regret over the trials, one row per policy.

    Each row has a box (quartiles and median, whiskers from 10 % to 90 %), a point for each trial
    and the mean with its interval. The best mean is on top. On a linear axis, policies with much
    larger regret have a panel with its own axis. At most ``POINTS`` trials are drawn, evenly
    spaced by rank, with the smallest and the largest; box and mean use all trials. The design is
    the raincloud plot of Allen, Poggiali, Whitaker, Marshall and Kievit (2019).

    Parameters
    ----------
    results, title, confidence, width, order
        As in :func:`graphbandits.plots.regret_figure`.
    xscale : {"linear", "log", "symlog"}
        Scale of the regret.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], horizon=20, trials=10)
    >>> final_figure(results).axes[0].get_xlabel()
    'regret of a trial after round 20'
    """
    style.check_word(xscale, "xscale", style.SCALES)
    lower = style.near_ground(style.final_means(results)) if xscale == "linear" else []
    ranking = results.ranking()
    groups = [lower, ranking[len(lower) :]] if lower else [ranking]
    figure = style.new_figure(width, 0.95 + 0.52 * len(ranking) + 0.6 * (len(groups) - 1))
    sizes = [len(group) for group in groups]
    panels = list(figure.subplots(len(groups), 1, height_ratios=sizes, squeeze=False).flat)
    halves = {name: float(np.diff(results.interval(name, confidence))[0]) / 2 for name in ranking}
    means = [float(results[name].mean[-1]) for name in ranking]
    numbers = dict(zip(ranking, style.plus_minus(means, list(halves.values())), strict=True))
    known = bool(np.isfinite(list(halves.values())).any())
    looks = style.looks((*order, *results.policies))
    for axes, group in zip(panels, groups, strict=True):
        for row, name in enumerate(group):
            _row(axes, results, name, halves[name], row, looks[name])
        finals = np.concatenate([results[name].final for name in group])
        style.regret_axis(axes, "x", xscale, finals)
        header = f"mean ± {percent(confidence)}" if known else "mean"
        style.column(axes, [numbers[name] for name in group], header if group is groups[0] else "")
        style.rows(axes, group, 24.0 * width)
    panels[-1].set_xlabel(f"regret of a trial after round {int(results.rounds[-1])}", fontsize=TEXT)
    if lower:
        top = panels[0].get_xlim()[1]
        panels[1].axvspan(0.0, top, color=GREY, alpha=0.15, lw=0, zorder=0.5, gid="enlarged")
        said = (f"the {sizes[0]} with least regret", f"the other {sizes[1]}, on another axis")
        for axes, text in zip(panels, said, strict=True):
            axes.set_title(text, fontsize=SMALL, loc="left")
    style.heading(figure, title)
    shade = "grey: the axis of the upper panel; " if lower else ""
    style.note(figure, shade + _explanation(results, known, confidence, xscale))
    return figure


def _row(axes: Axes, results: Results, name: str, half: float, row: int, look: Look) -> None:
    """Draw the trials of a policy, their box, and the mean with its interval."""
    final, mean = np.sort(results[name].final), float(results[name].mean[-1])
    points = thinned(final)
    size, alpha = 3.0 if len(points) > 100 else 7.0, 0.55 if len(points) > 20 else 1.0
    dots: dict[str, Any] = {"color": look.colour, "linewidths": 0, "clip_on": False}
    places = row + 0.06 + 0.36 * spread(points)
    axes.scatter(points, places, s=size, alpha=alpha, gid=f"trials of {name}", **dots)
    if len(final) >= BOX:
        _box(axes, final, row - 0.09, look.colour)
    y = row - 0.32
    if np.isfinite(half):
        bar: dict[str, Any] = {"color": INK, "lw": 1.6, "solid_capstyle": "butt", "zorder": 4.0}
        axes.plot([mean - half, mean + half], [y, y], gid="interval", **bar)
    marks = look.marks(3.8) | {"markerfacecolor": "white", "markeredgecolor": INK}
    marks |= {"linestyle": "none", "markeredgewidth": 1.0, "clip_on": False}
    axes.plot([mean], [y], gid="mean", zorder=5.0, **marks)


def _box(axes: Axes, final: Floats, y: float, colour: str) -> None:
    low, q1, median, q3, high = np.quantile(final, [WHISKERS[0], 0.25, 0.5, 0.75, WHISKERS[1]])
    bottom, top = y - 0.1, y + 0.1
    axes.plot([low, q1, np.nan, q3, high], [y] * 5, color=colour, lw=1.0, gid="whiskers")
    axes.fill_between([q1, q3], bottom, top, facecolor=colour, alpha=0.25, lw=0, gid="box")
    outline = [q1, q3, q3, q1, q1], [bottom, bottom, top, top, bottom]
    axes.plot(*outline, color=colour, lw=0.9, gid="quartiles")
    axes.plot([median, median], [bottom, top], color=colour, lw=2.0, gid="median")


def thinned(ordered: Floats, most: int = POINTS) -> Floats:
    """Select at most ``most`` ordered values, evenly spaced by rank, including first and last.

    >>> import numpy as np
    >>> thinned(np.arange(101.0), most=5).tolist()
    [0.0, 25.0, 50.0, 75.0, 100.0]
    """
    if len(ordered) <= most:
        return ordered
    return ordered[np.rint(np.linspace(0, len(ordered) - 1, most)).astype(np.int64)]


def spread(ordered: Floats) -> Floats:
    """Spread points over [0, 1]: van der Corput's sequence times the local density.

    The density is a Gaussian kernel estimate with Silverman's (1986) width, largest at 1.
    """
    count = len(ordered)
    places = np.array([int(f"{i:016b}"[::-1], 2) / 2**16 for i in range(1, count + 1)])
    quartiles = np.quantile(ordered, [0.25, 0.75])
    sizes = [size for size in (ordered.std(), np.diff(quartiles)[0] / 1.34) if size > 0.0]
    if not sizes:
        return places
    gaps = (ordered[:, None] - ordered) / (0.9 * min(sizes) * count**-0.2)
    density: Floats = np.exp(-0.5 * gaps * gaps).sum(axis=1)
    spread_out: Floats = places * (density / density.max())
    return spread_out


def _explanation(results: Results, known: bool, confidence: float, scale: str) -> str:
    finals = [result.final for result in results.policies.values()]
    counts = [len(final) for final in finals]
    parts = []
    if max(counts) >= BOX:
        parts.append("box: quartiles and median, whiskers 10 % to 90 % of the trials")
    interval = f" with {percent(confidence)} interval" if known else ""
    parts += [f"white mark: mean{interval}", "dots: trials"]
    if max(counts) > POINTS:
        trials = style.trials_text(counts)
        parts[-1] += f", {POINTS} of {trials} shown, evenly spaced in rank"
    else:
        parts.append(style.trials_text(counts))
    hidden = sum(int((final <= 0.0).sum()) for final in finals)
    if scale == "log" and hidden:
        parts.append(f"{hidden} at or below 0 not shown")
    return "; ".join(parts)


# --- differences ------------------------------------------------------------------------------


@style.in_style
def forest_figure(
    results: Results,
    reference: str | None = None,
    title: str = "",
    confidence: float = 0.95,
    simultaneous: bool = True,
    width: float = TWO_COLUMNS,
    all_pairs: bool = False,
    xscale: str = "linear",
) -> Figure:
    """Plot paired differences of the final regret with confidence intervals.

    A filled mark is a clear difference: its interval excludes zero. A hollow grey mark has zero in
    its interval. If some regrets are much larger than the others, the axis covers the differences
    between the others, and an arrow marks what lies beyond it; the numbers at the right cover all.
    The differences are those of :meth:`graphbandits.Results.differences`.

    Parameters
    ----------
    results : Results
        Results of one simulation with at least two policies.
    reference : str or None
        Policy to subtract from each other policy; the one with the least mean regret by default.
    title, confidence, width
        As in :func:`graphbandits.plots.regret_figure`.
    simultaneous : bool
        Whether the intervals hold together at this level, or each by itself. If the reference is
        the best policy, they hold for all pairs: the best is selected with the same trials.
    all_pairs : bool
        Whether to show a row for each pair of policies instead of a reference.
    xscale : {"linear", "symlog"}
        Scale of the differences.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], horizon=20, trials=10, seed=1)
    >>> forest_figure(results, "ts-n").axes[0].get_xlabel()
    'final regret minus that of ts-n'
    """
    if xscale == "log":
        raise InputError(
            "xscale='log' cannot show differences below zero: use 'linear' or 'symlog'"
        )
    style.check_word(xscale, "xscale", style.SCALES)
    versus, differences = _compared(results, reference, confidence, simultaneous, all_pairs)
    room = 24.0 * width
    labels = [d.first if versus else _pair(d, room) for d in differences]
    lines = max(style.wrap(label, room, SMALL).count("\n") for label in labels) + 1
    row = max(0.24, 0.13 + lines * SMALL * 1.25 / 72.0)
    figure = style.new_figure(width, 0.95 + len(labels) * row)
    axes = figure.add_subplot()
    axes.axvline(0.0, color=INK, lw=0.9, zorder=1.0)
    axes.margins(x=0.08)
    style.rows(axes, labels, room, 0.1)
    limits = _limits(results, differences) if xscale == "linear" else None
    _bars(axes, differences, limits)
    style.set_scale(axes, "x", xscale, np.array([[d.low, d.mean, d.high] for d in differences]))
    known = any(math.isfinite(d.low) for d in differences)
    header = f"mean [{percent(confidence)} interval]" if known else "mean"
    style.column(axes, _numbers(differences), header)
    said = f"final regret minus that of {versus}" if versus else _FIRST_SECOND
    axes.set_xlabel(style.literal(style.wrap(said, 60.0 * width, TEXT)), fontsize=TEXT)
    style.heading(figure, title)
    arrows = "arrow: beyond the axis; " if limits is not None else ""
    chosen = f"{versus} has the least mean; " if versus and reference is None else ""
    style.note(figure, arrows + chosen + _held(results, len(labels), known, simultaneous))
    texts = {-1: "first has less regret", 1: "second has less regret", 0: "no clear difference"}
    if versus:
        texts |= {-1: f"less regret than {versus}", 1: f"more regret than {versus}"}
    found = {verdict(d) for d in differences}
    shown = [sign for sign in texts if sign in found]
    handles = [Line2D([], [], lw=1.4, **LOOKS[sign]) for sign in shown]
    columns = len(shown) if width > style.BESIDE else 1
    style.legend_below(figure, handles, [texts[sign] for sign in shown], ncols=columns)
    return figure


def _compared(
    results: Results,
    reference: str | None,
    confidence: float,
    simultaneous: bool,
    all_pairs: bool,
) -> tuple[str | None, list[Difference]]:
    """Return the reference policy (None: all pairs) and the differences."""
    if all_pairs and reference is not None:
        raise InputError(
            f"all_pairs and reference='{reference}' cannot be combined: remove one of them"
        )
    versus = None if all_pairs else reference or results.ranking()[0]
    if versus and reference is None and simultaneous:
        differences = list(results.from_best(confidence).values())
    else:
        differences = results.differences(versus, confidence, simultaneous=simultaneous)
    if not differences:
        raise InputError(
            "a forest plot needs at least two policies, but these results have one: simulate more"
        )
    return versus, differences


_FIRST_SECOND = "difference of final regret, first − second"  # noqa: RUF001


def verdict(difference: Difference) -> int:
    """Return -1 if the first policy has clearly less regret, 1 if more, 0 if neither."""
    return int(difference.low > 0.0) - int(difference.high < 0.0)


#: Style of each verdict.
LOOKS: dict[int, dict[str, Any]] = {
    -1: {"color": style.COLOURS[0], "marker": "o", "markersize": 5.0},
    1: {"color": style.COLOURS[1], "marker": "s", "markersize": 5.0},
    0: {"color": GREY, "marker": "D", "markersize": 5.0, "markerfacecolor": "white"},
}


def _bars(axes: Axes, differences: list[Difference], limits: tuple[float, float] | None) -> None:
    """Draw a row for each difference."""
    for row, d in enumerate(differences):
        _bar(axes, row, d, limits)
        if len(differences) > CROWDED and row and d.first != differences[row - 1].first:
            axes.axhline(row - 0.5, color=style.GRID, lw=0.6, zorder=0.5)
    if limits is not None:
        axes.set_xlim(*limits)


def _bar(axes: Axes, row: int, d: Difference, limits: tuple[float, float] | None) -> None:
    """Draw the interval and the mean; an arrow marks an end beyond the axis."""
    look = LOOKS[verdict(d)]
    low, high = limits or (-math.inf, math.inf)
    inset = 0.02 * (high - low) if limits else 0.0
    ends = {"<": low + inset, ">": high - inset}
    if math.isfinite(d.low):
        axes.plot([d.low, d.high], [row, row], color=look["color"], lw=1.6 if verdict(d) else 1.2)
    if low <= d.mean <= high:
        axes.plot([d.mean], [row], linestyle="none", **look)
        beyond, clipped = "<" * (d.low < low) + ">" * (d.high > high), "clipped"
    else:
        beyond, clipped = "<" if d.mean < low else ">", ""
    for arrow in beyond:
        arrow_look = look | {"marker": arrow, "linestyle": "none", "gid": clipped}
        axes.plot([ends[arrow]], [row], **arrow_look)


def _limits(results: Results, differences: list[Difference]) -> tuple[float, float] | None:
    """Return limits of the axis for the policies of least regret; None if all fit."""
    lower = style.near_ground(style.final_means(results))
    near = [d for d in differences if d.first in lower and d.second in lower]
    ends = [end for d in near for end in (d.low, d.mean, d.high) if math.isfinite(end)]
    if not ends:
        return None
    low, high = min(0.0, *ends), max(0.0, *ends)
    margin = 0.08 * (high - low)
    return (low - margin, high + margin) if margin else None


def _numbers(differences: list[Difference]) -> list[str]:
    """Format means and intervals with enough digits to show the sign of each end."""
    places = style.decimals((d.high - d.low) / 2.0 for d in differences)
    ends = [abs(end) for d in differences for end in (d.low, d.high) if end]
    while places is not None and places < 6 and any(end < 0.5 * 10.0**-places for end in ends):
        places += 1
    texts = []
    for d in differences:
        mean, low, high = (number(value, places, "+") for value in (d.mean, d.low, d.high))
        texts.append(f"{mean} [{low}, {high}]" if math.isfinite(d.low) else mean)
    return texts


def _pair(d: Difference, room: float) -> str:
    text = f"{d.first} − {d.second}"  # noqa: RUF001
    fits = "\n" not in style.wrap(text, room, SMALL)
    return text if fits else f"{d.first}\n− {d.second}"  # noqa: RUF001


def _held(results: Results, count: int, known: bool, simultaneous: bool) -> str:
    trials = style.trials_text(len(result.final) for result in results.policies.values())
    if not known:
        return f"{trials} gives no interval"
    trials += " in the same worlds"
    if count == 1:
        return trials
    if simultaneous:
        return f"the {count} intervals hold together; {trials}"
    return f"each of the {count} intervals holds by itself; {trials}"
